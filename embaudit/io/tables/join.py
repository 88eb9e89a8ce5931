"""Texts of a table beside the rows of a model: joined by id, or by row where that is asked for, and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.files import AnyPath, as_path
from embaudit.io.tables.columns import open_table, read_columns, texts
from embaudit.io.tables.titles import ID_NAMES, TITLE_NAMES, listed, read_titles, texts_for
from embaudit.model import FactorModel
from embaudit.model.ids import require_lengths, require_most, require_one_kind, without_ids
from embaudit.model.side import Side
from embaudit.model.sizes import require_model


@dataclass(frozen=True)
class Joined:
    """The text of every row of a side, and how it was found."""

    texts: tuple[str | None, ...]
    """None where a row has none."""
    title: str
    """Name of a row, such as item."""
    by_row: bool
    """True if rows were joined by their order, otherwise by ids."""

    @property
    def n_matched(self) -> int:
        """Rows that have a text."""
        return sum(text is not None for text in self.texts)

    def names(self, ids: NDArray[Any]) -> NDArray[np.str_]:
        """Call every row by its text, one without by its id.

        Examples
        --------
        >>> Joined(("Heat", None), "item", by_row=False).names(np.array([7, 9]))
        array(['Heat', '9'], dtype='<U4')
        """
        return np.array([str(each) if text is None else text for each, text in zip(ids, self.texts, strict=True)])

    def explain(self) -> str:
        """Report how many rows matched, and by what.

        Examples
        --------
        >>> Joined(("Heat", None, ""), "item", by_row=False).explain()
        '2 of 3 items matched by id.'
        """
        return f"{self.n_matched:,} of {len(self.texts):,} {self.title}s matched by {'row' if self.by_row else 'id'}."


def join_texts(
    side: Side,
    path: AnyPath,
    *,
    title: str | int | None = None,
    id: str | int | None = None,  # noqa: A002
    by_row: bool = False,
    partial: bool = False,
) -> Joined:
    r"""Find the text of every row of a side in a table.

    Parameters
    ----------
    side : Side
        Whose rows.
    path : path
        The table, as `read_titles` takes it.
    title, id : str or int, optional
        Its columns of texts and of ids; those with customary names by default.
    by_row : bool
        Whether the table has the rows of the side, in their order; its ids are not looked at.
    partial : bool
        Whether less than half of the rows may be found.

    Raises
    ------
    InputError
        If the side has no ids, they are of another kind than the table's, or less than half of them are found there;
        by row if the table has another length.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text("id,title\nb,Heat\na,Ran\n")
    ...     join_texts(Side([[1.0], [2.0]], "item", ids=["a", "b"]), file).texts
    ...     join_texts(Side([[1.0], [2.0]], "item"), file, by_row=True).texts
    ('Ran', 'Heat')
    ('Heat', 'Ran')
    """
    if not isinstance(side, Side):
        raise must_be("side", "a Side", repr(side), "such as model.right_side")
    where, what = str(as_path(path, "the input")), f"{side.title}s"
    if by_row:
        titles = _in_order(path, title)
        require_lengths(len(side), len(titles), ("the model", where), what=what)
        return Joined(tuple(titles.tolist()), side.title, by_row=True)
    if side.ids is None:
        raise without_ids(side.title, "the model", where)
    return join_ids(side.ids, path, called=side.title, source="the model", title=title, id=id, partial=partial)


def join_ids(
    wanted: NDArray[Any],
    path: AnyPath,
    *,
    called: str = "item",
    source: str = "the interactions",
    title: str | int | None = None,
    id: str | int | None = None,  # noqa: A002
    partial: bool = False,
) -> Joined:
    r"""Find the text of every id in a table; parameters and errors are those of `join_texts`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text("id,title\nb,Heat\na,Ran\n")
    ...     join_ids(np.array(["a", "c"]), file).explain()
    '1 of 2 items matched by id.'
    """
    where = str(as_path(path, "the input"))
    wanted = listed(wanted, "ids")
    ids, titles = read_titles(path, id=id, title=title)
    require_one_kind(wanted, ids, (source, where), what=f"{called} ids")
    joined = Joined(tuple(texts_for(wanted, ids, titles)), called, by_row=False)
    require_most(joined.n_matched, len(wanted), f"{called}s", where, partial=partial)
    return joined


def _in_order(path: AnyPath, title: str | int | None) -> NDArray[np.str_]:
    table = open_table(path, customary=ID_NAMES | TITLE_NAMES)
    position = table.column("title", title, TITLE_NAMES, 1)
    return texts(table, read_columns(table, {position: "text"})[position])


def with_titles(
    model: FactorModel,
    path: AnyPath,
    *,
    id: str | int | None = None,  # noqa: A002
    title: str | int | None = None,
    by_row: bool = False,
    partial: bool = False,
) -> tuple[FactorModel, Joined]:
    """Name the right rows of a model after a table; a row without a title is called by its id.

    Returns
    -------
    model : FactorModel
    joined : Joined
        How many rows matched.

    Raises
    ------
    InputError
        As `join_texts` does.
    """
    require_model(model)
    side = model.right_side
    joined = join_texts(side, path, title=title, id=id, by_row=by_row, partial=partial)
    return model.replace(right_names=joined.names(np.arange(len(side)) if side.ids is None else side.ids)), joined
