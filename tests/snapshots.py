"""Texts that are kept for people to read, whole or in sections: `make kept` writes them anew; read what changed."""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Polygon, Rectangle
from matplotlib.text import Text

from embaudit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from matplotlib.artist import Artist
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

ANEW = bool(os.environ.get("UPDATE_SCREENS"))
"""Whether texts are written anew; one process writes them."""
SECTION = re.compile(r"^== (.*)\n((?:(?!== ).*\n)*)", re.MULTILINE)
REFUSED = Path(__file__).with_name("refused.txt")
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?![\w.]*\w)")
LOCK = (Path(__file__).parents[1] / "requirements.lock").read_text(encoding="utf-8")
ROUNDING = re.compile(r"\b\d+(?:\.\d+)?e-\d+\b")

LOCKED = all(f"\n{name}=={version(name)} " in LOCK for name in ("matplotlib", "typer"))
"""Whether this is what the lock file says; others put ticks, usage and some sentences otherwise."""
as_locked = pytest.mark.skipif(
    not LOCKED,
    reason="other versions of matplotlib and typer put ticks and usage otherwise",
)


@cache
def sections(path: Path) -> dict[str, str]:
    """Return the sections of a text by their titles."""
    return (
        dict(SECTION.findall(path.read_text(encoding="utf-8"))) if path.exists() else {}
    )


def write_sections(path: Path, texts: Mapping[str, str]) -> None:
    """Write the sections that hold something, in their order."""
    path.write_text(
        "".join(f"== {title}\n{text}" for title, text in texts.items() if text),
        encoding="utf-8",
    )


def section(path: Path, title: str, text: str) -> str | None:
    """Return a section as it is kept; where it is written anew, put this text there, in the order of titles."""
    kept = sections(path)
    if ANEW and kept.get(title, "") != text:
        kept[title] = text
        write_sections(path, dict(sorted(kept.items())))
    return kept.get(title)


def assert_section(path: Path, title: str, text: str) -> None:
    """Compare a section of a text that many cases share."""
    assert text == section(path, title, text)


def whole(path: Path, text: str) -> str:
    """Return a text as it is kept; where it is written anew, put this one there."""
    if ANEW:
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def assert_snapshot(path: Path, text: str) -> None:
    """Compare a text with the one kept: words are the same, figures but for rounding."""
    text = ROUNDING.sub("0.0", text)
    kept = whole(path, text)
    assert NUMBER.sub("#", text) == NUMBER.sub("#", kept)
    before, now = (
        [float(x.replace(",", "")) for x in NUMBER.findall(each)]
        for each in (kept, text)
    )
    np.testing.assert_allclose(now, before, rtol=0.02, atol=0.011)


def assert_refused(name: str, calls: Iterable[Callable[[], object]]) -> None:
    """Compare the errors of calls, a line each, with a section of `refused.txt`; others may write values otherwise."""
    lines = []
    for call in calls:
        with pytest.raises(InputError) as refused:
            call()
        lines.append(f"{type(refused.value).__name__}: {refused.value}\n")
    if LOCKED:
        assert_section(REFUSED, name, "".join(lines))


def sketch(figure: Figure) -> str:
    """List what is drawn on each axes: texts, ticks and scales, and each mark's colour, width, size, place and ends."""
    FigureCanvasAgg(
        figure
    ).draw()  # only then ticks have labels, and maps of colours their colours
    lines = ["figure: {:g} x {:g}".format(*figure.get_size_inches())]
    for ax in figure.axes:
        named = [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
        lines += [
            "",
            "axes: " + " | ".join(filter(None, named)),
            _ends(np.array([ax.get_xlim(), ax.get_ylim()]).T),
        ]
        lines += [
            f"{name}: {_ticks(axis)}"
            for name, axis in (("x", ax.xaxis), ("y", ax.yaxis))
            if ax.axison
        ]
        for artist in ax.get_children():
            kind, look = type(artist).__name__, _look(artist)
            if isinstance(artist, Text) and artist.get_text():
                lines.append(f"{kind} {artist.get_text()!r}{look}")
            elif isinstance(artist, Line2D):
                lines.append(
                    f"{kind} {to_hex(artist.get_color())}{look} {_ends(artist.get_xydata())}"
                )
            elif isinstance(artist, PathPatch | Rectangle | Polygon):
                drawn = artist.get_patch_transform().transform(
                    artist.get_path().vertices
                )
                lines.append(
                    f"{kind} {to_hex(artist.get_facecolor())}{look} {_ends(drawn)}"
                )
            elif isinstance(artist, Collection):
                points = [
                    artist.get_offsets(),
                    *(path.vertices for path in artist.get_paths()[:9]),
                ]
                colours = sorted(
                    {
                        to_hex(colour)
                        for colour in [*artist.get_facecolor(), *artist.get_edgecolor()]
                    }
                )
                shown = " ".join(colours) if len(colours) < 9 else "map"
                lines.append(f"Points {shown}{look} {' '.join(map(_ends, points))}")
            elif isinstance(artist, AxesImage):
                lines.append(
                    f"{kind} {artist.get_cmap().name}{look} {_ends(np.array(artist.get_extent()))}"
                )
            elif isinstance(artist, Legend):
                lines.append(
                    f"{kind} {' | '.join(text.get_text() for text in artist.get_texts())}"
                )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _ticks(axis: Axis) -> str:
    """Write the scale of an axis, and where its large and small ticks stand with what is written there."""
    written = [
        " ".join(
            f"{at:.2f}={label.get_text()!r}"
            for at, label in zip(places, labels, strict=False)
        )
        for places, labels in (
            (axis.get_majorticklocs(), axis.get_majorticklabels()),
            (axis.get_minorticklocs(), axis.get_minorticklabels()),
        )
    ]
    return f"{axis.get_scale()} {' / '.join(filter(None, written))}"


def _look(artist: Artist) -> str:
    """Write what makes a mark thin, pale, small, dashed or above others."""
    names = (
        "linewidth",
        "linestyle",
        "alpha",
        "marker",
        "markersize",
        "fontsize",
        "rotation",
        "ha",
        "zorder",
        "clim",
    )
    looks = {
        name: getattr(artist, f"get_{name}")()
        for name in (*names, "sizes", "array")
        if hasattr(artist, f"get_{name}")
    }
    parts = []
    for name, value in looks.items():
        if name == "array" and value is not None:
            value = (
                np.nanmin(value),
                np.nansum(np.asarray(value, dtype=float)),
                np.nanmax(value),
            )
        elif name == "sizes" and len(value) > 3:
            value = (min(value), max(value))
        flat = np.array(value, dtype=object).ravel().tolist()
        parts.append(
            f"{name} "
            + ",".join(
                f"{x:.3g}" if isinstance(x, int | float) else str(x) for x in flat
            )
        )
    return f" <{'; '.join(parts)}>"


def _ends(points: ArrayLike) -> str:
    """Write how many points there are, and the least, the mean and the largest of each coordinate."""
    points = np.ma.filled(np.ma.asarray(points, dtype=float), np.nan).reshape(-1, 2)
    known = points[np.isfinite(points).all(axis=1)]
    ends = (
        [known.min(axis=0), known.mean(axis=0), known.max(axis=0)] if len(known) else []
    )
    return f"{len(points)}: " + " ".join(f"({x:.3f}, {y:.3f})" for x, y in ends)
