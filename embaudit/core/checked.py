"""Validation of arguments: numbers, row numbers, vectors and factor matrices.

Factors keep the precision they are stored in (float32 or float64) and can lie on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.parallel import row_blocks
from embaudit.core.words import nearest_to
from embaudit.errors import InputError, KeywordError, Sentence, must_be

P = ParamSpec("P")
T = TypeVar("T")

Matrix: TypeAlias = NDArray[np.floating[Any]]
"""Two-dimensional: rows are entities, columns are latent dimensions."""
Vector: TypeAlias = NDArray[np.floating[Any]]
"""One-dimensional: one number per entity or per latent dimension."""
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.integer[Any]]
RNG: TypeAlias = np.random.Generator | int | None
"""Source of random numbers: a generator, a seed, or None for new numbers each time."""

LARGEST = float(np.finfo(np.float64).max)
MOST_CHARACTERS = 2**26
"""Size of an array of texts, at 4 bytes per character, that is always accepted."""
MOST_PADDING = 32
"""Largest ratio of the size of a larger array to the length of its texts."""


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the array of the caller stays writeable."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def is_number(value: object) -> bool:
    """Return True for a finite real number of float64. Booleans are rejected.

    Examples
    --------
    >>> is_number(2.5), is_number(np.float32(1)), is_number("2"), is_number(np.nan)
    (True, True, False, False)
    """
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        # NumPy treats integers beyond 64 bits as objects.
        return abs(value) <= LARGEST
    if isinstance(value, float | np.integer | np.floating):
        return bool(np.isfinite(value))
    return False


def is_integer(value: object) -> TypeGuard[int]:
    """Return True for an integer. Booleans are rejected."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def named_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that an unknown keyword raises an error in one sentence.

    Examples
    --------
    >>> named_keywords(lambda *, top=1: top)(to=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.KeywordError: a keyword of <lambda> must be one of top; got 'to';
    the nearest one is top.
    """
    return keywords_besides(())(function)


def keywords_besides(
    further: Iterable[Parameter],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator like `named_keywords` for a function that passes keywords on.

    The signature of the decorated function, which `help` shows, names these keywords in
    place of `**keywords`.

    Parameters
    ----------
    further : iterable of Parameter
        The keywords that the function takes as `**keywords`.

    Examples
    --------
    >>> kind = Parameter("kind", Parameter.KEYWORD_ONLY, default="auto")
    >>> read = keywords_besides([kind])(lambda *, top=1, **keywords: keywords)
    >>> read(kind="head"), signature(read)
    ({'kind': 'head'}, <Signature (*, top=1, kind='auto')>)
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        original = signature(function)
        parameters = {
            name: parameter
            for name, parameter in original.parameters.items()
            if parameter.kind is not parameter.VAR_KEYWORD
        }
        for parameter in further:
            parameters.setdefault(parameter.name, parameter)
        keywords = [
            name
            for name, parameter in parameters.items()
            if parameter.kind is not parameter.POSITIONAL_ONLY
        ]

        @wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name not in keywords:
                    raise unknown_keyword(function.__name__, name, keywords)
            return function(*args, **options)

        whole = original.replace(parameters=list(parameters.values()))
        checked.__signature__ = whole  # type: ignore[attr-defined]
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
    """Return a count as an int. Booleans and floats are rejected.

    Examples
    --------
    >>> as_count(np.int64(3), "n_pairs")
    3
    >>> as_count(2.0, "n_pairs")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: n_pairs must be an integer >= 1; got 2.0.
    """
    if most is None:
        allowed = f"an integer >= {least}"
    else:
        allowed = f"an integer from {least} to {most}"
    if not is_integer(value) or value < least or (most is not None and value > most):
        raise must_be(name, allowed, repr(value))
    return int(value)


def require_one_of(
    value: object, name: str, choices: Collection[str], remedy: str = ""
) -> None:
    """Raise InputError unless `value` is one of `choices`. Arrays are rejected.

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
    """Return the items of a collection as a list. A text and a mapping are rejected.

    Examples
    --------
    >>> as_list(("left",), "roles", '["left"]')
    ['left']
    >>> as_list("left", "roles", '["left"]')
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: roles must be a list, such as ["left"]; got 'left'.
    """
    is_scalar_array = getattr(value, "ndim", 1) == 0
    if (
        not isinstance(value, Iterable)
        or isinstance(value, str | bytes | Mapping)
        or is_scalar_array
    ):
        raise must_be(name, f"a list, such as {example}", repr(value))
    return list(value)


def detached(tensor: Any) -> NDArray[Any]:
    """Return a tensor of torch as a NumPy array. Other arrays are not copied.

    The tensor can lie on any device and require gradients.

    Examples
    --------
    >>> detached([1.0, 2.0])
    array([1., 2.])
    >>> from types import SimpleNamespace
    >>> detached(SimpleNamespace(detach=None, is_meta=True))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a tensor must be in memory; got a tensor on the meta
    device, which holds no numbers; load its weights first.
    """
    if not hasattr(tensor, "detach"):
        return np.asanyarray(tensor)
    if getattr(tensor, "is_meta", False):
        raise must_be(
            "a tensor",
            "in memory",
            "a tensor on the meta device, which holds no numbers",
            "load its weights first",
        )
    on_cpu = tensor.detach().cpu()
    if "bfloat16" in str(on_cpu.dtype):
        on_cpu = on_cpu.float()  # NumPy has no bfloat16
    return np.asarray(on_cpu.numpy())


def as_whole_array(array: ArrayLike, name: str) -> NDArray[Any]:
    """Make an array. Rows of different lengths and masked entries are rejected."""
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
    """Check a vector of row numbers from 0 to `n_rows - 1`.

    Masks and floats are rejected rather than cast.

    Examples
    --------
    >>> as_rows([True, False], 2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rows must be a vector of integers; got bool of shape
    (2,); convert a mask to row numbers with np.flatnonzero.
    """
    numbers = as_whole_array(rows, name)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        remedy = ""
        if numbers.dtype == bool:
            remedy = "convert a mask to row numbers with np.flatnonzero"
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
    """Return the type in which numbers of a type are stored.

    float32 and float64 stay, float16 becomes float32, and integers become float64.

    Examples
    --------
    >>> [str(storage_of(np.dtype(kind))) for kind in ("f4", "f8", "f2", "i4")]
    ['float32', 'float64', 'float32', 'float64']
    """
    if kind in (np.float32, np.float64):
        return kind
    return np.dtype(np.float32 if kind == np.float16 else np.float64)


def _storage(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert numbers to the type of `storage_of`. Other types are rejected."""
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
    """Make a float64 array.

    Texts, masked entries and rows of different lengths are rejected.

    Examples
    --------
    >>> as_numbers([[1.0, 2.0], [3.0]], "a")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a must be a rectangular array; got rows that differ in
    length.
    >>> as_numbers(np.ma.array([1.0, 2.0], mask=[False, True]), "a")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a must be finite; got masked entries; fill them or drop
    their rows.
    """
    numbers = as_whole_array(values, name)
    if numbers.size and numbers.dtype.kind not in "fiu":
        got = repr(values) if numbers.ndim == 0 else f"dtype {numbers.dtype}"
        raise must_be(name, "an array of real numbers", got)
    return numbers.astype(np.float64)


def as_texts(texts: Sequence[str], name: str | Sentence) -> NDArray[np.str_]:
    r"""Make an array of texts.

    NumPy stores each text with the length of the longest one, so a list of which one
    text is far longer than the others is rejected.

    Examples
    --------
    >>> as_texts(["a", "bc"], "titles"), as_texts(["a\0", "a"], "tokens").tolist()
    (array(['a', 'bc'], dtype='<U2'), ['a\\x00', 'a'])
    >>> as_texts(["a" * 1_000_000, *["b"] * 1000], "titles")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: titles must be texts of similar length; got a text of
    1,000,000 characters among 1,001 texts; shorten that text.
    """
    lengths = [len(text) for text in texts]
    longest = max(lengths, default=0)
    n_characters = longest * len(texts)
    if n_characters > MOST_CHARACTERS and n_characters > MOST_PADDING * sum(lengths):
        raise must_be(
            name,
            "texts of similar length",
            f"a text of {longest:,} characters among {len(texts):,} texts",
            "shorten that text",
        )
    # NumPy drops zeros at the end of a text, and Arrow cuts the texts of an array at
    # any zero, which would make two titles equal.
    return np.array([text.replace("\0", "\\x00") for text in texts], dtype=np.str_)


def with_seen_zeros(labels: Any) -> Any:
    r"""Write zeros in the texts of a list or of an array of objects as escapes.

    NumPy drops zeros at the end of a text, which would make two labels equal.

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
    """Raise InputError if a label is missing: as texts, None and NaN would be names.

    Examples
    --------
    >>> require_each(["a", None], "ids")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ids must be present in every row; got None in row 1;
    drop that row.
    """
    if isinstance(labels, list | tuple):
        # Without the type, NumPy would make a text of a NaN among texts.
        values = np.asarray(labels, dtype=object)
    else:
        values = np.asarray(labels)
    if values.dtype.kind not in ("f", "O"):
        return
    for row, label in enumerate(values):
        if not isinstance(label, str) and str(label) in ("None", "nan", "NaT", "<NA>"):
            raise must_be(
                name, "present in every row", f"{label} in row {row}", "drop that row"
            )


def as_factors(array: ArrayLike, name: str) -> Matrix:
    """Check a factor matrix and return it read-only, in the precision of its storage.

    Parameters
    ----------
    array : array_like of shape (n, k)
        Rows are entities. float32 and float64 are kept (a memory map stays on disk),
        float16 becomes float32, integers become float64.
    name : str
        Name of the matrix in an error.

    Returns
    -------
    Matrix
        A read-only view or a converted copy. Zero rows are allowed and have no cosine.

    Raises
    ------
    InputError
        If the array is not two-dimensional, is empty, does not hold real numbers, or
        has an entry that is not finite.

    Examples
    --------
    >>> as_factors([[1, 2], [3, 4]], "item_factors").dtype
    dtype('float64')
    >>> as_factors([[1.0, float("nan")]], "item_factors")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: item_factors must be finite; got nan at row 0, column 1;
    repair or drop that row.
    """
    matrix = as_whole_array(array, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        got = f"shape {matrix.shape}"
        if matrix.ndim == 0:
            got = f"one {type(array).__name__}"
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
    """Make a generator of a seed. A generator is returned as it is.

    Examples
    --------
    >>> as_generator(-1)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rng must be a numpy Generator, an integer >= 0 or None;
    got -1.
    """
    is_seed = is_integer(rng) and rng >= 0
    if not is_seed and rng is not None and not isinstance(rng, np.random.Generator):
        raise must_be(name, "a numpy Generator, an integer >= 0 or None", repr(rng))
    return np.random.default_rng(rng)


def as_seed(rng: RNG) -> int:
    """Return a seed as it is, or draw one from a generator, so that it can be recorded.

    Examples
    --------
    >>> as_seed(7)
    7
    >>> as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))
    True
    """
    generator = as_generator(rng)
    if is_integer(rng):
        return int(rng)
    return int(generator.integers(2**31))
