"""Display: the numbers of a picture; matplotlib is loaded only to draw them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.core.words import cut, visible
from embaudit.errors import must_be

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import pandas as pd


BLUE, TEAL, AMBER, RED = "#1f4fa3", "#0b6b60", "#8a4b00", "#a8201a"
INK, SOFT, LINE = "#1c1b19", "#5c5851", "#dedad1"
"""Colours of pictures: on a page each becomes the one that the page calls so, light or dark."""
COUNTS = ("#4a7cd0", 0.25)
"""The colour of counts, and how much of it the smallest has: cells are the same on light and dark pages."""
TITLE = "title"
"""Marks text that stands below a picture on a page, where it breaks into lines, instead of above it."""
LONGEST, NAME, LINES = 50, 26, 2
"""Characters of a name, of a line of the name of a row, and lines of that at most."""


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
    lines = [wrap(drawn(name), NAME, max_lines=LINES, placeholder=" …") if name else [] for name in names]
    ax.set_yticks(range(len(names)), ["\n".join(each) for each in lines])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def legend_above(ax: Any) -> None:
    """Write what is drawn above the axes, in two columns."""
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize="small", frameon=False, borderpad=0)


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
                raise must_be("ax", "Axes of matplotlib", repr(ax), "None makes new ones")
            if ax.figure.get_layout_engine() is None:
                # Names of rows reach into the axes beside, unless these make room.
                ax.figure.figure.set_layout_engine("constrained")
        self._draw_scaled(ax)
        # The display is frozen, and may be drawn again elsewhere: a copy remembers these axes.
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
        # The share of the figure that the axes have within its margins; against the size meant for it, that is the
        # scale.
        room = box.width / (margins.right - margins.left), box.height / (margins.top - margins.bottom)
        scale = min(1.0, *np.multiply(room, figure.get_size_inches()) / self.size)
        with mpl.rc_context({"font.size": mpl.rcParams["font.size"] * scale}):
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
class RowDisplay(Display):
    """A picture of named rows, one below the other, as high as it has rows.

    Parameters
    ----------
    names : sequence of str
        Names of the rows, from the top down; values of one name share a row.
    title : str
        Subject of the picture.
    """

    AXIS: ClassVar[float] = 1.15
    ROW: ClassVar[float] = 0.36
    """Inches that the axis and what is above the rows take, and each row."""

    names: Sequence[str]
    title: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return self.SIZE[0], self.AXIS + self.ROW * len(set(self.names))

    @property
    def caption(self) -> str:
        """Title as a sentence."""
        return f"{self.title[0].upper()}{self.title[1:]}."
