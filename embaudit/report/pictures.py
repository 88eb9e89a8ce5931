"""Pictures: which one belongs to a result, and those of models that need no audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from embaudit.auditing import Audit
from embaudit.blocks import BlockCosines
from embaudit.canonical import Position
from embaudit.core.checked import RNG
from embaudit.io import as_model
from embaudit.io.files import AnyPath
from embaudit.model import FactorModel, Role
from embaudit.movements import Movement
from embaudit.ranges import CertifiedNeighbours, CosineRange
from embaudit.report.display import Display
from embaudit.report.figures import (
    BlockDisplay,
    CertifiedCurveDisplay,
    MovementDisplay,
    PositionDisplay,
    PredictionDisplay,
    RangeDisplay,
    SimpsonDisplay,
)
from embaudit.report.heatmap import HeatmapDisplay, heatmap, heatmap_of_audit
from embaudit.reversals import SimpsonReport

_MAKERS: dict[object, Any] = {
    Audit: MovementDisplay.of_audit,
    BlockCosines: BlockDisplay.of,
    CertifiedNeighbours: CertifiedCurveDisplay.of,
    CosineRange: RangeDisplay.of,
    Movement: MovementDisplay.of,
    Position: PositionDisplay.of,
    SimpsonReport: SimpsonDisplay.of,
    "certified": CertifiedCurveDisplay.of_audit,
    "heatmap": heatmap_of_audit,
    "prediction": PredictionDisplay.of_audit,
}
"""By type of the result, or by the name of what else an audit can draw."""


def display(result: object, picture: str = "", **options: Any) -> Display:
    """Compute the picture of a result, the one named where it has several, without drawing it.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> display(block_cosines([1, 1], [1, 2])).columns["cosine"]
    array([1., 1.])
    """
    made: Display = _MAKERS[picture or type(result)](result, **options)
    return made


def plot_heatmap(
    model: FactorModel | AnyPath | object,
    ax: Any = None,
    *,
    role: Role | str = "right",
    groups: str | Iterable[Any] | None = None,
    show: Sequence[str] = (),
    n_rows: int = 400,
    beside: Sequence[str] | None = None,
    rng: RNG = 0,
) -> HeatmapDisplay:
    """Draw the cosines between the rows of a side as heatmaps: the model, an equivalent one, and the predictions.

    Parameters
    ----------
    model : FactorModel, path or object
        What `audit` takes.
    ax : matplotlib Axes, optional
        Axes of a grid, whose place the panels share; a new figure by default.
    role : {"right", "left"}
        Which side.
    groups : sequence of length n or str, optional
        A label for each row of the side ("Comedy|Drama" belongs to the first), or a table and its column, such as
        "movies.csv:genres". Rows stand by group, and within it by interactions or length; without groups like stands
        beside like.
    show : sequence of str
        Ids or titles of the rows to show; a sample by default.
    n_rows : int
        Rows to sample, up to 1,000.
    beside : sequence of str, optional
        Panels beside the model: names of equivalent models, "furthest" for that whose cosines of these rows are the
        furthest from those at hand, "prediction cosine" ("logit cosine" of a softmax head). By default "furthest" and,
        where both sides are at hand, what is predicted.
    rng : numpy Generator or int
        Draws the rows and the equivalent models.

    Returns
    -------
    HeatmapDisplay
        With `frame()`, the cosines of all pairs shown, and `caption`.

    Raises
    ------
    InputError
        For rows, groups or models that there are not.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> plot_heatmap(model, Figure().add_subplot(), groups=["a", "b", "a"], beside=[]).caption
    'Item-item cosines of all 3 items with a direction and a group, by group, then by length. Panels: model at hand.'
    """
    shown = heatmap(as_model(model), role=role, groups=groups, show=show, n_rows=n_rows, beside=beside, rng=rng)
    return shown.plot(ax)


def plot_prediction_cosines(
    model: FactorModel | AnyPath | object,
    ax: Any = None,
    *,
    role: Role | str = "right",
    n_pairs: int = 100_000,
    rng: RNG = 0,
) -> PredictionDisplay:
    """Draw the cosine at hand against the prediction cosine, pair by pair; above 10,000 pairs as counts in hexagons.

    Parameters
    ----------
    model : FactorModel, path or object
        What `audit` takes, with both sides.
    ax : matplotlib Axes, optional
        A new figure by default.
    role : {"right", "left"}
        Which side. Of the labels of a softmax head it is the logit cosine, over the inputs at hand.
    n_pairs : int
        Pairs to sample where there are more.
    rng : numpy Generator or int
        Draws them.

    Returns
    -------
    PredictionDisplay
        With `frame()`, one row a pair, `correlation` and `caption`.

    Raises
    ------
    InputError
        If a side is missing, or has fewer than two rows with a direction.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> model = FactorModel.from_user_item([[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]])
    >>> plot_prediction_cosines(model, Figure().add_subplot()).caption
    'Your cosine against prediction cosine: all 1 item-item pairs.'
    """
    return PredictionDisplay.of(as_model(model), role=role, n_pairs=n_pairs, rng=rng).plot(ax)
