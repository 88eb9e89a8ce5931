"""Display: the numbers of a picture; matplotlib is loaded only to draw them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from embaudit.errors import must_be
from embaudit.foundation.words import visible

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd


def drawn(name: object) -> str:
    r"""Write a name into a picture, where matplotlib reads dollars as the ends of a formula.

    Examples
    --------
    >>> drawn("5$"), drawn("a\nb")
    ('5\\$', "'a\\nb'")
    """
    return visible(str(name)).replace("$", r"\$")


@dataclass(frozen=True, eq=False)
class Display(ABC):
    """What every picture of a result shares; kinds of picture add their numbers and how these are drawn."""

    SIZE: ClassVar[tuple[float, float]] = (7, 4.5)
    """`size`, where it is always the same."""

    ax_: Any = field(default=None, init=False, repr=False)
    """The axes drawn on, once plotted."""
    figure_: Any = field(default=None, init=False, repr=False)
    """Their figure."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return self.SIZE

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones, and return the same numbers with what was drawn on."""
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=self.size, layout="constrained")
        else:
            from matplotlib.axes import Axes

            if not isinstance(ax, Axes):
                raise must_be("ax", "Axes of matplotlib", repr(ax), "None makes new ones")
        self._draw(ax)
        drawn = copy(self)
        for name, value in (("ax_", ax), ("figure_", ax.figure)):
            object.__setattr__(drawn, name, value)
        return drawn

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return the numbers of the picture as a table."""

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw the numbers on axes."""
