"""Reading: `load` picks a format by the content, and says of a model what the caller says beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from embaudit.core.checked import as_factors
from embaudit.errors import InputError, Option, Parameter, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.files import AnyPath, located
from embaudit.io.formats import detected, named, of_address
from embaudit.io.intake import GIVEN, Intake, Part, Reading, StoredNorm
from embaudit.io.layouts.checkpoints.encoders import encoder_of, refusal_of
from embaudit.io.layouts.checkpoints.final_norm import NONE
from embaudit.io.layouts.checkpoints.row_names import tokens_beside
from embaudit.io.options import NAMES_AND_FILES, Request, file_remedy
from embaudit.io.remote import naming, with_urls
from embaudit.model import FactorModel, as_link, with_comparison, with_objective
from embaudit.model.trainings import find_training, require_agreement

ALWAYS = ("left_file", "left_name", "right_name", "ids", "ids_column", "left_ids", "left_ids_column", "labels", "link", "compared", "objective", "left_counts",
          "right_counts", "inputs", "states", "norm", "norm_kind")  # fmt: skip
"""Options that every format takes."""
CHECKPOINTS = (
    ".safetensors",
    ".gguf",
    ".onnx",
    ".h5",
    ".hdf5",
    ".keras",
    ".bin",
    ".pt",
)
"""Suffixes of files that hold parts of a model, such as the table of its tokens."""
TEMPERATURES = ("logit_scale", "logit_bias", "temperature", "log_temperature", "tau")
"""Names of numbers next to two tables that say that training used a temperature."""
LIKE = {
    "left": ("left_file",),
    "bias": ("bias_file",),
    "left_bias": ("left_bias_file",),
    "bias_file": ("bias",),
    "left_bias_file": ("left_bias",),
    "vector_id": ("id_array", "ids"),
    "id_array": ("vector_id", "ids"),
    "left_id_array": ("left_ids",),
}
"""Options that mean the same in other formats, the best first."""
MEANT = {
    "left_file": "FILE",
    "bias_file": "FILE",
    "left_bias_file": "FILE",
    "ids": "FILE",
    "left_ids": "FILE",
    "bias": "NAME",
    "left_bias": "NAME",
    "id_array": "NAME",
    "vector_id": "COLUMN",
}
"""Word for the value of each of them."""
UNNORMALISED = "modules.json, by which the folder does not normalise its vectors"
"""Words for the modules of an encoder without a layer that normalises."""
ELSEWHERE = {"left_ids": "left_ids", "ids": "right_ids", "labels": "right_names", "inputs": "left", "states": "left",
             "left_counts": "left_counts", "right_counts": "right_counts"}  # fmt: skip
"""Options that bring a field of a model from elsewhere."""


def load(
    path: AnyPath | Sequence[AnyPath],
    *,
    kind: str = "auto",
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> FactorModel:
    """Read a model, whatever wrote it; `read` also says what became what.

    Parameters
    ----------
    path : path or list of paths
        A file or directory; see `formats`. Or a pattern such as `shards/*.parquet`, or
        a list of tables that lie one below another. Or a URL that fsspec knows, such as
        `s3://…` (the extra `remote`): it is copied to this machine first, for as long
        as the process lasts, so that it can be mapped.
    kind : {"auto", "factors", "head", "vectors"}
        Two factor matrices, a softmax head, or one table of vectors; told by the
        content by default.
    format : str, optional
        Name of the format, where suffix and content do not tell.
    **options
        What the content leaves open.

        Names inside the file: `left`, `weight`, `bias`, `left_bias` name arrays, which
        are two factors, or a head and perhaps its inputs; `id_array` and
        `left_id_array` name arrays of ids; `vector_id`, `vector` and `bias` name
        columns of a table of vectors; `ignore` names arrays to leave out, one or
        several, `*` standing for any letters.

        Other files: `left_file` holds the vectors of the left side, and next to a
        `.npy` file `bias_file` and `left_bias_file` hold biases; `ids` and `left_ids`
        are the ids of the rows or a file of them, and `ids_column` and
        `left_ids_column` the columns in it (see `read_ids`); `labels` is a file that
        names the right rows; `left_counts` and `right_counts` are the interactions
        behind each row, or files of them (see `read_counts`).

        Words: `transpose` says which sides are stored with one column an entity
        ("left", "right", "both", "none"); `left_name` and `right_name` are what one row
        of a side is called, such as "text" and "image"; `link` and `objective` are what the
        file cannot say; how it was trained is a word such as "implicit-als", "clip" or
        "word2vec", which sets the link, too (`embaudit explain objectives` lists them);
        `compared` ("cosine" or "dot") says that the model compares the rows of this one
        table with each other, as sentence encoders do; `inputs` are vectors that the
        head, or the vectors, are multiplied with, or a file of them; `states` are
        states of a network before the final norm of its head, which is applied to them,
        or a file of them; `norm` names the gains of that norm, "none" where there is
        none, and `norm_kind` its kind ("rms", "layer"): by default what the
        architecture of the checkpoint says.

    Raises
    ------
    InputError
        If the file is not there, is damaged, ambiguous, or an option does not apply to
        its format; or if something is left over that could matter, such as a bias under
        another name.
    """
    return read(path, kind=kind, format=format, **options).model


def read(
    path: AnyPath | Sequence[AnyPath],
    *,
    kind: str = "auto",
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Reading:
    """Read a model, and say what became what, what was left over and what was assumed.

    Parameters are those of `load`, and so are the errors.

    Returns
    -------
    Reading
        The model and its intake.
    """
    with _opened(path, kind, format, options) as (where, name, contents, request):
        return reading_of(contents, request, name, where)


def look(
    path: AnyPath | Sequence[AnyPath],
    *,
    kind: str = "auto",
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Intake:
    """Report what `read` would make of a file, from its headers alone: no numbers of vectors are read.

    Parameters are those of `load`; what only the numbers show, damage for instance, is not seen.
    """
    with _opened(path, kind, format, options) as (where, name, contents, request):
        intake = _beside(contents, request, name, where)
        norm, link = contents.norm, contents.link
        fits = (
            norm is not None
            and link is not None
            and norm.norm.fits(link, contents.fields["right"].shape[-1] or 0)
        )
        return norm.recorded(intake) if norm is not None and fits else intake


def require_options(request: Request, options: Sequence[str], what: str) -> None:
    """Refuse an option that says nothing of a file or an object."""
    allowed = tuple(dict.fromkeys((*options, *ALWAYS)))
    unused = next((option for option in request.given if option not in allowed), None)
    if unused is None:
        return
    remedy = file_remedy(unused, getattr(request, unused))
    for other in LIKE.get(unused, ()):
        if not remedy and other in allowed:
            remedy = Sentence("say {}", Option(other, placeholder=MEANT[other]))
    raise must_be(
        f"an option for {what}", f"one of {', '.join(allowed)}", unused, remedy
    )


def require_files(request: Request, contents: Contents) -> None:
    """Refuse the name of an array where an option takes a file.

    Raises
    ------
    InputError
        If no file has that name, and an array or a column of the model's file has.
    """
    names = {source.name for source in contents.fields.values()}
    names |= {part.name for part in contents.left_over}
    for name, option in NAMES_AND_FILES.items():
        value = getattr(request, option)
        is_name = isinstance(value, str) and value in names
        if is_name and not Path(value).exists():
            raise must_be(
                option,
                "a file that exists",
                f"{value!r}, which the file of the model holds",
                Sentence("name it with {}", Option(name, value)),
            )


@contextmanager
def _opened(
    path: AnyPath | Sequence[AnyPath],
    kind: str,
    name: str | None,
    options: dict[str, Any],
) -> Iterator[tuple[Path, str, Contents, Request]]:
    """Open a file in its format: where it lies, the format, its fields and the options; every error names the file."""
    store = of_address(path)
    if store is not None:
        request = Request.of(kind, options)
        store.require_usable()
        require_options(request, store.options, f"{store.name} tables")
        address = os.fspath(path)  # type: ignore[arg-type]
        contents, request = with_left(store.read(address, request), request)
        yield Path(address), store.name, contents.of_kind(request.kind), request
        return
    (where, files), request = located(path), Request.of(kind, options)
    try:
        left = request.left_file
        if isinstance(left, (str, os.PathLike)) and Path(left).exists():
            _require_another(Path(left), files or (where,))
        with naming(str(where)):
            # The tables inside an encoder are no embeddings of texts or images, unless
            # the caller names one.
            encoder = (
                refusal_of(where)
                if where.is_dir() and not files and request.weight is None
                else None
            )
            if encoder is not None:
                raise encoder
            entry = (
                named("tables")
                if files
                else detected(where)
                if name is None
                else named(name)
            )
            require_options(request, entry.options, f"{entry.name} files")
            if entry.takes_files:
                contents = entry.read(where, request, files)
            else:
                contents = entry.read(where, request)
            tokens = (
                {}
                if files
                else tokens_beside(where if where.is_dir() else where.parent, contents)
            )
            contents = replace(
                contents,
                fields={**contents.fields, **tokens},
                files=contents.files or (str(where),),
            )
            require_files(request, contents)
            contents, request = with_left(contents, request)
            yield where, entry.name, contents.of_kind(request.kind), request
    except OSError as error:
        refused = Sentence("{} cannot be read: {}.", where, error.strerror or error)
        raise InputError(refused.map_texts(with_urls)) from error


def _require_another(left: Path, files: Sequence[Path]) -> None:
    """Refuse one file as both sides: rows that are compared with each other are one table."""
    if any(file.samefile(left) for file in files):
        raise must_be(
            "left_file",
            "a file of the other side",
            f"{left}, which holds this one",
            Sentence(
                "for rows compared with each other say {} instead",
                Option("compared", "dot"),
            ),
        )


def with_left(contents: Contents, request: Request) -> tuple[Contents, Request]:
    """Put the vectors that a request names to the left of others, with their ids, names and counts.

    Raises
    ------
    InputError
        If they are no vectors of one side, or the others have a left side of their own.
    """
    left = request.left_file
    if left is None:
        return contents, request
    # Ids and names are read where vectors are.
    if isinstance(left, Contents):
        option, other, name = "left", left, GIVEN
    else:
        option = "left_file"
        columns = {"transpose": "right"} if request.transposes("left") else {}
        with _opened(left, "auto", None, {"ignore": request.ignore, **columns}) as (
            where,
            _,
            other,
            _,
        ):
            name = str(where)
    if "left" in other.fields:
        got, remedy = "a model of both", "give the vectors of one"
        raise must_be(option, "vectors of one side", got, remedy)
    if "left" in contents.fields:
        raise InputError(
            "the table beside {} must be vectors of one side; got a model of both; give "
            "the vectors of one.",
            Option(option),
        )
    fields = {
        field.replace("right", "left"): replace(
            source, name=source.name and f"{source.name} of {name}"
        )
        for field, source in other.fields.items()
        if field.startswith("right")
    }
    fields["left"] = replace(fields["left"], name=name)
    contents = replace(
        contents,
        fields={**fields, **contents.fields},
        files=(*contents.files, *other.files),
    )
    # The kind is that of the file alone.
    return contents, replace(request, left_file=None, kind="auto")


def reading_of(
    contents: Contents, request: Request, name: str, where: Path | None = None
) -> Reading:
    """Make a model of contents and of what the caller said beside them, and the report of both.

    Parameters
    ----------
    contents : Contents
        The fields of the file or the object.
    request : Request
        What the caller said.
    name : str
        The format.
    where : Path, optional
        The file; none for an object.
    """
    contents = contents.of_kind(request.kind)
    intake = _beside(contents, request, name, where)
    model, norm = _finished(contents.model(), request, contents.norm)
    rows_of_files = contents.rows_of_files()
    if len(rows_of_files) > 1:
        intake = replace(intake, rows_of_files=rows_of_files)
    encoder = _encoder_of_outputs(where) if model.left_side is None else None
    temperature = _temperature_of(contents, where)
    declared = (request.objective, request.link, request.compared)
    is_declared = any(value is not None for value in declared)
    is_open = (
        model.link.name == "identity" and model.objective is None and not is_declared
    )
    if encoder is not None and encoder[0] and is_declared:
        overridden = Part(
            f"{encoder[1]} ({encoder[0]}), which your options override", ""
        )
        intake = replace(intake, left_over=(*intake.left_over, overridden))
    elif encoder is not None and is_open and not encoder[0]:
        intake = replace(intake, left_over=(*intake.left_over, Part(UNNORMALISED, "")))
    elif encoder is not None and is_open:
        model, intake = (
            with_objective(model, encoder[0]),
            intake.beside(Part(encoder[1], "objective")),
        )
    elif model.link.name == "unknown" and not is_declared and temperature is not None:
        model = with_objective(model, temperature[0])
        intake = intake.beside(Part(temperature[1], "objective"))
    intake = intake.of(model, declared=request.given)
    return Reading(model, intake if norm is None else norm.recorded(intake), norm)


def _temperature_of(contents: Contents, where: Path | None) -> tuple[str, str] | None:
    """Return the training of two tables that a temperature belongs to, and its source.

    The source is a number next to the tables, such as `logit_scale` of CLIP, or the
    configuration of the network in whose folder they lie.
    """
    for part in contents.left_over:
        if part.name.rpartition(".")[2] in TEMPERATURES and not any(
            size != 1 for size in part.shape
        ):
            return "temperature", part.name
    encoder = _encoder_of_outputs(where)
    return None if encoder is None or not encoder[0] else encoder


def _encoder_of_outputs(where: Path | None) -> tuple[str, str] | None:
    """Return how the encoder whose folder holds a file was trained, and the file that says so.

    Such files describe the outputs of the encoder. A checkpoint holds its parts, for
    example the table of its tokens, and nobody compared those with each other.
    """
    if where is None or where.suffix.lower() in CHECKPOINTS:
        return None
    return encoder_of(where.parent)


def _beside(
    contents: Contents, request: Request, name: str, where: Path | None
) -> Intake:
    """Report a file, and the files and numbers that the caller gave beside it.

    URLs stand for the copies that were made of them.
    """
    intake = contents.intake(name, where)
    values = {
        option: getattr(request, option)
        for option in ELSEWHERE
        if getattr(request, option) is not None
    }
    paths = {
        option: str(value)
        for option, value in values.items()
        if isinstance(value, (str, os.PathLike))
    }
    intake = intake.beside(
        *(Part(paths.get(option, GIVEN), ELSEWHERE[option]) for option in values)
    )
    parts = tuple(
        replace(mapping, name=with_urls(mapping.name)) for mapping in intake.parts
    )
    return replace(
        intake,
        parts=parts,
        files=tuple(map(with_urls, (*intake.files, *paths.values()))),
    )


def _finished(
    model: FactorModel, request: Request, norm: StoredNorm | None
) -> tuple[FactorModel, StoredNorm | None]:
    """Add what the file or object could not say, and its norm where that stands before the head."""
    from embaudit.io.tables.rows import read_counts, read_ids, read_labels

    changes: dict[str, Any] = {
        name: getattr(request, name) for name in ("link", "objective")
    }
    # Errors below call rows by these names.
    roles = (
        request.left_name or model.title("left"),
        request.right_name or model.title("right"),
    )
    model = model if roles == model.roles else model.replace(roles=roles)
    for role, ids, column, counts in (
        ("left", request.left_ids, request.left_ids_column, request.left_counts),
        ("right", request.ids, request.ids_column, request.right_counts),
    ):
        if ids is not None:
            # Counts are found by ids.
            read = read_ids(
                ids, len(model.side(role)), column=column, what=model.title(role)
            )
            model = model.replace(**{f"{role}_ids": read})
        if counts is not None:
            changes[f"{role}_counts"] = read_counts(counts, model.side(role))
    if request.labels is not None:
        changes["right_names"] = read_labels(
            request.labels, model.n_right, what=model.title("right")
        )
    changes = {name: value for name, value in changes.items() if value is not None}
    if request.compared is not None and request.link is not None:
        allowed = Sentence("left out beside {}, which sets it", Option("compared"))
        raise must_be("link", allowed, repr(request.link))
    if request.objective is not None:
        find_training(request.objective)
    # A link that contradicts the words for the training is refused before anything is
    # changed.
    if request.link is not None:
        sides = 1 if model.left_side is None and request.inputs is None else 2
        require_agreement(
            request.objective, as_link(request.link), sides=sides, is_declared=True
        )
    model = with_comparison(model, request.compared)
    model = model.replace(**changes) if changes else model
    model = (
        with_objective(model, request.objective) if request.inputs is None else model
    )
    if norm is None and request.norm not in (None, NONE):
        what = "asked of a checkpoint in safetensors files or GGUF"
        raise must_be("norm", what, repr(request.norm), "leave it out")
    # What is named stands before the head, or is refused; what was only there must fit.
    norm = (
        norm
        if norm is not None and (request.norm or norm.norm.fits(model.link, model.rank))
        else None
    )
    model = model if norm is None else model.replace(final_norm=norm.norm)
    return _with_left(model, request), norm


def _with_left(model: FactorModel, request: Request) -> FactorModel:
    """Put to the left of what has no left side the inputs of a request, or what the final norm makes of its states.

    Raises
    ------
    InputError
        If the model has a left side of its own; for states, if no final norm is known
        there, they are not as wide as it, or inputs are given, too.
    """
    rows = request.inputs if request.states is None else request.states
    if rows is None:
        return model
    norm = model.final_norm
    if request.states is not None and norm is None:
        remedy = Sentence("give what reaches the head with {}", Option("inputs"))
        raise must_be(
            "a head that states are given for",
            "one whose final norm is known",
            "one of none",
            remedy,
        )
    if request.states is not None and request.inputs is not None:
        raise InputError(
            "{} must be left out beside {}, which the final norm makes inputs of.",
            Parameter("inputs"),
            Option("states"),
        )
    if model.left_side is not None:
        raise InputError(
            "{} must be left out here; the model has {}s of its own.",
            Parameter("inputs"),
            model.title("left"),
        )
    rows = (
        load(rows, kind="vectors").right
        if isinstance(rows, (str, os.PathLike))
        else rows
    )
    if request.states is not None and norm is not None:
        rows = as_factors(rows, "states")
        if rows.shape[1] != norm.width:
            wanted = f"vectors of {norm.width} numbers, as wide as the final norm"
            raise must_be(
                "states", wanted, rows.shape[1], "give what reaches that norm"
            )
        rows = np.asarray(norm.applied(rows), np.result_type(rows.dtype, np.float32))
    link = None if model.link.is_assumed else model.link
    return model.replace(
        left=rows, roles=(request.left_name or "input", model.title("right")), link=link
    )
