"""Help of a command in sections: options by what they are about, and rare ones by their names alone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill, indent
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

F = TypeVar("F", bound=Callable[..., Any])

SECTIONS: dict[str, tuple[str, ...]] = {
    "Your file": (
        "kind", "left", "weight", "bias", "ids", "left_ids", "labels", "inputs", "items", "id", "title", "ignore",
        "load",
    ),
    "Training": ("objective", "compared", "link", "normalised", "soft_cap"),
    "Output": ("show", "role", "full", "json", "out", "markdown", "heatmap", "quiet", "force"),
    "Gate": ("fail_on", "fail_below", "baseline", "sarif", "junit"),
    "Effort": ("n_neighbours", "quick", "jobs", "rng"),
}  # fmt: skip
"""Options of every command by what they are about; those of one command alone come first."""
RARE = (
    "format", "left_name", "right_name", "left_bias", "transpose", "vector", "right_counts", "left_counts", "states",
    "dask", "norm", "norm_kind",
)  # fmt: skip
"""Options that few users need: help names them, and `embaudit explain COMMAND` explains them."""
RARE_IN = {
    "audit": (
        "groups", "max_condition", "n_pairs", "n_lists", "n_gauges", "n_starts", "n_steps", "by_row", "partial",
        "heatmap_groups", "severity", "thresholds",
    ),
}  # fmt: skip
"""The same of one command."""
ALL = "all options"


class Command(TyperCommand):
    """A command whose help groups its options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by section, then the names of rare ones."""
        params = {param.name: param for param in self.get_params(ctx) if not getattr(param, "hidden", False)}
        helped = {name: record for name, param in params.items() if (record := param.get_help_record(ctx))}
        placed = {name for names in SECTIONS.values() for name in names}
        # `embaudit explain COMMAND` passes this mark, to see rare options in full.
        few = () if ALL in (ctx.obj or {}) else (*RARE, *RARE_IN.get(ctx.info_name, ()))
        rare = [name for name in helped if name in few]
        arguments = [name for name in helped if params[name].param_type_name == "argument"]
        own = [name for name in helped if name not in (*arguments, *placed, *rare)]
        for title, names in {"Arguments": arguments, "Options": own, **SECTIONS}.items():
            records = [helped[name] for name in names if name in helped and name not in rare]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if rare:
            with formatter.section(f"Rarely needed (`embaudit explain {ctx.info_name}` explains them)"):
                text = ", ".join(max(params[name].opts, key=len) for name in rare)
                filled = fill(text, formatter.width - 2, break_on_hyphens=False)
                formatter.write(f"{indent(filled, '  ')}\n")


class App(typer.Typer):
    """An application of such commands."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[F], F]:
        """Register a function as a command."""
        return super().command(name, **{"cls": Command} | options)
