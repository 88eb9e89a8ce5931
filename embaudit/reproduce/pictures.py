"""What every picture shares: a style kept out of the global settings, files that are the same for the same numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from embaudit.errors import InputError
from embaudit.foundation.plain import plain
from embaudit.foundation.words import listed
from embaudit.io.outputs import written_whole

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
COLOURS = ("#0072b2", "#e69f00", "#000000", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

DIGITS = 6
"""Decimals kept in tables: far above what rounding of sums can change, so that files do not depend on it."""


@dataclass(eq=False)
class Picture:
    """A drawn figure; shows itself in a notebook."""

    figure_: Any = field(default=None, init=False)
    """The matplotlib figure, once plotted."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'drawn' if self.figure_ is not None else 'not drawn'})"

    def _repr_png_(self) -> bytes | None:
        return None if self.figure_ is None else png_bytes(self.figure_)


def new_figure(width: float, height: float) -> Any:
    """Make a figure that no window manager and no global state knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png_bytes(figure: Any, dpi: int = 110) -> bytes:
    """Render a PNG without date or software version."""
    return _rendered(figure, format="png", dpi=dpi, metadata={"Software": None})


def _rendered(figure: Any, **options: Any) -> bytes:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(buffer, **options)
    return buffer.getvalue()


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Round the floating-point columns of a table to `DIGITS` decimals; tiny numbers keep two digits instead."""

    def short(value: float) -> float:
        return float(f"{value:.1e}") if 0 < abs(value) < 10.0 ** (1 - DIGITS) else round(float(value), DIGITS) + 0.0

    result = frame.copy()
    for name in result.columns:
        if result[name].dtype.kind == "f":
            result[name] = [short(value) for value in result[name]]
    return result


def save_files(
    out_dir: str | Path,
    *,
    pictures: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    documents: Mapping[str, Mapping[str, Any]],
    force: bool = False,
) -> list[Path]:
    """Write figures as PNG and PDF, tables as CSV and documents as JSON.

    Parameters
    ----------
    out_dir : str or path
        Made if it does not exist.
    pictures : mapping of name to figure
    tables : mapping of name to DataFrame
    documents : mapping of name to dict
    force : bool
        Replace files of these names.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    InputError
        If a file exists and `force` is not given, or is no regular file; nothing is written then.
    """
    folder = Path(out_dir)
    contents: dict[Path, bytes] = {}
    undated = {"Creator": None, "Producer": None, "CreationDate": None}
    for name, figure in pictures.items():
        contents[folder / f"{name}.png"] = png_bytes(figure, STYLE["savefig.dpi"])
        contents[folder / f"{name}.pdf"] = _rendered(figure, format="pdf", metadata=undated)
    for name, table in tables.items():
        contents[folder / f"{name}.csv"] = table.to_csv(index=False, lineterminator="\n").encode()
    for name, document in documents.items():
        text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
        contents[folder / f"{name}.json"] = (text + "\n").encode()
    _require_absent(contents, force=force)
    with _made(folder), ExitStack() as stack:
        # All are complete before the first takes its name.
        files = [(stack.enter_context(written_whole(path, force=force)), path) for path in contents]
        for file, path in files:
            file.write(contents[path])
            file.flush()
    return list(contents)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder; if nothing comes to lie in it, take it away again."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from error
    try:
        yield
    except BaseException:
        for one in missing:
            with suppress(OSError):
                one.rmdir()
        raise


def _require_absent(paths: Mapping[Path, bytes], *, force: bool) -> None:
    existing = [path.name for path in paths if path.exists()]
    if existing and not force:
        folder = next(iter(paths)).parent
        remedy = "choose another folder or pass force (--force)"
        raise InputError(f"{folder} must not hold the results yet; got {listed(existing, 3)}; {remedy}.")
