"""The options of `load`: statements of the caller about a file or an object.

An option is a field of `Request`, whose metadata say how the command line takes it. The
help of the command line reads the fields, so this module must load fast: NumPy is
imported when values are checked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeAlias,
    TypedDict,
    get_args,
    get_type_hints,
)

from embaudit.core.typed import typed
from embaudit.errors import InputError, Option, Parameter, Sentence, must_be

if TYPE_CHECKING:
    from embaudit.io.files import AnyPath
    from embaudit.model import Comparison
    from embaudit.model.final_norm import NormKind

Kind: TypeAlias = Literal["auto", "factors", "head", "vectors"]
Transpose: TypeAlias = Literal["none", "left", "right", "both"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of `load`; None leaves the choice to the content of the file.

    Examples
    --------
    >>> Request.from_options({"kind": "head", "weight": "lm_head.weight"}).given
    ('weight',)
    >>> Request.from_options({"wieght": "W"})
    Traceback (most recent call last):
        ...
    embaudit.errors.KeywordError: ...; got 'wieght'; the nearest one is weight.
    """

    kind: Kind = field(
        default="auto",
        metadata=typed(
            str,
            "Contents of the file: auto (the default), factors (two sides), head or"
            " vectors.",
            "Your file",
        ),
    )
    left: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Array in the file with the left (user) factors.",
            "Your file",
        ),
    )
    """Name of the array of left factors, or of the inputs that a head is applied to."""
    weight: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Array in the file with the right (item) factors, labels or vectors.",
            "Your file",
        ),
    )
    """Name of the array of a head's weights, of the only table of vectors, or of the
    right factors next to `left`.
    """
    left_file: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with the vectors of the left side, if the model's file holds one "
            "side only.",
            "Your file",
        ),
    )
    """File of the vectors of the left side, or an array or a data frame of them that
    was given as `left`.
    """
    left_bias: Any = field(
        default=None,
        metadata=typed(
            str,
            "Array in the file with the left biases.",
            "Your file",
            is_rare=True,
        ),
    )
    """Name of the array of the left bias."""
    bias: Any = field(
        default=None,
        metadata=typed(
            str,
            "Array or column in the file with the right biases.",
            "Your file",
            is_rare=True,
        ),
    )
    """Name of the array or column of the right bias."""
    left_bias_file: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File (.npy) with the left biases, next to a .npy file of vectors.",
            "Your file",
            is_rare=True,
        ),
    )
    """File of the left bias, next to a file of one array."""
    bias_file: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File (.npy) with the right biases, next to a .npy file of vectors.",
            "Your file",
            is_rare=True,
        ),
    )
    """File of the right bias, next to a file of one array."""
    ignore: tuple[str, ...] | None = field(
        default=None,
        metadata=typed(
            list[str],
            "Skip this array; * stands for any letters. Repeat it for several arrays.",
            "Your file",
            is_rare=True,
        ),
    )
    """Names of arrays to skip; `*` stands for any letters."""
    left_name: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Word for a left row, such as text.",
            "Your file",
            is_rare=True,
        ),
    )
    """Noun for a left row, such as "text"."""
    right_name: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Word for a right row, such as image.",
            "Your file",
            is_rare=True,
        ),
    )
    """Noun for a right row, such as "image"."""
    transpose: Transpose | None = field(
        default=None,
        metadata=typed(
            str,
            "Sides with one entity per column: left, right, both or none.",
            "Your file",
            is_rare=True,
        ),
    )
    """Sides that are stored with one column per entity."""
    vector: str | None = field(
        default=None,
        metadata=typed(
            str,
            "In a table: column of the vectors, or a range FIRST:LAST of columns.",
            "Your file",
            is_rare=True,
        ),
    )
    """Column that holds the vectors of a table, or a range FIRST:LAST of columns."""
    collection: str | None = None
    """Collection of a live client of a store."""
    vector_id: str | None = field(
        default=None,
        metadata=typed(
            str,
            "In a table: column of the ids.",
            "Your file",
            is_rare=True,
        ),
    )
    """Column that holds the ids of a table of vectors."""
    id_array: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Array in the file with the ids of the right rows.",
            "Your file",
            is_rare=True,
        ),
    )
    """Name of the array of the ids of the right rows."""
    left_id_array: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Array in the file with the ids of the left rows.",
            "Your file",
            is_rare=True,
        ),
    )
    """Name of the array of the ids of the left rows."""
    ids: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with the ids of the right rows, in their order.",
            "Your file",
        ),
    )
    """Ids of the right rows, or a file of them."""
    ids_column: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Column of the ids, if the file of `--ids` is a table.",
            "Your file",
            is_rare=True,
        ),
    )
    """Column of the ids, if `ids` is a table."""
    left_ids: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with the ids of the left rows, in their order.",
            "Your file",
            is_rare=True,
        ),
    )
    """Ids of the left rows, or a file of them."""
    left_ids_column: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Column of the ids, if the file of `--left-ids` is a table.",
            "Your file",
            is_rare=True,
        ),
    )
    """Column of the ids, if `left_ids` is a table."""
    labels: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with the names of the right rows, in their order.",
            "Your file",
        ),
    )
    """Names of the right rows, or a file of them."""
    right_counts: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with the number of interactions of each right row.",
            "Your file",
            is_rare=True,
        ),
    )
    """Interactions behind each right row: numbers, or a file of them."""
    left_counts: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with the number of interactions of each left row.",
            "Your file",
            is_rare=True,
        ),
    )
    """Interactions behind each left row: numbers, or a file of them."""
    link: str | None = field(
        default=None,
        metadata=typed(
            str,
            "How scores become predictions: identity (dot product), softmax, "
            "sigmoid, cosine or ranking.",
            "Training",
        ),
    )
    """How scores become predictions, if the file does not say so."""
    compared: Comparison | None = field(
        default=None,
        metadata=typed(
            str,
            "How the model compares the rows of one table: cosine, dot, distance or"
            " hyperbolic.",
            "Training",
        ),
    )
    """How a model of one table compares its rows with each other."""
    objective: str | None = field(
        default=None,
        metadata=typed(
            str,
            "How the model was trained: implicit-als, clip, word2vec, ...",
            "Training",
        ),
    )
    """Training objective of the model."""
    inputs: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with inputs of the head, or of the vectors: what they are "
            "multiplied with.",
            "Your file",
        ),
    )
    """Vectors that a head is applied to, or a file of them."""
    states: Any = field(
        default=None,
        metadata=typed(
            Path,
            "File with states before the final norm of the head.",
            "Your file",
            is_rare=True,
        ),
    )
    """States before the final norm of the head, or a file of them."""
    norm: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Tensor of the gains of the final norm before the head; none for no norm.",
            "Your file",
            is_rare=True,
        ),
    )
    """Name of the gains of the final norm before a head, or none."""
    norm_kind: NormKind | None = field(
        default=None,
        metadata=typed(
            str,
            "Kind of the final norm: rms or layer.",
            "Your file",
            is_rare=True,
        ),
    )
    """Kind of that norm."""
    user_features: Any = None
    """Features that a LightFM object was trained with, one row per user."""
    item_features: Any = None
    """Features that a LightFM object was trained with, one row per item."""

    format: str | None = field(
        default=None,
        metadata=typed(
            str,
            "Format of the file, if its suffix does not show it; see `embaudit "
            "formats`.",
            "Your file",
            is_rare=True,
        ),
    )
    """Name of the format, if the suffix and the content of the file do not tell it."""

    @classmethod
    def from_options(
        cls, options: Mapping[str, Any], *, arrays: bool = False
    ) -> Request:
        """Check the options that a caller gave.

        Parameters
        ----------
        options : mapping
            Values by name.
        arrays : bool
            Whether biases can be arrays, as those next to an array in memory.

        Raises
        ------
        InputError
            For an unknown kind or option.
        """
        from embaudit.core.checked import require_one_of, unknown_keyword
        from embaudit.model.final_norm import NormKind

        names = [option.name for option in fields(cls)]
        unknown = [name for name in options if name not in names]
        if unknown:
            raise unknown_keyword("load", unknown[0], names)
        kind = options.get("kind", "auto")
        biases = ("bias", "bias_file", "left_bias", "left_bias_file")
        unfit = [name for name in biases if name in options]
        is_one_sided = not {"left", "left_file"} & {*options}
        if kind == "vectors" and is_one_sided and unfit:
            raise InputError(
                "{} must be omitted with {}, because vectors have no biases.",
                Parameter(unfit[0]),
                Option("kind", "vectors"),
            )
        require_one_meaning(options, arrays=arrays)
        require_one_of(kind, "kind", get_args(Kind))
        changes: dict[str, Any] = {"kind": kind}
        left = options.get("left")
        if left is not None and not isinstance(left, str | int):
            changes |= {"left": None, "left_file": left}
        transpose = options.get("transpose")
        if isinstance(transpose, bool):
            transpose = "both" if transpose else "none"
        if transpose is not None:
            require_one_of(transpose, "transpose", get_args(Transpose))
            changes["transpose"] = transpose
        norm_kind = options.get("norm_kind")
        if norm_kind is not None:
            require_one_of(norm_kind, "norm_kind", get_args(NormKind))
        ignore = options.get("ignore")
        if ignore is not None:
            changes["ignore"] = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        return cls(**{**options, **changes})

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that were given."""
        return tuple(
            f.name
            for f in fields(self)
            if f.name not in ("kind", "format") and getattr(self, f.name) is not None
        )

    def ignores(self, name: str) -> bool:
        """Return whether an array is to be left out.

        Examples
        --------
        >>> request = Request(ignore=("user_*",))
        >>> request.ignores("user_bias"), request.ignores("item_bias")
        (True, False)
        """
        return any(fnmatchcase(name, pattern) for pattern in self.ignore or ())

    def transposes(self, side: Literal["left", "right"]) -> bool | None:
        """Return whether a side is stored with one column per entity.

        None if the caller did not say.
        """
        return None if self.transpose is None else self.transpose in (side, "both")


ALWAYS = (
    "left_file",
    "left_name",
    "right_name",
    "ids",
    "ids_column",
    "left_ids",
    "left_ids_column",
    "labels",
    "link",
    "compared",
    "objective",
    "left_counts",
    "right_counts",
    "inputs",
    "states",
    "norm",
    "norm_kind",
)
"""Options that every format takes."""
LIKE = {
    "left": ("left_file",),
    "bias": ("bias_file",),
    "left_bias": ("left_bias_file",),
    "bias_file": ("bias",),
    "left_bias_file": ("left_bias",),
    "vector_id": ("id_array", "ids"),
    "id_array": ("vector_id", "ids"),
    "left_id_array": ("left_ids",),
}
"""Options of other formats with the same meaning, by option; the best comes first."""
MEANT = {
    "left_file": "FILE",
    "bias_file": "FILE",
    "left_bias_file": "FILE",
    "ids": "FILE",
    "left_ids": "FILE",
    "bias": "NAME",
    "left_bias": "NAME",
    "id_array": "NAME",
    "vector_id": "COLUMN",
}
"""Word for the value of each option that `LIKE` leads to."""
NAMES_AND_FILES = {
    "left": "left_file",
    "bias": "bias_file",
    "left_bias": "left_bias_file",
    "id_array": "ids",
    "left_id_array": "left_ids",
    "vector_id": "ids",
}
"""Options that name an array or a column inside the file of the model, and the option
of each that takes another file.
"""


def file_remedy(option: str, value: object) -> str | Sentence:
    """Return the advice for a value that names nothing in the file, but is a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     str(file_remedy("left", file.name)).startswith("give a file as left_file=")
    True
    >>> file_remedy("left", "no-such-file")
    ''
    """
    other = NAMES_AND_FILES.get(option)
    if other is None or not is_path(value) or not Path(str(value)).is_file():
        return ""
    return Sentence("give a file as {}", Option(other, str(value)))


def require_options(request: Request, options: Sequence[str], what: str) -> None:
    """Refuse an option that does not apply to the format of a file or an object."""
    allowed = tuple(dict.fromkeys((*options, *ALWAYS)))
    unused = next((option for option in request.given if option not in allowed), None)
    if unused is None:
        return
    remedy = file_remedy(unused, getattr(request, unused))
    for other in LIKE.get(unused, ()):
        if not remedy and other in allowed:
            remedy = Sentence("say {}", Option(other, placeholder=MEANT[other]))
    raise must_be(
        f"an option for {what}", f"one of {', '.join(allowed)}", unused, remedy
    )


def require_one_meaning(options: Mapping[str, Any], *, arrays: bool = False) -> None:
    """Check that options for names hold names, and options for files hold files.

    Parameters
    ----------
    options : mapping
        Values by name.
    arrays : bool
        Whether biases can be arrays.

    Raises
    ------
    InputError
        If a value is of another type, if two options give the same array, or if a
        column is named without its table.
    """
    for name in ("left", "bias", "left_bias", "id_array", "left_id_array"):
        value = options.get(name)
        if value is not None:
            _require_name_or_array(name, value, arrays=arrays)
    for name, file in NAMES_AND_FILES.items():
        if options.get(name) is not None and options.get(file) is not None:
            raise InputError(
                "{} must be omitted if {} is given, because both give the same array.",
                Parameter(name),
                Option(file),
            )
    for column, table in (("ids_column", "ids"), ("left_ids_column", "left_ids")):
        if options.get(column) is not None and options.get(table) is None:
            raise InputError(
                "{} must be given with {}, the table whose column it names.",
                Parameter(column),
                Option(table),
            )


def _require_name_or_array(name: str, value: object, *, arrays: bool) -> None:
    """Refuse a value that neither names an array nor can be one."""
    if arrays and name in ("bias", "left_bias"):
        # Arrays in memory have no names.
        allowed = "an array, because the factors are an array"
        is_allowed = not is_path(value)
    elif name == "left":
        # Whether an object is an array is checked when it is read.
        allowed = "an array, a data frame or the name of an array"
        is_allowed = not isinstance(value, os.PathLike)
        if arrays and isinstance(value, int):
            is_allowed = False
    else:
        # A column can also be named by its position.
        allowed = "the name of an array or a column, as text"
        is_allowed = isinstance(value, str | int)
    if is_allowed:
        return
    remedy: str | Sentence = ""
    if is_path(value):
        file = Option(NAMES_AND_FILES[name], str(value))
        remedy = Sentence("give a file as {}", file)
    got = repr(value) if isinstance(value, str) else type(value).__name__
    raise must_be(name, allowed, got, remedy)


def is_path(value: object) -> bool:
    """Return whether a value is a path, or a list of paths.

    Examples
    --------
    >>> is_path("model.npz"), is_path(["a.csv", "b.csv"]), is_path([[1.0, 2.0]])
    (True, True, False)
    """
    if isinstance(value, list | tuple):
        return all(isinstance(item, str | os.PathLike) for item in value)
    return isinstance(value, str | os.PathLike)


OPTIONS = tuple(option.name for option in fields(Request))
"""Names of the options of `load`."""


class LoadKeywords(TypedDict, total=False):
    """Keywords of `load` for type checkers, which cannot read them off `Request`.

    Their types are those that callers can pass, which `Request.from_options` converts.
    """

    kind: str | None
    format: str | None
    left: Any
    left_file: AnyPath | None
    weight: str | None
    bias: Any
    bias_file: AnyPath | None
    left_bias: Any
    left_bias_file: AnyPath | None
    transpose: Transpose | bool | None
    vector_id: str | None
    vector: str | None
    collection: str | None
    id_array: str | None
    left_id_array: str | None
    ids: Any
    ids_column: str | None
    left_ids: Any
    left_ids_column: str | None
    labels: Any
    left_counts: Any
    right_counts: Any
    inputs: Any
    states: Any
    left_name: str | None
    right_name: str | None
    link: str | None
    compared: Comparison | None
    objective: str | None
    norm: str | None
    norm_kind: NormKind | None
    user_features: Any
    item_features: Any
    ignore: str | Sequence[str] | None


def types_of_keywords() -> dict[str, Any]:
    """Return the type of each keyword of `load`, by name.

    Types of other modules are imported here, because the help of the command line does
    not need them.
    """
    from embaudit.io.files import AnyPath
    from embaudit.model import Comparison
    from embaudit.model.final_norm import NormKind

    names = {"AnyPath": AnyPath, "Comparison": Comparison, "NormKind": NormKind}
    return get_type_hints(LoadKeywords, localns=names)
