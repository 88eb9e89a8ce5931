"""`embaudit compare --copy` and `--formats`: can vectors be stored in fewer bits?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Workers, shown_name
from embaudit.core.sizes import N_QUERIES
from embaudit.errors import must_be


def compare_with_copies(
    original: Path,
    copies: list[Path],
    formats: str | None,
    queries: Path | None,
    *,
    role: str | None,
    n_neighbours: int | None,
    n_lists: int | None,
    reading: Given,
    titles: Titles,
    rng: int,
    output: Output,
    workers: Workers,
) -> None:
    """Judge copies of the vectors of a model: files, or copies in named formats.

    Parameters
    ----------
    original : Path
        The vectors.
    copies : list of Path
        Files of copies.
    formats : str or None
        Names of formats, with commas between them.
    queries : Path or None
        Vectors that search the copies.
    role, n_neighbours, n_lists, rng
        As for `embaudit.serving.compare_copies`. None stands for its default.
    reading, titles, output, workers
        Groups of options. Options for reading apply to the original only.
    """
    from embaudit.report.document import Origin
    from embaudit.serving import compare_copies
    from embaudit.serving.copy_formats import format_named

    names = [name.strip() for name in (formats or "").split(",") if name.strip()]
    # An unknown name is refused before the original is read.
    for name in names:
        format_named(name)
    if not names and not copies:
        raise must_be(
            "the copies to compare",
            "given with --copy or --formats",
            "neither",
            "for example --formats int8,float16",
        )
    inputs = [original, *copies, queries, titles.items, *reading.files]
    with output.promised(inputs) as write:
        source = reading.read(original)
        model = titles.on(source.model, quiet=output.quiet)
        sources: list[Any] = [*names, *copies]
        with workers.at_work(quiet=output.quiet):
            found = compare_copies(
                model,
                sources,
                queries=queries,
                role=role or "right",
                n_neighbours=n_neighbours,
                n_lists=N_QUERIES if n_lists is None else n_lists,
                rng=rng,
            )
        name = shown_name(original)
        origin = Origin(((name, source.intake),), seed=rng)
        write(found, f"{name} and its copies", origin)
    output.show(found)
