"""FactorModel: two factor matrices, their biases and a link, and its predictions.

A score is `s_ij = p_i · q_j + a_i + b_j + c` with left factors p (users, inputs), right
factors q (items, labels), left bias a, right bias b and offset c.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
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
from embaudit.model.side import OPTIONAL, Labels, Side, SideName, as_titles
from embaudit.model.trainings import (
    StatedTraining,
    is_open_link,
    known_training,
    link_of_training,
    require_agreement,
)
from embaudit.model.tying import Tying, require_head


def _require_nothing_of(title: str, fields: dict[str, Any]) -> None:
    """Raise InputError if a field is given for rows that are missing."""
    for field, value in fields.items():
        if value is not None:
            raise must_be(
                f"{title} {field}",
                f"given with {title} factors",
                f"no {title} factors",
                "omit it",
            )


def _require_one_length(left: Side, right: Side) -> None:
    """Raise InputError unless both sides have the same number of columns."""
    if left.shape[1] == right.shape[1]:
        return
    remedy = Sentence(
        "if one side has a bias as an additional column, pass this column as a bias"
    )
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


def _require_statement(overruled: object) -> None:
    """Refuse anything but a statement on the training, or None."""
    if overruled is not None and not isinstance(overruled, StatedTraining):
        allowed = "a StatedTraining, or None"
        raise must_be("overruled", allowed, repr(overruled))


def _as_side(side: Any, title: str) -> Side:
    """Return a side under a title; an array becomes a side of rows alone."""
    if not isinstance(side, Side):
        return Side(side, title)
    if side.title != title:
        return side.replace(title=title)
    return side


def _inferred_link(
    objective: str | None, left_side: Side | None, right_side: Side
) -> Link:
    """Return the link of a model for which neither a file nor the caller declared one.

    The objective decides if it is known. Without one, a dot product is assumed, unless
    all rows have length 1: dot products are cosines then, and either of them can have
    been trained.
    """
    if (
        known_training(objective) is None
        and left_side is not None
        and left_side.is_unit
        and right_side.is_unit
    ):
        return LINKS["unknown"]
    identity = dataclasses.replace(LINKS["identity"], is_assumed=True)
    return link_of_training(objective, identity, alone=left_side is None)


def _require_one_table(
    link: Link, left_side: Side | None, right_side: Side, offset: float
) -> None:
    """Raise InputError for a second side, a bias or an offset of one table of rows."""
    extras = {
        "another side": left_side is not None,
        "a bias": right_side.bias is not None,
        "an offset": offset != 0,
    }
    for got, is_given in extras.items():
        if is_given:
            raise must_be(
                f"a model compared by {link.comparison_words}",
                "a single table of rows",
                got,
                "omit one of them",
            )


FIELDS_OF_BOTH = (
    "link",
    "offset",
    "roles",
    "objective",
    "overruled",
    "final_norm",
    "tying",
)
"""Fields of a model that belong to no side."""


def _sorted_changes(
    changes: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the changed fields of a model, of its left side and of its right side.

    Examples
    --------
    >>> _sorted_changes({"offset": 1.0, "left": [[2.0]], "right_bias": [0.5]})
    ({'offset': 1.0}, {'rows': [[2.0]]}, {'bias': [0.5]})
    """
    model: dict[str, Any] = {}
    sides: dict[str, dict[str, Any]] = {"left": {}, "right": {}}
    unknown = []
    for name, value in changes.items():
        side, _, field = name.partition("_")
        if name in FIELDS_OF_BOTH:
            model[name] = value
        elif name in sides:
            sides[name]["rows"] = value
        elif side in sides and field in OPTIONAL:
            sides[side][field] = value
        else:
            unknown.append(name)
    if unknown:
        raise TypeError(f"a model has no field {', '.join(unknown)}")
    return model, sides["left"], sides["right"]


@dataclass(frozen=True, eq=False, repr=False)
class FactorModel:
    """Two factor matrices whose dot products, biases and link make predictions.

    `FactorModel(users, items)` takes two `Side`s, or two arrays, of which it makes
    sides. `from_arrays` also takes the other arrays of both sides: biases, ids, titles,
    counts; type checkers accept arrays there alone. `from_user_item`, `from_softmax`
    and `from_vectors` take arrays in the words of recommenders, of softmax heads and of
    tables of vectors.

    Parameters
    ----------
    left_side : Side, array of shape (n, k) or None
        Users or inputs; None if the model has only one side.
    right_side : Side or array of shape (p, k)
        Items or labels.
    link : Link or {"identity", "softmax", "sigmoid", "cosine", "ranking"}, optional
        How scores become predictions.
    offset : float
        Added to every score.
    roles : pair of str
        What people call the two sides. Both sides take these titles.
    objective : str, optional
        Training objective of the model, if known; see `embaudit.model.objectives`.
    final_norm : FinalNorm, optional
        Norm that the states of a network pass before they reach this softmax head.
    tying : Tying, optional
        Whether this softmax head is also the input embeddings of its network; None if
        it is not.
    overruled : StatedTraining, optional
        The training that the source of the model states, if the caller declared an
        objective that contradicts it.

    Raises
    ------
    InputError
        For sides with different numbers of columns, or an objective of another link.

    Examples
    --------
    >>> users, items = [[1.0, 0.0], [1.0, 1.0]], [[2.0, 1.0], [0.0, 3.0], [1.0, 1.0]]
    >>> model = FactorModel(users, items)
    >>> model
    FactorModel(2 users × 3 items, 2 dimensions, identity link, float64)
    >>> model.scores([1])
    array([[3., 3., 2.]])
    >>> FactorModel(users, Side(items, "item", bias=[0.5, 0.0, 0.0])).scores([1])
    array([[3.5, 3. , 2. ]])
    """

    left_side: Side | None
    right_side: Side
    link: Link = LINKS["identity"]
    offset: float = 0.0
    roles: tuple[str, str] = ("user", "item")
    objective: str | None = None
    final_norm: FinalNorm | None = None
    tying: Tying | None = None
    overruled: StatedTraining | None = None

    def __post_init__(self) -> None:
        """Check that the sides, the link and the objective agree."""
        if not is_number(self.offset):
            raise must_be("offset", "a finite number", repr(self.offset))
        roles = as_titles(self.roles)
        link = as_link(self.link)
        right_side = _as_side(self.right_side, roles[1])
        left_side = self.left_side
        n_sides = 1
        if left_side is not None:
            left_side = _as_side(left_side, roles[0])
            n_sides = 2
            _require_one_length(left_side, right_side)
        if link.compares is not None:
            _require_one_table(link, left_side, right_side, self.offset)
        require_agreement(self.objective, link, sides=n_sides)
        _require_statement(self.overruled)
        if self.final_norm is not None:
            require_fit(self.final_norm, link, right_side.shape[1])
        if self.tying is not None:
            require_head(self.tying, link)
        checked = {
            "left_side": left_side,
            "right_side": right_side,
            "link": link,
            "offset": float(self.offset),
            "roles": roles,
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @classmethod
    def from_arrays(
        cls,
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
    ) -> Self:
        """Make a model of the arrays of both sides.

        Parameters
        ----------
        left : array of shape (n, k) or None
            Users or inputs; None if the model has only one side.
        right : array of shape (p, k)
            Items or labels.
        link : Link or str, optional
            How scores become predictions. None if it is not known: see
            `from_user_item`.
        left_bias, right_bias : array of shape (n,) and (p,), optional
            A bias that is given counts as free, so that it can absorb a translation.
        offset : float
            Added to every score.
        roles : pair of str
            Titles of the two sides.
        left_ids, right_ids : array of shape (n,) and (p,), optional
            Unique identifiers.
        left_names, right_names : array of shape (n,) and (p,), optional
            Titles to show to people; need not be unique.
        objective : str, optional
            Training objective of the model, if known.
        left_counts, right_counts : array of shape (n,) and (p,), optional
            Interactions behind each row.
        left_aside, right_aside : array of bool of shape (n,) and (p,), optional
            Rows that are set aside when neighbours are sampled, such as the special
            tokens of a language model.
        final_norm : FinalNorm, optional
            As for the class.
        tying : Tying, optional
            As for the class.

        Raises
        ------
        InputError
            For non-finite entries, numbers of columns that differ, wrong lengths,
            duplicated ids, an objective of another link, and for left biases, ids and
            so on without left rows.

        Examples
        --------
        >>> users, items = [[1.0, 2.0]], [[2.0, 1.0], [0.0, 3.0]]
        >>> model = FactorModel.from_arrays(users, items, right_ids=["a", "b"])
        >>> model.scores(), model.right_ids
        (array([[4., 6.]]), array(['a', 'b'], dtype='<U1'))
        """
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
            "rows": left,
            "bias": left_bias,
            "ids": left_ids,
            "names": left_names,
            "counts": left_counts,
            "aside": left_aside,
        }
        right_side = Side(title=items, **right_fields)
        if left is None:
            _require_nothing_of(users, left_fields)
            left_side = None
        else:
            left_side = Side(title=users, **left_fields)
        if link is None:
            link = _inferred_link(objective, left_side, right_side)
        return cls(
            left_side,
            right_side,
            link=as_link(link),
            offset=offset,
            roles=(users, items),
            objective=objective,
            final_norm=final_norm,
            tying=tying,
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
        return cls.from_arrays(
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
        return cls.from_arrays(
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
        return cls.from_arrays(left=None, right=vectors, right_ids=ids, link=link)

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
    def left(self) -> Matrix | None:
        """Factors of the left side, None if it is missing."""
        return None if self.left_side is None else self.left_side.rows

    @property
    def right(self) -> Matrix:
        """Factors of the right side."""
        return self.right_side.rows

    @property
    def left_bias(self) -> Vector | None:
        """Biases of the left rows, None if there are none."""
        return None if self.left_side is None else self.left_side.bias

    @property
    def right_bias(self) -> Vector | None:
        """Biases of the right rows, None if there are none."""
        return self.right_side.bias

    @property
    def left_ids(self) -> Labels:
        """Ids of the left rows, None if there are none."""
        return None if self.left_side is None else self.left_side.ids

    @property
    def right_ids(self) -> Labels:
        """Ids of the right rows, None if there are none."""
        return self.right_side.ids

    @property
    def left_names(self) -> Labels:
        """Titles of the left rows, None if there are none."""
        return None if self.left_side is None else self.left_side.names

    @property
    def right_names(self) -> Labels:
        """Titles of the right rows, None if there are none."""
        return self.right_side.names

    @property
    def left_counts(self) -> Vector | None:
        """Numbers of interactions behind the left rows, None if unknown."""
        return None if self.left_side is None else self.left_side.counts

    @property
    def right_counts(self) -> Vector | None:
        """Numbers of interactions behind the right rows, None if unknown."""
        return self.right_side.counts

    @property
    def left_aside(self) -> Flags | None:
        """True for the left rows that are set aside; None if none are."""
        return None if self.left_side is None else self.left_side.aside

    @property
    def right_aside(self) -> Flags | None:
        """True for the right rows that are set aside; None if none are."""
        return self.right_side.aside

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
        return Pairs.from_role(name, self.roles).value

    def side_name(self, name: str) -> SideName:
        """Return "left" or "right" for a title; left-right pairs raise InputError."""
        pairs = Pairs.from_role(name, self.roles)
        if pairs is Pairs.CROSS:
            users, items = self.roles
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

    def product_rows(self, role: SideName, block: Floats) -> Floats:
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
            The scores, with biases and offset.
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
        return Pairs.from_role(role, self.roles).cosines(self, pairs)

    def take(
        self, *, left: Indices | None = None, right: Indices | None = None
    ) -> Self:
        """Return the model of some rows only, with their fields."""
        left_side = self.left_side if left is None else self.side("left").take(left)
        right_side = self.right_side if right is None else self.right_side.take(right)
        return dataclasses.replace(self, left_side=left_side, right_side=right_side)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, under the names of `from_arrays`.

        Other fields are kept. If the left factors are removed, their fields are removed
        with them. If nobody declared the link, a new objective sets it. The final norm
        and the tying are kept only as long as the right rows and the kind of head stay
        the same. What a source says of the training is kept until another objective
        replaces the one that contradicts it.

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
        fields, left, right = _sorted_changes(changes)
        fields["left_side"] = self._changed_left_side(left)
        fields["right_side"] = self.right_side
        if right:
            fields["right_side"] = self.right_side.replace(**right)
        link = fields.get("link", self.link)
        can_be_set = "link" not in fields and is_open_link(
            self.link, alone=fields["left_side"] is None
        )
        if link is None or (can_be_set and fields.get("objective") is not None):
            objective = fields.get("objective", self.objective)
            link = _inferred_link(objective, fields["left_side"], fields["right_side"])
        link = as_link(link)
        fields["link"] = link
        if fields.get("objective", self.objective) != self.objective:
            fields.setdefault("overruled", None)
        # A norm or tying of this model that no longer fits is dropped; a new one that
        # does not fit is refused.
        keeps_rows = "rows" not in right
        norm = self.final_norm
        if norm is not None and not (keeps_rows and norm.fits(link, self.rank)):
            fields.setdefault("final_norm", None)
        if not (keeps_rows and link.name == "softmax"):
            fields.setdefault("tying", None)
        return dataclasses.replace(self, **fields)

    def _changed_left_side(self, arrays: dict[str, Any]) -> Side | None:
        """Return the left side with some arrays changed; None if it has no rows."""
        if not arrays:
            return self.left_side
        rows = arrays.get("rows", self.left)
        if rows is None:
            _require_nothing_of(self.title("left"), arrays)
            return None
        if self.left_side is None:
            return Side(title=self.title("left"), **arrays)
        return self.left_side.replace(**arrays)
