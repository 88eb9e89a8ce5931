"""What double quotes mean in a delimited file: they enclose fields, or they are letters of a title."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import IO

from embaudit.errors import must_be

QUOTE = b'"'


def has_quotes(file: IO[bytes]) -> bool:
    """Whether a file holds a double quote anywhere."""
    return any(QUOTE in chunk for chunk in iter(lambda: file.read(2**20), b""))


def quotes_enclose(opened: Callable[[], IO[str]], delimiter: str, width: int, where: object) -> bool:
    r"""Tell whether quotes enclose fields (RFC 4180) or are letters, as in the title `"Heroes" and "Low"`.

    Parameters
    ----------
    opened : callable
        Opens the file from its beginning.
    delimiter : str
        What cuts a line.
    width : int
        Columns that every row has.
    where : object
        What to call the file.

    Raises
    ------
    InputError
        If a quote is out of place, and reading quotes as letters does not give rows of one width either.

    Examples
    --------
    >>> from io import StringIO
    >>> texts = ('1\t"a"\n', '1\t"a" b\n', '1\t"a\n')
    >>> [quotes_enclose(lambda: StringIO(text), "\t", 2, "a.tsv") for text in texts]
    [True, False, False]
    """
    wrong = _first_wrong(opened, delimiter, width, quoted=True)
    if wrong is None:
        return True
    if _first_wrong(opened, delimiter, width, quoted=False) is None:
        return False
    line, malformed = wrong
    if malformed:
        remedy = "double a quote inside a quoted field, or write the table as Parquet"
        raise must_be(f"the quotes of {where}", "closed before the next column", f"others in line {line}", remedy)
    # Quotes in order and a row of another width: that is for whoever reads the rows to say.
    return True


def _first_wrong(opened: Callable[[], IO[str]], delimiter: str, width: int, *, quoted: bool) -> tuple[int, bool] | None:
    """Return the line of the first row that a reading cuts wrongly, and whether a quote in it is out of place."""
    with opened() as text:
        rows = csv.reader(
            text, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=quoted
        )
        try:
            return next(((rows.line_num, False) for row in rows if row and len(row) != width), None)
        except csv.Error:
            return int(rows.line_num), True
