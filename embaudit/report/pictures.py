"""Heatmaps of cosines between the rows of a side, and the picture of each result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.auditing.audit import Audit
from embaudit.auditing.equivalents import equivalent_models
from embaudit.auditing.evidence import with_probes
from embaudit.auditing.wording import Nouns
from embaudit.blocks import BlockCosines
from embaudit.canonical import canonical_form, in_span
from embaudit.canonical.equivalents import (
    PREDICTS,
    CanonicalModel,
    EquivalentModel,
    equivalent_at,
)
from embaudit.canonical.identified import prediction_view
from embaudit.canonical.row_span import span_basis, turned
from embaudit.core.checked import RNG, Floats, Indices, as_count, as_generator, as_list
from embaudit.core.ties import first_best, largest_first
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted, cut, nearest_to, two_decimals
from embaudit.errors import InputError, must_be
from embaudit.evaluation.truth import labels_in, separator_in
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.linalg.pair_cosines import cosine_matrix
from embaudit.linalg.rows import sample_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, Pairs, Role, Side, SideName, with_objective
from embaudit.model.drift import DriftSample
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements import Movement
from embaudit.movements.neighbourhoods import find_rows
from embaudit.ranges import CertifiedNeighbours
from embaudit.report.display import (
    BESIDE,
    TITLE,
    Display,
    Palette,
    draw_matrix,
    drawn,
    name_groups,
)
from embaudit.report.document import names_of
from embaudit.report.figures import (
    BlockDisplay,
    CertifiedCurveDisplay,
    MovementDisplay,
    PredictionDisplay,
    SimpsonDisplay,
    predicted_word,
)
from embaudit.report.threshold_figure import ThresholdDisplay
from embaudit.serving import Threshold
from embaudit.simpson import SimpsonReport

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 1_000
"""Rows of a heatmap at most: their cosines are held as a matrix, and take seconds to
put in order.
"""
MOST_NAMES = 40
"""Rows up to which each is named."""
LINE = 0.07
"""Height of a line above the panels, beside theirs."""
FURTHEST = "furthest"
"""Name for the equivalent model whose cosines of the rows shown are furthest from those
at hand.
"""
N_GAUGES, BUDGET = 2, 2.0
"""Draws from each group of gauges, and their κ at most, where there is no audit that
made some.
"""


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows of a side in the order of a picture."""

    rows: Indices
    """(m,) numbers of the rows."""
    groups: tuple[str, ...]
    """(m,) the group of each row, "" where it has none; empty without groups."""
    text: str
    """Name of these rows, and of their order."""


def select_rows(
    model: FactorModel,
    role: SideName,
    *,
    groups: Iterable[Any] | None = None,
    show: Sequence[str] = (),
    n_rows: int = 400,
    rng: RNG = 0,
) -> Selection:
    """Select rows by name or at random, and put them in the order of a heatmap.

    Rows stand by group, and within a group by interactions or length. Without groups
    similar rows stand next to each other.

    Raises
    ------
    InputError
        If fewer than two rows are left, or more than 1,000 are asked for.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> rows = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.1], [0.0, 0.0]]
    >>> model = FactorModel.from_vectors(rows)
    >>> selection = select_rows(model, "right", groups=["b", "a", "b", "a"])
    >>> selection.rows, selection.groups
    (array([1, 2, 0]), ('a', 'b', 'b'))
    >>> selection.text
    'all 3 items with a direction and a group, by group, then by length'
    """
    side = model.side(role)
    labels = None if groups is None else _group_labels(side, groups)
    size = as_count(n_rows, "n_rows", least=2, most=MOST_ROWS)
    names = as_list(show, "show", '["Heat"]')
    if names:
        # A row that several names lead to is shown once.
        rows = np.unique(find_rows(model, role, names))
        if len(rows) > MOST_ROWS:
            raise must_be("show", f"at most {MOST_ROWS:,} rows", f"{len(rows):,}")
        text = f"{counted(len(rows), side.title)} named"
    else:
        # Rows with a direction, and a label where there are some; nobody asks about
        # those set aside.
        pool = side.eligible_rows[side.norms[side.eligible_rows] > 0]
        if labels is not None:
            pool = np.array(
                [row for row in pool.tolist() if labels[row]], dtype=np.intp
            )
        rows = sample_rows(pool, size, as_generator(rng))
        text = f"{counted(len(pool), side.title)} with a direction"
        text += "" if labels is None else " and a group"
        text += " that are not set aside" if len(side.eligible_rows) < len(side) else ""
        text = (
            f"all {text}"
            if len(rows) == len(pool)
            else f"{len(rows):,} of {text}, drawn at random"
        )
    if len(rows) < 2:
        raise must_be(
            f"{side.title} factors",
            "two or more rows to show",
            counted(len(rows), "row"),
        )
    if labels is None:
        order = leaf_order(cosine_matrix(np.asarray(side.rows[rows], dtype=np.float64)))
        return Selection(
            rows[order], (), f"{text}, like beside like in the first panel"
        )
    weights, word = (
        (side.norms, "length") if side.counts is None else (side.counts, "interactions")
    )
    first = [labels[row][0] if labels[row] else "" for row in rows.tolist()]
    # Groups that are numbers stand by value, rows without a group last; within a group
    # the heaviest come first.
    place = {
        group: at
        for at, group in enumerate(
            sorted(set(first), key=lambda each: (not each, *_value(each)))
        )
    }
    heaviest = largest_first(weights[rows])
    places = np.array([place[group] for group in first])
    order = heaviest[np.argsort(places[heaviest], kind="stable")]
    by = (
        "group (the first label of each)"
        if any(len(each) > 1 for each in labels)
        else "group"
    )
    return Selection(
        rows[order], tuple(first[i] for i in order), f"{text}, by {by}, then by {word}"
    )


def _group_labels(side: Side, groups: Iterable[Any]) -> list[tuple[str, ...]]:
    """Return the labels of every row: the text "Comedy|Drama" holds two."""
    values = as_list(groups, "groups", '["Comedy", "Drama"]')
    if len(values) != len(side):
        raise must_be(
            "groups",
            f"a label for each of {len(side):,} {side.title}s",
            f"{len(values):,}",
        )
    texts = [None if value is None else str(value) for value in values]
    separator = separator_in(texts)
    return [labels_in(text, separator) for text in texts]


def _value(group: str) -> tuple[float, str]:
    try:
        return float(group), group
    except ValueError:
        return float("inf"), group


def leaf_order(cosines: Floats) -> Indices:
    """Order rows so that similar rows stand next to each other.

    This is the optimal leaf order of average linkage. Rows without a cosine come last.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    >>> leaf_order(cosine_matrix(rows)).tolist()
    [2, 3, 0, 1]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    defined = ~np.isnan(np.diag(cosines))
    rows = np.flatnonzero(defined)
    # Fewer rows have nothing to put in order.
    if len(rows) > 2:
        # Rounding may take a cosine beyond 1, and no distance is below 0.
        distances = squareform(
            np.maximum(1 - cosines[np.ix_(rows, rows)], 0), checks=False
        )
        rows = rows[leaves_list(linkage(distances, "average", optimal_ordering=True))]
    return np.concatenate([rows, np.flatnonzero(~defined)])


@dataclass(frozen=True, eq=False)
class Panel:
    """The cosines of one model."""

    name: str
    note: str
    """Sentence on its predictions."""
    cosines: Floats
    """(m, m), NaN where a row has none."""


@dataclass(frozen=True, eq=False)
class HeatmapDisplay(Display):
    """Heatmaps of the same rows in the same order, on one scale from -1 to 1.

    Parameters
    ----------
    panels : tuple of Panel
        Your model first.
    names : tuple of str of length m
        Names of the rows.
    selection : Selection
        Numbers and groups of the rows.
    kind : str
        Kind of the pairs, such as "item-item".

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0]], ids=["a", "b"])
    >>> shown = heatmap(model, beside=[])
    >>> shown.frame()
       first  second first_name second_name  your model
    0      0       1          a           b            0.6
    """

    SIZE: ClassVar[tuple[float, float]] = (3.1, 3.9)

    panels: tuple[Panel, ...]
    names: tuple[str, ...]
    selection: Selection
    kind: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches: panels in a row, and room for names."""
        width, height = self.SIZE
        return width * len(self.panels) + 1.6, height

    @property
    def title(self) -> str:
        """Name of the cosines that are drawn."""
        title = f"{self.kind} cosines of {self.selection.text}"
        if any(np.isnan(panel.cosines).any() for panel in self.panels):
            title += "; grey where there is none"
        return title

    @property
    def caption(self) -> str:
        """Sentence on the rows and the models."""
        panels = "; ".join(
            f"{panel.name} ({panel.note})" if panel.note else panel.name
            for panel in self.panels
        )
        return f"{self.title[0].upper()}{self.title[1:]}. Panels: {panels}."

    def frame(self) -> pd.DataFrame:
        """Return one row per pair, with its cosine in every panel.

        Columns before the cosines are the numbers, names and groups of its two rows.
        """
        import pandas as pd

        ends = dict(
            zip(("first", "second"), np.triu_indices(len(self.names), 1), strict=True)
        )
        names, groups = (
            np.array(texts, dtype=object)
            for texts in (self.names, self.selection.groups)
        )
        columns: dict[str, Any] = {
            end: self.selection.rows[at] for end, at in ends.items()
        }
        columns |= {f"{end}_name": names[at] for end, at in ends.items()}
        columns |= (
            {f"{end}_group": groups[at] for end, at in ends.items()}
            if len(groups)
            else {}
        )
        return pd.DataFrame(
            {
                **columns,
                **{panel.name: panel.cosines[*ends.values()] for panel in self.panels},
            }
        )

    def means(self, panel: Panel) -> dict[str, float]:
        """Return mean cosines over the pairs shown, without those that have no pairs.

        Keys are "within" and "between" groups, and "moved": the mean change from the
        first panel.
        """
        first, second = np.triu_indices(len(self.names), 1)
        values, groups = (
            panel.cosines[first, second],
            np.array(self.selection.groups, dtype=object),
        )
        parts: dict[str, Floats] = {}
        if len(groups):
            # A row without a group belongs to none: its pairs are neither within one
            # nor between two.
            grouped = (groups[first] != "") & (groups[second] != "")
            same = groups[first] == groups[second]
            parts |= {
                "within": values[grouped & same],
                "between": values[grouped & ~same],
            }
        # The first panel is the model itself, from which moves are measured.
        if panel is not self.panels[0]:
            parts["moved"] = np.abs(values - self.panels[0].cosines[first, second])
        # A part without a single cosine has no mean, and is left out.
        return {
            name: float(np.nanmean(cosines))
            for name, cosines in parts.items()
            if not np.isnan(cosines).all()
        }

    def _draw(self, ax: Any, palette: Palette) -> None:  # noqa: ARG002 (one colour map)
        """Draw the panels side by side, with one title and one bar of colours."""
        place = ax.get_subplotspec()
        if place is None:
            raise must_be(
                "ax",
                "Axes of a grid, whose place the panels can share",
                "Axes outside of a grid",
                "make Axes with plt.subplots()",
            )
        # These axes only hold the place, which is divided again: a strip for the title
        # above, and a panel for each model.
        ax.set_axis_off()
        # A line may be as long as the panels are wide together, and each has room for
        # about 34 letters.
        lines = wrap(self.title, 24 + 34 * len(self.panels))
        grid = place.subgridspec(
            2, len(self.panels), height_ratios=(LINE * len(lines), 1)
        )
        above = ax.figure.add_subplot(grid[0, :])
        axes = [ax.figure.add_subplot(grid[1, at]) for at in range(len(self.panels))]
        above.set_axis_off()
        above.text(
            0.5,
            0.5,
            "\n".join(lines),
            ha="center",
            va="center",
            transform=above.transAxes,
            gid=TITLE,
        )
        for panel, panel_ax in zip(self.panels, axes, strict=True):
            image = draw_matrix(
                panel_ax,
                panel.cosines,
                f"{drawn(panel.name)}\n{panel.note}",
                self.selection.groups,
            )
            panel_ax.title.set_fontsize("medium")
            means = self.means(panel)
            parts = [
                f"{name} {two_decimals(means[name])}"
                for name in ("within", "between")
                if name in means
            ]
            lines = [f"mean {', '.join(parts)}"] if parts else []
            lines += [f"mean |Δcos| {means['moved']:.2f}"] if "moved" in means else []
            panel_ax.set_xlabel("\n".join(lines), fontsize="small")
        # Groups that have room are named, else rows where they are few.
        if self.selection.groups:
            name_groups(
                axes[0], [group or "no group" for group in self.selection.groups]
            )
        elif len(self.names) <= MOST_NAMES:
            names = [drawn(cut(name, BESIDE)) for name in self.names]
            axes[0].set_yticks(
                range(len(names)),
                names,
                fontsize="xx-small" if len(names) > 25 else "x-small",
            )
        bar = ax.figure.colorbar(
            image, ax=axes, label="cosine", fraction=0.03, pad=0.02, shrink=0.8
        )
        bar.solids.set_rasterized(True)


def heatmap(
    model: FactorModel,
    *,
    role: Role | str = "right",
    groups: Iterable[Any] | None = None,
    show: Sequence[str] = (),
    n_rows: int = 400,
    beside: Sequence[str] | None = None,
    equals: Sequence[EquivalentModel] | None = None,
    rng: RNG = 0,
) -> HeatmapDisplay:
    """Compute the heatmaps of a model, of equivalent models and of its predictions.

    Parameters
    ----------
    model : FactorModel
    role, groups, show, n_rows, beside, rng
        See `plot_heatmap`.
    equals : sequence of EquivalentModel, optional
        The equivalent models to choose from; canonical ones and a few drawn ones by
        default.

    Raises
    ------
    InputError
        For rows, groups or models that there are not.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> shown = heatmap(model, beside=["exponent 0.5 (balanced)", "prediction cosine"])
    >>> [panel.name for panel in shown.panels]
    ['your model', 'exponent 0.5 (balanced), κ = 1.41', 'prediction cosine']
    """
    side, draw = model.side_name(role), as_generator(rng)
    require_ordinary_size(model)
    basis = span_basis(model)
    model = turned(with_objective(model), basis)
    # Rows are drawn before models, so that a seed shows the same rows whatever stands
    # beside them.
    selection = select_rows(
        model, side, groups=groups, show=show, n_rows=n_rows, rng=draw
    )
    names = (
        None
        if beside is None
        else [*map(str, as_list(beside, "beside", '["furthest", "prediction cosine"]'))]
    )
    if equals is None:
        # Equivalent models take a while to make, and an empty list of panels needs
        # none.
        sizes: dict[str, Any] = {"n_gauges": N_GAUGES, "max_condition": BUDGET}
        equals = (
            []
            if names == []
            else equivalent_models(model, **sizes, basis=basis, rng=draw)
        )
    maker = _PanelMaker(
        model, side, selection.rows, {equal.name: equal for equal in equals}, draw
    )
    panels = [Panel("your model", "", maker.cosines(model.factors(side)))]
    for name in (FURTHEST, predicted_word(model, side)) if names is None else names:
        # There may be no equivalent model or no other side, or scores are all the same.
        with nullcontext() if names is not None else suppress(InputError):
            panels.append(maker.panel(name))
    shown = tuple(names_of(model, side, selection.rows))
    return HeatmapDisplay(tuple(panels), shown, selection, Pairs(side).titled(model))


@dataclass(frozen=True, eq=False)
class _PanelMaker:
    """The cosines of some rows of a side in one model or another."""

    model: FactorModel
    side: SideName
    rows: Indices
    equals: dict[str, EquivalentModel]
    draw: np.random.Generator

    def cosines(self, rows: Rows) -> Floats:
        """Compute the cosines of the rows shown in a model with these rows."""
        return cosine_matrix(np.asarray(rows[self.rows], dtype=np.float64))

    def panel(self, name: str) -> Panel:
        """Return a panel: "furthest", a prediction cosine, or an equivalent model.

        Raises
        ------
        InputError
            If there is no such model.
        """
        word = predicted_word(self.model, self.side)
        if name == word and self.model.left is None:
            users, items = self.model.roles
            raise must_be(
                "beside",
                f"of equivalent models where {items}s alone were loaded",
                f'"{word}"',
                f"load the {users}s beside them",
            )
        if name == word:
            form = canonical_form(self.model)
            return Panel(
                word,
                "of the same model",
                self.cosines(prediction_view(self.model, form, self.side)),
            )
        if name != FURTHEST and name not in self.equals:
            remedy = nearest_to(name, [FURTHEST, word, *self.equals])
            raise must_be(
                "beside", f'names such as "{FURTHEST}", "{word}"', repr(name), remedy
            )
        among = ""
        if name == FURTHEST:
            # The model of prediction cosines has a panel of its own.
            left_out = PREDICTS[self.side]
            candidates = [
                other
                for other, equal in self.equals.items()
                if not isinstance(equal, CanonicalModel) or equal.exponent != left_out
            ]
            if not candidates:
                raise must_be(
                    "beside",
                    f'"{word}" alone',
                    f'"{FURTHEST}"',
                    "there is no other equivalent model",
                )
            stored = self.cosines(self.model.factors(self.side))
            name, among = (
                first_best(candidates, partial(self._mean_change, stored), TIE),
                f", furthest of {len(candidates)}",
            )
        # That predictions stay is measured for each model shown, against rounding that
        # its stretch amplifies.
        equal, sample = (
            self.equals[name],
            DriftSample.draw(with_probes(self.model, self.draw), self.draw),
        )
        same = sample.drift(equal.apply(sample.model), equal.amplification).ok
        predictions = Nouns.from_model(self.model).predictions
        if same:
            note = f"same {predictions}"
        else:
            note = f"{predictions} differ by more than rounding"
        kappa = (
            ""
            if np.isnan(equal.condition_number)
            else f", κ = {equal.condition_number:.3g}"
        )
        return Panel(
            f"{name}{kappa}",
            f"{note}{among}",
            self.cosines(equal.rows(self.model, self.side)),
        )

    def _mean_change(self, stored: Floats, name: str) -> float:
        change = np.abs(
            self.cosines(self.equals[name].rows(self.model, self.side)) - stored
        )
        # A pair without a cosine counts as unmoved; as NaN it would hide all other
        # pairs.
        return float(np.nan_to_num(change).mean())


def heatmap_of_audit(
    audit: Audit, *, role: Role | str | None = None, **options: Any
) -> HeatmapDisplay:
    """Compute the heatmaps of an audited model and of its equivalent models.

    Parameters
    ----------
    audit : Audit
    role : str, optional
        The side that the answer speaks of by default.
    **options
        Options of `heatmap`.
    """
    evidence, model = audit.evidence, audit.model
    about = "right" if evidence.role == "cross" else evidence.role
    side, equals = (
        model.side_name(about if role is None else role),
        list(evidence.equivalents),
    )
    if evidence.model.n_right != model.n_right and model.left is not None:
        # Those were made for the labels that were measured.
        whole = in_span(model)
        equals = [
            equivalent_at(whole, x.exponent, x.name)
            if isinstance(x, CanonicalModel)
            else x
            for x in equals
        ]
    return heatmap(model, role=side, equals=equals, rng=evidence.seed, **options)


_MAKERS: dict[object, Any] = {
    Audit: MovementDisplay.of_audit,
    BlockCosines: BlockDisplay.from_blocks,
    CertifiedNeighbours: CertifiedCurveDisplay.from_neighbours,
    Movement: MovementDisplay.from_movement,
    SimpsonReport: SimpsonDisplay,
    Threshold: ThresholdDisplay.from_threshold,
    "certified": CertifiedCurveDisplay.of_audit,
    "heatmap": heatmap_of_audit,
    "prediction": PredictionDisplay.of_audit,
}
"""By type of the result, or by the name of what else an audit can draw."""


def display(result: object, picture: str = "", **options: Any) -> Display:
    """Compute the figure of a result without drawing it.

    Parameters
    ----------
    result : Result
    picture : str
        Name of another figure of an audit, such as "heatmap".
    **options
        Options of the figure.

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
    groups: Iterable[Any] | None = None,
    show: Sequence[str] = (),
    n_rows: int = 400,
    beside: Sequence[str] | None = None,
    rng: RNG = 0,
) -> HeatmapDisplay:
    """Draw heatmaps of the cosines of a model next to other cosines of the same rows.

    Parameters
    ----------
    model : FactorModel, path or object
        A model, or an object that `embaudit.load` reads.
    ax : matplotlib Axes, optional
        Axes whose place the panels share; they must belong to a grid. By default a new
        figure is made.
    role : {"right", "left"}
        Side of the rows.
    groups : sequence of length n, optional
        A label for each row of the side. A row with several labels, such as
        "Comedy|Drama", belongs to the first. Rows are sorted by group, and within a
        group by their interactions or lengths. Without groups, similar rows are next to
        each other.
    show : sequence of str
        Ids or titles of the rows to show; a sample by default.
    n_rows : int
        Number of rows to sample, at most 1,000.
    beside : sequence of str, optional
        Panels next to the model: names of equivalent models; "furthest" for the
        equivalent model whose cosines differ most from the cosines of the model; and
        "prediction cosine" ("logit cosine" for a softmax head). The default is
        "furthest" and, if both sides are loaded, the prediction or logit cosine.
    rng : numpy Generator or int
        Draws the rows and the equivalent models.

    Returns
    -------
    HeatmapDisplay
        `frame()` returns the cosines of all pairs shown; `caption` describes them.

    Raises
    ------
    InputError
        If a row in `show` or a model in `beside` does not exist, or `groups` does not
        fit the rows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> axes = Figure().add_subplot()
    >>> shown = plot_heatmap(model, axes, groups=["a", "b", "a"], beside=[])
    >>> shown.caption
    'Item-item cosines of all 3 items with a direction and a group, by group, then by
    length. Panels: your model.'
    """
    shown = heatmap(
        model_of(model),
        role=role,
        groups=groups,
        show=show,
        n_rows=n_rows,
        beside=beside,
        rng=rng,
    )
    return shown.plot(ax)


def plot_prediction_cosines(
    model: FactorModel | AnyPath | object,
    ax: Any = None,
    *,
    role: Role | str = "right",
    n_pairs: int = 100_000,
    rng: RNG = 0,
) -> PredictionDisplay:
    """Draw the cosine of each pair of rows against its prediction cosine.

    Parameters
    ----------
    model : FactorModel, path or object
        A model with both sides, or an object that `embaudit.load` reads.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    role : {"right", "left"}
        Side of the rows. For the labels of a softmax head, the logit cosine over the
        inputs of the model takes the place of the prediction cosine.
    n_pairs : int
        Largest number of pairs; pairs are sampled if there are more.
    rng : numpy Generator or int
        Draws the pairs.

    Returns
    -------
    PredictionDisplay
        `frame()` has one row per pair; `correlation` and `caption` describe the
        picture.

    Raises
    ------
    InputError
        If a side is missing, or has fewer than two rows with a direction.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> plot_prediction_cosines(model, Figure().add_subplot()).caption
    'Your cosine against prediction cosine: all 1 item-item pairs.'
    """
    return PredictionDisplay.from_model(
        model_of(model), role=role, n_pairs=n_pairs, rng=rng
    ).plot(ax)
