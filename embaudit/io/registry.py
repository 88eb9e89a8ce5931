"""Reading and writing: `load` picks a format by the content, `save` by the suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Matrix, as_factors
from embaudit.errors import InputError, must_be
from embaudit.io.catalogue import FORMATS, Format, detected, formats, module_of, named, room_in, writer_of
from embaudit.io.checkpoints.config import encoder_of, refusal_of
from embaudit.io.checkpoints.final_norm import final_norm_of, stored_norm
from embaudit.io.codecs import open_arrays
from embaudit.io.draft import Draft
from embaudit.io.files import AnyPath, as_path, located, plain_suffix
from embaudit.io.intake import GIVEN, Contents, Intake, Part, Reading, StoredNorm
from embaudit.io.outputs import writable, written_whole
from embaudit.io.readers.assemble import tokens_beside
from embaudit.io.remote import naming, with_urls
from embaudit.io.request import Request
from embaudit.model import FactorModel, Link, comparing, with_objective
from embaudit.model.objectives import require_agreement, training

ALWAYS = ("left_name", "right_name", "ids", "left_ids", "labels", "link", "compared", "objective", "left_counts",
          "right_counts", "inputs", "states", "norm", "norm_kind")  # fmt: skip
"""Options that every format takes."""
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
        A file or directory; see `formats`. Or a pattern such as `shards/*.parquet`, or a list of tables that lie one
        below another. Or a URL that fsspec knows, such as `s3://…` (the extra `remote`): it is
        copied to this machine first, for as long as the process lasts, so that it can be mapped.
    kind : {"auto", "factors", "head", "vectors"}
        Two factor matrices, a softmax head, or one table of vectors; told by the content by default.
    format : str, optional
        Name of the format, where suffix and content do not tell.
    **options
        What the content leaves open: `left`, `right`, `weight`, `bias`, `left_bias`, `embedding` name arrays (beside
        `left`, `weight` is `right`);
        `transpose` says which sides are stored with one column an entity ("left", "right", "both", "none");
        `id` and `vector` name columns of a table; `labels` is a file that names the right rows;
        `ignore` names arrays to leave out, one or several, `*` standing for any letters;
        `left_name` and `right_name` are what one row of a side is called, such as "text" and "image";
        `ids` is an array of the file, a FILE or FILE:COLUMN with the ids of the right rows (see `read_ids`), `left_ids`
        those of the left rows;
        `left_counts` and `right_counts` are the interactions behind each row, or files of them (see `read_counts`);
        `link` and `objective` are what the file cannot say; how it was trained is a word such as "implicit-als", "clip"
        or "word2vec", which sets the link, too (`embaudit explain objectives` lists them); `compared` ("cosine" or
        "dot") says that the model compares the rows of this one table with each other, as sentence encoders do;
        `inputs` are vectors that the head, or the vectors, are multiplied with, or a file of them; `states` are states
        of a network before the final norm of its head, which is applied to them, or a file of them; `norm` names the
        gains of that norm, "none" where there is none, and `norm_kind` its kind ("rms", "layer"): by default what the
        architecture of the checkpoint says.

    Raises
    ------
    InputError
        If the file is not there, is damaged, ambiguous, or an option does not apply to its format; or if something is
        left over that could matter, such as a bias under another name.
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
    (where, files), request = located(path), Request.of(kind, options)
    with _at(where):
        entry = _chosen(where, format, request, files)
        return reading_of(_contents(entry, where, request, files), request, entry.name, where)


def _is_open(model: FactorModel, request: Request) -> bool:
    """Return whether neither a file nor the caller said how one table of vectors was trained."""
    told = (model.objective, request.objective, request.link, request.compared)
    return model.left_side is None and model.link == "identity" and told == (None,) * 4


def reading_of(contents: Contents, request: Request, name: str, source: Any = None) -> Reading:
    """Make a model of contents and of what the caller said beside them, and the report of both.

    Parameters
    ----------
    contents : Contents
        The fields of the file or the object.
    request : Request
        What the caller said.
    name : str
        The format.
    source : path or object, optional
        The file or the object.
    """
    where = source if isinstance(source, Path) else None
    intake = _with_files(contents.intake(name, where), request)
    arrays = {source.name for source in contents.fields.values()}
    inside: dict[str, Any] = {
        option: None for option in ("ids", "left_ids")
        if isinstance(getattr(request, option), str) and getattr(request, option) in arrays
    }  # fmt: skip
    model, norm = finish(contents.model(), replace(request, **inside), source)
    encoder = encoder_of(where.parent) if where is not None and _is_open(model, request) else None
    if encoder is not None:
        model, intake = with_objective(model, encoder[0]), intake.beside(Part(encoder[1], "objective"))
    intake = _elsewhere(_with_shapes(intake, model).of(model, declared=request.given))
    intake = intake if norm is None else norm.recorded(intake)
    return Reading(model, intake.trained(model.objective, declared=request.objective is not None), norm)


def look(path: AnyPath | Sequence[AnyPath], *, kind: str = "auto", format: str | None = None, **options: Any) -> Intake:  # noqa: A002
    """Report what `read` would make of a file, from its headers alone: no numbers of vectors are read.

    Parameters are those of `load`; what only the numbers show, damage for instance, is not seen.
    """
    (where, files), request = located(path), Request.of(kind, options)
    with _at(where):
        entry = _chosen(where, format, request, files)
        contents = _contents(entry, where, request, files)
        intake = _with_files(contents.intake(entry.name, where), request)
        link = contents.link
        norm = final_norm_of(where, name=request.norm, kind=request.norm_kind) if link == "softmax" else None
        if norm is not None and link is not None and norm.norm.fits(link, contents.fields["right"].shape[-1] or 0):
            intake = norm.recorded(intake)
        return _elsewhere(intake)


def _elsewhere(intake: Intake) -> Intake:
    """Name the URLs that copies came from."""
    parts, rest = (tuple(replace(p, name=with_urls(p.name)) for p in each) for each in (intake.parts, intake.left_over))
    return replace(intake, files=tuple(map(with_urls, intake.files)), parts=parts, left_over=rest)


@contextmanager
def _at(where: Path) -> Iterator[None]:
    """Let every error name the file."""
    try:
        with naming(str(where)):
            yield
    except OSError as error:
        raise InputError(with_urls(f"{where} cannot be read: {error.strerror or error}.")) from error


def _chosen(where: Path, format: str | None, request: Request, files: tuple[Path, ...]) -> Format:  # noqa: A002
    if where.is_dir() and not files and request.weight is None and (encoder := refusal_of(where)) is not None:
        raise encoder
    entry = named("tables") if files else detected(where) if format is None else named(format)
    _require_known(request, entry)
    return entry


def _contents(entry: Format, where: Path, request: Request, files: tuple[Path, ...]) -> Contents:
    contents: Contents = getattr(module_of(entry), entry.reader)(where, request, *([files] if files else []))
    tokens = {} if files else tokens_beside(where if where.is_dir() else where.parent, contents)
    return replace(contents, fields={**contents.fields, **tokens}).of_kind(request.kind)


def _with_files(intake: Intake, request: Request) -> Intake:
    """Add what comes from elsewhere: files, or numbers of the caller."""
    values = {option: getattr(request, option) for option in ELSEWHERE if getattr(request, option) is not None}
    paths = {option: str(value) for option, value in values.items() if isinstance(value, (str, os.PathLike))}
    inside = {mapping.name for mapping in intake.parts}
    options = [option for option in values if paths.get(option) not in inside]
    parts = (Part(paths.get(option, GIVEN), ELSEWHERE[option]) for option in options)
    return replace(intake.beside(*parts), files=(*intake.files, *(paths[x] for x in options if x in paths)))


def _with_shapes(intake: Intake, model: FactorModel) -> Intake:
    """Fill in the shapes that headers did not tell; nothing is read for it that still lies in the file."""
    parts = (
        replace(mapping, shape=_shape(model, mapping.became)) if None in (mapping.shape or (None,)) else mapping
        for mapping in intake.parts
    )
    return replace(intake, parts=tuple(parts))


def _shape(model: FactorModel, name: str) -> tuple[int, ...]:
    """Return the shape of a field; of what has none, nothing."""
    role, _, field = name.partition("_")
    side = model.left_side if role == "left" else model.right_side if role == "right" else None
    if side is None or (field or "rows") not in side.given:
        return ()
    return (len(side),) if field else side.shape


def _require_known(request: Request, entry: Format) -> None:
    unused = [name for name in request.given if name not in (*entry.options, *ALWAYS)]
    if unused:
        allowed = ", ".join((*entry.options, *ALWAYS))
        raise must_be(f"an option for {entry.name} files", f"one of {allowed}", unused[0])


def finish(model: FactorModel, request: Request, source: Any) -> tuple[FactorModel, StoredNorm | None]:
    """Add the final norm of the file or object, which is the source, and what it could not say."""
    from embaudit.io.tables.rows import labels_of, read_counts, read_ids

    changes: dict[str, Any] = {name: getattr(request, name) for name in ("link", "objective")}
    for role, ids in (("left", request.left_ids), ("right", request.ids)):
        if ids is not None:
            changes[f"{role}_ids"] = read_ids(ids, len(model.side(role)), what=model.title(role))
    if request.labels is not None:
        changes["right_names"] = labels_of(request.labels, model.n_right, what=model.title("right"))
    for role in ("left", "right"):
        value = getattr(request, f"{role}_counts")
        if value is not None:
            changes[f"{role}_counts"] = read_counts(value, model.side(role))
    changes = {name: value for name, value in changes.items() if value is not None}
    if request.compared is not None and request.link is not None:
        raise must_be("link", "left out beside compared, which says it", repr(request.link))
    if request.objective is not None:
        training(request.objective)
    if request.link is not None:
        sides = 1 if model.left_side is None and request.inputs is None else 2
        require_agreement(request.objective, Link.of(request.link), sides=sides, is_declared=True)
    model = comparing(model, request.compared)
    model = model.replace(**changes) if changes else model
    model = with_objective(model, request.objective) if request.inputs is None else model
    norm = stored_norm(source, model, name=request.norm, kind=request.norm_kind)
    model = model if norm is None else model.replace(final_norm=norm.norm)
    return _named(_with_left(model, request), request), norm


def _with_left(model: FactorModel, request: Request) -> FactorModel:
    """Put the states or inputs of a request to the left."""
    if request.states is not None:
        return with_states(model, request)
    return model if request.inputs is None else with_inputs(model, request.inputs)


def _named(model: FactorModel, request: Request) -> FactorModel:
    """Call the sides as the request does."""
    roles = request.left_name or model.title("left"), request.right_name or model.title("right")
    return model if roles == model.roles else model.replace(roles=roles)


def with_states(model: FactorModel, request: Request) -> FactorModel:
    """Put to the left of a head what its final norm makes of states.

    Raises
    ------
    InputError
        If no final norm is known there, the states are not as wide as it, or inputs are given, too.
    """
    norm = model.final_norm
    if norm is None:
        remedy = "give what reaches the head with --inputs"
        raise must_be("a head that states are given for", "one whose final norm is known", "one of none", remedy)
    if request.inputs is not None:
        raise InputError("inputs must be left out beside states, which the final norm makes inputs of.")
    rows = _vectors(request.states)
    if rows.shape[1] != norm.width:
        raise must_be("states", f"vectors of {norm.width} numbers, as wide as the final norm", rows.shape[1])
    return with_inputs(model, norm.applied(rows).astype(np.result_type(rows.dtype, np.float32), copy=False))


def _vectors(value: Any) -> Matrix:
    read = isinstance(value, (str, os.PathLike))
    return load(value, kind="vectors").right if read else as_factors(value, "states")


def with_inputs(model: FactorModel, inputs: Any) -> FactorModel:
    """Put inputs, or the vectors of a file, to the left of what has no left side.

    Raises
    ------
    InputError
        If the model has a left side of its own.

    Examples
    --------
    >>> with_inputs(FactorModel.from_vectors([[1.0, 2.0]]), [[0.5, 0.5], [0.0, 1.0]])
    FactorModel(2 inputs × 1 item, 2 dimensions, identity link, float64)
    """
    if model.left_side is not None:
        raise InputError(f"inputs must be left out here; the model has {model.title('left')}s of its own.")
    rows = _vectors(inputs) if isinstance(inputs, (str, os.PathLike)) else inputs
    link = None if model.link.is_assumed else model.link
    return model.replace(left=rows, roles=("input", model.title("right")), link=link)


def save(model: FactorModel | Draft, path: AnyPath, *, force: bool = False) -> None:
    """Write a model in the format its suffix names; `.npz` holds all of it, the others vectors (and ids) only.

    Parameters
    ----------
    model : FactorModel or Draft
        What to write; the rows of a draft may be computed while they are written.
    path : path
        The file; it appears only when it is complete.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix names no format that can be written, the file exists, or the format cannot hold the model.
    """
    if not isinstance(model, FactorModel | Draft):
        raise must_be("the model", "a FactorModel", type(model).__name__, "make one of an object with from_object")
    path = as_path(path, "the output")
    draft = Draft.of(model) if isinstance(model, FactorModel) else model
    _require_room(draft, plain_suffix(path), room(path, draft))
    entry = writer_of(path)
    with written_whole(path, force=force) as file:
        getattr(module_of(entry), entry.writer)(file, draft)


def room(path: AnyPath, draft: Draft) -> frozenset[str]:
    """Return what a file can hold of a draft beside its right factors."""
    return room_in(writer_of(path), draft)


def _require_room(draft: Draft, suffix: str, fields: frozenset[str]) -> None:
    """Refuse to drop a side, a bias, ids, titles or a link in silence."""
    losses = draft.losses(fields)
    if "left" in losses:
        got, remedy = " and ".join(draft.roles), "save it as .npz, or keep one side only"
        raise must_be(f"a model saved as {suffix}", "one side only", f"{got} factors", remedy)
    for words in losses.values():
        roomy = [f.suffixes[0] for f in formats() if f.writes and f.is_usable and not draft.losses(room_in(f, draft))]
        remedy = f"write {' or '.join(roomy)}"
        raise must_be(f"{words} in a {suffix} file", "absent, which has no room for it", "one", remedy)


def stored_side(path: Path, side: str) -> Callable[[slice], NDArray[Any]]:
    """Return a reader of consecutive rows of a side of a file that `save` wrote; those of plain arrays stay there."""
    if plain_suffix(path) in (".npz", ".npy", ".safetensors"):
        arrays = open_arrays(path)
        return arrays.place(side if side in arrays.tensors else next(iter(arrays.tensors))).rows
    rows = load(path, kind="vectors").right
    return lambda mapping: rows[mapping]


def require_output(path: AnyPath, *, sides: Literal[1, 2] = 1, force: bool = False) -> None:
    """Refuse an output that `save` could not write, before the work that leads to it.

    Parameters
    ----------
    path : path
        The file to write.
    sides : {1, 2}
        How many sides the model will have; only `.npz` holds two.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix names no format that can be written or holds that many sides, or the file exists and `force` is
        not set.

    Examples
    --------
    >>> require_output("vectors.npy")
    >>> require_output("model.npy", sides=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the output must be a file that ends in .npz, which holds both sides; got model.npy.
    """
    entry = writer_of(path)
    module_of(entry)
    if sides == 2 and entry.module != "native":
        raise must_be("the output", f"a file that ends in {FORMATS[0].suffixes[0]}, which holds both sides", path)
    writable(path, force=force)
