"""Base of the papers' figures: one style, kept out of the global settings, and files that repeat byte by byte."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, ParamSpec

import pandas as pd

from embaudit._version import __version__
from embaudit.errors import InputError
from embaudit.io.outputs import written_whole
from embaudit.report.display import UNDATED, settings_of

P = ParamSpec("P")
STYLE: Any = {
    "axes.labelsize": 8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "legend.fontsize": 7.5,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
}
"""TrueType fonts keep the text of a PDF selectable; everything else is size."""
# Okabe and Ito's colours, ordered so that neighbours also differ in lightness; each comes with a marker of its own.
BLUE, ORANGE, RED, INK = "#0072b2", "#e69f00", "#d55e00", "#222222"
COLOURS = (BLUE, ORANGE, "#000000", "#56b4e9", "#009e73", "#cc79a7", RED, "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DIGITS = 6
"""Decimals kept in tables: far above what rounding of sums can change, so that files do not depend on it."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn figure that shows itself in a notebook, without pyplot."""

    figure_: Any = field(repr=False)
    """The matplotlib figure."""

    def _repr_png_(self) -> bytes:
        return rendered(self.figure_, "png", dpi=110)


def new_figure(width: float, height: float) -> Any:
    """Make a figure that no window manager and no global state knows of; width and height in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def styled(draw: Callable[P, Any]) -> Callable[P, Picture]:
    """Decorate a function that draws a figure: it draws in the style of the papers' figures and returns a picture."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Picture:
        with settings_of(STYLE):
            return Picture(draw(*args, **kwargs))

    return drawn


def rendered(figure: Any, kind: str, **options: Any) -> bytes:
    """Render a figure as "png" or "pdf", without date and software version."""
    buffer = io.BytesIO()
    with settings_of(STYLE):
        figure.savefig(buffer, format=kind, metadata=UNDATED[kind], **options)
    return buffer.getvalue()


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Round the floating-point columns of a table to `DIGITS` decimals; tiny numbers keep two digits instead.

    Examples
    --------
    >>> import pandas as pd
    >>> rounded(pd.DataFrame({"x": [0.123456789, 1.23456e-9, -0.0]})).x.tolist()
    [0.123457, 1.2e-09, 0.0]
    """

    # Adding 0.0 turns −0.0 into 0.0, which prints without a sign.
    def short(value: float) -> float:
        return (
            float(f"{value:.1e}")
            if 0 < abs(value) < 10.0 ** (1 - DIGITS)
            else round(float(value), DIGITS) + 0.0
        )

    floating = [name for name, kind in frame.dtypes.items() if kind.kind == "f"]
    return frame.assign(**{str(name): frame[name].map(short) for name in floating})


class PaperFigure(ABC):
    """A figure of a paper in numbers: tables to check, then pictures of them."""

    NAME: ClassVar[str]
    """Name of the figure, and of its files."""
    TABLES: ClassVar[tuple[str, ...]]
    """Attributes that hold the tables written as CSV."""
    embaudit_version = __version__

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""

    @abstractmethod
    def plot(self) -> Picture:
        """Draw the figure."""

    def _pictures(self) -> dict[str, Picture]:
        """Draw every picture that is saved, by the name of its file."""
        return {self.NAME: self.plot()}

    def save(self, out_dir: str | Path, *, force: bool = False) -> list[Path]:
        """Write pictures (PNG, PDF), tables (CSV) and everything together (JSON).

        Parameters
        ----------
        out_dir : str or path
            Made if it does not exist.
        force : bool
            Replace files of these names.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        InputError
            If the folder cannot be made, or a file exists and `force` is not given, or is no regular file; nothing is
            written then.
        """
        # Everything is drawn and written in memory first: a figure that fails leaves no file behind.
        contents: dict[str, bytes] = {}
        for name, picture in self._pictures().items():
            contents |= {
                f"{name}.{kind}": rendered(picture.figure_, kind)
                for kind in ("png", "pdf")
            }
        for name in self.TABLES:
            file = (
                f"{self.NAME}.csv" if name == "numbers" else f"{self.NAME}_{name}.csv"
            )
            contents[file] = (
                getattr(self, name).to_csv(index=False, lineterminator="\n").encode()
            )
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        contents[f"{self.NAME}.json"] = (text + "\n").encode()
        folder = Path(out_dir)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder} cannot be made: {error.strerror}.") from error
        with ExitStack() as stack:
            # All are complete before the first takes its name.
            for name, content in contents.items():
                file_ = stack.enter_context(written_whole(folder / name, force=force))
                file_.write(content)
                file_.flush()
        return [folder / name for name in contents]
