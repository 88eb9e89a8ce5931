"""The rankings of all labels that some input produces, for small heads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats
from embaudit.foundation.progress import track
from embaudit.foundation.typed import typed
from embaudit.model import FactorModel
from embaudit.softmax.contests import MARGIN
from embaudit.softmax.coordinates import label_coordinates
from embaudit.softmax.programs import best_lead
from embaudit.softmax.sigmoid import MAX_COMBINATIONS, is_within


@typed
def label_rankings(
    model: FactorModel, *, margin: float = MARGIN, max_rankings: int = MAX_COMBINATIONS
) -> NDArray[np.intp]:
    """List the strict orders of all labels by probability that a softmax head can predict.

    Nothing more about a head survives every gauge and every monotone change of the logits. Labels enter one at
    a time at each place of each order found so far; a linear program asks for an input where successive
    logits differ by more than the margin.

    Parameters
    ----------
    model : FactorModel
        A softmax head with few labels.
    margin : float
        Least difference of successive logits, over the largest.
    max_rankings : int
        Refuse heads with more.

    Returns
    -------
    array of shape (m, V)
        One ranking a row, most probable label first, in lexicographic order; none where two labels are always tied.

    Raises
    ------
    InputError
        If the model is no softmax head or there are more than `max_rankings`.

    Examples
    --------
    Three labels on a line: the middle one is never first.

    >>> label_rankings(FactorModel.from_softmax([[0.0], [1.0], [3.0]])).tolist()
    [[0, 1, 2], [2, 1, 0]]
    """
    space = label_coordinates(model)
    rows = space.of(np.arange(model.n_right))
    orders: list[tuple[list[int], Floats]] = [([0], np.append(np.zeros(space.rank), 1.0))]
    for label in track(range(1, len(rows)), "enumerating rankings of labels", len(rows) - 1):
        orders = [child for order, x in orders for child in _insert(rows, order, label, x, margin)]
        if len(orders) > max_rankings:
            raise must_be(
                "the number of rankings",
                f"at most {max_rankings:,}",
                f"more after {label + 1} of {len(rows)} labels",
                "ask for fewer labels or raise max_rankings",
            )
    return np.array(sorted(order for order, _ in orders), dtype=np.intp).reshape(-1, len(rows))


def _insert(rows: Floats, order: list[int], label: int, x: Floats, margin: float) -> list[tuple[list[int], Floats]]:
    """Put a label at each place of an order where some input puts it."""
    children = []
    for place in range(len(order) + 1):
        grown = [*order[:place], label, *order[place:]]
        steps = rows[grown[:-1]] - rows[grown[1:]]
        if is_within(steps, x, margin):
            children.append((grown, x))
            continue
        lead, found = best_lead(steps, np.zeros(rows.shape[1]))
        if lead > margin:
            children.append((grown, found))
    return children
