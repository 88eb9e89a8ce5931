"""What the papers' figures have in common: style, pictures, tables and files."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure

from embaudit._version import __version__
from embaudit.core.plain import plain_dict
from embaudit.errors import InputError
from embaudit.io.outputs import open_output
from embaudit.report.display import settings_of

STYLE: dict[Any, Any] = {
    "axes.labelsize": 8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.dpi": 100,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "legend.fontsize": 7.5,
    "mathtext.fontset": "dejavusans",
    # TrueType, because many journals reject PDF files with fonts of type 3.
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
}
"""Settings of matplotlib for the papers' figures."""
NOTEBOOK_DPI = 110
"""Dots per inch of a picture in a notebook."""

# Colours of Okabe and Ito, in an order in which neighbours also differ in lightness.
# Each colour comes with a marker of its own.
BLUE, ORANGE, RED, INK = "#0072b2", "#e69f00", "#d55e00", "#222222"
COLOURS = (BLUE, ORANGE, "#000000", "#56b4e9", "#009e73", "#cc79a7", RED, "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

DIGITS = 6
"""Decimals of the numbers in tables.

Rounding errors of sums are far smaller, so files do not depend on the processor.
"""


class Picture(Figure):
    """A matplotlib figure that pyplot does not keep, and that a notebook shows."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=NOTEBOOK_DPI)
        return buffer.getvalue()


@contextmanager
def new_picture(width: float, height: float) -> Iterator[Picture]:
    """Make an empty picture, and keep the style of the papers' figures in the block.

    Parameters
    ----------
    width, height : float
        In inches.

    Examples
    --------
    >>> with new_picture(3, 2) as picture:
    ...     lines = picture.subplots().plot([1, 2])
    >>> picture.axes[0].get_lines() == lines
    True
    """
    with settings_of(STYLE):
        yield Picture(figsize=(width, height), layout="constrained")


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Round the floating-point columns of a table to `DIGITS` decimals.

    Numbers below 1e-5, which would lose most digits, keep two significant digits.

    Examples
    --------
    >>> rounded(pd.DataFrame({"x": [0.123456789, 1.23456e-9, -0.0]})).x.tolist()
    [0.123457, 1.2e-09, 0.0]
    """
    result = frame.copy()
    for name, column in frame.items():
        if column.dtype.kind == "f":
            result[name] = column.map(_rounded_number)
    return result


def _rounded_number(value: float) -> float:
    if 0 < abs(value) < 10.0 ** (1 - DIGITS):
        return float(f"{value:.1e}")
    # Adding 0.0 turns −0.0 into 0.0, which prints without a sign.
    return round(float(value), DIGITS) + 0.0


class PaperFigure(ABC):
    """A figure of a paper in numbers: tables to check, and pictures of them."""

    NAME: ClassVar[str]
    """Name of the figure, and of its files."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """Describe the figure in the numbers of its tables."""

    @property
    @abstractmethod
    def tables(self) -> dict[str, pd.DataFrame]:
        """Tables that are written as CSV and into the JSON, by name."""

    @abstractmethod
    def plot(self) -> Figure:
        """Draw the figure."""

    @property
    @abstractmethod
    def _details(self) -> dict[str, Any]:
        """Values that the JSON holds in addition to the caption and the tables."""

    def _pictures(self) -> dict[str, Figure]:
        """Draw every picture that is saved, by the name of its file."""
        return {self.NAME: self.plot()}

    def to_dict(self) -> dict[str, Any]:
        """Return the caption, the tables and their setting as plain values.

        Numbers that do not exist are None.
        """
        return plain_dict(
            {
                "figure": self.NAME,
                "embaudit_version": __version__,
                "caption": self.caption,
                **self._details,
                **self.tables,
            }
        )

    def save(self, out_dir: str | Path, *, force: bool = False) -> list[Path]:
        """Write pictures (PNG, PDF), tables (CSV) and everything together (JSON).

        Parameters
        ----------
        out_dir : str or path
            Folder, which is made if it does not exist.
        force : bool
            Replace existing files.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        InputError
            If the folder cannot be made, a file exists and `force` is False, or
            something other than a regular file has the name of a file. Nothing is
            written then.
        """
        # All contents are in memory before a file is opened, so a picture that cannot
        # be drawn leaves no file behind.
        contents = self._file_contents()
        folder = Path(out_dir)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder} cannot be made: {error.strerror}.") from error
        with ExitStack() as stack:
            # Leaving the stack renames the files, after all of them are complete.
            for name, content in contents.items():
                file = stack.enter_context(open_output(folder / name, force=force))
                file.write(content)
                file.flush()
        return [folder / name for name in contents]

    def _file_contents(self) -> dict[str, bytes]:
        """Return the content of each file by its name."""
        contents: dict[str, bytes] = {}
        for name, picture in self._pictures().items():
            for suffix in ("png", "pdf"):
                buffer = io.BytesIO()
                with settings_of(STYLE):
                    picture.savefig(buffer, format=suffix)
                contents[f"{name}.{suffix}"] = buffer.getvalue()
        for name, table in self.tables.items():
            stem = self.NAME if name == "numbers" else f"{self.NAME}_{name}"
            text = table.to_csv(index=False, lineterminator="\n")
            contents[f"{stem}.csv"] = text.encode()
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        contents[f"{self.NAME}.json"] = f"{text}\n".encode()
        return contents
