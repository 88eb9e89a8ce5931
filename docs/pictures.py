"""The pictures of the twelve questions, each drawn from what the command beside it finds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from gate_picture import gate_picture
from neighbours_picture import ASKED, neighbours_picture
from standalone import standalone
from survey import survey_picture

import embaudit as ea
from embaudit.movements.levels import levels
from embaudit.report.audit_document import audit_document
from embaudit.report.documents import document
from embaudit.report.figures import IntervalDisplay
from embaudit.report.prediction_display import PredictionDisplay

if TYPE_CHECKING:
    from collections.abc import Callable

    from embaudit.auditing import Audit
    from embaudit.model import FactorModel
    from embaudit.report.display import Display

OTHER = 28
"""The item that the one asked for is compared with, as on the page."""
NEAREST, SHARES = 6, (0.5, 0.9, 0.99)
"""How many neighbours are shown beside which shares of the pairs."""
AGAIN = 3.0
"""How far the second run of a picture is stretched, as on the page."""


class Made(NamedTuple):
    """What is asked about."""

    model: FactorModel
    clusters: list[str]


@cache
def made() -> Made:
    """Fit the model that Start makes."""
    data = ea.simulate_interactions(300, 60, 3, max_items=25, rng=0)
    model = ea.ProductPenaltyMF(10, alpha=10.0).fit(data.matrix).model(data.matrix)
    return Made(model, [str(cluster) for cluster in data.clusters])


@cache
def audited() -> Audit:
    """Audit it as the command does."""
    return ea.audit(made().model)


def high() -> str:
    """Draw the cosines of the nearest items beside those that so many of all pairs stay below."""
    model, clusters = made()
    found = levels(model)
    cosines = model.cosines("right", [[ASKED, other] for other in range(model.n_right)])
    cosines[ASKED] = -1.0
    order = np.argsort(-cosines, kind="stable")[:NEAREST].tolist()
    rows = [(f"item {item} (cluster {clusters[item]})", cosines[item], False) for item in order]
    rows += [
        (f"{share:.0%} of pairs are below".replace("%", " %"), np.quantile(found.cosines, share), True)
        for share in reversed(SHARES)
    ]
    title = f"nearest to item {ASKED}, and what so many of all {found.n_pairs:,} pairs of items stay below"
    key = f"cosine with item {ASKED}", "all pairs of items"
    return standalone("How high is a high cosine here?", [_values(rows, title, key, "cosine")])


def at_odds() -> str:
    """Draw cosines at hand against those of what is predicted."""
    return standalone("Likeness by cosine, and by what is recommended", [PredictionDisplay.of_audit(audited())])


def stays() -> str:
    """Draw which share of the neighbours is certain to stay."""
    return standalone("What stays while predictions stay", _of("limits"))


def moves() -> str:
    """Draw how far cosines move in each equal model."""
    return standalone("How far cosines move in equal models", _of("movement"))


def _of(place: str) -> tuple[Display, ...]:
    """Take the figures of item-item cosines from a section of the document."""
    section = next(one for one in audit_document(audited()).sections if one.id == place)
    return next(part.figures for part in section.parts if part.title == "item-item cosines")


def dimensions() -> str:
    """Draw what each dimension adds to a cosine."""
    found = ea.explain_pair(made().model, ASKED, OTHER)
    added = found.to_frame()["contribution"].sort_values(ascending=False)
    rows = [(f"dimension {name.strip('[]')}", value, False) for name, value in added.items()]
    title = f"items {ASKED} and {OTHER}: what each dimension adds, together {found.global_cosine:.2f}, their cosine"
    return standalone(
        "Which dimensions make two items alike?", [_values(rows, title, ("part", ""), "part of the cosine")]
    )


def serves() -> str:
    """Draw how well each similarity finds items that share a label."""
    found = ea.evaluate_similarities(*made())
    return standalone("Which similarity finds items of the same cluster?", document(found).top)


def again() -> str:
    """Draw what became of neighbours in a second run."""
    model = made().model
    second = ea.gauges.GeneralLinear(model.rank, max_condition=AGAIN).sample(rng=0).act(model)
    return standalone("Two runs that predict the same", document(ea.compare(model, second)).top)


PICTURES: dict[str, Callable[[], str]] = {
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
}
"""What draws each file of `docs/pictures`."""


def _values(rows: list[tuple[str, float, bool]], title: str, key: tuple[str, str], label: str) -> IntervalDisplay:
    """Draw values without intervals."""
    names, values, marked = zip(*rows, strict=True)
    at = np.array(values)
    return IntervalDisplay(names, title, at, np.column_stack([at, at]), np.array(marked), key, label)
