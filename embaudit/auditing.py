"""The audit: verify that predictions stay, collect how cosines move, and conclude."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from embaudit._version import __version__
from embaudit.checks import Finding, Severity, findings
from embaudit.evidence import Evidence, gather
from embaudit.objectives import training_objective
from embaudit.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from embaudit.gauges import GaugeGroup
    from embaudit.model import FactorModel, Role

SCHEMA_VERSION = 1
"""Raised when a field of the JSON changes its meaning or goes away."""


def _plain(value: Any) -> Any:
    """Turn numpy numbers, tuples and non-finite floats into what JSON can hold."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What an audit found: the evidence, the findings and the verdict.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.normal(size=(30, 4)), draw.normal(size=(20, 4)), objective="product")
    >>> result = audit(model, n_gauges=2)
    >>> result.evidence.predictions_hold, [finding.code for finding in result.findings]
    (True, ['EMB101'])
    """

    evidence: Evidence
    """Everything measured."""
    source: str | None = None
    """Where the model came from."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Conclusions with code, severity and remedy, the gravest first."""
        return findings(self.evidence)

    @cached_property
    def verdict(self) -> str:
        """One paragraph in plain words."""
        return verdict(self.evidence)

    @property
    def worst(self) -> Severity | None:
        """Severity of the gravest finding, None without findings."""
        return max((finding.severity for finding in self.findings), default=None)

    def __repr__(self) -> str:
        codes = ", ".join(finding.code for finding in self.findings) or "no findings"
        return f"Audit({self.evidence.model!r}, {len(self.evidence.equivalents)} equivalent models, {codes})"

    def _repr_html_(self) -> str:
        from embaudit.report.html import render

        return render(self, template="fragment.html.j2")

    def report(self) -> str:
        """Return the audit as a whole HTML page."""
        from embaudit.report.html import render

        return render(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each equivalent model and role: how its cosines moved, how its predictions did.

        Columns are those of the JSON's `movement` records, and `drift`, `drift_tolerance` and `drift_ok`.
        """
        import pandas as pd

        frame = pd.DataFrame(self._movement_records()).drop(columns="quantiles", errors="ignore")
        drift = pd.DataFrame(self._drift_records())[["gauge", "max_abs", "tolerance", "ok"]]
        drift.columns = pd.Index(["gauge", "drift", "drift_tolerance", "drift_ok"])
        return frame.merge(drift, on="gauge") if len(frame) else drift

    def _labels(self) -> list[dict[str, Any]]:
        return [
            {"gauge": e.name, "kind": e.kind, "condition_number": e.condition_number, "shift": e.shift}
            for e in self.evidence.equivalents
        ]

    def _movement_records(self) -> list[dict[str, Any]]:
        pairs = zip(self._labels(), self.evidence.movement, strict=True)
        return [label | record.to_dict() for label, records in pairs for record in records]

    def _drift_records(self) -> list[dict[str, Any]]:
        return [label | d.to_dict() for label, d in zip(self._labels(), self.evidence.drift, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON can hold it; see the README for the schema."""
        model, evidence = self.evidence.model, self.evidence
        position = evidence.position
        return dict(
            _plain(
                {
                    "embaudit_version": __version__,
                    "schema_version": SCHEMA_VERSION,
                    "seed": evidence.seed,
                    "input": {"source": self.source, "fingerprint": evidence.fingerprint},
                    "model": {
                        "roles": model.roles,
                        "n_left": model.n_left,
                        "n_right": model.n_right,
                        "rank": model.rank,
                        "link": str(model.link),
                        "predicts": model.predicts.title,
                        "dtype": str(model.right.dtype),
                        "left_bias": model.left_bias is not None,
                        "right_bias": model.right_bias is not None,
                        "objective": model.objective,
                    },
                    "group": {
                        "max_condition": evidence.max_condition,
                        "kinds": list(dict.fromkeys(e.kind for e in evidence.equivalents)),
                        "n_equivalents": len(evidence.equivalents),
                    },
                    "drift": self._drift_records(),
                    "movement": self._movement_records(),
                    **evidence.limits.to_dict(),
                    "position": None if position is None else position.to_dict(),
                    "neighbours": {"gauge": evidence.shown_in, "examples": [e.to_dict() for e in evidence.examples]},
                    "findings": [finding.to_dict() for finding in self.findings],
                    "verdict": self.verdict,
                }
            )
        )


def audit(
    model: FactorModel,
    *,
    groups: Sequence[str | GaugeGroup] | None = None,
    roles: Sequence[Role] | None = None,
    n_gauges: int = 8,
    n_pairs: int = 100_000,
    n_neighbours: int = 10,
    max_condition: float = 2.0,
    show: Sequence[str] = (),
    objective: str | None = None,
    source: str | None = None,
    rng: int = 0,
) -> Audit:
    """Audit the cosines of a model: how far do they move while every prediction stays the same?

    Parameters
    ----------
    model : FactorModel
        One side or both.
    groups : sequence of str or GaugeGroup, optional
        Families of equivalent models ("canonical", "diagonal", "linear", "orthogonal", "translation") or groups
        of your own; all that keep the predictions by default.
    roles : sequence of {"left", "right", "cross"}, optional
        Which cosines; all that the model has by default.
    n_gauges : int
        Random draws from each group.
    n_pairs : int
        Pairs to sample where there are too many to visit all.
    n_neighbours : int
        N of the neighbour lists.
    max_condition : float
        Budget of the random linear gauges: largest stretch over smallest.
    show : sequence of str
        Ids or titles of right rows whose neighbours to show; a few drawn ones by default.
    objective : str, optional
        How the model was trained, where it does not say so itself (see `embaudit.objectives`).
    source : str, optional
        Where the model came from, for the report.
    rng : int
        Seed; the same seed gives the same numbers.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        For parameters outside their sets.
    """
    if objective is not None:
        model = model.replace(objective=training_objective(objective).name)
    elif model.objective is not None:
        training_objective(model.objective)
    evidence = gather(
        model,
        groups=() if groups is None else groups,
        roles=roles,
        n_gauges=n_gauges,
        n_pairs=n_pairs,
        n_neighbours=n_neighbours,
        max_condition=max_condition,
        show=show,
        rng=rng,
    )
    return Audit(evidence, source)
