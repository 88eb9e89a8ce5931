"""The style of all pictures, kept out of the global settings, and files that are the same for the same numbers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import pandas as pd

from embaudit.core.plain import plain
from embaudit.errors import InputError
from embaudit.io.outputs import written_whole

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
DIGITS = 6
"""Decimals kept in tables: far above what rounding of sums can change, so that files do not depend on it."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn figure that shows itself in a notebook, without pyplot."""

    figure_: Any = field(repr=False)
    """The matplotlib figure."""

    def _repr_png_(self) -> bytes:
        return rendered(self.figure_, "png", dpi=110)


def styled(draw: Callable[P, Any]) -> Callable[P, Picture]:
    """Decorate a function that draws a figure: it draws in the style of the papers' figures and returns a picture."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Picture:
        from matplotlib import rc_context

        with rc_context(STYLE):
            return Picture(draw(*args, **kwargs))

    return drawn


def rendered(figure: Any, kind: str, **options: Any) -> bytes:
    """Render a figure as "png" or "pdf", without date and software version."""
    from matplotlib import rc_context

    undated = {"pdf": {"Creator": None, "Producer": None, "CreationDate": None}, "png": {"Software": None}}
    buffer = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(buffer, format=kind, metadata=undated[kind], **options)
    return buffer.getvalue()


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Round the floating-point columns of a table to `DIGITS` decimals; tiny numbers keep two digits instead."""

    def short(value: float) -> float:
        return float(f"{value:.1e}") if 0 < abs(value) < 10.0 ** (1 - DIGITS) else round(float(value), DIGITS) + 0.0

    floating = [name for name, kind in frame.dtypes.items() if kind.kind == "f"]
    return frame.assign(**{str(name): frame[name].map(short) for name in floating})


def save_files(
    out_dir: str | Path,
    *,
    pictures: Mapping[str, Picture],
    tables: Mapping[str, pd.DataFrame],
    documents: Mapping[str, Mapping[str, Any]],
    force: bool = False,
) -> list[Path]:
    """Write pictures as PNG and PDF, tables as CSV and documents as JSON.

    Parameters
    ----------
    out_dir : str or path
        Made if it does not exist.
    pictures, tables, documents : mapping of name to picture, DataFrame and dict
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
    folder = Path(out_dir)
    contents: dict[Path, bytes] = {}
    for name, picture in pictures.items():
        contents[folder / f"{name}.png"] = rendered(picture.figure_, "png")
        contents[folder / f"{name}.pdf"] = rendered(picture.figure_, "pdf")
    for name, table in tables.items():
        contents[folder / f"{name}.csv"] = table.to_csv(index=False, lineterminator="\n").encode()
    for name, document in documents.items():
        text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
        contents[folder / f"{name}.json"] = (text + "\n").encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from error
    with ExitStack() as stack:
        # All are complete before the first takes its name.
        for path, content in contents.items():
            file = stack.enter_context(written_whole(path, force=force))
            file.write(content)
            file.flush()
    return list(contents)
