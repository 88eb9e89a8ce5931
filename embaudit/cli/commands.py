"""Names of commands, sections of their help, and groups of options that several of them take.

A command has the name of its module, which is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from textwrap import fill, indent
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from embaudit.cli.groups import with_groups

F = TypeVar("F", bound=Callable[..., Any])

COMMANDS = {
    "audit": "How far do cosines move while predictions stay?",
    "blocks": "Take the cosine of two sets of tensors apart.",
    "compare": "May one trained model replace another?",
    "demo": "The Netflix paper's argument on simulated data.",
    "evaluate": "Which similarity finds known labels best?",
    "explain": "Say what a code or a word of a report means.",
    "fit": "Factorize a table of interactions in closed form.",
    "fix": "Write vectors whose cosine the predictions pin down.",
    "formats": "List the formats, or say how one file would be read.",
    "gauge": "Write another model with the same predictions.",
    "reproduce": "Draw the papers' figures with their numbers.",
    "schema": "Print the JSON Schema of what audit --json writes.",
    "simpson": "Compare an association over all rows and within groups.",
    "verify": "Recompute an audit from its JSON and compare.",
}

SECTIONS: dict[str, tuple[str, ...]] = {
    "Your file": (
        "kind", "left", "weight", "bias", "ids", "left_ids", "labels", "inputs", "items", "id", "title", "ignore",
        "load",
    ),
    "Training": ("objective", "compared", "link", "normalised", "soft_cap"),
    "Output": ("show", "role", "full", "json", "out", "markdown", "heatmap", "quiet", "force"),
    "Gate": (
        "fail_on", "fail_below", "reference", "baseline", "ignore_code", "junit",
    ),
    "Effort": ("n_neighbours", "quick", "jobs", "rng"),
}  # fmt: skip
"""Options of every command by what they are about; those of one command alone come
first.
"""
RARE = (
    "format", "left_name", "right_name", "left_bias", "transpose", "vector",
    "vector_id", "right_counts", "left_counts", "states",
    "dask", "norm", "norm_kind",
)  # fmt: skip
"""Options that few users need: help names them, and `embaudit explain COMMAND` explains
them.
"""
RARE_IN = {
    "audit": (
        "groups", "max_condition", "n_pairs", "n_lists", "n_gauges", "n_starts", "n_steps", "by", "by_row", "hull",
        "partial", "heatmap_groups", "allow_missing_scores",
    ),
}  # fmt: skip
"""The same of one command."""
ALL = "all options"


class Commands(TyperGroup):
    """All of them: help names each, and imports none."""

    def __init__(self, *, commands: dict[str, Any], **attributes: Any) -> None:
        # None stands for a command that is not imported yet, so that help can list it
        # without.
        everything: Any = dict.fromkeys(COMMANDS) | commands
        super().__init__(commands=everything, **attributes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import the command where it was not yet."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            # Importing the module adds its command to the application, which is then
            # read anew.
            whole: Any = get_command(import_module(f"embaudit.cli.{cmd_name}").app)
            self.commands = whole.commands
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write a line for each."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class Command(TyperCommand):
    """A command whose help groups its options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by section, then the names of rare ones."""
        # `embaudit explain COMMAND` passes this mark, to see rare options in full.
        few = () if ALL in (ctx.obj or {}) else (*RARE, *RARE_IN.get(ctx.info_name, ()))
        titles = {name: title for title, names in SECTIONS.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Arguments", "Options", *SECTIONS)
        }
        rare, places = [], {name: place for place, name in enumerate(titles)}
        for param in sorted(
            self.get_params(ctx), key=lambda each: places.get(each.name, -1)
        ):
            record = param.get_help_record(ctx)
            if record and param.name in few:
                rare.append(max(param.opts, key=len))
            elif record:
                is_argument = param.param_type_name == "argument"
                sections[
                    "Arguments" if is_argument else titles.get(param.name, "Options")
                ].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if rare:
            with formatter.section(
                f"Rarely needed (`embaudit explain {ctx.info_name}` explains them)"
            ):
                filled = fill(
                    ", ".join(rare), formatter.width - 2, break_on_hyphens=False
                )
                formatter.write(f"{indent(filled, '  ')}\n")


class App(typer.Typer):
    """An application of such commands."""

    @cached_property
    def group(self) -> Any:
        """All commands, made once: a program may call many of them."""
        return get_command(self)

    def command(self, name: str | None = None, **options: Any) -> Callable[[F], F]:
        """Register a function as a command, the options of its groups among its own."""
        register = super().command(name, **{"cls": Command} | options)
        return lambda command: register(with_groups(command))
