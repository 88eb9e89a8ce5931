"""Display: the numbers of a picture; matplotlib is loaded only to draw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from embaudit.errors import must_be
from embaudit.foundation.words import visible

if TYPE_CHECKING:
    from typing import Self


def drawn(name: object) -> str:
    r"""Write a name into a picture, where matplotlib reads dollars as the ends of a formula.

    Examples
    --------
    >>> drawn("5$"), drawn("a\nb")
    ('5\\$', "'a\\nb'")
    """
    return visible(str(name)).replace("$", r"\$")


@dataclass(eq=False)
class Display:
    """What every picture of a result shares; kinds of picture add their numbers and how these are drawn."""

    SIZE: ClassVar[tuple[float, float]] = (7, 4.5)
    """Of a figure of its own, in inches."""

    ax_: Any = field(default=None, init=False, repr=False)
    """The axes drawn on, once plotted."""
    figure_: Any = field(default=None, init=False, repr=False)
    """Their figure."""

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones."""
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=self.SIZE, layout="constrained")
        else:
            from matplotlib.axes import Axes

            if not isinstance(ax, Axes):
                raise must_be("ax", "Axes of matplotlib", repr(ax), "None makes new ones")
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any) -> None:
        """Draw the numbers on axes."""
