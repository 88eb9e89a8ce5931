"""The pictures of these pages, each drawn from what the command beside it computes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
import numpy as np
from concepts_picture import concepts_picture
from gate_picture import gate_picture
from layers_picture import layers_picture
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from neighbours_picture import ITEM, neighbours_picture
from scale_picture import scale_picture
from screen_picture import screen_picture
from standalone import PLAIN, WITHIN, on_card, standalone
from survey import survey_picture

import embaudit as ea
from embaudit.movements.levels import levels
from embaudit.report.audit_document import audit_document
from embaudit.report.documents import document
from embaudit.report.figures import IntervalDisplay, PredictionDisplay

if TYPE_CHECKING:
    from collections.abc import Callable

    from embaudit.auditing.audit import Audit
    from embaudit.model import FactorModel
    from embaudit.report.display import Display

OTHER = 28
"""Row of the item that the first is compared with, as on the page."""
NEAREST, SHARES = 6, (0.5, 0.9, 0.99)
"""Number of neighbours, and shares of the pairs shown beside them."""
AGAIN = 3.0
"""Condition number between the two runs of a picture, as on the page."""


class Example(NamedTuple):
    """The model of the pages, and the true clusters of its items."""

    model: FactorModel
    clusters: list[str]


@cache
def example() -> Example:
    """Fit the model of the recommender's page."""
    data = ea.simulate_interactions(300, 60, 3, max_items=25, rng=0)
    model = ea.ProductPenaltyMF(10, alpha=10.0).fit(data.matrix).model(data.matrix)
    return Example(model, [str(cluster) for cluster in data.clusters])


@cache
def audited() -> Audit:
    """Audit it as the command does."""
    return ea.audit(example().model)


def high() -> str:
    """Draw the cosines of the nearest items, and quantiles of all pairs."""
    model, clusters = example()
    scale = levels(model)
    cosines = model.cosines("right", [[ITEM, other] for other in range(model.n_right)])
    cosines[ITEM] = -1.0
    order = np.argsort(-cosines, kind="stable")[:NEAREST].tolist()
    rows = [
        (f"item {item} (cluster {clusters[item]})", cosines[item], False)
        for item in order
    ]
    rows += [
        (
            f"{share:.0%} of pairs are below".replace("%", " %"),
            np.quantile(scale.cosines, share),
            True,
        )
        for share in reversed(SHARES)
    ]
    title = (
        f"nearest to item {ITEM}, and what so many of all {scale.n_pairs:,} pairs of "
        "items stay below"
    )
    key = f"cosine with item {ITEM}", "all pairs of items"
    return standalone(
        "How high is a high cosine here?", [_values(rows, title, key, "cosine")]
    )


def at_odds() -> str:
    """Draw stored cosines against prediction cosines."""
    return standalone(
        "Similarity by cosine, and by what is recommended",
        [PredictionDisplay.of_audit(audited())],
    )


def stays() -> str:
    """Draw the share of the neighbours that is certain to stay."""
    return standalone("What stays while predictions stay", _of("limits"))


def moves() -> str:
    """Draw how far cosines move in each equivalent model."""
    return standalone("How far cosines move in equivalent models", _of("movement"))


def _of(place: str) -> tuple[Display, ...]:
    """Take the figures of item-item cosines from a section of the document."""
    section = next(
        section for section in audit_document(audited()).sections if section.id == place
    )
    return next(
        part.figures for part in section.parts if part.title == "item-item cosines"
    )


def dimensions() -> str:
    """Draw what each dimension adds to a cosine."""
    items = example().model.factors("right")
    pair = ea.block_cosines(items[ITEM], items[OTHER])
    added = pair.to_frame()["contribution"].sort_values(ascending=False)
    rows = [
        (f"dimension {name.strip('[]')}", value, False) for name, value in added.items()
    ]
    title = (
        f"items {ITEM} and {OTHER}: what each dimension adds, together "
        f"{pair.global_cosine:.2f}, their cosine"
    )
    return standalone(
        "Which dimensions make two items alike?",
        [_values(rows, title, ("part", ""), "part of the cosine")],
    )


def serves() -> str:
    """Draw how well each similarity finds items that share a label."""
    evaluation = ea.evaluate_similarities(*example())
    return standalone(
        "Which similarity finds items of the same cluster?", document(evaluation).top
    )


def again() -> str:
    """Draw the neighbours that a second run keeps."""
    model = example().model
    second = (
        ea.gauges.GeneralLinear(model.rank, max_condition=AGAIN)
        .sample(rng=0)
        .act(model)
    )
    return standalone(
        "Two runs that predict the same", document(ea.compare(model, second)).top
    )


def topics() -> str:
    """Draw the cosines of all pairs of texts, by whether they share a topic.

    These are the texts of the encoder's page.
    """
    draw = np.random.default_rng(0)
    topic = np.repeat(draw.normal(size=(12, 32)), 20, axis=0)
    vectors = topic + 0.7 * draw.normal(size=(240, 32)) + 0.8
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = np.triu_indices(240, 1)
    cosines, same = (
        np.sum(unit[first] * unit[second], axis=1),
        first // 20 == second // 20,
    )
    with mpl.rc_context(PLAIN):
        figure = Figure(figsize=(8.4, 3.0), layout=ConstrainedLayoutEngine(rect=WITHIN))
        axes, edges = figure.subplots(), np.linspace(-0.2, 1, 61)
        axes.hist(cosines[~same], edges, color="#56606b", alpha=0.6, label="two topics")
        axes.hist(cosines[same], edges, color="#0b5cad", alpha=0.8, label="one topic")
        mark = np.quantile(cosines, 0.99)
        axes.axvline(mark, color="#a8201a")
        axes.annotate(
            f"99 % of pairs are below {mark:.2f}",
            (mark, 900),
            xytext=(-8, 0),
            textcoords="offset points",
            ha="right",
            color="#a8201a",
        )
        axes.set(xlabel="cosine of two texts", ylabel="pairs", xlim=(-0.2, 1))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        return on_card(
            figure, "Cosines of all pairs of 240 texts, of one topic and of two"
        )


PICTURES: dict[str, Callable[[], str]] = {
    "concepts": concepts_picture,
    "high": high,
    "at-odds": at_odds,
    "stays": stays,
    "moves": moves,
    "dimensions": dimensions,
    "indexed": lambda: neighbours_picture("prediction cosine"),
    "serves": serves,
    "again": again,
    "gate": gate_picture,
    "survey": survey_picture,
    "topics": topics,
    "audit-time": scale_picture,
    "screen": screen_picture,
    "layers": layers_picture,
}
"""The function that draws each file of `docs/pictures`."""


def _values(
    rows: list[tuple[str, float, bool]], title: str, key: tuple[str, str], label: str
) -> IntervalDisplay:
    """Draw values without intervals."""
    names, values, marked = zip(*rows, strict=True)
    at = np.array(values)
    columns = {
        "name": names,
        "value": at,
        "low": at,
        "high": at,
        "marked": np.array(marked),
    }
    return IntervalDisplay(columns, title, key, label)
