"""Displays: the numbers of pictures, drawn on axes, into files and into pages; matplotlib is loaded only then."""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from textwrap import wrap
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.words import cut, visible
from embaudit.errors import must_be
from embaudit.io.files import AnyPath, as_path

if TYPE_CHECKING:
    import pandas as pd

BLUE, TEAL, AMBER, RED = "#1f4fa3", "#0b6b60", "#8a4b00", "#a8201a"
INK, SOFT, LINE = "#1c1b19", "#5c5851", "#dedad1"
"""Colours of pictures: on a page each becomes the one that the page calls so, light or
dark.
"""
POINTS = "#4a7cd0"
"""The colour of points, which are pixels where they are many: the same on light and
dark pages.
"""
TITLE = "title"
"""Marks text that stands below a picture on a page, where it breaks into lines, instead
of above it.
"""
LONGEST, NAME, LINES = 50, 26, 2
"""Characters of a name, of a line of the name of a row, and lines of that at most."""
BESIDE = 24
"""Characters of a name beside a heatmap."""
UNKNOWN = "#9a9a9a"
"""Colour of cells without a number."""
DIVERGING = "RdBu_r"
"""Colours of cosines: two hues that people who confuse red and green tell apart, white
at 0.
"""
NAMED = 0.04
"""Share of the rows from which there is room for the name of a group."""
UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""Formats, and what each would say of when and with what it was written."""
DOTS = 150
"""Dots an inch, of cells too."""
FIXED: dict[Any, Any] = {
    "svg.hashsalt": "embaudit",
    "pdf.fonttype": 42,
    "font.sans-serif": ["DejaVu Sans"],
}
PAGE: dict[Any, Any] = {
    **FIXED,
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LINE,
    "legend.frameon": False,
    **{f"{axis}tick.{what}": value for axis in "xy" for what, value in (
        ("color", SOFT), ("labelcolor", INK), ("labelsize", 9), ("major.size", 0), ("minor.size", 0))},
}  # fmt: skip
"""How matplotlib draws for a page: text as text, and no marks that would need names of
their own.
"""
NAMES = {
    BLUE: "blue",
    TEAL: "teal",
    AMBER: "warn",
    RED: "bad",
    INK: "ink",
    SOFT: "soft",
    LINE: "line",
}
"""Names of the colours of pictures on a page."""
BARE = (
    (r' (?:id|clip-path)="[^"]*"| transform="rotate\(-0 [^"]*"', ""),
    ("xlink:href", "href"),
    (r"font: ([\d.]+px) [^;\"]*", r"font-size: \1"),
    (r"font-family: [^;\"]*;? ?", ""),
    (r"\s*\n\s*", "\n"),
    (r"<g/>\n|<g>\n</g>\n", ""),
)
"""Patterns within SVG that a page does without, and their replacements."""


_one_thread = RLock()


@contextmanager
def settings_of(*styles: str | dict[Any, Any]) -> Iterator[None]:
    """Change the settings of matplotlib inside the block.

    matplotlib keeps one set of settings for the whole process, and so does Python with
    filters of warnings. If two threads changed them at once, the last to leave would
    restore what the first one set, so only one thread draws at a time.
    """
    from matplotlib import style

    with _one_thread, style.context(list(styles)):
        yield


def drawn(name: object, longest: int = LONGEST) -> str:
    r"""Write a name into a picture, where matplotlib reads dollars as the ends of a formula.

    Examples
    --------
    >>> drawn("5$"), drawn("a\nb"), drawn("long name", 5)
    ('5\\$', "'a\\nb'", 'long…')
    """
    return cut(visible(str(name)), longest).replace("$", r"\$")


def name_rows(ax: Any, names: Sequence[str]) -> None:
    """Name rows from the top down, long names in two lines, and leave no more room than rows need."""
    lines = [
        wrap(drawn(name), NAME, max_lines=LINES, placeholder=" …") if name else []
        for name in names
    ]
    ax.set_yticks(range(len(names)), ["\n".join(each) for each in lines])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def legend_above(ax: Any) -> None:
    """Write what is drawn above the axes, in two columns."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=2,
        fontsize="small",
        frameon=False,
        borderpad=0,
    )


@dataclass(frozen=True, eq=False)
class Display(ABC):
    """Base of the pictures of results; kinds of picture add their numbers and how these are drawn."""

    SIZE: ClassVar[tuple[float, float]] = (5.2, 3.4)
    """`size`, where it is always the same."""
    CAPTION: ClassVar[str] = ""
    """`caption`, where it is always the same but for the title."""

    ax_: Any = field(default=None, init=False, repr=False)
    """The axes drawn on, once plotted."""
    figure_: Any = field(default=None, init=False, repr=False)
    """Figure of these axes."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return self.SIZE

    @property
    def caption(self) -> str:
        """Sentence on what the picture shows, for those who do not see it, too."""
        return self.CAPTION.format(title=vars(self).get("title", ""))

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones, and return the same numbers with what was drawn on."""
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=self.size, layout="constrained")
        else:
            from matplotlib.axes import Axes

            if not isinstance(ax, Axes):
                raise must_be(
                    "ax", "Axes of matplotlib", repr(ax), "None makes new ones"
                )
            if ax.figure.get_layout_engine() is None:
                # Names of rows reach into the axes beside, unless these make room.
                ax.figure.figure.set_layout_engine("constrained")
        self._draw_scaled(ax)
        # The display is frozen, and may be drawn again elsewhere: a copy remembers
        # these axes.
        drawn = copy(self)
        for name, value in (("ax_", ax), ("figure_", ax.figure)):
            object.__setattr__(drawn, name, value)
        return drawn

    def _draw_scaled(self, ax: Any) -> None:
        """Draw with letters as much smaller as the axes have less room than a figure of its own."""
        import matplotlib as mpl

        figure = ax.figure.figure
        margins, place = figure.subplotpars, ax.get_subplotspec()
        box = ax.get_position() if place is None else place.get_position(figure)
        # The share of the figure that the axes have within its margins; against the
        # size meant for it, that is the scale.
        room = (
            box.width / (margins.right - margins.left),
            box.height / (margins.top - margins.bottom),
        )
        scale = min(1.0, *np.multiply(room, figure.get_size_inches()) / self.size)
        with settings_of({"font.size": mpl.rcParams["font.size"] * scale}):
            # Axes that exist already took their letters from the settings of before.
            for axis in (ax.xaxis, ax.yaxis) if scale < 1 else ():
                axis.label.set_fontsize(mpl.rcParams["axes.labelsize"])
                axis.set_tick_params("both", labelsize=mpl.rcParams["xtick.labelsize"])
            self._draw(ax)

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return the numbers of the picture as a table."""

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw the numbers on axes."""


@dataclass(frozen=True, eq=False)
class TableDisplay(Display):
    """A picture of some columns of numbers.

    Parameters
    ----------
    columns : mapping of str to array of shape (m,)
        The columns of `frame`.
    title : str
        Subject of the picture.
    """

    columns: Mapping[str, Any]
    title: str = ""

    def frame(self) -> pd.DataFrame:
        """Return the columns as a table."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns))


@dataclass(frozen=True, eq=False)
class RowDisplay(TableDisplay):
    """A picture of named rows, one below the other, as high as it has rows.

    The first column names the rows, from the top down; values of one name share a row.
    """

    AXIS: ClassVar[float] = 1.15
    ROW: ClassVar[float] = 0.36
    """Inches that the axis and what is above the rows take, and each row."""

    @property
    def names(self) -> list[str]:
        """Names of the rows."""
        return list(next(iter(self.columns.values())))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return self.SIZE[0], self.AXIS + self.ROW * len(set(self.names))

    @property
    def caption(self) -> str:
        """Title as a sentence."""
        return f"{self.title[0].upper()}{self.title[1:]}."


def edges_of(groups: ArrayLike) -> NDArray[np.float64]:
    """Find the places between two groups that stand one after the other.

    Examples
    --------
    >>> edges_of(["a", "a", "b"])
    array([1.5])
    """
    labels = np.asarray(groups)
    return np.asarray(np.flatnonzero(labels[1:] != labels[:-1]) + 0.5, dtype=np.float64)


def draw_matrix(
    ax: Any,
    values: ArrayLike,
    title: str,
    groups: ArrayLike = (),
    colours: str = DIVERGING,
    low: float = -1.0,
) -> Any:
    """Draw a matrix on axes, with a tick between every two groups, and return the image.

    Parameters
    ----------
    ax : matplotlib Axes
    values : array of shape (m, m)
        NaN is grey.
    title : str
    groups : array of shape (m,), optional
        The group of each row, one group after the other.
    colours : str
        Colour map of matplotlib, that of cosines by default.
    low : float
        Where the colours start; they end at 1. What lies beyond is drawn as the end.
    """
    import matplotlib as mpl

    cmap = mpl.colormaps[colours].with_extremes(bad=UNKNOWN)
    image = ax.imshow(values, vmin=low, vmax=1, cmap=cmap, aspect="equal")
    ax.set_title(title)
    ax.grid(visible=False)
    # Ticks outside mark where groups end; lines across would cover cells.
    edges = edges_of(groups)
    ax.set_xticks(edges, labels=[])
    ax.set_yticks(edges, labels=[])
    ax.tick_params(length=2.5, width=0.6)
    ax.spines[:].set_visible(False)
    return image


def name_groups(ax: Any, groups: Sequence[str]) -> None:
    """Write beside a heatmap what its groups are called, where they are high enough for a line of text.

    Parameters
    ----------
    ax : matplotlib Axes
        What `draw_matrix` drew on.
    groups : sequence of str of length m
        The name of each row's group, one group after the other.
    """
    # A row is centred on its number, so the first group begins half a row before 0.
    edges = np.concatenate([[-0.5], edges_of(groups), [len(groups) - 0.5]])
    high = np.flatnonzero(np.diff(edges) >= NAMED * len(groups))
    middles = (edges[:-1] + edges[1:])[high] / 2
    names = [
        cut(visible(groups[int(middle)]), BESIDE).replace("$", r"\$")
        for middle in middles
    ]
    # Major ticks mark where groups end, so names are minor ones.
    ax.set_yticks(middles, labels=names, minor=True)
    ax.tick_params(axis="y", which="minor", length=0, labelsize="small")


def picture_format(path: AnyPath) -> str:
    """Return the format that the suffix of a picture names.

    Raises
    ------
    InputError
        For any other suffix.

    Examples
    --------
    >>> picture_format("heat.PNG")
    'png'
    >>> picture_format("heat.gif")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a picture must be a file that ends in .png, .svg or .pdf; got heat.gif.
    """
    where = as_path(path, "a picture")
    suffix = where.suffix.lower().removeprefix(".")
    if suffix not in UNDATED:
        raise must_be("a picture", "a file that ends in .png, .svg or .pdf", where)
    return suffix


def drawn_file(shown: Display, kind: str) -> bytes:
    """Draw numbers on a figure of their own and render it as PNG, SVG or PDF."""
    from matplotlib.figure import Figure

    contents = BytesIO()
    # A fixed salt for ids, one font, and no dates: the same numbers give the same
    # bytes.
    with settings_of(FIXED):
        figure = Figure(figsize=shown.size, layout="constrained")
        shown.plot(figure.add_subplot())
        figure.savefig(contents, format=kind, dpi=DOTS, metadata=UNDATED[kind])
    return contents.getvalue()


def drawn_inline(shown: Display) -> str:
    """Draw numbers as SVG within HTML, in the colours and letters of the page around it, described by its caption.

    Nothing in it has an id, so that any number of pictures may stand on one page.
    """
    from matplotlib.figure import Figure

    contents = BytesIO()
    with settings_of("default", PAGE), warnings.catch_warnings():
        # The reader's own fonts draw the text.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=shown.size, layout="constrained")
        shown.plot(figure.add_subplot())
        # A page writes the title below the picture, in text that breaks into lines.
        for text in figure.findobj(lambda each: each.get_gid() == TITLE):
            text.set_visible(False)
        figure.savefig(
            contents, format="svg", dpi=DOTS, transparent=True, metadata=UNDATED["svg"]
        )
    width, height = (72 * length for length in shown.size)
    words = f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(shown.caption)}"'
    return f"<svg {words}>{_bare(contents.getvalue())}</svg>"


def _bare(file: bytes) -> str:
    """Take what a file draws, without ids, outside references and the font that it was measured with."""
    # Head, style and outer element are made for a file; within a page the caller writes
    # its own.
    body = file.decode().partition("</style>\n </defs>\n")[2].removesuffix("</svg>\n")
    # Marks are defined once and placed by id. Written out at each place they need no
    # id, which must be unique on a page.
    shapes = dict(re.findall(r'<path id="(\w+)" d="([^"]*)"', body))
    body = re.sub(r"<defs>.*?</defs>", "", body, flags=re.DOTALL)

    def placed(use: re.Match[str]) -> str:
        attributes = dict(re.findall(r'([\w:]+)="([^"]*)"', use[0]))
        shape, x, y = (
            shapes[attributes["xlink:href"][1:]],
            attributes.get("x", 0),
            attributes.get("y", 0),
        )
        return f'<path d="{shape}" transform="translate({x} {y})" style="{attributes.get("style", "")}"/>'

    body = re.sub(r"<use [^>]*/>", placed, body)
    for pattern, instead in BARE:
        body = re.sub(pattern, instead, body)
    # The page decides what a colour looks like, in light and in dark.
    for colour, name in NAMES.items():
        body = body.replace(colour, f"var(--{name})")
    # Bare groups say nothing; they can be removed by pattern only where no other group
    # needs its closing tag.
    body = body if "<g " in body else re.sub("</?g>\n?", "", body)
    return re.sub("<[^>]*>", _rounded, body)


def _rounded(tag: re.Match[str]) -> str:
    """Place what a tag draws to a hundredth of a point; text between tags stays."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", tag[0])
