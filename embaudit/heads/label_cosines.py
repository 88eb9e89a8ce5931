"""Label cosines that no gauge moves: projector cosines, and cosines of logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from embaudit.canonical import identified_cosines
from embaudit.core.checked import Floats, Indices
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import ROW_ROUNDING
from embaudit.core.words import counted, down
from embaudit.errors import InputError
from embaudit.heads.coordinates import (
    LabelCoordinates,
    label_coordinates,
    require_different,
    require_softmax,
)
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import as_pairs
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model, require_ordinary_size

if TYPE_CHECKING:
    import pandas as pd

THIN = 2.0
"""Number of labels per dimension below which projector cosines show little else."""


@dataclass(frozen=True, eq=False)
class ProjectorCosines(Result):
    """Cosines of rows of the projector onto the columns of the centred label matrix.

    Examples
    --------
    >>> import embaudit as ea
    >>> rows = [[3.0, 1.0], [0.0, 2.0], [-1.0, 5.0]]
    >>> head = ea.FactorModel.from_softmax(rows)
    >>> found = ea.heads.projector_cosines(head, pairs=[[0, 1]])
    >>> found.cosines.round(9), found.degenerate
    (array([-0.5]), True)
    """

    pairs: Indices
    """(m, 2) the pairs."""
    cosines: Floats
    """(m,) their cosines; NaN for a label at the mean row."""
    n_labels: int
    """Number of labels V."""
    rank: int
    """Affine rank r: dimensions that the differences of labels span."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "n_labels": self.n_labels,
                "rank": self.rank,
                "labels_per_dimension": self.labels_per_dimension,
                "degenerate": self.degenerate,
                "thin": self.thin,
                "typical": self.typical,
                "warning": self.warning,
            }
        )

    def __repr__(self) -> str:
        if self.degenerate:
            state = "degenerate"
        elif self.thin:
            state = "thin"
        else:
            state = "informative"
        pairs = counted(len(self.pairs), "pair")
        return (
            f"ProjectorCosines({pairs}, V/k = {self.labels_per_dimension:.3g}, {state})"
        )

    @property
    def labels_per_dimension(self) -> float:
        """V/r, the number of labels per dimension that their differences span."""
        return self.n_labels / self.rank

    @property
    def degenerate(self) -> bool:
        """True for V <= r + 1: then every cosine is −1/(V − 1) in every such head."""
        return self.n_labels <= self.rank + 1

    @property
    def thin(self) -> bool:
        """True for fewer than 2 labels per dimension."""
        return self.labels_per_dimension < THIN

    @property
    def typical(self) -> float:
        """Root mean square over all pairs if all `H_ii` are equal; V and r fix it.

        A projector H of rank r on V centred labels has `Σ_j H_ij² = H_ii` and
        mean `H_ii = r/V`.
        """
        v, r = self.n_labels, self.rank
        return float(np.sqrt(max(0.0, (v / r - 1) / (v - 1))))

    @property
    def warning(self) -> str:
        """Caution about these cosines; empty if none is needed."""
        if self.degenerate:
            return (
                f"With {self.n_labels:,} labels in {counted(self.rank, 'dimension')} "
                "the labels are affinely independent, and every projector cosine is "
                f"-1/(V-1) = {-1 / (self.n_labels - 1):.4g}: they say nothing about "
                "this head."
            )
        if self.thin:
            return (
                f"With {down(self.labels_per_dimension):.2f} labels per dimension, the "
                "labels nearly fill their space, so nearly all projector cosines are "
                "alike."
            )
        return ""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: its two row numbers and its cosine."""
        import pandas as pd

        first, second = self.pairs.T
        return pd.DataFrame({"first": first, "second": second, "cosine": self.cosines})

    def explain(self) -> str:
        """Describe how large the projector cosines are, with the caution if any."""
        sizes = np.abs(self.cosines[~np.isnan(self.cosines)])
        size = f"{sizes.mean():.3f} on average in size" if len(sizes) else "undefined"
        pairs = f"{counted(len(self.pairs), 'pair')} of {self.n_labels:,} labels"
        text = (
            f"The projector cosines of {pairs} are {size}; even shares would give "
            f"{self.typical:.3f}."
        )
        return f"{text} {self.warning}".rstrip()


def projector_cosines(model: FactorModel, *, pairs: ArrayLike) -> ProjectorCosines:
    """Compute the projector cosine of pairs of labels.

    With the centred rows W_c, the projector is `H = W_c (W_cᵀ W_c)⁺ W_cᵀ`. No affine
    gauge changes H. The cosine of its rows i and j is `H_ij / √(H_ii H_jj)`, which is
    the cosine of the whitened rows. The bias does not enter.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    pairs : array of shape (m, 2)
        Row numbers.

    Returns
    -------
    ProjectorCosines
        The cosines with V/r, and a warning if they say nothing.

    Raises
    ------
    InputError
        If the model is not a softmax head, or all its rows are equal.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[3.0, 1.0], [0.0, 2.0], [-1.0, 5.0]])
    >>> found = projector_cosines(head, pairs=[[0, 1], [0, 2], [1, 2]])
    >>> found, found.cosines.round(9)
    (ProjectorCosines(3 pairs, V/k = 1.5, degenerate), array([-0.5, -0.5, -0.5]))

    The last of these labels lies at the mean row and has no direction:

    >>> star = [[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [0.0, 0.0]]
    >>> head = FactorModel.from_softmax(star)
    >>> projector_cosines(head, pairs=[[0, 1], [0, 4]]).cosines
    array([-1., nan])
    """
    require_model(model)
    return projector_cosines_in(
        label_coordinates(model), as_pairs(pairs, model.n_right, model.n_right)
    )


def projector_cosines_in(space: LabelCoordinates, pairs: Indices) -> ProjectorCosines:
    """Compute projector cosines from coordinates of the labels that exist already."""
    if not len(pairs):
        return ProjectorCosines(pairs, np.zeros(0), space.n_labels, space.rank)
    wanted, where = np.unique(pairs, return_inverse=True)
    # H = Z Zᵀ / V for the whitened rows Z, so rows of H and of Z have the same cosines.
    z = space.take(wanted)[:, :-1]
    # The whitened row of a label at the mean row is rounding, which has no direction.
    size = float(np.linalg.norm(space.mean) + np.abs(space.rows[wanted]).max())
    size *= float(np.linalg.norm(space.whitening, axis=0).max())
    z[np.linalg.norm(z, axis=1) <= ROW_ROUNDING * size] = 0
    return ProjectorCosines(
        pairs,
        pair_cosines(z, z, where.reshape(pairs.shape)),
        space.n_labels,
        space.rank,
    )


def logit_cosines(
    model: FactorModel, *, pairs: ArrayLike, inputs: ArrayLike | None = None
) -> Floats:
    """Compute the cosine of the double-centred logits of pairs of labels over inputs.

    The logits of n inputs and V labels without their mean over labels (which no
    probability shows) and without their mean over inputs (which a bias absorbs) are `(X
    − x̄)(W − w̄)ᵀ`. The cosine of two of its columns is the cosine of the rows `w − w̄`
    in the metric `(X − x̄)ᵀ(X − x̄)`. It is computed in k dimensions, never from an n×V
    array. An affine gauge of head and inputs does not change it; other inputs do.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    pairs : array of shape (m, 2)
        Row numbers of labels.
    inputs : array of shape (n, k), optional
        The inputs; those of the model by default.

    Returns
    -------
    array of shape (m,)
        NaN for a label whose centred logits vanish.

    Raises
    ------
    InputError
        If the model is not a softmax head, its rows are too long or too short, there
        are no inputs, or all inputs or all label rows are equal.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> x = [[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]]
    >>> rows = [[1.0, 1.0], [2.0, 0.0], [0.0, 0.5]]
    >>> head = FactorModel.from_softmax(rows, embeddings=x)
    >>> gauge = Gauge.translation(2, right=[3.0, 1.0]) @ Gauge.diagonal([1.0, 5.0])
    >>> logit_cosines(head, pairs=[[0, 1]]).round(9)
    array([-0.5])
    >>> logit_cosines(gauge.act(head), pairs=[[0, 1]]).round(9)
    array([-0.5])
    """
    require_softmax(model, "logit cosines")
    if inputs is not None:
        model = model.replace(left=None).replace(left=np.asanyarray(inputs))
    if model.left is None:
        raise InputError(
            "logit cosines must be computed over inputs; got a head without inputs; "
            "pass inputs=, the vectors that reach the head for the texts or images "
            "you care about."
        )
    require_ordinary_size(model)
    require_different(model.left, "inputs")
    require_different(model.right, "label rows")
    plain = model.replace(link="softmax")
    return identified_cosines(plain, role="right", pairs=pairs)
