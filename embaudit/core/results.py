"""Base of all results: plain values, a table, words, a page, and a picture of some."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, Self

from embaudit.core.plain import frame_of

if TYPE_CHECKING:
    import pandas as pd


class Picture(Protocol):
    """The numbers of a picture, which matplotlib can draw."""

    ax_: Any
    """The axes, once it is drawn."""
    figure_: Any
    """The figure of these axes."""

    @property
    def caption(self) -> str:
        """A sentence about what the picture shows."""

    def frame(self) -> pd.DataFrame:
        """Return the numbers of the picture as a table."""

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""


class Renderer(Protocol):
    """Functions that show a result, whose type decides how."""

    def page(self, result: Any) -> str:
        """Write a whole HTML page."""

    def fragment(self, result: Any) -> str:
        """Write the part of a page that a notebook shows."""

    def display(self, result: Any, picture: str = "", **options: Any) -> Picture:
        """Compute the picture of a result, without drawing it."""


_import_renderer: Callable[[], Renderer] | None = None


def set_renderer(import_renderer: Callable[[], Renderer]) -> None:
    """Set the function that imports the renderer of all results.

    Results stand below the report in the order of imports, so they cannot import it
    themselves. The package sets this function when it is imported, and the function is
    called when a result is first shown.
    """
    global _import_renderer
    _import_renderer = import_renderer


@cache
def _renderer() -> Renderer:
    if _import_renderer is None:
        raise RuntimeError("set_renderer must be called before a result is shown")
    return _import_renderer()


class Result(ABC):
    """A result, which describes itself in words and as plain values."""

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
        """Return a table of one row, made of `to_dict`."""
        return frame_of([self.to_dict()])

    def report(self) -> str:
        """Return the result as a whole HTML page."""
        return _renderer().page(self)

    def _repr_html_(self) -> str:
        return _renderer().fragment(self)


class Drawn(Result):
    """A result that has a picture."""

    def plot(self, ax: Any = None) -> Picture:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Picture
            The numbers drawn, with `ax_` and `figure_`.
        """
        return self._drawn(ax)

    def _drawn(self, ax: Any, picture: str = "", **options: Any) -> Picture:
        return _renderer().display(self, picture, **options).plot(ax)
