"""Pictures and tables of block cosines: they hold numbers, matplotlib is loaded only to draw."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from embaudit.foundation.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(eq=False)
class BlockDisplay:
    """Local cosines as bars whose width is their weight: the area is the global cosine.

    The weights add up to ρ, so the strip from ρ to 1 stays empty: it is what the two norm profiles cost.
    """

    MAX_NAMES: ClassVar[int] = 30

    cosines: Floats
    """Local cosines, highest first."""
    weights: Floats
    """Their weights."""
    global_cosine: float
    mean_cosine: float
    norm_cosine: float
    names: list[str] | None = None
    """Names of the blocks, where they are few."""
    ax_: Any = None
    """The axes drawn on, once plotted."""
    figure_: Any = None
    """Their figure."""

    def plot(self, ax: Any = None) -> BlockDisplay:
        """Draw on the axes given, or on new ones."""
        if ax is None:
            from matplotlib import pyplot as plt

            _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
        edges = np.concatenate([[0.0], np.cumsum(self.weights)])
        ax.stairs(self.cosines, edges, fill=True, color="#4477aa", alpha=0.55, label="local cosines")
        ax.axvspan(self.norm_cosine, 1, color="#dddddd", label=f"norms differ: 1 − ρ = {1 - self.norm_cosine:.3g}")
        ax.axhline(self.mean_cosine, color="#222222", linestyle="--", label=f"weighted mean {self.mean_cosine:.3f}")
        ax.axhline(self.global_cosine, color="#cc3311", label=f"global {self.global_cosine:.3f}")
        self._write_names(ax, edges)
        ax.set(xlim=(0, 1), ylim=(min(0.0, float(self.cosines.min(initial=0))) - 0.05, 1.05))
        ax.set(xlabel="weight of the blocks, up to ρ", ylabel="cosine")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize="small", frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_names(self, ax: Any, edges: Floats) -> None:
        """Name the blocks that are wide enough to carry a name."""
        for name, cosine, left, right in zip(self.names or [], self.cosines, edges[:-1], edges[1:], strict=True):
            if right - left > 0.04:
                ax.text((left + right) / 2, cosine / 2, name, rotation=90, ha="center", va="center", fontsize="small")


def number(value: Any) -> str:
    """Write a number short, and nothing for what is undefined.

    Examples
    --------
    >>> number(0.123456), number(None), number(12000)
    ('0.1235', '–', '12,000')
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def html_table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Write a small table, everything escaped.

    Examples
    --------
    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(number(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def block_html(summary: dict[str, Any]) -> str:
    """Write a summary of block cosines (`BlockCosines.to_dict`) for a notebook."""
    low, high = summary["bounds"]
    text = (
        f"<p><b>Global cosine {number(summary['global_cosine'])}</b> = ρ {number(summary['norm_cosine'])} × weighted "
        f"mean of the local cosines {number(summary['mean_cosine'])}; {counted(summary['n_blocks'], 'block')} by "
        f"{escape(summary['partition'])}, {summary['n_entries']:,} entries. With these norms and local cosines in "
        f"their range it lies in [{number(low)}, {number(high)}].</p>"
    )
    zero = summary["zero_blocks"]
    if any(zero.values()):
        text += f"<p>Zero blocks: {zero['x']} in x only, {zero['y']} in y only, {zero['both']} in both.</p>"
    text += "".join(f"<p>{escape(note)}.</p>" for note in summary["notes"])
    columns = ["block", "size", "cosine", "weight", "contribution", "norm_gap", "direction_gap", "without"]
    rows = [[record[column] for column in columns] for record in summary["blocks"]]
    return text + "<p>Blocks by their part of 1 − global:</p>" + html_table(columns, rows)
