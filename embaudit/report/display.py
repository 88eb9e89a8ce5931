"""Displays: the numbers of figures, drawn on axes, in files and on pages.

matplotlib is imported only when a figure is drawn.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
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

Palette = Mapping[str, str]
"""Colours by name, as matplotlib and CSS write them."""
LIGHT: Palette = {
    "ink": "#1c1b19",
    "soft": "#5c5851",
    "line": "#dedad1",
    "blue": "#1f4fa3",
    "teal": "#0b6b60",
    "amber": "#8a4b00",
    "red": "#a8201a",
}
"""Colours on a light page, and in files."""
DARK: Palette = {
    "ink": "#ecebe6",
    "soft": "#aba89f",
    "line": "#363944",
    "blue": "#93b6ff",
    "teal": "#6fd3c4",
    "amber": "#f3b761",
    "red": "#ff978d",
}
"""Colours on a dark page."""
POINTS = "#4a7cd0"
"""Colour of the points of a scatter plot, on light and on dark pages."""
TITLE = "title"
"""Group id of the title of a figure. A page hides it, and writes a caption instead."""
LONGEST, NAME, LINES = 50, 26, 2
"""Most characters of a name, and of a line of the name of a row, and most lines."""
BESIDE = 24
"""Most characters of a name next to a heatmap."""
UNKNOWN = "#9a9a9a"
"""Colour of cells without a number."""
DIVERGING = "RdBu_r"
"""Colour map of cosines: white at 0, and two hues that people who confuse red and green
can tell apart.
"""
NAMED = 0.04
"""Smallest share of the rows that a group needs for its name to have room."""
UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""Formats of figures, with the metadata that would make the same figure differ."""
DOTS = 150
"""Dots per inch of a picture in a file."""
PAGE_DOTS = 100
"""Dots per inch of the points of a figure on a page, which shows a figure of 5.2 inches
in at most 528 pixels.
"""
FIXED: dict[Any, Any] = {
    "svg.hashsalt": "embaudit",
    "pdf.fonttype": 42,
    "font.sans-serif": ["DejaVu Sans"],
}

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
    r"""Write a name for a figure: short, and with its dollar signs escaped.

    matplotlib sets text between two dollar signs as a formula.

    Examples
    --------
    >>> drawn("5$"), drawn("a\nb"), drawn("long name", 5)
    ('5\\$', "'a\\nb'", 'long…')
    """
    return cut(visible(str(name)), longest).replace("$", r"\$")


def name_rows(ax: Any, names: Sequence[str]) -> None:
    """Name the rows of an axis from the top down, long names in two lines."""
    lines = [
        wrap(drawn(name), NAME, max_lines=LINES, placeholder=" …") if name else []
        for name in names
    ]
    ax.set_yticks(range(len(names)), ["\n".join(each) for each in lines])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def legend_above(ax: Any) -> None:
    """Write the labels above the axes, in two columns."""
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
    """Base of the figures of results. Subclasses hold the numbers and draw them."""

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
        """Draw on axes, new ones by default, and return a display that holds them."""
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=self.size, layout="constrained")
        else:
            from matplotlib.axes import Axes

            if not isinstance(ax, Axes):
                raise must_be(
                    "ax", "Axes of matplotlib", repr(ax), "None makes new Axes"
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
        """Draw with a font size in proportion to the room of the axes.

        Axes as large as a figure of this display have the font size of the settings.
        """
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
            self._draw(ax, LIGHT)

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return the numbers of the picture as a table."""

    @abstractmethod
    def _draw(self, ax: Any, palette: Palette) -> None:
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
    """Inches of the axis with the labels above the rows, and inches of each row."""

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
    """Draw a matrix with a tick between every two groups, and return the image.

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
    """Write the names of groups next to a heatmap, if a line of text has room.

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
    embaudit.errors.InputError: a picture must be a file that ends in .png, .svg or
    .pdf; got heat.gif.
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


def page_style(palette: Palette) -> dict[Any, Any]:
    """Return the settings of matplotlib for a figure on a page.

    Text stays text, so that the reader's fonts draw letters that DejaVu Sans lacks.
    """
    style: dict[Any, Any] = {
        **FIXED,
        "svg.fonttype": "none",
        "font.size": 10,
        "text.color": palette["ink"],
        "axes.edgecolor": palette["soft"],
        "axes.labelcolor": palette["soft"],
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": palette["line"],
        "legend.frameon": False,
    }
    for axis in ("xtick", "ytick"):
        style |= {
            f"{axis}.color": palette["soft"],
            f"{axis}.labelcolor": palette["ink"],
            f"{axis}.labelsize": 9,
            f"{axis}.major.size": 0,
            f"{axis}.minor.size": 0,
        }
    return style


def drawn_on_page(shown: Display, palette: Palette) -> bytes:
    """Draw numbers on a transparent figure of their own, and render it as SVG."""
    from matplotlib.figure import Figure

    contents = BytesIO()
    with settings_of("default", page_style(palette)), warnings.catch_warnings():
        # The reader's own fonts draw the text.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=shown.size, layout="constrained")
        shown._draw(figure.add_subplot(), palette)
        # A page writes the title below the figure, in text that breaks into lines.
        for text in figure.findobj(lambda artist: artist.get_gid() == TITLE):
            text.set_visible(False)
        figure.savefig(
            contents,
            format="svg",
            dpi=PAGE_DOTS,
            transparent=True,
            metadata=UNDATED["svg"],
        )
    return contents.getvalue()
