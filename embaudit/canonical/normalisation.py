"""Whether training on the cosine pinned the factors: the rank test.

A model whose vectors were normalised *during* training predicts `p · q` with unit p and q. A linear gauge with metric S
keeps that only if `qᵀ S q = 1` for every row, which has `S = I` as its only solution iff the matrices `q qᵀ` span the
k(k+1)/2 dimensions of the symmetric matrices. Normalising after training pins nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from embaudit.canonical.lifts import lifted, symmetric
from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Matrix, frozen
from embaudit.foundation.results import Result
from embaudit.kernels.rows import unit_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_model

LARGEST = 8_000
"""Most dimensions of symmetric matrices that are tried (k = 126): half a gigabyte."""


@dataclass(frozen=True, eq=False)
class NormalisationTest(Result):
    """What the rows of one side leave free of a linear gauge that must keep their lengths."""

    role: SideName
    """Which side."""
    title: str
    """What people call it."""
    n_rows: int
    """Rows looked at: all, unless fewer were enough."""
    rank: int
    """Dimension of the span of `q qᵀ`."""
    needed: int
    """k(k+1)/2, the dimension of the symmetric matrices."""
    firmness: float
    """Least over largest singular value of the span, 0 where it is not full: how firmly the gauge is pinned."""
    free: Matrix | None
    """(k, k) a symmetric T with `qᵀ T q = 0` for every row, of norm 1; None where the gauge is pinned."""

    def __repr__(self) -> str:
        return f"NormalisationTest({self.title}s, rank {self.rank} of {self.needed}, pinned {self.is_pinned})"

    @property
    def is_pinned(self) -> bool:
        """Whether only rotations are left."""
        return self.rank == self.needed

    def witness(self, size: float = 0.5) -> Floats:
        """Return M with `M Mᵀ = I + size · T`: another gauge that keeps the length of every row.

        Raises
        ------
        InputError
            If the gauge is pinned, or size is not within 0 and 1.
        """
        if self.free is None:
            raise must_be("a witness", "asked for where the gauge is free", f"rank {self.rank} of {self.needed}")
        if not 0 < size < 1:
            raise must_be("size", "above 0 and below 1", size)
        values, vectors = np.linalg.eigh(np.eye(len(self.free)) + size * self.free)
        return np.asarray(vectors * np.sqrt(values))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, without the direction that is free."""
        names = ("role", "title", "n_rows", "rank", "needed", "firmness", "is_pinned")
        return {name: getattr(self, name) for name in names}

    def explain(self) -> str:
        """Say in plain words what the test found."""
        if self.is_pinned:
            return (
                f"Training on the cosine pinned the {self.title} vectors up to a rotation. Their cosines are "
                f"identified, if they were normalised during training and not only after it."
            )
        return (
            f"Training on the cosine did not pin the {self.title} vectors. {self.needed - self.rank} of {self.needed} "
            f"directions of a linear gauge keep the length of every row and still move the cosines between them."
        )


def normalisation_test(model: FactorModel, *, role: SideName | str = "right") -> NormalisationTest:
    """Test whether unit rows of a side pin the linear gauge.

    Rows are read as many at a time as there are dimensions to span, until they span them all.

    Parameters
    ----------
    model : FactorModel
        Its rows are taken with length 1.
    role : {"left", "right"}
        Which side; if either side is pinned, the model is.

    Raises
    ------
    InputError
        If the rank is too large to test while there are rows enough to span.

    Examples
    --------
    >>> three = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> [normalisation_test(FactorModel.from_vectors(three[:m])).is_pinned for m in (2, 3)]
    [False, True]
    """
    require_model(model)
    role = model.side_name(role)
    x = model.factors(role)
    k = x.shape[1]
    needed = k * (k + 1) // 2
    if needed > LARGEST:
        raise must_be("the rank of the model", "at most 125 for this test", k, "reduce the dimensions first")
    gram = np.zeros((needed, needed))
    rank, used = 0, 0
    values, vectors = np.zeros(needed), np.eye(needed)
    while used < len(x) and rank < needed:
        block = unit_rows(x[used : used + 2 * needed], none=0)
        rows = lifted(block)
        gram += rows.T @ rows
        used += len(block)
        values, vectors = np.linalg.eigh(gram)
        rank = int((values > needed * np.finfo(np.float64).eps * values[-1]).sum())
    pinned = rank == needed
    firmness = float(np.sqrt(values[0] / values[-1])) if pinned else 0.0
    form = symmetric(vectors[:, 0], k)
    free = None if pinned else frozen(form / np.linalg.norm(form, 2))
    title = model.title(role)
    return NormalisationTest(role, title, used, rank, needed, firmness, free)
