"""Types of the keywords of `embaudit.audit`, for type checkers."""

from __future__ import annotations

from collections.abc import Sequence

from embaudit.gauges import GaugeGroup
from embaudit.io.options import LoadKeywords
from embaudit.io.tables.parts import Parts
from embaudit.model import Role


class AuditKeywords(LoadKeywords, total=False):
    """Keywords of `embaudit.audit` for type checkers: options, and those of `load`."""

    quick: bool
    n_gauges: int | None
    n_pairs: int | None
    n_lists: int | None
    n_starts: int | None
    n_steps: int | None
    roles: Sequence[Role | str] | None
    n_neighbours: int | None
    max_condition: float
    show: Sequence[str]
    groups: Sequence[str | GaugeGroup]
    role: Role | str | None
    soft_cap: float | None
    normalised: bool
    hull: bool
    by: str | Sequence[str | None] | Parts | None
