"""Columns of a store next to the vectors: titles and biases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.formats.tables import BIAS_NAMES
from embaudit.io.options import Request
from embaudit.io.stores.addresses import Address
from embaudit.io.tables.delimited import plain_name
from embaudit.io.tables.titles import TITLE_NAMES


def title_column(names: Sequence[str]) -> str:
    """Return the name of the column of titles.

    It is `title`, or the only column with another customary name of titles. The name is
    empty if there is no such column, or more than one.

    Examples
    --------
    >>> title_column(["name", "title"]), title_column(["Movie_Title", "plot"])
    ('title', 'Movie_Title')
    >>> title_column(["name", "headline"])
    ''
    """
    if "title" in names:
        return "title"
    customary = [name for name in names if plain_name(name) in TITLE_NAMES]
    if len(customary) == 1:
        return customary[0]
    return ""


def require_no_bias(address: Address, columns: Iterable[str], request: Request) -> None:
    """Raise InputError if a column has the name of a bias and is not ignored.

    A caller who asks for vectors alone needs no bias.

    Examples
    --------
    >>> films = Address("chroma", "db/films")
    >>> require_no_bias(films, ["year", "bias"], Request())
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: every column of chroma:db/films that could matter must
    be ignored by name; got bias, which has the name of a bias; ignore it with
    ignore='bias'.
    >>> require_no_bias(films, ["bias"], Request(ignore=("bias",)))
    """
    if request.kind == "vectors":
        return
    for name in columns:
        if plain_name(name) in BIAS_NAMES and not request.ignores(name):
            raise must_be(
                Sentence("every column of {} that could matter", File(address)),
                "ignored by name",
                f"{name}, which has the name of a bias",
                Sentence("ignore it with {}", Option("ignore", name)),
            )
