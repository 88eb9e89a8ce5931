"""FactorModel: two factor matrices, their biases and a link, and its predictions.

A score is `s_ij = p_i · q_j + a_i + b_j + c` with left factors p (users, inputs), right
factors q (items, labels), left bias a, right bias b and offset c.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    Flags,
    Floats,
    Indices,
    Matrix,
    Vector,
    as_rows,
    is_number,
)
from embaudit.core.words import counted
from embaudit.errors import Option, Sentence, must_be
from embaudit.linalg.moments import Moments
from embaudit.linalg.rows import unit_rows
from embaudit.model.equivalence import Equivalence
from embaudit.model.final_norm import FinalNorm, require_fit
from embaudit.model.links import LINKS, Comparison, Link, as_link, comparison_link
from embaudit.model.pairs import Pairs, Role
from embaudit.model.side import OPTIONAL, Labels, OfSide, Side, SideName, as_titles
from embaudit.model.trainings import known_training, link_of_training, require_agreement
from embaudit.model.tying import Tying, require_head


def _require_nothing_of(title: str, fields: dict[str, Any]) -> None:
    """Raise InputError if a field of missing rows is given."""
    for field, value in fields.items():
        if value is not None:
            raise must_be(
                f"{title} {field}",
                f"given beside {title} factors",
                f"no {title} factors",
                "leave it out",
            )


def _require_one_length(left: Side, right: Side) -> None:
    """Raise InputError unless both sides have the same number of columns."""
    if left.shape[1] == right.shape[1]:
        return
    remedy = Sentence("a bias column kept on one side only has to be passed as a bias")
    for name, side, other in (("right", right, left), ("left", left, right)):
        if side.shape[0] == other.shape[1]:
            # The transpose of this side would fit.
            remedy = Sentence(
                "say {} if each column is one {}", Option("transpose", name), side.title
            )
    raise must_be(
        f"{left.title} and {right.title} factors",
        "of the same number of columns",
        f"{left.shape[1]} and {right.shape[1]}",
        remedy,
    )


@dataclass(frozen=True, eq=False)
class FactorModel:
    """Two factor matrices whose dot products, biases and link make predictions.

    Parameters
    ----------
    left : array of shape (n, k) or None
        Users or inputs; None if the model has only one side.
    right : array of shape (p, k)
        Items or labels.
    link : Link or {"identity", "softmax", "sigmoid", "cosine", "ranking"}, optional
        How scores become predictions. None if it is not known: see `from_user_item`.
    left_bias, right_bias : array of shape (n,) and (p,), optional
        A bias that is given counts as free, so that it can absorb a translation.
    offset : float
        Added to every score.
    roles : pair of str
        What people call the two sides.
    left_ids, right_ids : array of shape (n,) and (p,), optional
        Unique identifiers.
    left_names, right_names : array of shape (n,) and (p,), optional
        Titles to show to people; need not be unique.
    objective : str, optional
        Training objective of the model, if known; see `embaudit.model.objectives`.
    left_counts, right_counts : array of shape (n,) and (p,), optional
        Interactions behind each row.
    left_aside, right_aside : array of bool of shape (n,) and (p,), optional
        Rows that are set aside when neighbours are sampled, such as the special tokens
        of a language model.
    final_norm : FinalNorm, optional
        Norm that the states of a network pass before they reach this softmax head.
    tying : Tying, optional
        Whether this softmax head is also the input embeddings of its network; None if
        it is not.

    Raises
    ------
    InputError
        For non-finite entries, ranks that differ, wrong lengths, duplicated ids, or an
        objective of another link.

    Examples
    --------
    >>> users, items = [[1.0, 0.0], [1.0, 1.0]], [[2.0, 1.0], [0.0, 3.0], [1.0, 1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> model
    FactorModel(2 users × 3 items, 2 dimensions, identity link, float64)
    >>> model.scores([1])
    array([[3., 3., 2.]])
    """

    left_side: Side | None
    """Users or inputs; None if this side is missing."""
    right_side: Side
    """Items or labels."""
    link: Link
    offset: float
    roles: tuple[str, str]
    objective: str | None
    final_norm: FinalNorm | None
    tying: Tying | None

    # The fields of both sides, under the names of the constructor. None if the side or
    # the field is missing.
    left = OfSide[Matrix | None]("left", "rows")
    right = OfSide[Matrix]("right", "rows")
    left_bias, right_bias = (
        OfSide[Vector | None]("left", "bias"),
        OfSide[Vector | None]("right", "bias"),
    )
    left_ids, right_ids = OfSide[Labels]("left", "ids"), OfSide[Labels]("right", "ids")
    left_names, right_names = (
        OfSide[Labels]("left", "names"),
        OfSide[Labels]("right", "names"),
    )
    left_counts, right_counts = (
        OfSide[Vector | None]("left", "counts"),
        OfSide[Vector | None]("right", "counts"),
    )
    left_aside, right_aside = (
        OfSide[Flags | None]("left", "aside"),
        OfSide[Flags | None]("right", "aside"),
    )

    def __init__(
        self,
        left: ArrayLike | None,
        right: ArrayLike,
        link: str | Link | None = "identity",
        left_bias: ArrayLike | None = None,
        right_bias: ArrayLike | None = None,
        offset: float = 0.0,
        roles: tuple[str, str] = ("user", "item"),
        left_ids: ArrayLike | None = None,
        right_ids: ArrayLike | None = None,
        left_names: ArrayLike | None = None,
        right_names: ArrayLike | None = None,
        objective: str | None = None,
        left_counts: ArrayLike | None = None,
        right_counts: ArrayLike | None = None,
        left_aside: ArrayLike | None = None,
        right_aside: ArrayLike | None = None,
        final_norm: FinalNorm | None = None,
        tying: Tying | None = None,
    ) -> None:
        """Make the sides; fields of left rows without left rows raise InputError."""
        users, items = as_titles(roles)
        right_fields: dict[str, Any] = {
            "rows": right,
            "bias": right_bias,
            "ids": right_ids,
            "names": right_names,
            "counts": right_counts,
            "aside": right_aside,
        }
        left_fields: dict[str, Any] = {
            "bias": left_bias,
            "ids": left_ids,
            "names": left_names,
            "counts": left_counts,
            "aside": left_aside,
        }
        if left is None:
            _require_nothing_of(users, left_fields)
        right_side = Side(title=items, **right_fields)
        left_side = None
        if left is not None:
            left_side = Side(title=users, **{"rows": left, **left_fields})
        self._hold(
            left_side,
            right_side,
            link,
            offset,
            (users, items),
            objective,
            final_norm,
            tying,
        )

    def _hold(
        self,
        left: Side | None,
        right: Side,
        link: Any,
        offset: float,
        roles: tuple[str, str],
        objective: str | None,
        norm: FinalNorm | None,
        tying: Tying | None,
    ) -> Self:
        """Check that sides, link and objective agree, and set the fields."""
        if not is_number(offset):
            raise must_be("offset", "a finite number", repr(offset))
        if (
            link is None
            and known_training(objective) is None
            and left is not None
            and left.is_unit
            and right.is_unit
        ):
            # Dot products are cosines here, so training can have used either of them.
            link = LINKS["unknown"]
        elif link is None:
            link = link_of_training(
                objective,
                dataclasses.replace(LINKS["identity"], is_assumed=True),
                alone=left is None,
            )
        link = as_link(link)
        if left is not None:
            _require_one_length(left, right)
        if link.compares is not None:
            # Rows that are compared with each other are the whole model.
            extras = {
                "another side": left is not None,
                "a bias": right.bias is not None,
                "an offset": bool(offset),
            }
            for got in (name for name, is_given in extras.items() if is_given):
                allowed, remedy = "one table of rows alone", "leave one of them out"
                raise must_be(
                    f"a model compared by {link.comparison_words}", allowed, got, remedy
                )
        require_agreement(objective, link, sides=1 if left is None else 2)
        if norm is not None:
            require_fit(norm, link, right.shape[1])
        if tying is not None:
            require_head(tying, link)
        # Frozen: the fields are set in the order in which the class lists them.
        values = (left, right, link, float(offset), roles, objective, norm, tying)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)
        return self

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
        user_names: ArrayLike | None = None,
        item_names: ArrayLike | None = None,
        user_counts: ArrayLike | None = None,
        item_counts: ArrayLike | None = None,
        link: str | Link | None = None,
        objective: str | None = None,
    ) -> Self:
        """Make a recommender: `score = user · item + user_bias + item_bias + offset`.

        Without a link a dot product is assumed, or the cosine if that is the objective.
        Without either, rows of length 1 on both sides have the "unknown" link: dot
        products are cosines there, and a gauge has to keep both.

        Examples
        --------
        >>> items = [[2.0], [3.0]]
        >>> FactorModel.from_user_item([[1.0]], items, item_bias=[0.5, 0.0]).scores()
        array([[2.5, 3. ]])
        """
        return cls(
            left=user_factors,
            right=item_factors,
            link=link,
            left_bias=user_bias,
            right_bias=item_bias,
            offset=offset,
            left_ids=user_ids,
            right_ids=item_ids,
            left_names=user_names,
            right_names=item_names,
            left_counts=user_counts,
            right_counts=item_counts,
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
        link: str | Link = "softmax",
    ) -> Self:
        """Make a softmax head: `p(label j | input x) ∝ exp(x · w_j + b_j)`.

        Examples
        --------
        >>> FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]], labels=["cat", "dog"])
        FactorModel(2 labels, 2 dimensions, softmax link, float64, no inputs)
        """
        return cls(
            left=embeddings,
            right=unembeddings,
            link=link,
            right_bias=bias,
            roles=("input", "label"),
            right_names=labels,
            objective=objective,
        )

    @classmethod
    def from_vectors(
        cls,
        vectors: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        compared: Comparison | None = None,
    ) -> Self:
        """Make a model of one table of vectors.

        Parameters
        ----------
        vectors, ids : array of shape (n, k) and (n,)
            One row per entity, and an identifier of each row.
        compared : {"cosine", "dot", "distance", "hyperbolic"}, optional
            How the model compares these rows with each other. By default the rows were
            multiplied with those of another side, which is missing.

        Examples
        --------
        >>> FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8]], ids=["a", "b"])
        FactorModel(2 items, 2 dimensions, identity link, float64, no users)
        >>> rows = [[1.0, 0.0], [3.0, 4.0]]
        >>> FactorModel.from_vectors(rows, compared="cosine").scores([0])
        array([[1. , 0.6]])
        """
        link = None if compared is None else comparison_link(compared)
        return cls(left=None, right=vectors, right_ids=ids, link=link)

    def __repr__(self) -> str:
        users, items = self.roles
        size = counted(self.n_right, items)
        if self.left_side is not None:
            size = f"{counted(self.n_left, users)} × {size}"
        link = f"{self.link.name} link"
        if self.compared is not None:
            link = f"compared by {self.link.comparison_words}"
        biases = [
            f"{side.title} bias"
            for side in (self.left_side, self.right_side)
            if side is not None and side.bias is not None
        ]
        dtype = str(self.right_side.dtype)
        parts = [size, counted(self.rank, "dimension"), link, dtype, *biases]
        if self.left_side is None and self.compared is None:
            parts.append(f"no {users}s")
        return f"FactorModel({', '.join(parts)})"

    @property
    def rank(self) -> int:
        """Number of latent dimensions k."""
        return self.right_side.shape[1]

    @property
    def n_left(self) -> int:
        """Number of left rows; 0 if the left side is missing."""
        if self.left_side is None:
            return 0
        return len(self.left_side)

    @property
    def n_right(self) -> int:
        """Number of right rows."""
        return len(self.right_side)

    @property
    def predicts(self) -> Equivalence:
        """The level at which another model must agree to make the same predictions."""
        return self.link.predicts

    @property
    def compared(self) -> Comparison | None:
        """Comparison of the rows of one table; None for other models."""
        return self.link.compares

    @property
    def free_shifts(self) -> tuple[SideName, ...]:
        """Sides whose rows one vector can shift while every prediction stays."""
        # A shift of the left rows adds a number per column of the scores:
        # (p + u)·q + b = p·q + (b + q·u). A free right bias b absorbs it. A shift of
        # the right rows adds a number per row, which a free left bias absorbs, and
        # which probabilities and orders do not show. A shift changes lengths, so rows
        # that are divided by their length are not shifted.
        if self.link.compares == "distance":
            return ("right",)
        if self.link.fixes_origin:
            return ()
        free: list[SideName] = []
        if self.left_side is not None and self.right_side.bias is not None:
            free.append("left")
        is_absorbed = self.left_side is not None and self.left_side.bias is not None
        if is_absorbed or self.predicts <= Equivalence.PROBABILITIES:
            free.append("right")
        return tuple(side for side in free if side not in self.link.unit_sides)

    @property
    def centred_sides(self) -> tuple[SideName, ...]:
        """Sides that are centred before scores are decomposed.

        Predictions do not depend on their mean rows.
        """
        if self.link.name == "softmax" and self.link.soft_cap is None:
            # Logits are judged relative to those of the mean input.
            return ("left", "right")
        return self.free_shifts

    @property
    def sides(self) -> tuple[SideName, ...]:
        """The sides that the model has."""
        if self.left_side is None:
            return ("right",)
        return ("left", "right")

    def title(self, role: str) -> str:
        """Return the title of a row of a side, also of a missing side."""
        users, items = self.roles
        if self.side_name(role) == "left":
            return users
        return items

    def row_title(self, role: SideName) -> str:
        """Return the title that stands before the number of a row.

        It is empty if the rows have names, because a name can be a number.
        """
        if self.side(role).names is not None:
            return ""
        return self.title(role)

    def role(self, name: str) -> Role:
        """Return "left", "right" or "cross" for a title, such as "item-item"."""
        return Pairs.of(name, self.roles).value

    def side_name(self, name: str) -> SideName:
        """Return "left" or "right" for a title; left-right pairs raise InputError."""
        pairs, (users, items) = Pairs.of(name, self.roles), self.roles
        if pairs is Pairs.CROSS:
            raise must_be(
                "role", f'one of "left" ({users}), "right" ({items})', repr(name)
            )
        return pairs.sides[0]

    def side(self, role: str) -> Side:
        """Return one side.

        Raises
        ------
        InputError
            If the side is missing or the role unknown.
        """
        if self.side_name(role) == "right":
            return self.right_side
        if self.left_side is None:
            users, items = self.roles
            raise must_be(
                f"{users} factors",
                "loaded for this",
                f"{items} factors only",
                "load both sides together",
            )
        return self.left_side

    def moments(self, role: SideName) -> Moments:
        """Return the moments of the rows of a side as the link multiplies them."""
        side = self.side(role)
        if role in self.link.unit_sides:
            return side.unit_moments
        return side.moments

    def seen(self, role: SideName, block: Floats) -> Floats:
        """Return float64 rows of a side as the link multiplies them.

        A zero row stays zero.
        """
        if role in self.link.unit_sides:
            return unit_rows(block, none=0)
        return block

    def factors(self, role: str) -> Matrix:
        """Return the factor matrix of one side; see `side`."""
        return self.side(role).rows

    def names(self, role: str) -> NDArray[Any]:
        """Return the label of each row of a side: its title, else its id or number."""
        return self.side(role).labels

    def zero_rows(self, role: str) -> Indices:
        """Return the rows that have no direction, hence no cosine."""
        return self.side(role).zero_rows

    def scores(self, rows: ArrayLike | slice | None = None) -> Floats:
        """Compute the scores of left rows against all right rows, in float64.

        In a model of one table, these are scores of right rows against right rows.

        Parameters
        ----------
        rows : slice or array of int, optional
            Row numbers; all rows by default.

        Returns
        -------
        array of shape (len(rows), p)
        """
        # s_ij = p_i · q_j + a_i + b_j + c, with unit rows if the link needs them.
        scored = self.side(self.link.scored_role)
        if rows is None:
            rows = slice(None)
        elif not isinstance(rows, slice):
            rows = as_rows(rows, len(scored))
        block = self._factors_of_scores(self.link.scored_role, scored.rows[rows])
        columns = self._factors_of_scores("right", self.right_side.rows)
        scores = self.link.products(block, columns)
        if not self.link.sees_biases:
            return scores
        # Adding a term takes about as long as the products, so zeros are not added.
        if self.offset:
            scores += self.offset
        if scored.bias is not None:
            scores += scored.bias[rows][:, None]
        if self.right_side.bias is not None:
            scores += self.right_side.bias
        return scores

    def _factors_of_scores(self, role: SideName, rows: Matrix) -> Floats:
        """Return rows in float64, with length 1 if the link divides by lengths.

        A zero row then becomes NaN, because its cosines do not exist.
        """
        if role in self.link.unit_sides:
            return unit_rows(rows)
        return np.asarray(rows, dtype=np.float64)

    def predictions(self, rows: ArrayLike | slice | None = None) -> NDArray[Any]:
        """Compute the predictions for selected left rows.

        Returns
        -------
        array of shape (len(rows), p)
            Scores (identity), probabilities (softmax, sigmoid), cosines (cosine) or,
            for a ranking model, the right rows in order, best first.

        Examples
        --------
        >>> FactorModel.from_softmax([[1.0], [1.0]], embeddings=[[5.0]]).predictions()
        array([[0.5, 0.5]])
        """
        return self.link.predict(self.scores(rows))

    def cosines(self, role: str, pairs: ArrayLike | None = None) -> Floats:
        """Compute the cosine of each pair.

        Parameters
        ----------
        role : {"left", "right", "cross"}
            Left-left, right-right or left-right pairs. Titles, such as "item", are also
            accepted.
        pairs : array of shape (m, 2) or (2,), optional
            Row numbers; all pairs by default, up to 5 million.

        Returns
        -------
        array of shape (m,)
            NaN where a row is zero.
        """
        return Pairs.of(role, self.roles).cosines(self, pairs)

    def _of(self, *parts: Any) -> Self:
        return object.__new__(type(self))._hold(*parts)

    def take(
        self, *, left: Indices | None = None, right: Indices | None = None
    ) -> Self:
        """Return the model of some rows only, with their fields."""
        left_side = self.left_side if left is None else self.side("left").take(left)
        right_side = self.right_side if right is None else self.right_side.take(right)
        return self._of(
            left_side,
            right_side,
            self.link,
            self.offset,
            self.roles,
            self.objective,
            self.final_norm,
            self.tying,
        )

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed and checked.

        Other fields are kept. If the left factors are removed, their fields are removed
        with them. If the link was only assumed, a new objective sets it. The final norm
        and the tying are kept only as long as the right rows and the kind of head stay
        the same.

        Examples
        --------
        >>> model = FactorModel.from_vectors([[1.0]])
        >>> changed = model.replace(objective="product", offset=2.0)
        >>> changed.objective, changed.offset
        ('product', 2.0)
        >>> model.replace(bias=[1.0])
        Traceback (most recent call last):
            ...
        TypeError: a model has no field bias
        """
        link: Any = self.link
        if self.link.is_assumed and changes.get("objective") is not None:
            link = None
        link = changes.pop("link", link)
        offset = changes.pop("offset", self.offset)
        objective = changes.pop("objective", self.objective)
        roles = as_titles(changes.pop("roles", self.roles))
        norm, tying = self.final_norm, self.tying
        if "right" in changes:
            norm = tying = None
        norm = changes.pop("final_norm", norm)
        tying = changes.pop("tying", tying)
        left = self._changed_side("left", changes)
        right = self._changed_side("right", changes)
        if changes:
            raise TypeError(f"a model has no field {', '.join(changes)}")
        # A norm or tying of this model that no longer fits is dropped; a new one that
        # does not fit is refused.
        if (
            norm is self.final_norm
            and norm is not None
            and not norm.fits(as_link(link), self.rank)
        ):
            norm = None
        if (
            tying is self.tying
            and tying is not None
            and as_link(link).name != "softmax"
        ):
            tying = None
        users, items = roles
        if left is not None and left.title != users:
            left = dataclasses.replace(left, title=users)
        if right is not None and right.title != items:
            right = dataclasses.replace(right, title=items)
        return self._of(left, right, link, offset, roles, objective, norm, tying)

    def _changed_side(self, role: SideName, changes: dict[str, Any]) -> Side | None:
        """Remove the fields of a side from `changes`, and return the side with them."""
        current: Side | None = getattr(self, f"{role}_side")
        optional: dict[str, Any] = {}
        for field in OPTIONAL:
            if f"{role}_{field}" in changes:
                optional[field] = changes.pop(f"{role}_{field}")
        replaced = dict(optional)
        if role in changes:
            replaced["rows"] = changes.pop(role)
        if role == "left" and replaced.get("rows", current) is None:
            # There is no left side, so that it cannot have fields either.
            _require_nothing_of(self.title(role), optional)
            return None
        if current is None:
            return Side(title=self.title(role), **replaced)
        if not replaced:
            return current
        return dataclasses.replace(current, **replaced)
