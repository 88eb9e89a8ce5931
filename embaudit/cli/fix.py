"""`embaudit fix`: vectors to use instead."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from embaudit.cli.app import (
    File,
    Force,
    Model,
    More,
    Quiet,
    Rng,
    SameNumbers,
    Text,
    app,
)
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles, say_norm
from embaudit.cli.terminal import (
    Workers,
    make_console,
    removed_if_refused,
    written_record,
)

Kind = StrEnum(
    "Kind",
    [
        ("PREDICTION", "prediction"),
        ("BALANCED", "balanced"),
        ("LEFT_WHITENED", "left-whitened"),
        ("RIGHT_WHITENED", "right-whitened"),
        ("CENTRED", "centred"),
        ("FOLDED", "folded"),
        ("FOLDED_CENTRED", "folded-centred"),
        ("EQUAL_LENGTH", "equal-length"),
    ],
)
"""Kinds of vectors."""
Map = StrEnum("Map", [("ROTATION", "rotation"), ("LINEAR", "linear")])
"""Kinds of maps."""


@app.command()
@with_groups
def fix(
    path: Model,
    more: More = None,
    *,
    out: Annotated[
        str,
        Option(
            help="File to write, such as .npz, .parquet, .csv, .safetensors or .faiss, "
            "or a new table of a store, such as qdrant:http://localhost:6333/items.",
            metavar="PATH",
        ),
    ],
    as_: Annotated[
        Kind | None,
        Option(
            "--as",
            help="Kind of vectors (default: prediction, or centred if "
            "the model has one side only).",
        ),
    ] = None,
    align_to: Annotated[
        File,
        Option(
            "--align-to",
            metavar="OLD",
            help="An older training run. Vectors are brought into its coordinates, and "
            "predictions stay. Options for reading apply to both models.",
        ),
    ] = None,
    rotate: Annotated[
        Text,
        Option(
            help="Only turn the vectors to their principal axes (pca), so that no "
            "cosine changes and the first columns keep most lists.",
        ),
    ] = None,
    map_to: Annotated[
        File,
        Option(
            "--map-to",
            metavar="NEW",
            help="Vectors of the same items by a new encoder. Vectors are mapped into "
            "its space. Options for reading apply to both models.",
        ),
    ] = None,
    by_map: Annotated[
        Map | None,
        Option(
            "--by-map",
            help="With --map-to, the map (default: a rotation if it is enough, or else "
            "a linear map if it is enough, or else the map that keeps more).",
        ),
    ] = None,
    role: Annotated[
        Text,
        Option(
            help="Side to write: right (item) or left (user). The default is both "
            "sides if the vectors keep the predictions of a model, and right otherwise."
        ),
    ] = None,
    dimensions: Annotated[
        int | None, Option(help="Number of leading directions to keep (default: all).")
    ] = None,
    unit: Annotated[
        bool,
        Option(
            "--unit",
            help="Divide each row by its length, so that a dot product is the cosine.",
        ),
    ] = False,
    keep_empty: Annotated[
        bool,
        Option(
            "--keep-empty", help="Keep rows that have no cosine, such as zero rows."
        ),
    ] = False,
    reading: Given,
    titles: Titles,
    same_numbers: SameNumbers = False,
    rng: Rng = 0,
    workers: Workers,
    json: Annotated[
        File,
        Option(
            "--json",
            help="Write all numbers to this JSON file.",
            rich_help_panel="Output",
        ),
    ] = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Write vectors whose plain cosine the predictions fix, ready for a vector index.

    With --align-to, write the vectors of a retrained model in the coordinates of the
    old model, and say for which lists old and new vectors may be mixed.

    With --map-to, write old vectors in the space of a new encoder, and say whether this
    is enough or all items should be embedded again.
    """
    from embaudit.errors import without_secrets
    from embaudit.io import distinct_outputs, open_output, require_output
    from embaudit.io.watched import unchanged
    from embaudit.remedy import fix as mend

    if align_to is not None:
        reading.require_no_left_file("--align-to")
    if map_to is not None:
        reading.require_no_left_file("--map-to")
    inputs = [path, *(more or ()), align_to, map_to, titles.items, *reading.files]
    distinct_outputs(inputs, [out, json])
    # A large model takes a while to read, so outputs are checked before it is.
    require_output(out, force=force)
    record: AbstractContextManager[Any] = nullcontext()
    if json is not None:
        record = open_output(json, force=force, mode="w")
    with (
        removed_if_refused() as written,
        record as record_file,
        workers.at_work(quiet=quiet),
        unchanged(inputs, outputs=[Path(out)]),
    ):
        source = reading.read(path, more)
        model = titles.on(source.model, quiet=quiet)
        # Only folded vectors depend on the final norm.
        if str(as_).startswith("folded"):
            say_norm(source, quiet=quiet)
        remedy = mend(
            model,
            None if as_ is None else str(as_),
            align_to=None if align_to is None else reading.read(align_to).model,
            rotate=rotate,
            map_to=None if map_to is None else reading.read(map_to).model,
            by_map=None if by_map is None else by_map.value,
            role=role,
            dimensions=dimensions,
            unit=unit,
            keep_empty=keep_empty,
            by_row=titles.by_row,
            partial=titles.partial,
            same_numbers=same_numbers,
            rng=rng,
        )
        # Rows of large models are read while they are written.
        written.append(remedy.write(out, force=force))
        if record_file is not None:
            record_file.write(written_record(remedy))
    console = make_console(quiet=quiet)
    console.print(remedy.explanation().for_cli(), markup=False)
    for found in (remedy.alignment, remedy.space_map):
        if found is not None:
            for sentence in found.details:
                console.print(sentence, markup=False)
    losses = remedy.losses(out).for_cli()
    if losses:
        console.print(losses, markup=False)
    console.print(
        f"{remedy!r} → {without_secrets(out)}, read back and verified",
        markup=False,
        soft_wrap=True,
    )
