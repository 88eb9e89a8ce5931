"""Reading a model: `load` and `read`, and their five steps in order.

1. `locate` finds the file, the store or the object that the caller names.
2. `detect` finds the format, the store or the library that reads it.
3. `read_arrays` reads names and shapes of arrays; numbers stay where they are.
4. `assign_roles` says which array becomes which field of a model (`Contents`).
5. `combine` adds the other side, ids, titles, training and final norm from other files
   and options, and builds the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from embaudit.errors import (
    InputError,
    Option,
    Parameter,
    Sentence,
    must_be,
    with_taker,
    without_secrets,
)
from embaudit.io.arrays import Arrays
from embaudit.io.combining import (
    with_declared,
    with_inputs,
    with_norm_of,
    with_overruled,
    with_rows_named,
    with_training,
)
from embaudit.io.contents import Contents, Source
from embaudit.io.files import AnyPath, located, together
from embaudit.io.formats import (
    Format,
    address_of,
    detect_format,
    format_named,
    store_of,
)
from embaudit.io.formats.tables import contents_of_table
from embaudit.io.intake import GIVEN, Intake, Part, Reading
from embaudit.io.layouts.checkpoints.encoders import refusal_of
from embaudit.io.layouts.checkpoints.row_names import tokens_beside
from embaudit.io.layouts.reading import contents_of
from embaudit.io.objects.arrays import is_array, kind_of_table
from embaudit.io.objects.helpers import unwrapped
from embaudit.io.objects.kinds import LiveKind
from embaudit.io.objects.own_scores import require_own_scores
from embaudit.io.options import NAMES_AND_FILES, Request, is_path, require_options
from embaudit.io.remote import naming, with_urls
from embaudit.io.tables.columns import TableFile
from embaudit.model import FactorModel

Readable: TypeAlias = FactorModel | Reading | AnyPath | Sequence[AnyPath] | object
"""What `load` and `read` take."""
ELSEWHERE = {
    "left_ids": "left_ids",
    "ids": "right_ids",
    "labels": "right_names",
    "inputs": "left",
    "states": "left",
    "left_counts": "left_counts",
    "right_counts": "right_counts",
}
"""Options that bring a field of a model from elsewhere."""


def load(
    source: Readable,
    *,
    kind: str | None = "auto",
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> FactorModel:
    """Read a model, whatever holds it. `read` also reports how each array was used.

    Parameters
    ----------
    source : path, list of paths, array, data frame or object
        A file or directory in one of the `list_formats`; a pattern such as
        `shards/*.parquet`, or a list of tables that lie one below another; the address
        of a store of vectors; or a URL that fsspec knows, such as `s3://…` (the extra
        `remote`), which is copied to this machine first, for as long as the process
        lasts, so that it can be mapped.

        Or an object in memory: an array, a data frame (pandas, polars, Arrow, DuckDB),
        an AnnData object, a state dictionary, or a trained model of implicit (ALS, BPR,
        logistic), LightFM, Surprise (SVD, SVD++, NMF), cornac, LensKit and its
        pipelines, RecBole, Spark (ALSModel, PipelineModel), scikit-learn (linear
        classifiers with probabilities, MLPClassifier, decompositions, pipelines and
        searches around them), gensim (KeyedVectors, Word2Vec), FAISS and hnswlib
        (indexes with whole vectors), clients of Qdrant, transformers,
        TransformerLens, Keras (Dense, Model) or torch (Linear, Embedding, any module
        whose names are known from files). If the object can score by itself, a few of
        its scores are compared with those of the arrays that were read. The options
        are added to a FactorModel, which is returned as it is if there are none.
    kind : {"auto", "factors", "head", "vectors"}
        Two factor matrices, a softmax head, or one table of vectors; by default the
        content decides.
    format : str, optional
        Name of the format of a file whose suffix and content do not tell it.
    **options
        What the content leaves open.

        Names inside the source: `left`, `weight`, `bias`, `left_bias` name arrays,
        which are two factors, or a head and perhaps its inputs; `id_array` and
        `left_id_array` name arrays of ids; `vector_id`, `vector` and `bias` name
        columns of a table of vectors; `ignore` names arrays to leave out, one or
        several, `*` standing for any letters. `left` can also be an array or a data
        frame itself; if `source` is an array, so can `bias` and `left_bias`.

        Other files: `left_file` holds the vectors of the left side, and next to a
        `.npy` file `bias_file` and `left_bias_file` hold biases; `ids` and `left_ids`
        are the ids of the rows or a file of them, and `ids_column` and
        `left_ids_column` the columns in it (see `read_ids`); `labels` is a file that
        names the right rows, or these names; `left_counts` and `right_counts` are the
        interactions behind each row, or files of them (see `read_counts`).

        Words: `transpose` says which sides are stored with one column an entity
        ("left", "right", "both", "none"); `left_name` and `right_name` are what one row
        of a side is called, such as "text" and "image"; `link` and `objective` are what
        the source cannot say; how it was trained is a word such as "implicit-als",
        "clip" or "word2vec", which sets the link, too (`embaudit explain objectives`
        lists them); `compared` ("cosine" or "dot") says that the model compares the
        rows of this one table with each other, as sentence encoders do.

        Inputs of a head: `inputs` are vectors that a head, or a table of vectors, is
        multiplied with, or a file of them; of a trained classifier what its `predict`
        takes, of a torch module what its `forward` takes. `states` are states of a
        network before the final norm of its head, which is applied to them, or a file
        of them; `norm` names the gains of that norm, "none" where there is none, and
        `norm_kind` its kind ("rms", "layer"): by default what the architecture of the
        checkpoint says. `user_features` and `item_features` (sparse matrix or "none")
        are those that a LightFM model was trained with.

    Raises
    ------
    InputError
        If a file is not there, is damaged, ambiguous, or an option does not apply to
        its format; if something is left over that could matter, such as a bias under
        another name; or if an object is not fitted, is of no known kind, is a model
        whose predictions no link describes, or does not score as its arrays do.

    Examples
    --------
    >>> items, users = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]
    >>> load(items, left=users, ids=["a", "b"])
    FactorModel(1 user × 2 items, 2 dimensions, identity link, float64)
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> load(LogisticRegression().fit(X, ["no", "no", "yes", "yes"]), inputs=X)
    FactorModel(4 inputs × 2 labels, 1 dimension, softmax link, float64, label bias)
    """
    return read(source, kind=kind, format=format, **options).model


def read(
    source: Readable,
    *,
    kind: str | None = "auto",
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Reading:
    """Read a model, and report how each array was used.

    The report also lists arrays that were left over, and assumptions. Parameters are
    those of `load`, and so are the errors.

    Returns
    -------
    Reading
        The model and its intake.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> classifier = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> read(classifier).intake.line()
    'read as LogisticRegression of sklearn: coef_, intercept_, classes_'
    """
    given = _given(kind, format, options)
    if isinstance(source, Reading):
        if not given:
            return source
        source = source.model
    if isinstance(source, FactorModel) and not given:
        return Reading(source, Intake("model", ()))
    location = locate(source)
    request = request_for(location, given)
    with errors_named(location):
        contents = contents_at(location, request)
        return combine(contents, request, location)


def inspect(
    source: Readable,
    *,
    kind: str | None = "auto",
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> Intake:
    """Report what `read` would make of a file, from its headers alone.

    Parameters are those of `load`. No numbers of vectors are read, so damage that only
    the numbers show is not found.
    """
    location = locate(source)
    request = request_for(location, _given(kind, format, options))
    with errors_named(location):
        contents = contents_at(location, request)
        contents, request = with_left(contents, request)
        contents = contents.of_kind(request.kind)
        intake = report(contents, request, location)
        norm, link = contents.norm, contents.link
        if norm is None or link is None:
            return intake
        width = contents.fields["right"].shape[-1] or 0
        return norm.recorded(intake) if norm.norm.fits(link, width) else intake


def model_of(source: Readable) -> FactorModel:
    """Return the model of an argument of a function that takes no options of reading.

    Raises
    ------
    InputError
        As `load` does. If the sentence names options, it adds that `embaudit.load`
        takes them.

    Examples
    --------
    >>> model_of({"W": [[1.0, 2.0]]})
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ...
    """
    try:
        return load(source)
    except InputError as error:
        raise with_taker(error, "embaudit.load") from error


def source_of(source: object) -> str | None:
    """Return the path of a model, or the folder of its files; None for an object.

    Examples
    --------
    >>> source_of("model.npz"), source_of(["shards/a.parquet", "shards/b.parquet"])
    ('model.npz', 'shards')
    >>> source_of(object()) is None
    True
    """
    if not is_path(source):
        return None
    if isinstance(source, list | tuple):
        if not source:
            return None
        folder, _ = together(map(Path, source))
        return without_secrets(str(folder))
    return without_secrets(address_of(source))  # type: ignore[arg-type]


def _given(
    kind: str | None,
    format: str | None,  # noqa: A002
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the options that the caller gave; None and kind="auto" give nothing."""
    options = {"kind": kind, "format": format, **options}
    given = {name: value for name, value in options.items() if value is not None}
    if given.get("kind") == "auto":
        del given["kind"]
    return given


def request_for(location: Location, given: dict[str, Any]) -> Request:
    """Check the options that the caller gave for a source.

    Raises
    ------
    InputError
        For an unknown option, a value of another type, and options that contradict
        each other.
    """
    request = Request.of(given, arrays=is_array(location.value))
    left = request.left_file
    if is_path(left):
        _require_another(left, location)
    elif left is not None and kind_of_table(left) is None:
        raise must_be(
            "left",
            "an array, a data frame or the name of an array",
            type(left).__name__,
        )
    return request


def _require_another(left: Any, location: Location) -> None:
    """Refuse one file as both sides.

    Rows that are compared with each other are one table.
    """
    if isinstance(left, list | tuple) or not Path(left).exists():
        return
    files = location.files
    if not files and location.path is not None:
        files = (location.path,)
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


# 1. Locate


@dataclass(frozen=True, eq=False)
class Location:
    """The place of a model."""

    path: Path | None = None
    """A file or a folder."""
    files: tuple[Path, ...] = ()
    """Files of one table, if several were named."""
    address: str = ""
    """Address of a store of vectors."""
    value: Any = None
    """An object in memory; None for the others."""

    @property
    def is_in_memory(self) -> bool:
        """Return whether it is an object."""
        return self.path is None and not self.address

    def __str__(self) -> str:
        return str(self.path or self.address)

    @property
    def name(self) -> str:
        """Name for errors; empty for an object."""
        return "" if self.is_in_memory else str(self)


def locate(source: Readable) -> Location:
    """Find what a path, a list of paths, an address or an object names.

    Raises
    ------
    InputError
        If a file is not there, or is empty.
    """
    if store_of(source) is not None:
        return Location(address=address_of(source))  # type: ignore[arg-type]
    if is_path(source):
        path, files = located(source)  # type: ignore[arg-type]
        return Location(path, files)
    return Location(value=unwrapped(source))


@contextmanager
def errors_named(location: Location) -> Iterator[None]:
    """Add the name of the file to errors, including those of the system."""
    try:
        with naming(location.name):
            yield
    except OSError as error:
        if location.is_in_memory:
            raise
        sentence = Sentence("{} cannot be read: {}.", location, error.strerror or error)
        raise InputError(sentence.map_texts(with_urls)) from error


# 2. Detect


def detect(location: Location, request: Request) -> Format | LiveKind:
    """Find the format of a file, the store of an address, or the library of an object.

    Raises
    ------
    InputError
        If no format or library reads it. The sentence says what would help.
    """
    name = request.format
    if location.is_in_memory:
        if name is not None:
            raise InputError(
                "{} must be left out beside an object, whose class says it.",
                Parameter("format"),
            )
        # Imported late, so that reading a file does not import all readers of objects.
        from embaudit.io.objects.live import kind_of_object

        return kind_of_object(location.value)
    store = store_of(location.address)
    if store is not None:
        # Its reader checks the path first, and then whether the client is installed.
        return store
    assert location.path is not None
    if location.files:
        return format_named("tables")
    # The tables inside an encoder are not the embeddings of texts or images. They are
    # read only if the caller names one.
    if location.path.is_dir() and request.weight is None:
        refusal = refusal_of(location.path)
        if refusal is not None:
            raise refusal
    return detect_format(location.path) if name is None else format_named(name)


# 3. Read arrays


def read_arrays(
    location: Location, reader: Format | LiveKind, request: Request
) -> Arrays | TableFile | Contents:
    """Read names and shapes of arrays or of the columns of a table.

    A format that says itself what its arrays are returns the fields of a model.

    Raises
    ------
    InputError
        If a file is damaged, or an option does not apply to it.
    """
    require_options(request, reader.options, reader.noun)
    if isinstance(reader, LiveKind):
        return reader.read(location.value, request)
    if location.address:
        return reader.read(location.address, request)
    if reader.takes_files:
        return reader.read(location.path, request, location.files)
    return reader.read(location.path, request)


# 4. Assign roles


def assign_roles(
    arrays: Arrays | TableFile | Contents,
    location: Location,
    reader: Format | LiveKind,
    request: Request,
) -> Contents:
    """Say which array or column becomes which field of a model.

    Raises
    ------
    InputError
        If their names leave more than one reading.
    """
    if isinstance(arrays, Contents):
        contents = arrays
    elif isinstance(arrays, TableFile):
        contents = contents_of_table(arrays, request)
    else:
        contents = contents_of(arrays, request, location.path or f"the {reader.noun}")
    contents = replace(contents, format=reader.name)
    if location.is_in_memory:
        return contents
    if location.path is not None and not location.files:
        # A vocabulary next to a table of tokens names its rows.
        folder = location.path if location.path.is_dir() else location.path.parent
        tokens = tokens_beside(folder, contents)
        contents = replace(contents, fields={**contents.fields, **tokens})
    require_files(request, contents)
    return replace(contents, files=contents.files or (str(location),))


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


def contents_at(location: Location, request: Request) -> Contents:
    """Detect the format, read the arrays and assign their roles."""
    reader = detect(location, request)
    arrays = read_arrays(location, reader, request)
    return assign_roles(arrays, location, reader, request)


# 5. Combine


def combine(contents: Contents, request: Request, location: Location) -> Reading:
    """Build the model from contents and options, and report how they were used.

    Raises
    ------
    InputError
        If they contradict each other, or an object does not score as its arrays do.
    """
    if location.is_in_memory:
        request = _without_used(request, contents)
    contents, request = with_left(contents, request)
    whole, contents = contents, contents.of_kind(request.kind)
    intake = report(contents, request, location)
    stated = with_rows_named(contents.model(), request)
    read_intake = intake
    model = with_declared(stated, request)
    model, norm = with_norm_of(model, contents.norm, request)
    model = with_inputs(model, _inputs_read(request))
    model, intake = with_training(model, intake, contents, request, location.path)
    model = with_overruled(model, stated, read_intake, request, location.path)
    rows_of_files = contents.rows_of_files()
    if len(rows_of_files) > 1:
        intake = replace(intake, rows_of_files=rows_of_files)
    intake = intake.of(model, declared=request.given)
    if norm is not None:
        intake = norm.recorded(intake)
    if whole.own is not None:
        # Vectors alone are part of a model that scores.
        scored = whole.model() if request.kind == "vectors" else model
        require_own_scores(scored, whole.own, type(location.value).__name__)
    return Reading(model, intake, norm)


def _inputs_read(request: Request) -> Request:
    """Replace files of inputs and of states by the vectors in them."""
    changes: dict[str, Any] = {}
    for name in ("inputs", "states"):
        value = getattr(request, name)
        if isinstance(value, str | os.PathLike):
            changes[name] = load(value, kind="vectors").right
    return replace(request, **changes)


def _without_used(request: Request, contents: Contents) -> Request:
    """Replace the options that the reader of an object has already used.

    Inputs are replaced by the vectors that reach the factors, and dropped if they are
    examples of pairs, which are no left side. Ids of left rows are dropped for vectors
    alone.
    """
    if contents.inputs is not None:
        request = replace(request, inputs=contents.inputs)
    if contents.own is not None and contents.own.pairs is not None:
        request = replace(request, inputs=None)
    if request.kind == "vectors" and "left" in contents.fields:
        request = replace(request, left_ids=None)
    return request


def with_left(contents: Contents, request: Request) -> tuple[Contents, Request]:
    """Add the vectors of the options `left` and `left_file` as the left side.

    Their ids, names and counts become those of the left side.

    Raises
    ------
    InputError
        If they are not vectors of one side, or the contents already have a left side.
    """
    left = request.left_file
    if left is None:
        return contents, request
    options: dict[str, Any] = {}
    if request.transposes("left"):
        options["transpose"] = "right"
    if is_path(left):
        option = "left_file"
        options["ignore"] = request.ignore
    else:
        option = "left"
    location = locate(left)
    left_request = request_for(location, options)
    with errors_named(location):
        other = contents_at(location, left_request)
    name = location.name or GIVEN
    if "left" in other.fields:
        got, remedy = "a model of both", "give the vectors of one"
        raise must_be(option, "vectors of one side", got, remedy)
    if "left" in contents.fields:
        raise InputError(
            "the table beside {} must be vectors of one side; got a model of both; "
            "give the vectors of one.",
            Option(option),
        )
    fields: dict[str, Source] = {}
    for field, source in other.fields.items():
        if field.startswith("right"):
            place = f"{source.name} of {name}" if source.name else ""
            fields[field.replace("right", "left")] = replace(source, name=place)
    fields["left"] = replace(fields["left"], name=name)
    contents = replace(
        contents,
        fields={**fields, **contents.fields},
        files=(*contents.files, *other.files),
    )
    # The kind is that of the file alone.
    return contents, replace(request, left_file=None, kind="auto")


def report(contents: Contents, request: Request, location: Location) -> Intake:
    """Report which array becomes which field, and which fields the caller gave.

    URLs stand for the copies that were made of them.
    """
    intake = contents.intake(contents.format, location.name or None)
    files: list[str] = []
    parts: list[Part] = []
    for option, field in ELSEWHERE.items():
        value = getattr(request, option)
        if value is None:
            continue
        if isinstance(value, str | os.PathLike):
            files.append(str(value))
            parts.append(Part(str(value), field))
        else:
            parts.append(Part(GIVEN, field))
    intake = intake.beside(*parts)
    return replace(
        intake,
        parts=tuple(replace(part, name=with_urls(part.name)) for part in intake.parts),
        files=tuple(map(with_urls, (*intake.files, *files))),
    )
