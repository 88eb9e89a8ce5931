"""Every command by its name, which is that of its module, and in a few words; it is imported when it is called."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from importlib import import_module
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

COMMANDS = {
    "audit": "How far do cosines move while predictions stay?",
    "blocks": "Take the cosine of two sets of tensors apart.",
    "compare": "What a gauge explains between two trained models.",
    "demo": "The Netflix paper's argument on simulated data.",
    "evaluate": "Which similarity finds known labels best?",
    "explain": "Say what a code or a word of a report means.",
    "fit": "Factorize a table of interactions in closed form.",
    "fix": "Write vectors whose cosine the predictions pin down.",
    "formats": "List the formats, or say how one file would be read.",
    "doctor": "Show versions and check that results can be trusted.",
    "gauge": "Write another model with the same predictions.",
    "reproduce": "Draw the papers' figures with their numbers.",
    "schema": "Print the JSON Schema of what --json writes.",
    "simpson": "Find groupings that turn an association around.",
    "verify": "Recompute an audit from its JSON and compare.",
}


OLD = {
    "--top": "--n-neighbours", "--pairs": "--n-pairs", "--lists": "--n-lists", "--gauges": "--n-gauges",
    "--starts": "--n-starts", "--steps": "--n-steps", "--tensor": "--weight", "--seed": "--rng", "--group": "--groups",
    "--counts": "--right-counts", "--threshold": "--thresholds", "--rank": "--n-components",
    "--permutations": "--n-permutations", "--lambda1": "--alpha-product", "--lambda2": "--alpha-factors",
    "--users": "--n-users", "--items": "--n-items", "--clusters": "--n-clusters", "--seeds": "--n-seeds",
}  # fmt: skip
"""Former spellings of options, which keep working and which no help shows."""


def _old_spellings(parameters: list[Any]) -> Iterator[Any]:
    """Yield a hidden copy of each option that had another name; both give the same parameter its value."""
    for old, new in OLD.items():
        for parameter in parameters:
            if new in parameter.opts:
                hidden = copy(parameter)
                hidden.opts, hidden.hidden = [old], True
                yield hidden


class Commands(TyperGroup):
    """All of them: help names each, and imports none."""

    def __init__(self, *, commands: dict[str, Any], **attributes: Any) -> None:
        for command in commands.values():
            command.params += list(_old_spellings(command.params))
        # None stands for a command that is not imported yet, so that help can list it without.
        everything: Any = dict.fromkeys(COMMANDS) | commands
        super().__init__(commands=everything, **attributes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import the command where it was not yet."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            # Importing the module adds its command to the application, which is then read anew.
            whole: Any = get_command(import_module(f"embaudit.cli.{cmd_name}").app)
            self.commands = whole.commands
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write a line for each."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
