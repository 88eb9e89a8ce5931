"""Label combinations that a sigmoid (multi-label) head can predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, as_count, is_number
from embaudit.core.plain import plain_dict
from embaudit.core.progress import track
from embaudit.core.results import Result
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.heads.feasibility import MARGIN, nearest_point
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model

if TYPE_CHECKING:
    import pandas as pd

MAX_COMBINATIONS = 20_000
"""Combinations listed at most."""


@dataclass(frozen=True, eq=False)
class LabelCombinations(Result):
    """The sets of labels that some input turns on while it turns all others off."""

    on: Flags
    """(m, V) one row a combination, in order of the binary number it spells."""
    names: NDArray[Any]
    """(V,) the labels."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "labels": self.labels,
                "n_feasible": len(self.on),
                "n_all": self.n_all,
            }
        )

    def __repr__(self) -> str:
        return f"LabelCombinations({len(self.on):,} of {self.n_all:,} for {counted(len(self.names), 'label')})"

    @property
    def labels(self) -> list[str]:
        """Names of the labels."""
        return [str(name) for name in self.names]

    @property
    def n_all(self) -> int:
        """Combinations of the labels, feasible or not."""
        return 1 << len(self.names)

    def to_frame(self) -> pd.DataFrame:
        """One row a combination, one column a label."""
        import pandas as pd

        return pd.DataFrame(self.on, columns=self.labels)

    def explain(self) -> str:
        """Describe how many combinations of labels some input gives."""
        labels = counted(len(self.names), "label")
        return f"Some input gives {len(self.on):,} of the {self.n_all:,} combinations of {labels}."


def label_combinations(
    model: FactorModel,
    *,
    margin: float = MARGIN,
    max_combinations: int = MAX_COMBINATIONS,
) -> LabelCombinations:
    """List the label combinations that a sigmoid head can predict.

    Label j is on where `w_j·x + b_j > 0`, so combinations are the regions that V hyperplanes cut Rᵏ into (through the
    origin without a bias): at most `2 Σ_{i<k} C(V−1, i)` without and `Σ_{i<=k} C(V, i)` with one, of 2^V. Linear gauges
    and shifts of the inputs absorbed by the bias leave them, a translation of the labels does not: it is no
    gauge of a sigmoid head. Without a bias the cosines of the rows do fix them.

    Labels are added one at a time; a region keeps its input, and one linear program asks whether the new
    hyperplane cuts it.

    Parameters
    ----------
    model : FactorModel
        The label rows and biases of the head, whatever its link.
    margin : float
        Smallest distance from every boundary that counts, for an input `(x, 1)` divided
        by its length.
    max_combinations : int
        Refuse heads with more.

    Returns
    -------
    LabelCombinations
        Without any combination where a label has neither row nor bias: it is never on and never off.

    Raises
    ------
    InputError
        If there are more than `max_combinations`.

    Examples
    --------
    >>> label_combinations(FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    LabelCombinations(6 of 8 for 3 labels)

    References
    ----------
    Cover, IEEE Trans. Electronic Computers EC-14, 1965 (the counts); Grivas, Vergari & Lopez, "Taming the Sigmoid
    Bottleneck: Provably Argmaxable Sparse Multi-Label Classification", AAAI 2024.
    """
    rows = lifted_rows(model)
    if not is_number(margin):
        raise must_be("margin", "a number", repr(margin))
    as_count(max_combinations, "max_combinations")
    # One region to begin with: all inputs, of which `(0, 1)` is one; each label cuts those that its hyperplane meets.
    regions = [(np.zeros(0), np.append(np.zeros(rows.shape[1] - 1), 1.0))]
    for label in track(
        range(len(rows)), "enumerating combinations of labels", len(rows)
    ):
        regions = [
            child
            for signs, x in regions
            for child in _cut(rows[: label + 1], signs, x, margin)
        ]
        if len(regions) > max_combinations:
            raise must_be(
                "the number of label combinations",
                f"at most {max_combinations:,}",
                f"more after {label + 1} of {len(rows)} labels",
                "ask for fewer labels or raise max_combinations",
            )
    # In order of the binary numbers that the combinations spell.
    on = np.array([signs for signs, _ in regions]).reshape(-1, len(rows)) > 0
    return LabelCombinations(on[np.lexsort(on.T[::-1])], model.names("right"))


def lifted_rows(model: FactorModel) -> Floats:
    """Rows `(w, b)`, each of length 1: a sign does not depend on how long its row is."""
    require_model(model)
    bias = np.full(model.n_right, model.offset)
    if model.right_bias is not None:
        bias = bias + model.right_bias
    return unit_rows(
        np.column_stack([np.asarray(model.right, dtype=np.float64), bias]), none=0
    )


def _cut(
    rows: Floats, signs: Floats, x: Floats, margin: float
) -> list[tuple[Floats, Floats]]:
    """Split a region by the last row's hyperplane; return the sides that exist, each with an input."""
    children = []
    axis_of_bias = np.eye(rows.shape[1])[-1]
    for sign in (1.0, -1.0):
        child = np.append(signs, sign)
        distances = child[:, None] * rows
        # The input of the region lies on one of the two sides already.
        if (distances @ x).min() > margin * np.linalg.norm(x):
            children.append((child, x))
            continue
        # The nearest point p of the hull of the signed rows is the input that keeps the
        # largest distance from all hyperplanes: ‖p‖ for each unit of its length.
        point, _ = nearest_point(distances, axis_of_bias)
        if np.linalg.norm(point) > margin:
            children.append((child, point))
    return children
