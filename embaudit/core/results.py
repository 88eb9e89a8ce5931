"""Base of all results: plain values, a table, words, a page, and a picture where one helps."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from embaudit.core.deferred import pd
from embaudit.core.plain import frame_of, record

if TYPE_CHECKING:
    from embaudit.report.display import Display


@runtime_checkable
class Result(Protocol):
    """A result; those that inherit need only say what they are, in words and in plain values.

    Pages and pictures are looked up when they are asked for: a result knows nothing of them.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> isinstance(movement(model, model), Result), isinstance(model, Result)
    (True, False)
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return record(self)

    @abstractmethod
    def explain(self) -> str:
        """Describe the result in plain words."""

    def __str__(self) -> str:
        """Return the result in words."""
        return self.explain()

    def to_frame(self) -> pd.DataFrame:
        """Return one row, of `to_dict`."""
        return frame_of([self.to_dict()])

    def report(self) -> str:
        """Return the result as a whole HTML page."""
        from embaudit.report.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from embaudit.report.page import fragment

        return fragment(self)


@runtime_checkable
class Drawn(Result, Protocol):
    """A result that has a picture."""

    def plot(self, ax: Any = None) -> Display:
        """Draw on the axes given, or on new ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Display
            The numbers drawn, with `ax_` and `figure_`.
        """
        return self._drawn(ax)

    def _drawn(self, ax: Any, picture: str = "", **options: Any) -> Display:
        from embaudit.report.pictures import display

        return display(self, picture, **options).plot(ax)
