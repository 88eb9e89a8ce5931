"""Pairs of labels that can share the probability ½/½: the edges of the convex hull of the label rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import Flags, Floats, Indices, Matrix
from embaudit.core.results import Result
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.linalg.pairs import as_pairs
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model
from embaudit.softmax.argmaxable import WORDS
from embaudit.softmax.coordinates import label_coordinates
from embaudit.softmax.feasibility import MARGIN, MAX_CELLS, NO, OPEN, YES, solve_feasibility

if TYPE_CHECKING:
    import pandas as pd


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

    RECORD = ("n_pairs=pairs.__len__", "n_can", "n_cannot", "n_undecided")

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
        answer = np.where(self.can_share, WORDS[YES], np.where(self.decided, WORDS[NO], WORDS[OPEN]))
        columns = {"first": first, "second": second, "first_name": name, "second_name": other}
        return pd.DataFrame(columns | {"shared_half": answer, "lead": self.lead})

    def explain(self) -> str:
        """Describe how many pairs can share the probability ½/½."""
        undecided = f", {self.n_undecided:,} are undecided" if self.n_undecided else ""
        pairs = counted(len(self.pairs), "pair")
        return f"Of {pairs} of labels, {self.n_can:,} can share ½/½, {self.n_cannot:,} cannot{undecided}."


def shared_halves(
    model: FactorModel, pairs: ArrayLike, *, margin: float = MARGIN, max_cells: int = MAX_CELLS
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
        raise must_be("pairs", "of two different labels", f"label {equal[0, 0]} with itself")
    # Far out only the rows count: along a direction t x logits grow with t, biases stay.
    space = label_coordinates(model).without_bias()
    feasible = solve_feasibility(space, index, margin=margin, max_cells=max_cells, title="edges of the hull")
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
    is_equal = np.abs(np.asarray(rows[first]) - np.asarray(rows[second])).max(axis=1) <= rounding
    return np.asarray((model.right_bias[first] != model.right_bias[second]) & is_equal)
