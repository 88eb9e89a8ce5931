"""The command line: typer commands that call the package and show its results.

Heavy libraries are imported only when a command needs them.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable

from embaudit.core.inputs import inputs_noted
from embaudit.errors import InputError, escaped, must_be, without_secrets

INTERRUPTED = 128 + 2
"""Exit status of a program that Ctrl-C ended."""
CLOSED_PIPE = 128 + 13
"""Exit status of a program whose reader went away."""


def main() -> None:
    """Run embaudit.

    Exit with 0 if all is well, with 1 on findings and with 2 on bad input.
    """
    try:
        _encode_anything()
        _until_ended(_run)
    except (KeyboardInterrupt, SystemExit) as ended:
        # Within a command, typer turns Ctrl-C into an exit with this code.
        if isinstance(ended, SystemExit) and ended.code != INTERRUPTED:
            raise
        _complain("stopped by Ctrl-C.")
        sys.exit(INTERRUPTED)


def _require_no_empty_argument() -> None:
    """Refuse an empty argument, which is a shell variable without a value.

    As a path it would name the current folder.
    """
    if "" in sys.argv[1:]:
        raise must_be(
            "each argument of the command",
            "a name or a value",
            "an empty argument",
            "check that its shell variables have values",
        )


def _run() -> None:
    """Run the command that was typed; bad input ends in one sentence and exit 2."""
    from embaudit.cli.app import command_group

    try:
        _require_no_empty_argument()
        with inputs_noted():
            command_group()(prog_name="embaudit")
    except BrokenPipeError:
        sys.exit(CLOSED_PIPE)
    except SystemExit as ended:
        # If the reader of a pipe went away, printing libraries exit with 1, which means
        # findings here.
        if isinstance(ended.__context__, BrokenPipeError):
            sys.exit(CLOSED_PIPE)
        sys.exit(ended.code)
    except InputError as error:
        _complain(error.for_cli(_keywords_of_command()))
        sys.exit(2)
    except OSError as error:
        file = error.filename
        if file is None:
            file = "a file or device"
        sentence = f"{file} cannot be used: {error.strerror or error}."
        _complain(escaped(without_secrets(sentence)))
        sys.exit(2)
    except MemoryError as error:
        _complain(f"there is not enough memory: {error or 'none left'}.")
        sys.exit(2)


def _keywords_of_command() -> set[str]:
    """Return the options of the typed command as keywords: `--by-row` is by_row."""
    from embaudit.cli.app import command_group

    if len(sys.argv) < 2:
        return set()
    command = command_group().get_command(None, sys.argv[1])
    if command is None:
        return set()
    names = [name for parameter in command.params for name in parameter.opts]
    return {name[2:].replace("-", "_") for name in names if name.startswith("--")}


def _complain(sentence: str) -> None:
    """Write an error to stderr, if the process has one."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"embaudit: {sentence}\n")
            sys.stderr.flush()
    except OSError:
        # At exit Python flushes stderr again, and would exit with another status.
        sys.stderr = None


def _encode_anything() -> None:
    """Write characters that a terminal cannot encode as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _until_ended(run: Callable[[], None]) -> None:
    """Run a function; on SIGTERM and SIGHUP clean up and exit as shells expect."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    # Python lets the main thread alone handle signals.
    if threading.current_thread() is not threading.main_thread():
        return run()
    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        # Windows has no SIGHUP.
        if hasattr(signal, name):
            number = getattr(signal, name)
            before[number] = signal.signal(number, end)
    try:
        return run()
    finally:
        # A program that calls a command gets its own handlers back.
        for number, handler in before.items():
            signal.signal(number, handler)
