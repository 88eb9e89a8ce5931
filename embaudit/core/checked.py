"""Validation of what callers give: numbers, row numbers, vectors and factor matrices, and the types they become.

Factors keep the precision they are stored in (float32 or float64) and may lie on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.parallel import row_blocks
from embaudit.core.words import nearest_to
from embaudit.errors import InputError, KeywordError, must_be

P = ParamSpec("P")
T = TypeVar("T")

Matrix: TypeAlias = NDArray[np.floating[Any]]
"""Two-dimensional, rows are entities, columns are latent dimensions."""
Vector: TypeAlias = NDArray[np.floating[Any]]
"""One-dimensional, one number an entity or a latent dimension."""
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.integer[Any]]
RNG: TypeAlias = np.random.Generator | int | None
"""Source of random numbers: a generator that moves on, a seed, or None for other numbers each time."""

EPS = float(np.finfo(np.float64).eps)
LARGEST = float(np.finfo(np.float64).max)
MOST_LETTERS, PADDING = 2**26, 32
"""Texts take as much room as they need up to the first, of 4 bytes each, and so many times as much beyond."""
MOST_COUNT = 100_000_000
"""Whoever asks for more draws, pairs or entities than this has mistyped."""


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: the caller's own array stays writeable, ours cannot be changed by mistake."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def is_number(value: object) -> bool:
    """Check for one real number that float64 can hold; a truth value is none.

    Examples
    --------
    >>> is_number(2.5), is_number(np.float32(1)), is_number("2"), is_number(float("nan"))
    (True, True, False, False)
    """
    if isinstance(value, bool) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        return False
    # Integers beyond 64 bits are objects to numpy.
    return abs(value) <= LARGEST if isinstance(value, int) else bool(np.isfinite(value))


def is_integer(value: object) -> TypeGuard[int]:
    """Check for an integer; a truth value is none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def named_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Refuse a keyword that a function does not have in one sentence, with the nearest that it has.

    Examples
    --------
    >>> named_keywords(lambda *, top=1: top)(to=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.KeywordError: a keyword of <lambda> must be one of top; got 'to'; the nearest one is top.
    """
    return keywords_besides(())(function)


def keywords_besides(
    further: Iterable[str],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator like `named_keywords` for a function that passes some keywords on.

    Parameters
    ----------
    further : iterable of str
        Names of the keywords that the function takes as `**options`.

    Examples
    --------
    >>> keywords_besides(["kind"])(lambda *, top=1, **options: options)(kind="head")
    {'kind': 'head'}
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        own = [
            name
            for name, parameter in signature(function).parameters.items()
            if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_KEYWORD)
        ]
        keywords = list(dict.fromkeys([*own, *further]))

        @wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name not in keywords:
                    raise unknown_keyword(function.__name__, name, keywords)
            return function(*args, **options)

        return checked

    return decorated


def unknown_keyword(function: str, name: str, keywords: Iterable[str]) -> KeywordError:
    """Build the error of a keyword that a function does not have."""
    allowed = [*keywords]
    error = must_be(
        f"a keyword of {function}",
        f"one of {', '.join(allowed)}",
        repr(name),
        nearest_to(name, allowed),
    )
    return KeywordError(error.sentence)


def as_count(
    value: object, name: str, *, least: int = 1, most: int | None = None
) -> int:
    """Check a number of things; neither a truth value nor a float is one.

    Examples
    --------
    >>> as_count(np.int64(3), "n_pairs")
    3
    >>> as_count(2.0, "n_pairs")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: n_pairs must be an integer >= 1; got 2.0.
    """
    if not is_integer(value) or value < least or (most is not None and value > most):
        allowed = (
            f"an integer >= {least}"
            if most is None
            else f"an integer from {least} to {most}"
        )
        raise must_be(name, allowed, repr(value))
    return int(value)


def require_one_of(
    value: object, name: str, choices: Collection[str], remedy: str = ""
) -> None:
    """Refuse what is none of some texts; an array is none, though it may equal one.

    Examples
    --------
    >>> require_one_of(["cosine"], "compared", ("cosine", "dot"))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: compared must be one of cosine, dot; got ['cosine'].
    """
    if not isinstance(value, str) or value not in choices:
        raise must_be(name, "one of " + ", ".join(choices), repr(value), remedy)


def as_list(value: object, name: str, example: str) -> list[Any]:
    """Check several things; one text is not several.

    Examples
    --------
    >>> as_list(("left",), "roles", '["left"]')
    ['left']
    >>> as_list("left", "roles", '["left"]')
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: roles must be a list, such as ["left"]; got 'left'.
    """
    if (
        isinstance(value, (str, bytes, Mapping))
        or not isinstance(value, Iterable)
        or getattr(value, "ndim", 1) == 0
    ):
        raise must_be(name, f"a list, such as {example}", repr(value))
    return list(value)


def detached(tensor: Any) -> NDArray[Any]:
    """Return the numbers of a tensor, wherever it lies and whether or not it is still trained; copy no others.

    Examples
    --------
    >>> detached([1.0, 2.0])
    array([1., 2.])
    >>> from types import SimpleNamespace
    >>> detached(SimpleNamespace(detach=None, is_meta=True))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a tensor must be in memory; got one on the meta device, without numbers; load its ...
    """
    if not hasattr(tensor, "detach"):
        return np.asanyarray(tensor)
    if getattr(tensor, "is_meta", False):
        raise must_be(
            "a tensor",
            "in memory",
            "one on the meta device, without numbers",
            "load its weights first",
        )
    there = tensor.detach().cpu()
    return np.asarray(
        (there.float() if "bfloat16" in str(there.dtype) else there).numpy()
    )


def as_whole_array(array: ArrayLike, name: str) -> NDArray[Any]:
    """Make an array without copying one; refuse rows of different lengths and hidden entries."""
    try:
        values = detached(array)
    except InputError:
        raise
    except ValueError as error:
        raise must_be(
            name, "a rectangular array", "rows that differ in length"
        ) from error
    if np.ma.is_masked(values):
        raise must_be(name, "finite", "masked entries", "fill them or drop their rows")
    return values


def as_rows(rows: ArrayLike, n_rows: int, name: str = "rows") -> NDArray[np.intp]:
    """Check a vector of row numbers from 0 to `n_rows - 1`; a mask or a fraction is refused, not cast.

    Examples
    --------
    >>> as_rows([True, False], 2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rows must be a vector of integers; got bool of shape (2,); np.flatnonzero turns ...
    """
    numbers = as_whole_array(rows, name)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        remedy = (
            "np.flatnonzero turns a mask into row numbers"
            if numbers.dtype == bool
            else ""
        )
        raise must_be(
            name,
            "a vector of integers",
            f"{numbers.dtype} of shape {numbers.shape}",
            remedy,
        )
    outside = (numbers < 0) | (numbers >= n_rows)
    if outside.any():
        raise must_be(name, f"row numbers from 0 to {n_rows - 1}", numbers[outside][0])
    return numbers.astype(np.intp)


def storage_of(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that numbers are held in: float32 and float64 as they are, what is narrower widened.

    Examples
    --------
    >>> [str(storage_of(np.dtype(kind))) for kind in ("f4", "f8", "f2", "i4")]
    ['float32', 'float64', 'float32', 'float64']
    """
    if kind in (np.float32, np.float64):
        return kind
    return np.dtype(np.float32 if kind == np.float16 else np.float64)


def _storage(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Hold numbers as `storage_of` says; refuse what is none."""
    if array.dtype.kind not in "fiu":
        raise must_be(
            name,
            "an array of real numbers",
            f"dtype {array.dtype}",
            "convert it to float32 or float64",
        )
    return np.asarray(array, storage_of(array.dtype))


def _require_finite(array: Matrix, name: str) -> None:
    for rows in row_blocks(*array.shape):
        finite = np.isfinite(array[rows])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = array[rows.start + row, column]
            where = f"{value} at row {rows.start + row}, column {column}"
            raise must_be(name, "finite", where, "repair or drop that row")


def as_numbers(values: ArrayLike, name: str) -> Floats:
    """Make a float64 array; refuse words, holes and rows of different lengths.

    Examples
    --------
    >>> as_numbers([[1.0, 2.0], [3.0]], "a")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a must be a rectangular array; got rows that differ in length.
    >>> as_numbers(np.ma.array([1.0, 2.0], mask=[False, True]), "a")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a must be finite; got masked entries; fill them or drop their rows.
    """
    numbers = as_whole_array(values, name)
    if numbers.size and numbers.dtype.kind not in "fiu":
        raise must_be(
            name,
            "an array of real numbers",
            repr(values) if numbers.ndim == 0 else f"dtype {numbers.dtype}",
        )
    return numbers.astype(np.float64)


def as_texts(texts: Sequence[str], name: str) -> NDArray[np.str_]:
    r"""Make an array of texts, which gives each the room of the longest; refuse one that is far longer than others.

    Examples
    --------
    >>> as_texts(["a", "bc"], "titles"), as_texts(["a\0", "a"], "tokens").tolist()
    (array(['a', 'bc'], dtype='<U2'), ['a\\x00', 'a'])
    >>> as_texts(["a" * 1_000_000, *["b"] * 1000], "titles")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: titles must be of like length; got one of 1,000,000 letters among 1,001; cut it.
    """
    longest = max(map(len, texts), default=0)
    room = longest * len(texts)
    if room > MOST_LETTERS and room > PADDING * sum(map(len, texts)):
        raise must_be(
            name,
            "of like length",
            f"one of {longest:,} letters among {len(texts):,}",
            "cut it",
        )
    # NumPy drops zeros at the end of a text, and Arrow cuts an array of texts at any
    # zero, which would make one of two.
    return np.array([text.replace("\0", "\\x00") for text in texts], dtype=np.str_)


def with_seen_zeros(labels: Any) -> Any:
    r"""Write zeros in the texts of a list or of an array of objects as escapes.

    NumPy drops zeros at the end of a text, which would make one label of two.

    Examples
    --------
    >>> with_seen_zeros(["a\0", "a", 7])
    ['a\\x00', 'a', 7]
    """
    is_array = (
        isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == object
    )
    if not is_array and not isinstance(labels, (list, tuple)):
        return labels
    if not any(isinstance(label, str) and "\0" in label for label in labels):
        return labels
    escaped = [
        label.replace("\0", "\\x00") if isinstance(label, str) else label
        for label in labels
    ]
    return np.array(escaped, dtype=object) if is_array else escaped


def require_each(labels: Any, name: str) -> None:
    """Refuse labels one of which is missing: None and NaN as text would be names.

    Examples
    --------
    >>> require_each(["a", None], "ids")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ids must be there in every row; got None in row 1; drop that row.
    """
    # NumPy makes a text of NaN in a list of texts.
    values = np.asarray(
        labels, dtype=object if isinstance(labels, (list, tuple)) else None
    )
    for row, label in enumerate(values if values.dtype.kind in ("f", "O") else ()):
        if not isinstance(label, str) and str(label) in ("None", "nan", "NaT", "<NA>"):
            raise must_be(
                name, "there in every row", f"{label} in row {row}", "drop that row"
            )


def as_factors(array: ArrayLike, name: str) -> Matrix:
    """Check a factor matrix and return it read-only, in the precision it was stored in.

    Parameters
    ----------
    array : array_like of shape (n, k)
        Rows are entities. float32 and float64 are kept (a memory map stays on disk), float16 becomes
        float32, integers become float64.
    name : str
        What to call it in an error.

    Returns
    -------
    Matrix
        A read-only view or a converted copy; zero rows are allowed, they only have no cosine.

    Raises
    ------
    InputError
        If it is not two-dimensional, is empty, holds no real numbers or a non-finite entry.

    Examples
    --------
    >>> as_factors([[1, 2], [3, 4]], "item_factors").dtype
    dtype('float64')
    >>> as_factors([[1.0, float("nan")]], "item_factors")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: item_factors must be finite; got nan at row 0, column 1; repair or drop that row.
    """
    matrix = as_whole_array(array, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        got = f"shape {matrix.shape}" if matrix.ndim else f"one {type(array).__name__}"
        raise must_be(name, "a matrix with at least one row and one column", got)
    stored = _storage(matrix, name)
    _require_finite(stored, name)
    return frozen(stored)


def as_vector(array: ArrayLike, name: str, length: int) -> Vector:
    """Check a vector of `length` finite numbers and return it read-only in float64.

    Examples
    --------
    >>> as_vector([1, 2], "item_bias", 3)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: item_bias must be a vector of 3 numbers; got shape (2,).
    """
    vector = as_whole_array(array, name)
    if vector.shape != (length,):
        raise must_be(name, f"a vector of {length} numbers", f"shape {vector.shape}")
    stored = np.array(_storage(vector, name), dtype=np.float64)
    _require_finite(stored[:, None], name)
    return frozen(stored)


def as_generator(rng: RNG, name: str = "rng") -> np.random.Generator:
    """Make a generator of a seed, or pass one on, which then goes on from where it is.

    Examples
    --------
    >>> as_generator(-1)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rng must be a numpy Generator, an integer >= 0 or None; got -1.
    """
    whole = (
        isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0
    )
    if not whole and rng is not None and not isinstance(rng, np.random.Generator):
        raise must_be(name, "a numpy Generator, an integer >= 0 or None", repr(rng))
    return np.random.default_rng(rng)


def as_seed(rng: RNG) -> int:
    """Return a seed as it is, or draw one from a generator, so that it can be noted and given again.

    Examples
    --------
    >>> as_seed(7), as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))
    (7, True)
    """
    draw = as_generator(rng)
    return int(draw.integers(2**31)) if rng is None or rng is draw else int(rng)  # type: ignore[arg-type]
