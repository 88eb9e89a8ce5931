"""The options of `load`: what the caller says about a file or an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from embaudit.core.checked import require_one_of, unknown_keyword
from embaudit.errors import InputError, Option, Parameter
from embaudit.model import Comparison
from embaudit.model.final_norm import NormKind

Kind: TypeAlias = Literal["auto", "factors", "head", "vectors"]
Transpose: TypeAlias = Literal["none", "left", "right", "both"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of `load`; None leaves the choice to the content of the file.

    Examples
    --------
    >>> Request.of("head", {"weight": "lm_head.weight"}).given
    ('weight',)
    >>> Request.of("auto", {"wieght": "W"})
    Traceback (most recent call last):
        ...
    embaudit.errors.KeywordError: a keyword of load must be one of kind, ...; got 'wieght'; the nearest one is weight.
    """

    kind: Kind = "auto"
    left: Any = None
    """Name (or, beside vectors, file or contents) of the left factors, or of the inputs
    that a head is applied to.
    """
    weight: str | None = None
    """Name of a head's weights, of the one table of vectors, or beside `left` of the
    right factors.
    """
    bias: str | None = None
    """Name of the right bias."""
    left_bias: str | None = None
    """Name of the left bias."""
    transpose: Transpose | None = None
    """Sides that are stored with one column an entity."""
    vector_id: str | None = None
    """Column that holds the ids of a table of vectors."""
    vector: str | None = None
    """Column that holds the vectors of such a table."""
    ids: Any = None
    """Ids of the right rows, or the array, FILE or FILE:COLUMN that holds them."""
    left_ids: Any = None
    """The same for the left rows."""
    labels: Any = None
    """Names of the right rows, or a file of them."""
    left_counts: Any = None
    """Interactions behind each left row: numbers, or a file of them."""
    right_counts: Any = None
    """Interactions behind each right row: numbers, or a file of them."""
    inputs: Any = None
    """Vectors that a head is applied to, or a file of them."""
    states: Any = None
    """States before the final norm of the head, or a file of them."""
    left_name: str | None = None
    """Noun for a left row, such as "text"."""
    right_name: str | None = None
    """Noun for a right row, such as "image"."""
    link: str | None = None
    """How scores become predictions, where the file does not say."""
    compared: Comparison | None = None
    """How a model of one table compares its rows with each other."""
    objective: str | None = None
    """Training objective of the model."""
    norm: str | None = None
    """Name of the gains of the final norm before a head, or none."""
    norm_kind: NormKind | None = None
    """Kind of that norm."""
    user_features: Any = None
    """Features that a LightFM object was trained with, one row a user."""
    item_features: Any = None
    """Features that a LightFM object was trained with, one row an item."""
    ignore: tuple[str, ...] | None = None
    """Names of arrays to leave out, `*` standing for any letters."""

    @classmethod
    def of(cls, kind: str, options: dict[str, Any]) -> Request:
        """Check the options a caller gave.

        Raises
        ------
        InputError
            For an unknown kind or option.
        """
        if (
            kind == "vectors"
            and "left" not in options
            and {"bias", "left_bias"} & {*options}
        ):
            raise InputError(
                "{} must be left out beside {}, which have none.",
                Parameter("bias"),
                Option("kind", "vectors"),
            )
        names = [field.name for field in fields(cls) if field.name != "kind"]
        unknown = [name for name in options if name not in names]
        if unknown:
            raise unknown_keyword("load", unknown[0], ["kind", "format", *names])
        transpose = options.get("transpose")
        if isinstance(transpose, bool):
            transpose = "both" if transpose else "none"
        require_one_of(kind, "kind", get_args(Kind))
        if transpose is not None:
            require_one_of(transpose, "transpose", get_args(Transpose))
        ignore = options.get("ignore")
        ignore = (ignore,) if isinstance(ignore, str) else ignore and tuple(ignore)
        return cls(
            **{**options, "kind": kind, "transpose": transpose, "ignore": ignore}
        )

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that were given."""
        return tuple(
            f.name
            for f in fields(self)
            if f.name != "kind" and getattr(self, f.name) is not None
        )

    def ignores(self, name: str) -> bool:
        """Return whether an array is to be left out.

        Examples
        --------
        >>> [Request(ignore=("user_*",)).ignores(name) for name in ("user_bias", "item_bias")]
        [True, False]
        """
        return any(fnmatchcase(name, pattern) for pattern in self.ignore or ())

    def transposes(self, side: Literal["left", "right"]) -> bool | None:
        """Return whether a side is stored with one column an entity; None where the caller did not say."""
        return None if self.transpose is None else self.transpose in (side, "both")


OPTIONS = ("format", *(field.name for field in fields(Request)))
"""Names of the options of `load`."""


class LoadKeywords(TypedDict, total=False):
    """Keywords of `load` for type checkers, which cannot read them off `Request`."""

    kind: str | None
    format: str | None
    left: Any
    weight: str | None
    bias: Any
    left_bias: Any
    transpose: Transpose | bool | None
    vector_id: str | None
    vector: str | None
    ids: Any
    left_ids: Any
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
