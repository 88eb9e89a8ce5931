"""One case of the truth table, and phrases that its audit must not contain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from embaudit.model import FactorModel

if TYPE_CHECKING:
    from collections.abc import Mapping

one_side = FactorModel.from_vectors
two_sides = FactorModel.from_user_item
softmax_head = FactorModel.from_softmax
YES, NO, CONVENTION = "YES", "NO", "BY CONVENTION"
UNKNOWN, CHECK = "UNKNOWN", "CHECK FIRST"
WORDS = {"F": NO, "P": YES, "U": UNKNOWN}
"""The usual answer if cosines are free, pinned or undecided."""


@dataclass(frozen=True)
class Case:
    """A model whose equivalent models are known, and the true statements about it."""

    name: str
    model: FactorModel
    truth: Mapping[str, str]
    """"F", "P" or "U" (free, pinned, undecided) for the cosines of each role."""
    findings: Mapping[str, str] = field(default_factory=dict)
    """Severity of each code. Softmax heads may also have the codes of `OF_HEADS`."""
    says: tuple[str, ...] = ()
    """Phrases that the answer, the findings or other conclusions must contain."""
    never: tuple[str, ...] = ()
    """Phrases that they must not contain, in addition to `NEVER`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the audit."""
    answer: str = ""
    """The true answer for the role of `options` (default: right). It can be omitted if
    it is the usual answer of `WORDS`.
    """
    about_all_models: bool = True
    """False if the audit must not draw conclusions about all equivalent models."""
    n_starts: int = 0
    """Starts of the attacks. Attacks take most of the time of an audit."""

    @property
    def word(self) -> str:
        """The true answer."""
        return self.answer or WORDS[self.truth["right"]]

    @property
    def fails(self) -> bool:
        """True if `--fail-on issue` must fail."""
        return "issue" in self.findings.values()


BOTH_FREE = {"right": "F", "left": "F"}
UNDECLARED = {"EMB102": "tip"}
"""The finding of models with free cosines whose training was not declared."""
CONTRADICTIONS = {
    YES: ("Do not read", "a convention", "stay when"),
    NO: ("as a convention", "part of what the model predicts", "nobody knows"),
    CONVENTION: (
        "Do not read",
        "part of what the model predicts",
        "the same have other cosines",
    ),
    UNKNOWN: (
        "Do not read",
        "part of what the model predicts",
        "stay when",
        "at hand moves",
    ),
    CHECK: (
        "Do not read",
        "part of what the model predicts",
        "stay when",
        "at hand moves",
        "a convention",
    ),
}
"""For each answer, phrases that would contradict it in its reason or its advice."""
NEVER = (
    "no change of the factors moves these cosines",
    "Read them as trained",
    "read the cosines as trained",
    "No equivalent model",
    "no equivalent model within",
    "takes no part in the predictions",
    "nothing moves",
    "of whatever network",
    "At full rank",
    "not balanced",
    "keep one of each",
    "a change of axes would then change a length",
)
"""Phrases that are true of no model."""
NEVER_ALONE = ("predict", "Predict", "user")
"""Phrases that are false for vectors alone, whose predictions and users are unknown."""
