"""The command line: typer commands without logic of their own; what is heavy is imported when a command runs."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable

from embaudit.core.inputs import inputs_noted
from embaudit.errors import InputError, escaped, without_secrets

INTERRUPTED = 128 + 2
"""Exit status of a program that Ctrl-C ended."""
CLOSED_PIPE = 128 + 13
"""Exit status of a program whose reader went away."""


def main() -> None:
    """Run embaudit. Exit with 0 if all is well, with 1 on findings and with 2 on bad input."""
    try:
        _encode_anything()
        _until_ended(_run)
    except (KeyboardInterrupt, SystemExit) as ended:
        # Within a command, typer turns Ctrl-C into an exit with this code.
        if isinstance(ended, SystemExit) and ended.code != INTERRUPTED:
            raise
        _complain("stopped by Ctrl-C.")
        sys.exit(INTERRUPTED)


def _run() -> None:
    """Run the command that was typed; bad input ends in one sentence and exit 2."""
    from embaudit.cli.app import app

    try:
        with inputs_noted():
            app.group(prog_name="embaudit")
    except BrokenPipeError:
        sys.exit(CLOSED_PIPE)
    except SystemExit as ended:
        # Libraries that print end with the code that means findings where the reader went away.
        sys.exit(
            CLOSED_PIPE
            if isinstance(ended.__context__, BrokenPipeError)
            else ended.code
        )
    except InputError as error:
        _complain(error.for_cli(_keywords_of_command()))
        sys.exit(2)
    except OSError as error:
        file = error.filename if error.filename is not None else "a file or device"
        sentence = f"{file} cannot be used: {error.strerror or error}."
        _complain(escaped(without_secrets(sentence)))
        sys.exit(2)
    except MemoryError as error:
        _complain(f"there is not enough memory: {error or 'none left'}.")
        sys.exit(2)


def _keywords_of_command() -> set[str]:
    """Return the options of the command that was typed, as keywords: `--by-row` is by_row."""
    from embaudit.cli.app import app

    command = app.group.get_command(None, sys.argv[1]) if len(sys.argv) > 1 else None
    if command is None:
        return set()
    names = [name for parameter in command.params for name in parameter.opts]
    return {name[2:].replace("-", "_") for name in names if name.startswith("--")}


def _complain(sentence: str) -> None:
    """Write what is wrong, where anybody can be told; the exit status says it in any case."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"embaudit: {sentence}\n")
            sys.stderr.flush()
    except OSError:
        # Python would try once more at its end, and exit with a status of its own.
        sys.stderr = None


def _encode_anything() -> None:
    """Write what a terminal has no letter for as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _until_ended(run: Callable[[], None]) -> None:
    """Clean up at the signals that ask a program to end, as at Ctrl-C, and exit as shells expect."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    # Python lets the main thread alone handle signals.
    if threading.current_thread() is not threading.main_thread():
        return run()
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {
        number: signal.signal(number, end)
        for number in (getattr(signal, name) for name in names)
    }
    try:
        return run()
    finally:
        # Whoever runs a command within a program of its own gets its handlers back.
        for number, handler in before.items():
            signal.signal(number, handler)
