"""FactorModel: two factor matrices, their biases and a link, and what the model predicts.

A score is `s_ij = p_i · q_j + a_i + b_j + c` with left factors p (users, inputs), right factors q (items,
labels), left bias a, right bias b and offset c.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import Indices, Matrix, Vector, as_factors, as_rows, as_vector, frozen, is_number
from embaudit.kernels.pairs import pair_cosines
from embaudit.kernels.rows import row_norms, unit_rows
from embaudit.model.equivalence import Equivalence, log_softmax

if TYPE_CHECKING:
    from typing import Self

Side: TypeAlias = Literal["left", "right"]
Role: TypeAlias = Literal["left", "right", "cross"]


class Link(StrEnum):
    """How scores become predictions."""

    IDENTITY = "identity"
    """The scores themselves (ratings, counts)."""
    SOFTMAX = "softmax"
    """Probabilities over the right entities of each row."""
    COSINE = "cosine"
    """The cosine of the two vectors (a normalised two-tower model); biases and offset do not enter."""
    RANKING = "ranking"
    """Only the order of the right entities within a row."""


_PREDICTS = {
    Link.IDENTITY: Equivalence.SCORES,
    Link.SOFTMAX: Equivalence.PROBABILITIES,
    Link.COSINE: Equivalence.COSINES,
    Link.RANKING: Equivalence.RANKINGS,
}


def _as_labels(labels: ArrayLike | None, name: str, length: int, *, unique: bool) -> NDArray[Any] | None:
    if labels is None:
        return None
    try:
        given = np.array(labels)
    except ValueError as error:
        raise must_be(name, f"a list of {length}, one a row", "entries that are lists themselves") from error
    if given.shape != (length,):
        raise must_be(name, f"a list of {length}, one a row", f"shape {given.shape}")
    if given.dtype == object:
        given = given.astype(str)
    if unique:
        values, counts = np.unique(given, return_counts=True)
        if len(values) < length:
            first = values[counts > 1][0]
            raise must_be(name, "unique", f"{first!s} {counts[counts > 1][0]} times", "keep one row for each id")
    return frozen(given)


@dataclass(frozen=True, eq=False, repr=False)
class FactorModel:
    """Two factor matrices whose dot products, biases and link make predictions.

    Parameters
    ----------
    left : array of shape (n, k) or None
        Users or inputs; None where only one side is at hand.
    right : array of shape (p, k)
        Items or labels.
    link : {"identity", "softmax", "cosine", "ranking"}
        How scores become predictions.
    left_bias, right_bias : array of shape (n,) and (p,), optional
        A bias that is given counts as free: the model could hold any other value in its place, so a
        translation can be absorbed into it.
    offset : float
        Added to every score.
    roles : pair of str
        What people call the two sides.
    left_ids, right_ids : array of shape (n,) and (p,), optional
        Unique identifiers.
    left_names, right_names : array of shape (n,) and (p,), optional
        Titles to show to people; need not be unique.
    objective : str, optional
        Which training objective made the model (see `embaudit.auditing.objectives`), where known.

    Raises
    ------
    InputError
        For non-finite entries, ranks that differ, wrong lengths, duplicated ids.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0, 0.0], [1.0, 1.0]], [[2.0, 1.0], [0.0, 3.0], [1.0, 1.0]])
    >>> model
    FactorModel(2 users × 3 items, rank 2, identity link, float64)
    >>> model.scores([1])
    array([[3., 3., 2.]])
    """

    left: Matrix | None
    right: Matrix
    link: Link = Link.IDENTITY
    left_bias: Vector | None = None
    right_bias: Vector | None = None
    offset: float = 0.0
    roles: tuple[str, str] = ("user", "item")
    left_ids: NDArray[Any] | None = None
    right_ids: NDArray[Any] | None = None
    left_names: NDArray[Any] | None = None
    right_names: NDArray[Any] | None = None
    objective: str | None = None

    def __post_init__(self) -> None:
        users, items = self.roles
        if self.link not in list(Link):
            raise must_be("link", "one of " + ", ".join(Link), repr(self.link))
        self._set("link", Link(self.link))
        self._set("right", as_factors(self.right, f"{items} factors"))
        if self.left is not None:
            self._set("left", as_factors(self.left, f"{users} factors"))
            self._require_same_rank()
        if not is_number(self.offset):
            raise must_be("offset", "a finite number", repr(self.offset))
        self._set("offset", float(self.offset))
        for side, role, rows in (("left", users, self.n_left), ("right", items, len(self.right))):
            bias = getattr(self, f"{side}_bias")
            if bias is not None:
                self._set(f"{side}_bias", as_vector(bias, f"{role} bias", rows))
            for field, unique in (("ids", True), ("names", False)):
                labels = getattr(self, f"{side}_{field}")
                self._set(f"{side}_{field}", _as_labels(labels, f"{role} {field}", rows, unique=unique))

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _require_same_rank(self) -> None:
        assert self.left is not None
        if self.left.shape[1] != self.right.shape[1]:
            users, items = self.roles
            raise InputError(
                f"{users} and {items} factors must have the same number of columns; got {self.left.shape[1]} and "
                f"{self.right.shape[1]}; a bias column kept on one side only has to be passed as a bias."
            )

    @classmethod
    def from_user_item(
        cls,
        user_factors: ArrayLike,
        item_factors: ArrayLike,
        *,
        user_bias: ArrayLike | None = None,
        item_bias: ArrayLike | None = None,
        offset: float = 0.0,
        user_ids: ArrayLike | None = None,
        item_ids: ArrayLike | None = None,
        item_names: ArrayLike | None = None,
        link: str = "identity",
        objective: str | None = None,
    ) -> Self:
        """Make a recommender's model: `score = user · item + user_bias + item_bias + offset`.

        Examples
        --------
        >>> FactorModel.from_user_item([[1.0]], [[2.0], [3.0]], item_bias=[0.5, 0.0]).scores()
        array([[2.5, 3. ]])
        """
        return cls(
            left=user_factors,  # type: ignore[arg-type]
            right=item_factors,  # type: ignore[arg-type]
            link=link,  # type: ignore[arg-type]
            left_bias=user_bias,  # type: ignore[arg-type]
            right_bias=item_bias,  # type: ignore[arg-type]
            offset=offset,
            left_ids=user_ids,  # type: ignore[arg-type]
            right_ids=item_ids,  # type: ignore[arg-type]
            right_names=item_names,  # type: ignore[arg-type]
            objective=objective,
        )

    @classmethod
    def from_softmax(
        cls,
        unembeddings: ArrayLike,
        bias: ArrayLike | None = None,
        *,
        embeddings: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        objective: str | None = None,
    ) -> Self:
        """Make a softmax head: `p(label j | input x) ∝ exp(x · w_j + b_j)`.

        Examples
        --------
        >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]], labels=["cat", "dog"])
        >>> head
        FactorModel(2 labels, rank 2, softmax link, float64, no inputs)
        """
        return cls(
            left=embeddings,  # type: ignore[arg-type]
            right=unembeddings,  # type: ignore[arg-type]
            link=Link.SOFTMAX,
            right_bias=bias,  # type: ignore[arg-type]
            roles=("input", "label"),
            right_names=labels,  # type: ignore[arg-type]
            objective=objective,
        )

    @classmethod
    def from_vectors(cls, vectors: ArrayLike, *, ids: ArrayLike | None = None) -> Self:
        """Make a one-sided model: only vectors are at hand, what they were multiplied with is not.

        Examples
        --------
        >>> FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8]], ids=["a", "b"])
        FactorModel(2 items, rank 2, identity link, float64, no users)
        """
        return cls(left=None, right=vectors, right_ids=ids)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        users, items = self.roles
        size = f"{len(self.right):,} {items}s"
        if self.left is not None:
            size = f"{self.n_left:,} {users}s × {size}"
        biases = [
            f"{role} bias" for role, bias in ((users, self.left_bias), (items, self.right_bias)) if bias is not None
        ]
        parts = [size, f"rank {self.rank}", f"{self.link} link", str(self.right.dtype), *biases]
        return f"FactorModel({', '.join(parts + ([f'no {users}s'] if self.left is None else []))})"

    @property
    def rank(self) -> int:
        """Number of latent dimensions k."""
        return int(self.right.shape[1])

    @property
    def n_left(self) -> int:
        """Number of left rows, 0 where the left side is missing."""
        return 0 if self.left is None else len(self.left)

    @property
    def n_right(self) -> int:
        """Number of right rows."""
        return len(self.right)

    @property
    def predicts(self) -> Equivalence:
        """The level at which another model must agree to make the same predictions."""
        return _PREDICTS[self.link]

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides at hand."""
        return ("right",) if self.left is None else ("left", "right")

    def factors(self, role: Side) -> Matrix:
        """Return the factor matrix of one side.

        Raises
        ------
        InputError
            If the side is missing or the role unknown.
        """
        if role == "right":
            return self.right
        if role != "left":
            raise must_be("role", 'one of "left", "right"', repr(role))
        if self.left is None:
            users, items = self.roles
            raise must_be(f"{users} factors", "at hand for this", f"{items} factors only", "load both sides together")
        return self.left

    def names(self, role: Side) -> NDArray[Any]:
        """Return what to call each row of a side: its title, else its id, else its number."""
        numbers = np.arange(len(self.factors(role)))
        for field in ("names", "ids"):
            labels = getattr(self, f"{role}_{field}")
            if labels is not None:
                return np.asarray(labels)
        return numbers

    def zero_rows(self, role: Side) -> Indices:
        """Return the rows that have no direction, hence no cosine."""
        return np.flatnonzero(row_norms(self.factors(role)) == 0)

    def scores(self, rows: ArrayLike | slice | None = None) -> NDArray[np.float64]:
        """Compute the scores of selected left rows against all right ones, in float64.

        Parameters
        ----------
        rows : slice or array of int, optional
            Which left rows; all of them by default (then the result is n×p).

        Returns
        -------
        array of shape (len(rows), p)
        """
        left = self.factors("left")
        rows = slice(None) if rows is None else rows
        chosen = rows if isinstance(rows, slice) else as_rows(rows, len(left))
        block = np.asarray(left[chosen], dtype=np.float64)
        if self.link is Link.COSINE:
            return unit_rows(block) @ unit_rows(self.right).T
        scores: NDArray[np.float64] = block @ np.asarray(self.right, dtype=np.float64).T
        scores += self.offset
        if self.left_bias is not None:
            scores += self.left_bias[chosen][:, None]
        if self.right_bias is not None:
            scores += self.right_bias
        return scores

    def predictions(self, rows: ArrayLike | slice | None = None) -> NDArray[Any]:
        """Compute what the model predicts for selected left rows.

        Returns
        -------
        array of shape (len(rows), p)
            Scores (identity), probabilities (softmax), cosines (cosine) or, for a ranking model, the right rows
            in order, best first.

        Examples
        --------
        >>> FactorModel.from_softmax([[1.0], [1.0]], embeddings=[[5.0]]).predictions()
        array([[0.5, 0.5]])
        """
        scores = self.scores(rows)
        if self.link is Link.SOFTMAX:
            return np.exp(log_softmax(scores))
        if self.link is Link.RANKING:
            return np.argsort(-scores, axis=1, kind="stable")
        return scores

    def cosines(self, role: Role, pairs: ArrayLike) -> NDArray[np.float64]:
        """Compute the cosine of each pair.

        Parameters
        ----------
        role : {"left", "right", "cross"}
            Left-left, right-right, or left-right pairs.
        pairs : array of shape (m, 2)
            Row numbers.

        Returns
        -------
        array of shape (m,)
            NaN where a row is zero.
        """
        if role not in ("left", "right", "cross"):
            raise must_be("role", 'one of "left", "right", "cross"', repr(role))
        x = self.factors("left" if role == "cross" else role)
        return pair_cosines(x, self.right if role == "cross" else x, pairs)

    def replace(self, **changes: object) -> Self:
        """Return a copy with some fields changed, checked anew."""
        return replace(self, **changes)  # type: ignore[arg-type]
