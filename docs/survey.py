"""Table, lessons and picture of docs/survey.md, from results of benchmarks/survey.py.

No number is typed here: all of them come from docs/survey.json.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from standalone import PLAIN, WITHIN, on_card

RESULTS = Path(__file__).with_name("survey.json")
COLOURS = {
    "NO": "#b3420a",
    "BY CONVENTION": "#0b5cad",
    "UNKNOWN": "#56606b",
    "CHECK FIRST": "#1c1b19",
    "YES": "#6b3fa0",
}
"""Of the answers; none says good or bad, and on white the contrast of each is above
4.5.
"""


@cache
def results() -> dict[str, Any]:
    """Read what was measured."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def survey_table() -> str:
    """Write a row for each model."""
    heads = [
        "model",
        "compared and trained",
        "answer",
        "lists that differ",
        "lists that `fix` changes",
        "users' lists by cosine, by distance",
        "1 % of pairs at least",
        "findings",
    ]
    rows = [f"| {' | '.join(_cells(row))} |" for row in results()["models"]]
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows])


def _cells(row: dict[str, Any]) -> list[str]:
    fixed = row["fix"]
    codes = [f"[{code}](checks.md#{code.lower()})" for code in row["findings"]]
    return [
        f"**{row['name']}**, {row['model']}",
        row["compared"],
        row["answer"],
        _percent(row["lists"]),
        f"{_percent(fixed['lists'])} ({fixed['kind']})" if fixed["kind"] else "–",
        _served(row),
        _at_least(row["levels"][-1]),
        ", ".join(codes) or "none",
    ]


def _served(row: dict[str, Any]) -> str:
    """Write the shares of lists that an index by cosine and by distance changes."""
    if row["served"] is None:
        return "–"
    return f"{_percent(row['served']['cosine'])}, {_percent(row['served']['l2'])}"


def survey_reasons() -> str:
    """Write why each model has its answer."""
    return "\n".join(
        f"- **{row['name']}**, {row['answer']}: {row['because']}."
        for row in results()["models"]
    )


def survey_sources() -> str:
    """Name the sources of models and data, library versions and skipped models."""
    of: dict[str, list[str]] = {}
    for row in results()["models"]:
        of.setdefault(row["source"], []).append(
            row["name"] + (f" ({row['library']})" if row["library"] else "")
        )
    lines = [f"- {source}: {'; '.join(names)}." for source, names in of.items()]
    missing = ", ".join(
        f"{row['name']} ({row['library']})" for row in results()["missing"]
    )
    if missing:
        lines.append(
            f"- Not installed where this was measured, and left out: {missing}."
        )
    return "\n".join(lines)


def survey_lessons() -> str:
    """Write what the whole table shows."""
    rows = results()["models"]
    lessons = (
        _lesson_on_answers(rows),
        _lesson_on_neighbours(rows),
        _lesson_on_high_cosines(rows),
        _lesson_on_indexes(rows),
    )
    return "\n\n".join(lessons)


def _lesson_on_answers(rows: list[dict[str, Any]]) -> str:
    answers = Counter(row["answer"] for row in rows)
    short, long = (
        next(row for row in rows if row["name"] == f"implicit ALS, {n} iterations")
        for n in (15, 300)
    )
    return (
        f"**The answer follows the training.** The answers for {len(rows)} models: "
        f"{answers['NO']} NO, {answers['BY CONVENTION']} BY CONVENTION, "
        f"{answers['UNKNOWN']} UNKNOWN, {answers['YES']} YES. The answer is YES if "
        f"training compared cosines: {_names(rows, 'YES')}. It is BY CONVENTION if "
        "weight decay picked the cosines, if training divided cosines between the "
        "sides by a temperature, or if subtracting the mean row of a head changes "
        f"little: {_names(rows, 'BY CONVENTION')}. More iterations of ALS bring the "
        "model slowly nearer to the minimum of its penalty: at that minimum, "
        f"{_percent(short['penalty'])} of implicit's neighbours would differ from "
        f"those after 15 iterations, and {_percent(long['penalty'])} from those after "
        "300. The answer is UNKNOWN for files that lack the second table."
    )


def _lesson_on_neighbours(rows: list[dict[str, Any]]) -> str:
    changed = sorted(
        (row for row in rows if row["lists"]), key=lambda row: row["lists"]
    )
    predicted = sorted(
        (row for row in rows if row["fix"]["kind"] == "prediction"),
        key=lambda row: row["fix"]["lists"],
    )
    lowest, highest = (
        f"{_percent(row['lists'])} ({row['name']})" for row in (changed[0], changed[-1])
    )
    lowest_fixed, highest_fixed = (
        f"{_percent(row['fix']['lists'])} ({row['name']})"
        for row in (predicted[0], predicted[-1])
    )
    return (
        f"**The neighbours are not safe.** For {len(changed)} of {len(rows)} models an "
        f"equivalent model with other neighbours was found. {lowest} to {highest} of "
        "the 10 nearest differ, and in half of these models "
        f"{_percent(_median(changed))} or more. If the models of the ratings are "
        f"compared by prediction cosines instead of stored cosines, {lowest_fixed} to "
        f"{highest_fixed} of the neighbours differ. No change of coordinates moves "
        "prediction cosines, but it can move stored cosines. Labels or users decide "
        "which of the two are more useful (`embaudit evaluate`)."
    )


def _lesson_on_high_cosines(rows: list[dict[str, Any]]) -> str:
    scale = sorted(rows, key=lambda row: row["levels"][-1])
    n_high = sum(row["levels"][-1] < 0.8 for row in rows)
    lowest, highest = (
        f"{_at_least(row['levels'][-1])} in {row['name']}"
        for row in (scale[0], scale[-1])
    )
    return (
        "**No cosine is high by itself.** One random pair in a hundred has a cosine of "
        f"at least {lowest}, and of at least {highest}. A cosine of 0.80 is above this "
        f"value in {n_high} models, and more than one pair in a hundred reaches it in "
        f"the other {len(rows) - n_high}. So a threshold belongs to one model, and "
        "does not carry over to another one."
    )


def _lesson_on_indexes(rows: list[dict[str, Any]]) -> str:
    served = sorted(
        (row for row in rows if row["served"] is not None),
        key=lambda row: row["served"]["cosine"],
    )
    safe = [row["name"] for row in served if row["served"]["cosine"] == 0]
    changed = [row for row in served if row["served"]["cosine"] > 0]
    lowest, highest = (
        f"{_percent(row['served']['cosine'])} ({row['name']})"
        for row in (changed[0], changed[-1])
    )
    return (
        "**An index must rank as the model does.** An index by cosine replaces "
        f"{lowest} to {highest} of each user's ten best items in {len(changed)} of "
        f"{len(served)} recommenders, and none in {', '.join(safe)}. The lengths of "
        "item vectors and the item biases are a part of the score, and a cosine "
        "ignores both. `embaudit audit --served cosine` measures this change for your "
        "model, and `embaudit fix --as equal-length` writes vectors without it."
    )


def _names(rows: list[dict[str, Any]], answer: str) -> str:
    return "; ".join(row["name"] for row in rows if row["answer"] == answer)


def _median(rows: list[dict[str, Any]]) -> float:
    return float(rows[len(rows) // 2]["lists"])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _at_least(cosine: float) -> str:
    """Round down, since no cosine is above 1."""
    return f"{math.floor(100 * cosine) / 100:.2f}"


def survey_picture() -> str:
    """Draw the neighbours that an equivalent model changes, and scales of cosines."""
    rows = results()["models"][::-1]
    at, colours = range(len(rows)), [COLOURS[row["answer"]] for row in rows]
    with mpl.rc_context(PLAIN):
        figure = Figure(
            figsize=(9.6, 0.3 * len(rows) + 1.5),
            layout=ConstrainedLayoutEngine(rect=WITHIN),
        )
        lists, scale = figure.subplots(1, 2, sharey=True)
        lists.barh(
            at,
            [100 * (row["lists"] or 0) for row in rows],
            height=0.55,
            color=colours,
            alpha=0.35,
        )
        for y, row, colour in zip(at, rows, colours, strict=True):
            if row["fix"]["lists"] is not None:
                lists.plot(
                    100 * row["fix"]["lists"], y, "D", color=colour, markersize=5
                )
            scale.plot(row["levels"], [y] * 3, color=colour, linewidth=2)
            scale.plot(row["levels"][0], y, "|", color=colour, markersize=9)
            scale.plot(row["levels"][-1], y, "o", color=colour, markersize=5)
        lists.set_yticks(at, [row["name"] for row in rows])
        lists.set(
            xlim=(0, 100),
            xlabel="% of the 10 nearest that differ",
            ylim=(-0.7, len(rows) - 0.3),
        )
        scale.set(xlim=(-0.1, 1.05), xlabel="cosines of random pairs")
        lists.set_title(
            "bar: an equivalent model · diamond: `fix`", fontsize=10, loc="left"
        )
        scale.set_title(
            "tick: half are below · dot: 99 % are below", fontsize=10, loc="left"
        )
        for axes in (lists, scale):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="x", color="#dedad1", linewidth=0.8)
            axes.set_axisbelow(True)
        given = {row["answer"] for row in rows}
        for answer, colour in COLOURS.items():
            if answer in given:
                lists.plot([], [], "s", color=colour, label=answer)
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        label = (
            "For each surveyed model: neighbours that differ in an equivalent model, "
            "and the scale of its cosines"
        )
        return on_card(figure, label)
