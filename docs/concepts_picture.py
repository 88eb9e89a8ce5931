"""Two users and three items of a small model, drawn before and after a gauge."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from standalone import PLAIN, WITHIN, on_card

import embaudit as ea

USERS = np.array([[2.0, 2.0], [1.5, -1.0]])
"""One row per user: Ann and Bob."""
ITEMS = np.array([[1.0, 0.4], [1.0, -0.3], [0.4, 0.9]])
"""One row per item: A, B and C."""
USER_NAMES, ITEM_NAMES = ("Ann", "Bob"), ("A", "B", "C")
STRETCH = (1.0, 2.0)
"""The gauge multiplies the second column of items by 2, and that of users by 1/2."""
BLUE, ORANGE, GREY = "#0b5cad", "#b3420a", "#56606b"


def models() -> tuple[ea.FactorModel, ea.FactorModel]:
    """Return the model of the page, and an equivalent model."""
    model = ea.FactorModel.from_arrays(USERS, ITEMS)
    stretch = np.diag(STRETCH)
    equivalent = ea.FactorModel.from_arrays(
        USERS @ np.linalg.inv(stretch), ITEMS @ stretch
    )
    if not np.allclose(model.scores(), equivalent.scores(), rtol=0, atol=1e-12):
        raise ValueError("the two models predict different scores")
    return model, equivalent


def concepts_picture() -> str:
    """Draw the vectors of both models, with their scores and two cosines below."""
    titles = "A model", "An equivalent model"
    with mpl.rc_context(PLAIN):
        figure = Figure(figsize=(8.4, 5.2), layout=ConstrainedLayoutEngine(rect=WITHIN))
        panels = figure.subplots(1, 2)
        for axes, model, title in zip(panels, models(), titles, strict=True):
            _draw_vectors(axes, model)
            axes.set_title(title, fontsize=11, fontweight="bold", loc="left")
            axes.text(0, -0.16, _scores(model), va="top", transform=axes.transAxes)
            axes.text(
                0,
                -0.30,
                _cosines(model),
                va="top",
                transform=axes.transAxes,
                color=ORANGE,
                fontweight="bold",
            )
        return on_card(figure, "One model in two coordinate systems")


def _draw_vectors(axes: mpl.axes.Axes, model: ea.FactorModel) -> None:
    sides = (
        (model.factors("left"), USER_NAMES, GREY),
        (model.factors("right"), ITEM_NAMES, BLUE),
    )
    for rows, names, colour in sides:
        for (x, y), name in zip(rows, names, strict=True):
            axes.annotate(
                "", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": colour}
            )
            axes.annotate(
                name,
                (x, y),
                xytext=(4, 2),
                textcoords="offset points",
                color=colour,
                fontweight="bold",
            )
    axes.set(xlim=(-0.3, 2.6), ylim=(-1.5, 2.4), aspect="equal")
    axes.axhline(0, color="#d0d7de", linewidth=1, zorder=0)
    axes.axvline(0, color="#d0d7de", linewidth=1, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)


def _scores(model: ea.FactorModel) -> str:
    """Write a line with the scores of each user."""
    lines = []
    for name, scores in zip(USER_NAMES, model.scores(), strict=True):
        figures = ", ".join(
            f"{item} {score:.1f}"
            for item, score in zip(ITEM_NAMES, scores, strict=True)
        )
        lines.append(f"scores of {name}: {figures}")
    return "\n".join(lines)


def _cosines(model: ea.FactorModel) -> str:
    """Write the cosines of item A with the two other items."""
    with_b, with_c = model.cosines("right", [[0, 1], [0, 2]])
    return f"cosine of A with B {with_b:.2f}, with C {with_c:.2f}"
