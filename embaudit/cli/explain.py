"""`embaudit explain`: what a code of a finding, or a word of a report, means."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import app
from embaudit.cli.terminal import make_console

if TYPE_CHECKING:
    from embaudit.model.objectives import Objective
    from embaudit.model.trainings import Training

WIDTH = 80
"""Characters of a line, wherever it is read."""


@app.command()
def explain(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            help="A code such as EMB101, or a word such as gauge.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Explain what a code or a word means, why it matters and what to do.

    Without a name, list all of them.
    """
    from embaudit.auditing.catalogue import CODES

    console = make_console(quiet=False)
    if not name:
        lines = _all()
    elif all(each.upper() in CODES for each in name):
        lines = chain.from_iterable(map(_one, name))
    else:
        # A word may be several, such as CHECK FIRST.
        lines = _one(" ".join(name))
    for line in lines:
        console.print(line, markup=False)


def _one(name: str) -> Iterator[str]:
    """Write a kind of training and its law, or an entry and its sections.

    The entry of objectives lists all trainings and laws.
    """
    from embaudit.auditing.catalogue import entry as entry_of
    from embaudit.model.objectives import OBJECTIVES
    from embaudit.model.trainings import TRAININGS, known_training

    entry, training = entry_of(name), known_training(name.lower())
    if entry.name == "objective" and training is not None:
        yield from _training(training) if training in TRAININGS else ()
        yield from map(_law, [OBJECTIVES[training.law]] if training.law else [])
        yield "All others: `embaudit explain objectives`"
        return
    yield fill(entry.heading, WIDTH, break_on_hyphens=False)
    yield from map(
        _indented, (f"{heading}: {text}" for heading, text in entry.sections)
    )
    yield f"  On one page with all others: {entry.address} in the source of embaudit"
    if entry.name != "objective":
        return
    yield from chain.from_iterable(map(_training, TRAININGS))
    yield "The laws themselves, by their names:"
    yield from map(_law, OBJECTIVES.values())


def _training(row: Training) -> Iterator[str]:
    """Write the words of a kind of training, and what it fixes."""
    yield fill(", ".join(row.words), WIDTH, break_on_hyphens=False)
    sections = {
        "predictions": row.predictions,
        "law": row.law or "none known",
        "training fixes": row.fixes,
        "stays free": row.free,
        "source": row.source,
    }
    for heading, text in sections.items():
        yield _indented(f"{heading}: {text}")


def _law(law: Objective) -> str:
    """Write what a law minimises and what that makes of cosines."""
    return _indented(
        f"{law.name}: {law.loss}. Cosines are {law.cosines_given()}. Source: "
        f"{law.source}."
    )


def _indented(text: str) -> str:
    return fill(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )


def _all() -> Iterator[str]:
    """Write a line for each code, and the words in one paragraph."""
    from embaudit.auditing.catalogue import CODES
    from embaudit.auditing.words import WORDS

    for code in CODES.values():
        yield fill(
            f"{code.name}  {code.title} ({code.severity})",
            WIDTH,
            subsequent_indent=" " * 8,
        )
    yield fill(f"Words: {', '.join(WORDS)}.", WIDTH)
