"""Base classes of all results.

A result describes itself as plain values, a table, words and an HTML page. A
`PlottableResult` also has a picture.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, Self

from embaudit.core.plain import frame_of

if TYPE_CHECKING:
    import pandas as pd


class Picture(Protocol):
    """The numbers of a picture, which `plot` draws with matplotlib."""

    ax_: Any
    """The matplotlib axes; set by `plot`."""
    figure_: Any
    """The matplotlib figure of the axes; set by `plot`."""

    @property
    def caption(self) -> str:
        """A sentence that describes the picture."""

    def frame(self) -> pd.DataFrame:
        """Return the numbers of the picture as a table."""

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""


class Renderer(Protocol):
    """Functions that show a result in the form that suits its type.

    The module `embaudit.report.renderer` is one.
    """

    def page(self, result: Any) -> str:
        """Write a whole HTML page."""

    def fragment(self, result: Any) -> str:
        """Write the part of a page that a notebook shows."""

    def display(self, result: Any, picture: str = "", **options: Any) -> Picture:
        """Compute a picture of a result, without drawing it.

        An audit has several pictures, such as "heatmap". The empty string stands for
        the main one.
        """


_import_renderer: Callable[[], Renderer] | None = None


def set_renderer(import_renderer: Callable[[], Renderer]) -> None:
    """Set the function that imports the renderer of all results.

    Results stand below the report in the order of imports, so they cannot import it
    themselves. The package sets this function when it is imported, and the function is
    called when a result is first shown.
    """
    global _import_renderer
    _import_renderer = import_renderer
    _renderer.cache_clear()


@cache
def _renderer() -> Renderer:
    """Import the renderer when a result is first shown."""
    if _import_renderer is None:
        raise RuntimeError("set_renderer must be called before a result is shown")
    return _import_renderer()


class Result(ABC):
    """A result that describes itself in words and as plain values."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""

    @abstractmethod
    def explain(self) -> str:
        """Describe the result in plain words."""

    def __str__(self) -> str:
        """Return the result in words."""
        return self.explain()

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row with the values of `to_dict`."""
        return frame_of([self.to_dict()])

    def report(self) -> str:
        """Return the result as a whole HTML page."""
        return _renderer().page(self)

    def _repr_html_(self) -> str:
        return _renderer().fragment(self)


class PlottableResult(Result):
    """A result that also has a picture."""

    def plot(self, ax: Any = None) -> Picture:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        Picture
            The numbers of the picture, with `ax_` and `figure_`.
        """
        return self._plot(ax)

    def _plot(self, ax: Any, picture: str = "", **options: Any) -> Picture:
        """Draw one picture of the result; see `Renderer.display` for the options."""
        return _renderer().display(self, picture, **options).plot(ax)
