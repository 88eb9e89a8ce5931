"""Neighbour lists of two models: changed nearest rows, and lists of a few entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Indices
from embaudit.core.plain import plain_dict
from embaudit.core.tolerances import TIE
from embaudit.errors import Option, Sentence, must_be
from embaudit.linalg.intervals import wilson_interval
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.movements.twins import twins

N_LISTED = 5
"""Number of neighbours of one entity that are written."""


@dataclass(frozen=True)
class NearestChanged:
    """Rows that get another nearest row; ties count as kept."""

    share: float
    """Share of the rows that were compared."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself for all rows."""
    ci_high: float
    """Upper end."""
    n_rows: int
    """Number of rows that were compared."""

    @property
    def is_of_all(self) -> bool:
        """True if all rows were compared, so that the share needs no interval."""
        return self.ci_low == self.ci_high

    @classmethod
    def from_lists(
        cls,
        before: NeighbourLists,
        after: NeighbourLists,
        *,
        exact: bool,
        tie: float = TIE,
    ) -> Self:
        """Compare the nearest rows of the same rows in two models.

        Cosines that differ by at most `tie` count as equal.

        Examples
        --------
        >>> import numpy as np
        >>> from embaudit.linalg.nearest import neighbours
        >>> x = np.array([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]])
        >>> before, after = neighbours(x, 1), neighbours(x - x.mean(axis=0), 1)
        >>> NearestChanged.from_lists(before, after, exact=True).share
        1.0
        """
        is_kept = before.first(1).kept_in(after.first(1), tie=tie)
        share = float((~is_kept).mean())
        n_rows = len(before.rows)
        if exact:
            return cls(share, share, share, n_rows)
        low, high = wilson_interval(share, n_rows)
        return cls(share, low, high, n_rows)


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
    """Flags of the entries of `before` that stay in the second model.

    Rows are compared, as in `NeighbourLists`, and not names.
    """
    stayed: tuple[bool, ...]
    """Flags of `after` that were in the list of the first model; the others are new."""
    left_out: int = 0
    """Number of twins of the entity and of listed rows, which are not listed."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
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
    """Find rows by id, by title or by the beginning of a title.

    An exact match comes first, then a match in any case of letters.

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
    lower_names = np.char.lower(names)
    rows = [_find_row(texts, names, lower_names, entity, remedy) for entity in wanted]
    return np.array(rows, dtype=np.intp)


def _without_titles(model: FactorModel, role: SideName) -> str | Sentence:
    """Say how to add titles if the model has none."""
    if role == "left" or model.right_names is not None:
        return ""
    if model.title(role) == "label":
        option = Option("labels", "labels.txt")
    else:
        option = Option("items", "movies.csv")
    return Sentence("no titles: add {}", option)


def _find_row(
    texts: list[Any], names: Any, lower_names: Any, entity: str, remedy: str | Sentence
) -> int:
    """Find the row of an id or a title, or of the beginning of a title.

    Parameters
    ----------
    texts : list of arrays of str, shape (n,)
        Ids, if there are any, and titles; one of them must equal the entity.
    names, lower_names : array of str, shape (n,)
        Titles, and titles in small letters.
    entity : str
        What the user wrote.
    remedy : str or Sentence
        Advice if there is no such row.
    """
    if not isinstance(entity, str):
        raise must_be("show", "a list of ids or titles as text", repr(entity))
    # From strict to lenient. The first search with a hit decides, so an exact title is
    # never ambiguous with a longer one.
    searches = [np.flatnonzero(text == entity) for text in texts]
    searches += [
        np.flatnonzero(lower_names == entity.lower()),
        np.flatnonzero(np.char.startswith(lower_names, entity.lower())),
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
    """Compare the `n` nearest rows of a few entities in two models, without twins.

    The first `N_LISTED` of them are listed.

    Examples
    --------
    >>> rows = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> model = FactorModel.from_vectors(rows, ids=["a", "b", "c"])
    >>> neighbourhoods(model, model.right, rows=np.array([0]), n=1)[0].before
    (('b', 0.995...),)
    """
    first = twins(before, role=role).first
    lists_before = neighbours(before.factors(role), n, rows=rows, first=first)
    lists_after = neighbours(after, n, rows=rows, first=first)
    return named_neighbourhoods(
        before.names(role), lists_before, lists_after, first=first, most=N_LISTED
    )


def named_neighbourhoods(
    names: NDArray[Any],
    before: NeighbourLists,
    after: NeighbourLists,
    *,
    first: Indices,
    tie: float = TIE,
    most: int | None = None,
) -> tuple[Neighbourhood, ...]:
    """Write the lists of the same rows in two models with the names of the rows.

    Cosines that differ by at most `tie` count as equal. The first `most` neighbours are
    written, by default all; whether a neighbour stays is decided by the whole lists.
    """
    stay = before.kept_in(after, tie=tie)
    stayed = after.kept_in(before, tie=tie)
    n_copies = np.bincount(first, minlength=len(first)) - 1
    titles = names.astype(str)
    result = []
    for place, row in enumerate(before.rows):
        # Entries are shown side by side, so both lists are cut to the shorter one.
        n_before = np.count_nonzero(before.indices[place, :most] >= 0)
        n_after = np.count_nonzero(after.indices[place, :most] >= 0)
        n = int(min(n_before, n_after))
        listed = before.indices[place, :n], after.indices[place, :n]
        # Each group of copies counts once, the group of the row included.
        groups = np.unique(np.concatenate([[first[row]], *listed]))
        result.append(
            Neighbourhood(
                name=str(titles[row]),
                before=_named(titles, before, place, n),
                after=_named(titles, after, place, n),
                stay=tuple(stay[place, :n].tolist()),
                stayed=tuple(stayed[place, :n].tolist()),
                left_out=int(n_copies[groups].sum()),
            )
        )
    return tuple(result)


def _named(
    titles: NDArray[Any], lists: NeighbourLists, place: int, n: int
) -> tuple[tuple[str, float], ...]:
    """Return the names and cosines of the first `n` entries of a list."""
    names = titles[lists.indices[place, :n]].tolist()
    return tuple(zip(names, lists.cosines[place, :n].tolist(), strict=True))
