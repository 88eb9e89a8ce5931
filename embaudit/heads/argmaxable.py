"""Labels that can be the most probable one, and pairs that can share ½/½."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import Flags, Floats, Indices, Matrix, as_rows
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import ARGMAX_MARGIN
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.heads.coordinates import (
    LabelCoordinates,
    first_twins,
    label_coordinates,
)
from embaudit.heads.feasibility import MAX_CELLS, NO, UNDECIDED, YES, solve_feasibility
from embaudit.linalg.pairs import as_pairs
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model

if TYPE_CHECKING:
    import pandas as pd

TIED = "tied"
"""Answer for a label that leads only together with labels of equal row and bias."""


@dataclass(frozen=True, eq=False)
class _Answers(Result):
    """One answer per label or pair of labels: can it lead all other labels?"""

    answer: NDArray[np.str_]
    """(m,) yes, no, tied or undecided.

    Undecided if neither an input nor an obstacle was found within the size allowed.
    """
    lead: Floats
    """(m,) lead of the input found, in standard deviations of its logits; 0 if there is
    none. A lower bound of the largest lead."""

    @property
    def decided(self) -> Flags:
        """Flags of the answers other than undecided."""
        return np.asarray(self.answer != UNDECIDED)

    @property
    def n_can(self) -> int:
        """Number of answers yes."""
        return int(np.count_nonzero(self.answer == YES))

    @property
    def n_cannot(self) -> int:
        """Number of answers no."""
        return int(np.count_nonzero(self.answer == NO))

    @property
    def n_undecided(self) -> int:
        """Number of labels or pairs without an answer."""
        return int(np.count_nonzero(self.answer == UNDECIDED))


@dataclass(frozen=True, eq=False)
class Argmaxable(_Answers):
    """Labels, each with an answer: does some input make it the most probable one?

    Examples
    --------
    >>> import embaudit as ea
    >>> rows = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]]
    >>> found = ea.heads.argmaxable(ea.FactorModel.from_softmax(rows))
    >>> found.n_can, found.cannot
    (3, array([False, False, False,  True]))
    """

    labels: Indices
    """(m,) row numbers of the labels examined."""
    names: NDArray[Any]
    """(m,) names of these labels."""
    n_labels: int
    """Labels of the head; all of them compete, examined or not."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
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
            f"Argmaxable({self.n_can:,} of {len(self.labels):,} labels can be the "
            f"argmax, {tied}{self.n_cannot:,} cannot, {self.n_undecided:,} undecided)"
        )

    @property
    def is_sample(self) -> bool:
        """True if some labels of the head were not examined."""
        return len(self.labels) < self.n_labels

    @property
    def can_lead(self) -> Flags:
        """Flags of the labels that some input makes the only most probable one."""
        return np.asarray(self.answer == YES)

    @property
    def tied(self) -> Flags:
        """Flags of the labels that lead only together with equal labels.

        Equal labels have the same row and bias. Greedy decoding then emits one of them.
        """
        return np.asarray(self.answer == TIED)

    @property
    def cannot(self) -> Flags:
        """Flags of the labels that no input makes the argmax, alone or tied."""
        return np.asarray(self.answer == NO)

    @property
    def n_tied(self) -> int:
        """Number of labels that lead only together with equal labels."""
        return int(np.count_nonzero(self.tied))

    @property
    def names_of_cannot(self) -> list[str]:
        """Names of at most 50 labels that cannot be the most probable one."""
        return [str(name) for name in self.names[self.cannot][:50]]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per label: its number, name, answer and lead."""
        import pandas as pd

        return pd.DataFrame(
            {
                "label": self.labels,
                "name": self.names,
                "argmaxable": self.answer,
                "lead": self.lead,
            }
        )

    def explain(self, noun: str = "label") -> str:
        """Describe how many labels can be the most probable one by the margin.

        Parameters
        ----------
        noun : str
            What a row is called, such as "item" for a recommender with a softmax.

        Examples
        --------
        >>> rows = [[2.0, 0.0], [0.0, 2.0], [2.0, 0.0], [0.9, 0.9], [-1.0, -1.0]]
        >>> head = FactorModel.from_softmax(rows)
        >>> argmaxable(head).to_frame()["argmaxable"].tolist()
        ['tied', 'yes', 'tied', 'no', 'yes']
        >>> print(argmaxable(head).explain())
        Of 5 labels, 2 can be the most probable one, 1 hardly can, 2 only together with
        an equal one.
        >>> print(argmaxable(head, rows=[1]).explain())
        Of 1 label asked, 1 can be the most probable one, 0 hardly can.
        """
        if self.is_sample:
            labels = f"{counted(len(self.labels), noun)} asked"
        else:
            labels = f"{self.n_labels:,} {noun}s"
        if 1 < self.n_can == len(self.labels):
            return f"All {labels} can be the most probable one."
        parts = [
            f"Of {labels}, {self.n_can:,} can be the most probable one",
            f"{self.n_cannot:,} hardly can",
        ]
        if self.n_tied:
            parts.append(f"{self.n_tied:,} only together with an equal one")
        if self.n_undecided:
            parts.append(f"{self.n_undecided:,} are undecided")
        return f"{', '.join(parts)}."


def argmaxable(
    model: FactorModel,
    *,
    rows: ArrayLike | None = None,
    margin: float = ARGMAX_MARGIN,
    max_cells: int = MAX_CELLS,
) -> Argmaxable:
    """Find which labels are more probable than every other label for some input.

    Label j is *argmaxable* if some x in Rᵏ gives `(w_j − w_l)·x + b_j − b_l > 0` for
    every l ≠ j. Without a bias this holds if and only if its row is a vertex of the
    convex hull of the rows. With a bias, the rows are `(w_j, b_j)` and the inputs
    `(x, τ)` with τ >= 0: a label that wins strictly at τ = 0, far out, also wins at
    some finite input. Inputs may be any vector, also one that no network in front of
    the head produces. The answer is the same for every equivalent head: no translation,
    linear gauge, or shift of the inputs absorbed by the bias can change it.

    Labels of equal row and bias never lead alone; if together they lead all other
    labels, they are *tied*.

    Parameters
    ----------
    model : FactorModel
        A softmax head, with or without inputs.
    rows : array of int, optional
        Labels to examine (all by default); the others still compete.
    margin : float
        Smallest lead that counts: gap to the next label, in standard deviations of the
        logits of all labels.
    max_cells : int
        Entries of the largest matrix of rivals, labels × dimensions. A label that needs
        more stays undecided.

    Returns
    -------
    Argmaxable
        An answer and a lead for each examined label.

    Raises
    ------
    InputError
        If the model is not a softmax head, all its rows are equal, a row number does
        not exist or the margin is not positive.

    References
    ----------
    Demeter, Kimmel & Downey, "Stolen Probability", ACL 2020; Grivas, Bogoychev & Lopez,
    "Low-Rank Softmax Can Have Unargmaxable Classes in Theory but Rarely in Practice",
    ACL 2022.

    Examples
    --------
    >>> rows = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.1, 0.1]]
    >>> head = FactorModel.from_softmax(rows)
    >>> argmaxable(head).to_frame()["argmaxable"].tolist()
    ['yes', 'yes', 'yes', 'no']
    >>> argmaxable(head.replace(right_bias=[0.0, 0.0, 0.0, 1.0]))
    Argmaxable(4 of 4 labels can be the argmax, 0 cannot, 0 undecided)
    """
    require_model(model)
    if rows is None:
        examined = np.arange(model.n_right)
    else:
        examined = as_rows(rows, model.n_right)
    return argmaxable_in(label_coordinates(model), model, examined, margin, max_cells)


def argmaxable_in(
    space: LabelCoordinates,
    model: FactorModel,
    rows: Indices,
    margin: float = ARGMAX_MARGIN,
    max_cells: int = MAX_CELLS,
) -> Argmaxable:
    """Answer `argmaxable` with coordinates of the model's labels that exist already."""
    # Equal labels never lead alone. The first label of each group competes for all of
    # them, and the whole group gets its answer.
    first = first_twins(space, model.right_bias)
    group_sizes = np.bincount(first, minlength=len(first))
    distinct, place = np.unique(first[rows], return_inverse=True)
    feasible = solve_feasibility(
        space,
        np.column_stack([distinct, distinct]),
        competes=group_sizes > 0,
        margin=margin,
        max_cells=max_cells,
        title="argmaxable labels",
    )
    answer = feasible.answer[place]
    has_twin = group_sizes[first[rows]] > 1
    answer[has_twin & (answer == YES)] = TIED
    return Argmaxable(
        answer=answer,
        lead=feasible.lead[place],
        labels=rows,
        names=model.names("right")[rows],
        n_labels=model.n_right,
    )


@dataclass(frozen=True, eq=False)
class SharedHalves(_Answers):
    """Pairs of labels, each with an answer: can inputs bring both near to ½?

    Examples
    --------
    >>> import embaudit as ea
    >>> square = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]
    >>> head = ea.FactorModel.from_softmax(square)
    >>> found = ea.heads.shared_halves(head, pairs=[[0, 1], [0, 2]])
    >>> found.can_share, found.n_can
    (array([ True, False]), 1)
    """

    pairs: Indices
    """(m, 2) row numbers of the pairs."""
    names: NDArray[Any]
    """(m, 2) names of their labels."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
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
        return (
            f"SharedHalves({self.n_can:,} of {pairs} can share ½/½, "
            f"{self.n_undecided:,} undecided)"
        )

    @property
    def can_share(self) -> Flags:
        """Flags of pairs that leave all other labels behind along some direction."""
        return np.asarray(self.answer == YES)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: row numbers, names, answer and lead."""
        import pandas as pd

        return pd.DataFrame(
            {
                "first": self.pairs[:, 0],
                "second": self.pairs[:, 1],
                "first_name": self.names[:, 0],
                "second_name": self.names[:, 1],
                "shared_half": self.answer,
                "lead": self.lead,
            }
        )

    def explain(self) -> str:
        """Describe how many pairs can share the probability ½/½."""
        undecided = f", {self.n_undecided:,} are undecided" if self.n_undecided else ""
        pairs = counted(len(self.pairs), "pair")
        return (
            f"Of {pairs} of labels, {self.n_can:,} can share ½/½, "
            f"{self.n_cannot:,} cannot{undecided}."
        )


def shared_halves(
    model: FactorModel,
    pairs: ArrayLike,
    *,
    margin: float = ARGMAX_MARGIN,
    max_cells: int = MAX_CELLS,
) -> SharedHalves:
    """Find which pairs of labels can share ½/½ in the limit of large inputs.

    Labels a and b can if and only if some direction x has `w_a·x = w_b·x > w_l·x` for
    every other l: their segment is an edge of the convex hull of the rows, and no third
    row lies on it. A bias shifts where the two are equal but not whether they leave the
    others behind, so it counts only between two equal rows, which share ½/½ if and only
    if their biases are equal too. No gauge changes the answer, and the cosine of the
    two labels does not give it.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    pairs : array of shape (m, 2)
        Row numbers of two different labels.
    margin : float
        Smallest lead that counts: gap to the next label, in standard deviations of the
        logits of all labels.
    max_cells : int
        Entries of the largest matrix of rivals, labels × dimensions. A pair that needs
        more stays undecided.

    Returns
    -------
    SharedHalves
        An answer and a lead for each pair.

    Raises
    ------
    InputError
        If the model is not a softmax head or a pair names one label twice.

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026,
    Figure 2.

    Examples
    --------
    Neighbouring corners of a square are joined by an edge, opposite ones are not.

    >>> square = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]
    >>> shared_halves(FactorModel.from_softmax(square), [[0, 1], [0, 2]]).can_share
    array([ True, False])
    """
    require_model(model)
    index = as_pairs(pairs, model.n_right, model.n_right)
    equal = index[index[:, 0] == index[:, 1]]
    if equal.size:
        raise must_be(
            "pairs", "pairs of two different labels", f"label {equal[0, 0]} with itself"
        )
    # Along a direction the logits of t x grow with t and the biases stay, so far out
    # only the rows count.
    space = label_coordinates(model).without_bias()
    feasible = solve_feasibility(
        space, index, margin=margin, max_cells=max_cells, title="edges of the hull"
    )
    apart = _only_bias_differs(model, space.rows, index)
    return SharedHalves(
        answer=np.where(apart, NO, feasible.answer),
        lead=np.where(apart, 0.0, feasible.lead),
        pairs=index,
        names=model.names("right")[index],
    )


def _only_bias_differs(model: FactorModel, rows: Matrix, pairs: Indices) -> Flags:
    """Flag pairs of equal rows, as the head multiplies them, with two different biases.

    Their odds are fixed, and not even.
    """
    if model.right_bias is None:
        return np.zeros(len(pairs), dtype=bool)
    first, second = pairs.T
    rounding = 0.0
    if "right" in model.link.unit_sides:
        # Division by their lengths makes parallel rows equal up to the last digits.
        rounding = 4 * float(np.finfo(rows.dtype).eps)
    largest = np.abs(np.asarray(rows[first]) - np.asarray(rows[second])).max(axis=1)
    biases_differ = model.right_bias[first] != model.right_bias[second]
    return np.asarray(biases_differ & (largest <= rounding))
