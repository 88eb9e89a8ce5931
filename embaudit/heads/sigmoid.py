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
from embaudit.core.tolerances import ARGMAX_MARGIN
from embaudit.core.words import counted
from embaudit.errors import InputError, must_be
from embaudit.heads.feasibility import nearest_point
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model

if TYPE_CHECKING:
    import pandas as pd

MAX_COMBINATIONS = 20_000
"""Combinations listed at most."""


@dataclass(frozen=True, eq=False)
class LabelCombinations(Result):
    """The sets of labels that some input turns on while it turns all others off.

    Examples
    --------
    >>> import embaudit as ea
    >>> rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> found = ea.heads.label_combinations(ea.FactorModel.from_softmax(rows))
    >>> len(found.on), found.n_all
    (6, 8)
    >>> found.on[0]
    array([False, False, False])
    """

    on: Flags
    """(m, V) one row per combination, in order of its flags as binary number."""
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
        labels = counted(len(self.names), "label")
        return f"LabelCombinations({len(self.on):,} of {self.n_all:,} for {labels})"

    @property
    def labels(self) -> list[str]:
        """Names of the labels."""
        return [str(name) for name in self.names]

    @property
    def n_all(self) -> int:
        """Combinations of the labels, feasible or not."""
        return 1 << len(self.names)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per combination, one column per label."""
        import pandas as pd

        return pd.DataFrame(self.on, columns=self.labels)

    def explain(self) -> str:
        """Describe how many combinations of labels some input gives."""
        labels = counted(len(self.names), "label")
        return (
            f"Some input gives {len(self.on):,} of the {self.n_all:,} combinations of "
            f"{labels}."
        )


def label_combinations(
    model: FactorModel,
    *,
    margin: float = ARGMAX_MARGIN,
    max_combinations: int = MAX_COMBINATIONS,
) -> LabelCombinations:
    """List the label combinations that a sigmoid head can predict.

    Label j is on if `w_j·x + b_j > 0`, so the combinations are the regions into which V
    hyperplanes cut Rᵏ. Without a bias the hyperplanes pass through the origin, and
    there are at most `2 Σ_{i<k} C(V−1, i)` regions; with a bias there are at most
    `Σ_{i<=k} C(V, i)`. Linear gauges, and shifts of the inputs that the bias absorbs,
    keep the combinations. A translation of the labels changes them, because it is not a
    gauge of a sigmoid head. Without a bias the cosines of the rows fix the
    combinations.

    Labels are added one at a time. Each region keeps an input, and the nearest point of
    a hull decides whether the hyperplane of the new label cuts the region.

    Parameters
    ----------
    model : FactorModel
        The label rows and biases of the head, whatever its link.
    margin : float
        Smallest distance from every boundary that counts, for an input `(x, 1)` divided
        by its length.
    max_combinations : int
        Largest number of combinations; heads with more are refused.

    Returns
    -------
    LabelCombinations
        Without any combination if a label has neither row nor bias, because such a
        label is never on and never off.

    Raises
    ------
    InputError
        If there are more than `max_combinations`, or a nearest point cannot be
        computed.

    References
    ----------
    Cover, IEEE Trans. Electronic Computers EC-14, 1965 (the counts); Grivas, Vergari &
    Lopez, "Taming the Sigmoid Bottleneck: Provably Argmaxable Sparse Multi-Label
    Classification", AAAI 2024.

    Examples
    --------
    >>> rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> label_combinations(FactorModel.from_softmax(rows))
    LabelCombinations(6 of 8 for 3 labels)
    """
    rows = lifted_rows(model)
    if not is_number(margin):
        raise must_be("margin", "a number", repr(margin))
    as_count(max_combinations, "max_combinations")
    # At first there is one region, all inputs, with the input `(0, 1)`.
    regions = [(np.zeros(0), np.append(np.zeros(rows.shape[1] - 1), 1.0))]
    for label in track(
        range(len(rows)), "enumerating combinations of labels", len(rows)
    ):
        children = []
        for signs, x in regions:
            children.extend(_cut(rows[: label + 1], signs, x, margin))
        regions = children
        if len(regions) > max_combinations:
            raise must_be(
                "the number of label combinations",
                f"at most {max_combinations:,}",
                f"more after {label + 1} of {len(rows)} labels",
                "pass fewer labels or raise max_combinations",
            )
    # Sort the combinations as binary numbers.
    on = np.array([signs for signs, _ in regions]).reshape(-1, len(rows)) > 0
    return LabelCombinations(on[np.lexsort(on.T[::-1])], model.names("right"))


def lifted_rows(model: FactorModel) -> Floats:
    """Return the rows `(w, b)` divided by their lengths, which keeps all signs."""
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
    """Split a region by the hyperplane of the last row.

    Return the sides that exist, each with an input.
    """
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
        try:
            point, _ = nearest_point(distances, axis_of_bias)
        except RuntimeError as error:
            raise InputError(
                "the label combinations of the head cannot be listed, because a search "
                "for a nearest point did not converge; pass fewer labels."
            ) from error
        if np.linalg.norm(point) > margin:
            children.append((child, point))
    return children
