"""Nearest items of an item in three models that make the same predictions.

The README shows the lists by cosine.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from card import card

import embaudit as ea
from embaudit.canonical import identified_cosines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from embaudit.model import FactorModel

ITEM, NEAREST, STRETCH = 18, 6, 3.0
"""Row of the item, number of its neighbours, and stretch of the axes."""
SEEDS = {"as trained": None, "stretched one way": 4, "stretched another way": 2}
"""The columns, and the seed of each stretch."""
COLOURS = ("#0b5cad", "#b3420a", "#56606b")
"""Of the clusters; on white the contrast of each is above 4.5."""
WIDTH, COLUMN, ROW, TOP, LEFT, LABEL = 760, 256, 32, 128, 24, 180
HEIGHT = TOP + NEAREST * ROW + 12
FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"


HEADINGS = {
    "cosine": (
        f"One recommender, written down in three ways: nearest to item {ITEM}",
        "All {} predictions are the same. The cosines next to the items differ.",
    ),
    "prediction cosine": (
        f"The same three models by prediction cosine: nearest to item {ITEM}",
        "All {} predictions are the same, and so are the prediction cosines.",
    ),
}
"""Heading and line below it, by the similarity that compares items."""


def neighbours_picture(by: str = "cosine") -> str:
    """Draw the lists of the three models, by their cosines or by what they predict.

    Raises
    ------
    ValueError
        If their predictions differ by more than rounding.
    """
    data = ea.simulate_interactions(300, 60, 3, max_items=25, rng=0)
    trained = ea.ProductPenaltyMF(10, alpha=10.0).fit(data.matrix).model(data.matrix)
    models = {title: _stretched(trained, seed) for title, seed in SEEDS.items()}
    apart = max(
        float(np.abs(model.scores() - trained.scores()).max())
        for model in models.values()
    )
    if apart > 1e-12:
        raise ValueError(f"predictions differ by {apart}")
    lists = {title: _nearest(model, by) for title, model in models.items()}
    colours = [COLOURS[cluster] for cluster in data.clusters]
    title, subtitle = HEADINGS[by]
    subtitle = subtitle.format(f"{trained.n_left * trained.n_right:,}")
    return "\n".join(
        [
            *_head(title, subtitle, int(data.clusters[ITEM])),
            *_links(lists),
            *_cells(lists, colours),
            "</svg>\n",
        ]
    )


def _stretched(model: FactorModel, seed: int | None) -> FactorModel:
    """Rescale the latent axes at random; predictions stay."""
    if seed is None:
        return model
    return (
        ea.gauges.Diagonal(model.rank, max_condition=STRETCH)
        .sample(rng=seed)
        .act(model)
    )


def _nearest(model: FactorModel, by: str) -> dict[int, float]:
    """Find the nearest items of the item, and their cosines."""
    candidates = np.delete(np.arange(model.n_right), ITEM)
    pairs = np.column_stack([np.full(len(candidates), ITEM), candidates])
    cosines = (
        model.cosines("right", pairs)
        if by == "cosine"
        else identified_cosines(model, role="right", pairs=pairs)
    )
    # Equivalent ones must not be put in order by their rounding.
    order = np.argsort(-cosines.round(9), kind="stable")[:NEAREST]
    return {int(candidates[i]): float(cosines[i]) for i in order}


def _head(title: str, subtitle: str, cluster: int) -> Iterator[str]:
    """Draw a card, light on dark pages too, its heading, and the key of the colours."""
    yield from card(WIDTH, HEIGHT, title)
    yield _text(LEFT, 34, title, size=16, weight=600)
    yield _text(LEFT, 58, subtitle)
    yield _text(
        LEFT, 80, f"Item {ITEM} is of cluster {cluster}. Colours are the true clusters:"
    )
    for number, colour in enumerate(COLOURS):
        yield _text(
            LEFT + 384 + 84 * number, 80, f"cluster {number}", colour=colour, weight=600
        )


def _links(lists: Mapping[str, dict[int, float]]) -> Iterator[str]:
    """Join an item in a list with itself in the next list."""
    for column, (before, after) in enumerate(pairwise(lists.values())):
        start, end = (
            LEFT + COLUMN * column + LABEL + 8,
            LEFT + COLUMN * (column + 1) - 8,
        )
        for row, item in enumerate(before):
            if item in after:
                start_height = TOP + ROW * row + 12
                end_height = TOP + ROW * list(after).index(item) + 12
                yield (
                    f'<line x1="{start}" y1="{start_height}" x2="{end}" '
                    f'y2="{end_height}" stroke="#8b949e" stroke-width="1.5"/>'
                )


def _cells(lists: Mapping[str, dict[int, float]], colours: list[str]) -> Iterator[str]:
    """Write each list under its heading, with their cosines."""
    for column, (title, near) in enumerate(lists.items()):
        x = LEFT + COLUMN * column
        yield _text(x, TOP - 14, title, weight=600)
        for row, (item, cosine) in enumerate(near.items()):
            y = TOP + ROW * row
            corner, colour = f'x="{x}" y="{y}"', colours[item]
            yield f'<rect {corner} width="{LABEL}" height="24" rx="4" fill="#eef1f4"/>'
            yield f'<rect {corner} width="4" height="24" fill="{colour}"/>'
            yield _text(x + 14, y + 17, f"item {item}", colour=colour, weight=600)
            yield _text(x + LABEL - 42, y + 17, f"{cosine:.2f}")


def _text(
    x: int,
    y: int,
    text: str,
    *,
    size: int = 14,
    weight: int = 400,
    colour: str = "#1b1f24",
) -> str:
    """Write a line of text."""
    font = f'font-family="{FONT}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {font} fill="{colour}">{text}</text>'
