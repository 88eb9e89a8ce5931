"""Low-rank adapters (LoRA) in `embaudit audit` and `embaudit compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from embaudit.cli.groups import parameters_of
from embaudit.cli.terminal import Output, Workers, shown_name
from embaudit.errors import InputError

MEASURING = ("n_neighbours", "n_lists", "max_condition")
"""Options of an audit that apply to an adapter, too."""
SHARED = {"rng", *parameters_of(Output), *parameters_of(Workers)}
"""Options that apply to every result."""


def audit_adapter(
    context: typer.Context, path: Path, rng: int, output: Output, workers: Workers
) -> None:
    """Audit an adapter: what are cosines of its factors worth?"""
    from embaudit.auditing.lora import audit_lora
    from embaudit.report.document import Origin

    typed = _typed(context)
    _require_only(typed, {"path", *MEASURING})
    chosen: dict[str, Any] = {name: typed[name] for name in MEASURING if name in typed}
    with output.promised([path]) as write:
        with workers.at_work(quiet=output.quiet):
            audited = audit_lora(path, rng=rng, **chosen)
        write(audited, f"Audit of {shown_name(path)}", Origin(seed=rng))
    output.show(audited)


def compare_adapters(
    context: typer.Context,
    first: Path,
    second: Path,
    output: Output,
    workers: Workers,
    *,
    same_base: bool,
) -> None:
    """Compare two adapters by their updates: are they alike?"""
    from embaudit.networks import compare_lora
    from embaudit.report.document import Origin

    _require_only(_typed(context), {"before", "after", "same_base"})
    with output.promised([first, second]) as write:
        with workers.at_work(quiet=output.quiet):
            found = compare_lora(first, second, same_base=same_base)
        write(found, f"{shown_name(first)} and {shown_name(second)}", Origin())
    output.show(found)


def _typed(context: typer.Context) -> dict[str, Any]:
    """Return the parameters that were typed, by name."""
    typed = {}
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE":
            typed[str(parameter.name)] = context.params[str(parameter.name)]
    return typed


def _require_only(typed: dict[str, Any], allowed: set[str]) -> None:
    """Raise InputError if a parameter was typed that does not apply to an adapter."""
    for name in typed:
        if name not in allowed | SHARED:
            option = f"--{_flag(name)}"
            if name == "more":
                option = "a further file"
            raise InputError(f"{option} must be omitted for a low-rank adapter (LoRA).")


def _flag(name: str) -> str:
    """Return the name of an option as it is typed."""
    return name.strip("_").replace("_", "-")
