"""What to type next: commands with the file's own name, which run when they are pasted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from embaudit.auditing.alone import is_alone
from embaudit.auditing.answer import Word
from embaudit.model import Equivalence
from embaudit.model.objectives import Status, usual_objectives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit


@dataclass(frozen=True)
class Asked:
    """How a model was read, so that a command can read it again.

    Examples
    --------
    >>> asked = Asked("my model.npz", ("--kind", "head", "--counts", "n.npy"), ("--soft-cap", "30"))
    >>> asked.audit("--full")
    "embaudit audit 'my model.npz' --kind head --counts n.npy --soft-cap 30 --full"
    >>> asked.fix("--as", "centred")
    "embaudit fix 'my model.npz' --kind head --counts n.npy --as centred"
    """

    path: str
    """The file or folder."""
    reading: tuple[str, ...] = ()
    """Options of every command that reads a model."""
    told: tuple[str, ...] = ()
    """What `embaudit audit` was told besides."""

    def audit(self, *more: str) -> str:
        """Audit the same model."""
        return join(["embaudit", "audit", *self._read(), *self.told, *more])

    def fix(self, *more: str) -> str:
        """Write vectors of the same model."""
        return join(["embaudit", "fix", *self._read(), *more])

    @property
    def norm(self) -> tuple[str, ...]:
        """What was told of the final norm.

        Examples
        --------
        >>> Asked("m", told=("--role", "label", "--norm", "ln", "--norm-kind", "rms")).norm
        ('--norm', 'ln', '--norm-kind', 'rms')
        """
        pairs = zip(self.told, self.told[1:], strict=False)
        return tuple(word for pair in pairs if pair[0] in ("--norm", "--norm-kind") for word in pair)

    def _read(self) -> list[str]:
        path = self.path if not self.path.startswith("-") else f"./{self.path}"
        return [path, *self.reading]

    def out(self, what: str) -> str:
        """Name a file for what is written."""
        return f"{Path(self.path).resolve().name.split('.')[0]}-{what}.npz"


def next_steps(audit: Audit, asked: Asked) -> Iterator[tuple[str, str]]:
    """Yield what is next and its command: vectors to use instead, training to declare where that decides, all tables.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> found = audit(FactorModel.from_vectors([[1.0, 2.0], [2.0, 1.0]]))
    >>> for what, command in next_steps(found, Asked("v.npy")):
    ...     print(f"{what}: {command}")
    if training had a penalty on both sides: embaudit audit v.npy --objective factors
    every table and finding: embaudit audit v.npy --full
    """
    model, word = audit.model, audit.answer.word
    chosen = next((row.name for row in usual_objectives(model.link) if row.status is Status.CHOSEN), None)
    if not audit.predictions_hold or word is Word.YES:
        pass
    elif model.left is not None:
        side = ("--role", "left") if audit.evidence.role == "left" else ()
        command = asked.fix("--as", "prediction", *side, "--unit", "--out", asked.out("prediction"))
        yield "search vectors with the neighbours on the right", command
    elif "right" in model.free_shifts and word is Word.NO:
        form = "centred" if audit.evidence.norm is None else "folded-centred"
        what = "the head without its mean row" + ", its norm folded in" * (form != "centred")
        yield what, asked.fix("--as", form, *asked.norm, "--out", asked.out(form))
    elif model.objective is None and chosen and model.predicts is not Equivalence.COSINES:
        unit = is_alone(model) and any(traits.is_unit for traits in audit.evidence.traits)
        what = "if cosines were trained" if unit else "if training had a penalty on both sides"
        yield what, asked.audit("--objective", "cosine" if unit else chosen)
    yield "every table and finding", asked.audit("--full")
