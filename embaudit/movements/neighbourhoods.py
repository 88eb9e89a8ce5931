"""Neighbour lists of two models: how many rows get another nearest one, and the lists of a few entities by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Indices
from embaudit.core.plain import plain_dict
from embaudit.core.ties import TIE
from embaudit.errors import Option, Sentence, must_be
from embaudit.linalg.intervals import wilson_interval
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.movements.twins import twins

LISTED = 5
"""Neighbours listed of one entity."""


@dataclass(frozen=True)
class NearestChanged:
    """Rows that get another nearest one; ties count as kept."""

    share: float
    """Share of the rows asked."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself where all rows were asked."""
    ci_high: float
    """Upper end."""
    n_rows: int
    """Rows asked."""

    @property
    def is_of_all(self) -> bool:
        """True if the share needs no interval, since all rows were compared."""
        return self.ci_low == self.ci_high

    @classmethod
    def of(
        cls,
        before: NeighbourLists,
        after: NeighbourLists,
        *,
        exact: bool,
        tie: float = TIE,
    ) -> Self:
        """Compare the first of each list with the first of the same row elsewhere, up to a `tie` of cosines.

        Examples
        --------
        >>> import numpy as np
        >>> from embaudit.linalg.nearest import neighbours
        >>> x = np.array([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]])
        >>> NearestChanged.of(neighbours(x, 1), neighbours(x - x.mean(axis=0), 1), exact=True).share
        1.0
        """
        share = float((~before.first(1).kept_in(after.first(1), tie=tie)).mean())
        low, high = (
            (share, share) if exact else wilson_interval(share, len(before.rows))
        )
        return cls(share, low, high, len(before.rows))


@dataclass(frozen=True)
class Neighbourhood:
    """One entity's nearest rows in one model and in another."""

    name: str
    """Name of the entity."""
    before: tuple[tuple[str, float], ...]
    """(name, cosine) of its nearest in the first model, best first."""
    after: tuple[tuple[str, float], ...]
    """(name, cosine) of its nearest in the second model, best first."""
    stay: tuple[bool, ...]
    """Flags of `before` that stay in the second model, by row as in `NeighbourLists`, whatever their names."""
    stayed: tuple[bool, ...]
    """Flags of `after` that were in the list of the first model; the others are new."""
    left_out: int = 0
    """Twins, of it or of those listed, that would have filled lines with copies."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "name": self.name,
                "before": self.before,
                "after": self.after,
                "left_out": self.left_out,
            }
        )

    @property
    def kept(self) -> int:
        """Number of former neighbours that stay."""
        return sum(self.stay)


def find_rows(model: FactorModel, role: SideName, wanted: Sequence[str]) -> Indices:
    """Find rows by id, by title or by the beginning of a title; capitals count only where they have to.

    Raises
    ------
    InputError
        If nothing, or more than one title, fits.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[1.0], [2.0], [3.0]], ids=["ab", "e", "E"])
    >>> find_rows(model, "right", ["E", "AB", "a"]).tolist()
    [2, 0, 0]
    """
    ids = model.side(role).ids
    names = model.names(role).astype(str)
    texts = [names] if ids is None else [ids.astype(str), names]
    remedy = _without_titles(model, role)
    return np.array(
        [
            _find_row(texts, names, np.char.lower(names), entity, remedy)
            for entity in wanted
        ],
        dtype=np.intp,
    )


def _without_titles(model: FactorModel, role: SideName) -> str | Sentence:
    """Write how to add titles, where there are none and a file may hold them."""
    if role == "left" or model.right_names is not None:
        return ""
    if model.title(role) == "label":
        option = Option("labels", "labels.txt")
    else:
        option = Option("items", "movies.csv")
    return Sentence("no titles: add {}", option)


def _find_row(
    texts: list[Any], names: Any, low: Any, entity: str, remedy: str | Sentence
) -> int:
    """Find the row of an id or a title: exactly, in any case of letters, or by its beginning."""
    if not isinstance(entity, str):
        raise must_be("show", "a list of ids or titles as text", repr(entity))
    # From strict to lenient; the first search that hits decides, so that an exact title is never ambiguous with a
    # longer one.
    searches = [np.flatnonzero(text == entity) for text in texts]
    searches += [
        np.flatnonzero(low == entity.lower()),
        np.flatnonzero(np.char.startswith(low, entity.lower())),
    ]
    for hits in searches:
        if len(hits) > 1:
            examples = ", ".join(repr(str(names[hit])) for hit in hits[:3])
            remedy = "write more of it"
            # The first of two texts are ids.
            if len(texts) > 1:
                remedy = "name its id, or write more of it"
            got = f"{entity!r}, which fits {len(hits)} ({examples})"
            raise must_be("show", "one id or title", got, remedy)
        if len(hits):
            return int(hits[0])
    raise must_be("show", "an id or title in the model", repr(entity), remedy)


def neighbourhoods(
    before: FactorModel,
    after: Rows,
    *,
    role: SideName = "right",
    rows: Indices,
    n: int = 5,
) -> tuple[Neighbourhood, ...]:
    """Compare the `n` nearest of a few entities with those among the rows of an equivalent model, without twins.

    The first `LISTED` of them are listed.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], ids=["a", "b", "c"])
    >>> neighbourhoods(model, model.right, rows=np.array([0]), n=1)[0].before
    (('b', 0.995...),)
    """
    first = twins(before, role=role).first
    lists = (
        neighbours(x, n, rows=rows, first=first) for x in (before.factors(role), after)
    )
    return by_name(before.names(role), *lists, first=first, most=LISTED)


def by_name(
    names: NDArray[Any],
    before: NeighbourLists,
    after: NeighbourLists,
    *,
    first: Indices,
    tie: float = TIE,
    most: int | None = None,
) -> tuple[Neighbourhood, ...]:
    """Write the lists of the same rows in two models with the names of the rows, and count their twins.

    Cosines closer than `tie` are one. The first `most` rows are written, all by default; the whole lists tell whether
    one stays.
    """
    copies = np.bincount(first, minlength=len(first)) - 1
    texts, pair = names.astype(str), (before, after)
    marks = zip(
        before.kept_in(after, tie=tie), after.kept_in(before, tie=tie), strict=True
    )

    def written(at: int, stay: Flags, stayed: Flags) -> Neighbourhood:
        """Return the neighbours of one row in both models under their names, and the copies left out."""
        # Both lists are cut to the shorter one: entries are shown side by side.
        n = min(int(np.count_nonzero(lists.indices[at, :most] >= 0)) for lists in pair)
        near, other = (
            tuple(
                zip(
                    texts[lists.indices[at, :n]].tolist(),
                    lists.cosines[at, :n].tolist(),
                    strict=True,
                )
            )
            for lists in pair
        )
        # Groups of copies that were met in either list, the row's own included; each counts once.
        met = [
            first[before.rows[at]],
            *(row for lists in pair for row in lists.indices[at, :n].tolist()),
        ]
        return Neighbourhood(
            name=str(texts[before.rows[at]]),
            before=near,
            after=other,
            stay=tuple(stay[:n].tolist()),
            stayed=tuple(stayed[:n].tolist()),
            left_out=int(copies[np.unique(met)].sum()),
        )

    return tuple(written(at, *both) for at, both in enumerate(marks))
