"""Logit cosines: how alike two labels are to a declared set of inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embaudit.canonical import identified_cosines
from embaudit.core.checked import Floats
from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.softmax.coordinates import of_ordinary_size, require_different, require_softmax


def logit_cosines(model: FactorModel, *, pairs: ArrayLike, inputs: ArrayLike | None = None) -> Floats:
    """Compute the cosine of the double-centred logits of pairs of labels over a set of inputs.

    The logits of n inputs and V labels, less their mean over labels (which no probability shows) and less their
    mean over inputs (which a bias absorbs), are `(X − x̄)(W − w̄)ᵀ`. The cosine of two of its columns is that of
    `w − w̄` in the metric `(X − x̄)ᵀ(X − x̄)`, computed in k dimensions, never n×V. No affine gauge changes it when
    it acts on head and inputs alike; other inputs do.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    pairs : array of shape (m, 2)
        Row numbers of labels.
    inputs : array of shape (n, k), optional
        The inputs the answer is about; those of the model by default.

    Returns
    -------
    array of shape (m,)
        NaN for a label whose centred logits vanish.

    Raises
    ------
    InputError
        If the model is no softmax head, there are no inputs, or all inputs or all label rows are equal.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> x = [[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]]
    >>> head = FactorModel.from_softmax([[1.0, 1.0], [2.0, 0.0], [0.0, 0.5]], embeddings=x)
    >>> moved = (Gauge.translation(2, right=[3.0, 1.0]) @ Gauge.diagonal([1.0, 5.0])).act(head)
    >>> logit_cosines(head, pairs=[[0, 1]]).round(9), logit_cosines(moved, pairs=[[0, 1]]).round(9)
    (array([-0.5]), array([-0.5]))
    """
    require_softmax(model, "logit cosines")
    if inputs is not None:
        model = model.replace(left=None).replace(left=np.asanyarray(inputs))
    if model.left is None:
        raise InputError(
            "logit cosines must be asked over inputs; got a head without any; pass inputs=, the vectors that reach the "
            "head for the texts or images you care about."
        )
    require_different(model.left, "inputs")
    require_different(model.right, "label rows")
    sized = model.replace(link="softmax", left=of_ordinary_size(model.left), right=of_ordinary_size(model.right))
    return identified_cosines(sized, role="right", pairs=pairs)
