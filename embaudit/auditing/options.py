"""Options of an audit: sample sizes, the cosines and models it looks at, and what is declared of the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from embaudit.core.checked import MOST_COUNT, as_count, is_number
from embaudit.core.plain import plain, plain_dict
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.gauges import GaugeGroup
from embaudit.model import Comparison, Role
from embaudit.movements.movement import QUERIES

MAX_SIZES = {
    "n_gauges": 10_000,
    "n_pairs": MOST_COUNT,
    "n_lists": 100_000,
    "n_starts": 1_000,
    "n_steps": 10_000,
}
"""Largest sample sizes: more would take long, or all memory, and tell nothing more."""


@dataclass(frozen=True)
class Effort:
    """Numbers of what is drawn and tried; fewer cost less, and every figure says of how many it is.

    Examples
    --------
    >>> print(Effort())
    8 models a group, 100,000 pairs, 400 lists, attacks of 3 × 20 steps
    """

    n_gauges: int = 8
    """Random draws from each group."""
    n_pairs: int = 100_000
    """Pairs drawn without replacement; all where there are no more."""
    n_lists: int = QUERIES
    """Rows of a side whose neighbour lists are compared, at most."""
    n_starts: int = 3
    """Starting points of each attack; 0 for no attacks."""
    n_steps: int = 20
    """Gradient steps from each."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            least = 0 if name in ("n_starts", "n_steps") else 1
            as_count(value, name, least=least, most=MAX_SIZES[name])

    def __str__(self) -> str:
        samples = (
            counted(self.n_gauges, "model"),
            counted(self.n_pairs, "pair"),
            counted(self.n_lists, "list"),
        )
        if self.n_starts:
            attacks = f"attacks of {self.n_starts:,} × {counted(self.n_steps, 'step')}"
        else:
            attacks = "no attacks"
        return "{} a group, {}, {}, {}".format(*samples, attacks)


EFFORT = Effort()
"""Sample sizes of an audit."""
QUICK = Effort(2, 20_000, 100, 1, 5)
"""Sample sizes of a quick audit: a share near 0.43 has a 95 % interval of ± 0.7 points from 20,000 pairs, and a mean
overlap of 100 lists of 10 one of some ± 6 points; two draws of each group show whether cosines move."""


def effort_of(*, quick: bool, **sizes: int | None) -> Effort:
    """Return the sample sizes of an audit; those that are given go before the usual ones.

    Examples
    --------
    >>> effort_of(quick=True, n_gauges=None, n_pairs=500)
    Effort(n_gauges=2, n_pairs=500, n_lists=100, n_starts=1, n_steps=5)
    """
    usual = asdict(QUICK if quick else EFFORT)
    return Effort(
        **usual | {name: size for name, size in sizes.items() if size is not None}
    )


@dataclass(frozen=True)
class Options:
    """Options that the numbers of an audit depend on, besides the seed; see `audit`.

    Examples
    --------
    >>> Options(groups=("linear",)).to_dict()["groups"]
    ['linear']
    """

    quick: bool = False
    """True if fewer samples than usual were requested."""
    effort: Effort = EFFORT
    """Sample sizes."""
    roles: tuple[Role, ...] | None = None
    """Kinds of pairs to measure; None for all that the model has."""
    n_neighbours: int | None = None
    """Length of the neighbour lists; None for a third of the other rows, 10 at most."""
    max_condition: float = 2.0
    """Budget of the random linear gauges: largest stretch over smallest."""
    show: tuple[str, ...] = ()
    """Ids or titles of rows whose neighbours to show; without any, a few are drawn."""
    groups: tuple[str | GaugeGroup, ...] = ()
    """Families of equivalent models, or groups of one's own; without any, all that keep the predictions."""
    role: Role | None = None
    """Kind of pairs that the answer is about; None where nobody asked."""
    objective: str | None = None
    """Training that the caller declared; None where nobody did."""
    compared: Comparison | None = None
    """Comparison of the rows with each other that the caller declared; None where nobody did."""
    soft_cap: float | None = None
    """Cap of the logits that the caller declared."""
    normalised: bool = False
    """True if the caller declared label rows of length 1."""
    hull: bool = False
    """True if the caller asked which labels can be the most probable one."""
    by: str | None = None
    """Column that names the parts of one table, or "names" if the caller named them; None where nobody did."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "quick": self.quick,
                **plain(self.effort),
                "roles": self.roles,
                "n_neighbours": self.n_asked,
                "max_condition": self.max_condition,
                "show": self.show,
                "groups": self.names_of_groups,
                "role": self.role,
                "objective": self.objective,
                "compared": self.compared,
                "soft_cap": self.soft_cap,
                "normalised": self.normalised,
                "hull": self.hull,
                "by": self.by,
            }
        )

    def __post_init__(self) -> None:
        if self.n_neighbours is not None:
            as_count(self.n_neighbours, "n_neighbours")
        if not is_number(self.max_condition):
            raise must_be("max_condition", "a finite number >= 1", self.max_condition)
        for name in ("quick", "normalised", "hull"):
            if not isinstance(getattr(self, name), bool):
                raise must_be(name, "True or False", repr(getattr(self, name)))

    @property
    def n_asked(self) -> int:
        """Length of the neighbour lists that was asked for; 0 for a third of the other rows of a side, 10 at most."""
        return self.n_neighbours or 0

    @property
    def names_of_groups(self) -> list[str]:
        """Families of equivalent models; without any, all that keep the predictions."""
        # A group of one's own goes by its words: nobody can make it again from them.
        return [
            group if isinstance(group, str) else repr(group) for group in self.groups
        ]
