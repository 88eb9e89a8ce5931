"""head_report(): how far label cosines move while every probability stays, and what the head pins down instead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from embaudit.auditing.answer import Answer, answer
from embaudit.auditing.checks import ABOUT_HEADS, findings
from embaudit.auditing.claims import Claim, claims
from embaudit.auditing.effort import MOST
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.fibre import fibre_of
from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.head_evidence import HeadEvidence
from embaudit.auditing.heads import N_GAUGES, N_PAIRS, PANEL, declare, head_evidence
from embaudit.auditing.verdict import statements, verdict
from embaudit.canonical import in_span
from embaudit.errors import must_be
from embaudit.foundation.checked import RNG, as_count, as_generator, as_list, is_number
from embaudit.foundation.results import Result
from embaudit.foundation.words import counted
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model

LEAST = {"n_labels": 2, "n_neighbours": 1, "n_pairs": 1, "n_gauges": 0}
"""Smallest values of the counts one may ask for."""


@dataclass(frozen=True, eq=False)
class HeadReport(HeadEvidence, Result):
    """What an audit of a softmax head found: what was measured, and what follows from it.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> rows = draw.standard_normal((40, 8))
    >>> rows -= rows.mean(axis=0)
    >>> [head_report(FactorModel.from_softmax(rows + shift), n_gauges=1).alarms for shift in (0.0, 2.0)]
    [False, True]
    """

    @classmethod
    def of(cls, evidence: HeadEvidence) -> Self:
        """Conclude from what was measured."""
        return cls(**vars(evidence))

    def __repr__(self) -> str:
        codes = ", ".join(finding.code for finding in self.findings) or "no findings"
        return f"HeadReport({counted(self.n_labels, 'label')}, rank {self.rank}, {codes})"

    @property
    def alarms(self) -> bool:
        """Whether some finding is an issue."""
        return any(finding.severity is Severity.ISSUE for finding in self.findings)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Conclusions with code, severity and remedy, the gravest first."""
        return findings(self._evidence, ABOUT_HEADS)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Everything concluded, with how firmly it stands and for which heads."""
        return (*claims(self._evidence), *(finding.claim for finding in self.findings))

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(self.model, fibre_of(self.model, ("right",)), head=self)

    @cached_property
    def answer(self) -> Answer:
        """Whether label cosines can be read as likeness, and why."""
        return answer(self.claims, "right")

    @cached_property
    def verdict(self) -> str:
        """One paragraph in plain words."""
        return verdict(statements(self._evidence, claims(self._evidence), self.answer))

    def explain(self) -> str:
        """Return the answer and the verdict."""
        return f"{self.answer}\n{self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        found = [finding.to_dict() for finding in self.findings]
        return {**super().to_dict(), "verdict": self.verdict, "findings": found}


def head_report(
    model: FactorModel,
    *,
    pair: tuple[int, int] | None = None,
    n_labels: int = PANEL,
    n_pairs: int = N_PAIRS,
    n_neighbours: int = 10,
    n_gauges: int = N_GAUGES,
    max_condition: float = 2.0,
    soft_cap: float | None = None,
    normalised: bool = False,
    rng: RNG = 0,
) -> HeadReport:
    """Audit a softmax head: how far do label cosines move while every probability stays the same?

    Sums over labels (the mean row, the median length, whitening) and the search for neighbours and for
    competitors take all rows, a block at a time in float64. What is asked label by label is asked of a
    *panel*: all labels, or `n_labels` drawn ones in a larger head.

    Parameters
    ----------
    model : FactorModel
        A softmax head; of very many columns, the dimensions that its rows span. Probabilities are verified on its
        inputs, or on probe inputs where it has none.
    pair : pair of int, optional
        Two rows to make opposite and parallel; the most alike pair of the panel by default.
    n_labels : int
        Size of the panel.
    n_pairs : int
        Pairs whose shortest shifts are computed, where there are more.
    n_neighbours : int
        N of the neighbour lists.
    n_gauges : int
        Random gauges of each kind.
    max_condition : float
        Condition number of the linear ones; translations are one median row long.
    soft_cap : float, optional
        Declares that logits are capped, `c · tanh(s/c)`: then translations change probabilities.
    normalised : bool
        Declares that label rows are divided by their lengths before use: then only rotations keep every head's
        probabilities.
    rng : numpy Generator or int, optional
        Source of randomness.

    Returns
    -------
    HeadReport

    Raises
    ------
    InputError
        If the model is no softmax head, has fewer than two labels with a direction, all its rows are equal, or its
        numbers are too large or too small to be multiplied; or for parameters outside their sets.
    """
    require_model(model)
    if not is_number(max_condition):
        raise must_be("max_condition", "a finite number >= 1", repr(max_condition))
    chosen = None if pair is None else tuple(as_list(pair, "pair", "(0, 1)"))
    counts = {"n_labels": n_labels, "n_neighbours": n_neighbours, "n_pairs": n_pairs, "n_gauges": n_gauges}
    for name, value in counts.items():
        as_count(value, name, least=LEAST[name], most=MOST.get(name))
    head = in_span(declare(model, soft_cap, normalised=normalised))
    return HeadReport.of(head_evidence(head, pair=chosen, max_condition=max_condition, rng=as_generator(rng), **counts))
