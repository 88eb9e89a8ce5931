"""Time and memory of an audit by number of rows, from benchmarks/README.md."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from standalone import PLAIN, WITHIN, on_card

RECORD = Path(__file__).parents[1] / "benchmarks" / "README.md"
ROW = re.compile(
    r"^\| ([\d,]+) and ([\d,]+) \| ([\d.]+) s \| [\d.]+ s \| ([\d,]+) MiB \|",
    re.MULTILINE,
)


def scale_picture() -> str:
    """Draw the rows of the first table of `bench_audit.py`."""
    record = RECORD.read_text(encoding="utf-8").partition("## `bench_audit.py`")[2]
    rows = [
        [float(number.replace(",", "")) for number in row]
        for row in ROW.findall(record)
    ]
    right, left, seconds, memory = zip(*rows, strict=True)
    total = [sum(sides) for sides in zip(right, left, strict=True)]
    with mpl.rc_context(PLAIN):
        figure = Figure(figsize=(8.4, 3.0), layout=ConstrainedLayoutEngine(rect=WITHIN))
        drawn = ((seconds, "seconds"), (memory, "MiB of memory"))
        for axes, (values, label) in zip(figure.subplots(1, 2), drawn, strict=True):
            axes.plot(total, values, "o-", color="#0b5cad")
            for x, value in zip(total, values, strict=True):
                axes.annotate(
                    f"{value:g}",
                    (x, value),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                )
            axes.set(
                xscale="log",
                xlabel="rows of both sides",
                ylabel=label,
                ylim=(0, 1.2 * max(values)),
            )
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="#dedad1", linewidth=0.8)
        return on_card(figure, "Time and memory of an audit against the number of rows")
