"""Labels that can be the most probable one for some input, and pairs that can share the probability ½/½."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import Flags, Floats, Indices, Matrix, as_rows
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.heads.coordinates import (
    LabelCoordinates,
    first_twins,
    label_coordinates,
)
from embaudit.heads.feasibility import (
    MARGIN,
    MAX_CELLS,
    NO,
    OPEN,
    YES,
    solve_feasibility,
)
from embaudit.linalg.pairs import as_pairs
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model

if TYPE_CHECKING:
    import pandas as pd

WORDS = {YES: "yes", NO: "no", OPEN: "undecided"}
TIED = "tied"


@dataclass(frozen=True, eq=False)
class Argmaxable(Result):
    """Labels, each with an answer: is there an input that makes it the most probable one?"""

    labels: Indices
    """The rows asked about."""
    names: NDArray[Any]
    """Names of these labels."""
    can_lead: Flags
    """Flags of labels that some input makes the most probable one."""
    decided: Flags
    """False where neither an input nor an obstacle was found within the size of linear program allowed."""
    lead: Floats
    """Lead of the label at the input found: gap to the next label over gap to the last, 0 where none was
    found. A lower bound of the largest lead."""
    n_labels: int
    """Labels of the head; all of them compete, asked about or not."""
    tied: Flags
    """Flags of labels that lead only with labels of equal row and bias; greedy decoding then emits one of them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "n_labels": self.n_labels,
                "n_can": self.n_can,
                "n_tied": self.n_tied,
                "n_cannot": self.n_cannot,
                "n_undecided": self.n_undecided,
                "n_asked": len(self.labels),
                "cannot": self.names_of_cannot,
            }
        )

    def __repr__(self) -> str:
        tied = f"{self.n_tied:,} only tied with equal labels, " if self.n_tied else ""
        return (
            f"Argmaxable({self.n_can:,} of {len(self.labels):,} labels can be the argmax, {tied}"
            f"{self.n_cannot:,} cannot, {self.n_undecided:,} undecided)"
        )

    @property
    def is_sample(self) -> bool:
        """True if some labels of the head were not examined."""
        return len(self.labels) < self.n_labels

    @property
    def n_can(self) -> int:
        """Labels that can be the argmax alone."""
        return int(self.can_lead.sum())

    @property
    def n_tied(self) -> int:
        """Labels that can be the argmax, but only together with labels of equal row and bias."""
        return int(self.tied.sum())

    @property
    def n_cannot(self) -> int:
        """Labels that no input can make the argmax, alone or tied."""
        return int(self.cannot.sum())

    @property
    def cannot(self) -> Flags:
        """Flags of labels that no input can make the argmax, alone or tied."""
        return np.asarray(self.decided & ~self.can_lead & ~self.tied)

    @property
    def names_of_cannot(self) -> list[str]:
        """Names of labels that cannot be the most probable one, 50 at most."""
        return [str(name) for name in self.names[self.cannot][:50]]

    @property
    def n_undecided(self) -> int:
        """Labels without an answer."""
        return int((~self.decided).sum())

    def to_frame(self) -> pd.DataFrame:
        """One row a label: its number, name, answer (yes, tied, no, undecided) and lead."""
        import pandas as pd

        answer = np.where(
            self.can_lead, WORDS[YES], np.where(self.decided, WORDS[NO], WORDS[OPEN])
        ).astype(object)
        answer[self.tied] = TIED
        return pd.DataFrame(
            {
                "label": self.labels,
                "name": self.names,
                "argmaxable": answer,
                "lead": self.lead,
            }
        )

    def explain(self, noun: str = "label") -> str:
        """Describe how many labels can be the most probable one, by the margin at least.

        Parameters
        ----------
        noun : str
            What a row is called, such as "item" for a recommender with a softmax.

        Examples
        --------
        >>> head = FactorModel.from_softmax([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0], [0.9, 0.9], [-1.0, -1.0]])
        >>> print(argmaxable(head).explain())
        Of 5 labels, 2 can be the most probable one, 1 hardly can, 2 only together with an equal one.
        >>> print(argmaxable(head, rows=[1]).explain(), argmaxable(head).to_frame()["argmaxable"].tolist())
        Of 1 label asked, 1 can be the most probable one, 0 hardly can. ['tied', 'yes', 'tied', 'no', 'yes']
        """
        labels = (
            f"{counted(len(self.labels), noun)} asked"
            if self.is_sample
            else f"{self.n_labels:,} {noun}s"
        )
        if 1 < self.n_can == len(self.labels):
            return f"All {labels} can be the most probable one."
        tied = (
            f", {self.n_tied:,} only together with an equal one" if self.n_tied else ""
        )
        undecided = f", {self.n_undecided:,} are undecided" if self.n_undecided else ""
        rest = f"{self.n_cannot:,} hardly can{tied}{undecided}"
        return f"Of {labels}, {self.n_can:,} can be the most probable one, {rest}."


def argmaxable(
    model: FactorModel,
    *,
    rows: ArrayLike | None = None,
    margin: float = MARGIN,
    max_cells: int = MAX_CELLS,
) -> Argmaxable:
    """Find which labels are strictly more probable than every other label for some input.

    Label j is *argmaxable* if some x in Rᵏ gives `(w_j − w_l)·x + b_j − b_l > 0` for every l ≠ j. Without a bias
    that holds iff its row is a vertex of the convex hull of the rows. With a bias it is asked of `(w_j, b_j)` and
    `(x, τ), τ >= 0`: what wins strictly at τ = 0, far out, also wins at some finite input. Inputs may be any
    vector, also one that no network in front of the head produces. The answer is the same for every equivalent
    head: no translation, linear gauge, or shift of the inputs absorbed by the bias can change it.

    Labels of equal row and bias never lead alone; if together they lead all others, they are *tied*.

    Parameters
    ----------
    model : FactorModel
        A softmax head, with or without inputs.
    rows : array of int, optional
        Labels to ask about (all by default); the others still compete.
    margin : float
        Least lead that counts, as a share of the gap to the last label.
    max_cells : int
        Entries of the largest linear program, labels × dimensions. In heads of many dimensions a label that
        simpler certificates leave open stays undecided when its program would be larger.

    Raises
    ------
    InputError
        If the model is no softmax head, all its rows are equal, a row number does not exist or the margin is no
        share.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]])
    >>> argmaxable(head).to_frame()["argmaxable"].tolist()
    ['yes', 'yes', 'yes', 'no']
    >>> argmaxable(head.replace(right_bias=[0.0, 0.0, 0.0, 1.0]))
    Argmaxable(4 of 4 labels can be the argmax, 0 cannot, 0 undecided)

    References
    ----------
    Demeter, Kimmel & Downey, "Stolen Probability", ACL 2020; Grivas, Bogoychev & Lopez, "Low-Rank Softmax Can Have
    Unargmaxable Classes in Theory but Rarely in Practice", ACL 2022.
    """
    require_model(model)
    examined = (
        np.arange(model.n_right) if rows is None else as_rows(rows, model.n_right)
    )
    return argmaxable_in(label_coordinates(model), model, examined, margin, max_cells)


def argmaxable_in(
    space: LabelCoordinates,
    model: FactorModel,
    rows: Indices,
    margin: float = MARGIN,
    max_cells: int = MAX_CELLS,
) -> Argmaxable:
    """Answer `argmaxable` where the coordinates of the model's labels are at hand already."""
    # Equal labels never lead alone: one of each group competes, and its answer holds for all of them (as "tied").
    first = first_twins(space, model.right_bias)
    is_twin = first != np.arange(len(first))
    distinct, where = np.unique(first[rows], return_inverse=True)
    field = replace(space, twins=is_twin) if is_twin.any() else space
    pairs = np.column_stack([distinct, distinct])
    # A pair of one label with itself asks for an input that makes this label lead alone.
    feasible = solve_feasibility(
        field, pairs, margin=margin, max_cells=max_cells, title="argmaxable labels"
    )
    leads = (feasible.status == YES)[where]
    alone = ~np.isin(first[rows], first[is_twin])
    return Argmaxable(
        labels=rows,
        names=model.names("right")[rows],
        can_lead=leads & alone,
        decided=(feasible.status != OPEN)[where],
        lead=feasible.lead[where],
        n_labels=model.n_right,
        tied=leads & ~alone,
    )


@dataclass(frozen=True, eq=False)
class SharedHalves(Result):
    """Pairs of labels, each with an answer: do inputs bring both probabilities as near to ½ as one likes?"""

    pairs: Indices
    """(m, 2) the pairs asked about."""
    names: NDArray[Any]
    """(m, 2) what they are called."""
    can_share: Flags
    """Flags of pairs with a direction along which the two leave all others behind."""
    decided: Flags
    """False where neither a direction nor an obstacle was found within the size of linear program allowed."""
    lead: Floats
    """Gap to the third label over gap to the last along that direction, 0 where none was found."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "n_pairs": len(self.pairs),
                "n_can": self.n_can,
                "n_cannot": self.n_cannot,
                "n_undecided": self.n_undecided,
            }
        )

    def __repr__(self) -> str:
        pairs = counted(len(self.pairs), "pair")
        return f"SharedHalves({self.n_can:,} of {pairs} can share ½/½, {self.n_undecided:,} undecided)"

    @property
    def n_can(self) -> int:
        """Pairs that can share ½/½."""
        return int(self.can_share.sum())

    @property
    def n_cannot(self) -> int:
        """Pairs that cannot."""
        return len(self.pairs) - self.n_can - self.n_undecided

    @property
    def n_undecided(self) -> int:
        """Pairs without an answer."""
        return int((~self.decided).sum())

    def to_frame(self) -> pd.DataFrame:
        """One row a pair: numbers, names, answer (yes, no, undecided) and lead."""
        import pandas as pd

        (first, second), (name, other) = self.pairs.T, self.names.T
        answer = np.where(
            self.can_share, WORDS[YES], np.where(self.decided, WORDS[NO], WORDS[OPEN])
        )
        columns = {
            "first": first,
            "second": second,
            "first_name": name,
            "second_name": other,
        }
        return pd.DataFrame(columns | {"shared_half": answer, "lead": self.lead})

    def explain(self) -> str:
        """Describe how many pairs can share the probability ½/½."""
        undecided = f", {self.n_undecided:,} are undecided" if self.n_undecided else ""
        pairs = counted(len(self.pairs), "pair")
        return f"Of {pairs} of labels, {self.n_can:,} can share ½/½, {self.n_cannot:,} cannot{undecided}."


def shared_halves(
    model: FactorModel,
    pairs: ArrayLike,
    *,
    margin: float = MARGIN,
    max_cells: int = MAX_CELLS,
) -> SharedHalves:
    """Find which pairs of labels can share the probability ½/½, in the limit of large inputs.

    Labels a and b can iff some direction x has `w_a·x = w_b·x > w_l·x` for every other l: their segment is an edge of
    the convex hull of the rows, and no third row lies on it. A bias shifts where the two are equal but not whether they
    leave the others behind, so it counts only between two equal rows, which share ½/½ iff their biases are equal too.
    No gauge changes the answer, and the cosine of the two labels does not give it.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    pairs : array of shape (m, 2)
        Row numbers of two different labels.
    margin, max_cells
        See `argmaxable`.

    Raises
    ------
    InputError
        If the model is no softmax head or a pair is none of two labels.

    Examples
    --------
    Neighbouring corners of a square are joined by an edge, opposite ones are not.

    >>> head = FactorModel.from_softmax([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    >>> shared_halves(head, [[0, 1], [0, 2]]).can_share
    array([ True, False])

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026, Figure 2.
    """
    require_model(model)
    index = as_pairs(pairs, model.n_right, model.n_right)
    equal = index[index[:, 0] == index[:, 1]]
    if equal.size:
        raise must_be(
            "pairs", "of two different labels", f"label {equal[0, 0]} with itself"
        )
    # Far out only the rows count: along a direction t x logits grow with t, biases stay.
    space = label_coordinates(model).without_bias()
    feasible = solve_feasibility(
        space, index, margin=margin, max_cells=max_cells, title="edges of the hull"
    )
    apart = _only_bias_differs(model, space.rows, index)
    return SharedHalves(
        pairs=index,
        names=model.names("right")[index],
        can_share=(feasible.status == YES) & ~apart,
        decided=(feasible.status != OPEN) | apart,
        lead=np.where(apart, 0.0, feasible.lead),
    )


def _only_bias_differs(model: FactorModel, rows: Matrix, pairs: Indices) -> Flags:
    """Flag pairs of one row, as the head multiplies it, but two biases: their odds are fixed, not even."""
    if model.right_bias is None:
        return np.zeros(len(pairs), dtype=bool)
    first, second = pairs.T
    # Division by lengths makes parallel rows equal but for the last digits; rows as stored are equal or are not.
    rounding = 4 * np.finfo(rows.dtype).eps if "right" in model.link.unit_sides else 0.0
    is_equal = (
        np.abs(np.asarray(rows[first]) - np.asarray(rows[second])).max(axis=1)
        <= rounding
    )
    return np.asarray((model.right_bias[first] != model.right_bias[second]) & is_equal)
