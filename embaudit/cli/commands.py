"""Names of commands, and the group that imports each of them when it is called.

A command has the name of its module. Typer has no lazy commands of its own, and
importing all of them would take as long as most commands run.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

COMMANDS = {
    "audit": "Do the predictions of a model fix its cosines?",
    "blocks": "Compare two sets of tensors block by block.",
    "compare": "May one trained model replace another?",
    "demo": "The Netflix paper's argument on simulated data.",
    "evaluate": "Which similarity finds known labels or interactions best?",
    "explain": "Say what a code or a word of a report means.",
    "fit": "Factorize a table of interactions in closed form.",
    "fix": "Write vectors to index, or align a retrained model with the old.",
    "formats": "List the formats, or say how one file would be read.",
    "gauge": "Write another model with the same predictions.",
    "reproduce": "Draw the papers' figures with their numbers.",
    "schema": "Print the JSON Schema of what audit or threshold writes.",
    "simpson": "Compare an association over all rows and within groups.",
    "threshold": "What is a high score, and where to set the cut-off?",
    "verify": "Recompute an audit from its JSON and compare.",
}


def in_long_lines(text: str) -> str:
    r"""Write each paragraph in one line, because a terminal wraps the help by itself.

    Examples
    --------
    >>> in_long_lines("Write vectors.\n\nThey are ready for\nan index.")
    'Write vectors.\n\nThey are ready for an index.'
    """
    return "\n\n".join(" ".join(lines.split()) for lines in text.split("\n\n"))


class LazyGroup(TyperGroup):
    """Commands that are imported when they are called.

    The help of the group lists them without an import, and without `rich`, which takes
    longer to import than the rest of the help.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"rich_markup_mode": None})
        # None stands for a command that is not imported yet. Typer proposes the nearest
        # of these names for a misspelt one.
        commands: dict[str, Any] = dict.fromkeys(COMMANDS)
        commands.update(self.commands)
        self.commands = commands

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import the module of a command, which adds the command to the application."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            whole: Any = get_command(import_module(f"embaudit.cli.{cmd_name}").app)
            self.commands = whole.commands
        command = self.commands.get(cmd_name)
        if command is not None and command.help is not None:
            command.help = in_long_lines(command.help)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write a line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
