"""Reading a model: `load` and `read`, and their five steps in order.

1. `locate` finds the file, the store or the object that the caller names.
2. `detect` finds the format, the store or the library that reads it.
3. `read_arrays` reads names and shapes of arrays; numbers stay where they are.
4. `assign_roles` says which array becomes which field of a model (`Contents`).
5. `combine` adds the other side, ids, titles, training and final norm from other files
   and options, and builds the model.

For example, `load("films.parquet")` locates a file and detects the format "parquet".
Its reader opens the header as a `TableFile`. Then the column of lists becomes the field
`right`, and the column `id` becomes `right_ids`. Some readers know the roles of their
arrays and return `Contents`: the reader of checkpoints ("shards") for a Hugging Face
folder, and the readers of stores, such as that of `lancedb:films/items`.
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
from embaudit.io.files import AnyPath, find_input, with_common_folder
from embaudit.io.formats import (
    Format,
    address_of,
    detect_format,
    format_named,
    store_of,
)
from embaudit.io.formats.tables import contents_of_table
from embaudit.io.intake import FROM_CALLER, Intake, Part, Reading
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
FIELDS_FROM_OPTIONS = {
    "left_ids": "left_ids",
    "ids": "right_ids",
    "labels": "right_names",
    "inputs": "left",
    "states": "left",
    "left_counts": "left_counts",
    "right_counts": "right_counts",
}
"""The field of a model that each of these options gives, from outside of the source."""


def load(
    source: Readable,
    *,
    kind: str | None = "auto",
    format: str | None = None,  # noqa: A002
    **options: Any,
) -> FactorModel:
    """Read a model from a file, a folder, a store, a URL or an object in memory.

    `read` returns the same model together with a report of how each array was used.

    Parameters
    ----------
    source : path, list of paths, array, data frame or object
        Outside this process, the source is one of these:

        - a file or a folder in one of the `list_formats`;
        - a pattern such as `shards/*.parquet`, or a list of files, whose tables are
          read as one table in the order of the names, or of the list;
        - the address of a table in a store of vectors, such as `lancedb:folder/table`;
        - a URL that fsspec knows, such as `s3://…` (it needs the extra `remote`). The
          file is copied to this machine, so that it can be mapped into memory. The copy
          is removed when the process ends.

        In memory, it is one of these:

        - an array, a data frame (pandas, polars, Arrow, DuckDB), an AnnData object or a
          state dictionary;
        - a trained recommender of implicit (ALS, BPR, logistic), LightFM, Surprise
          (SVD, SVD++, NMF), cornac, LensKit and its pipelines, RecBole, or Spark
          (ALSModel, PipelineModel);
        - an estimator of scikit-learn: a linear classifier with probabilities, an
          MLPClassifier, a decomposition, or a pipeline or search around one of them;
        - word vectors of gensim (KeyedVectors, Word2Vec), an index of FAISS or hnswlib
          that keeps whole vectors, or a client of Qdrant;
        - a network of transformers, TransformerLens, Keras (Dense, Model) or torch
          (Linear, Embedding, or any module with array names that are known from files);
        - a FactorModel. It is returned as it is if no options are given; otherwise the
          options are added to it.

        If the object can score by itself, a few of its scores are compared with those
        of the arrays that were read.
    kind : {"auto", "factors", "head", "vectors"}
        What the source holds: two factor matrices, a softmax head, or one table of
        vectors. By default its content decides.
    format : str, optional
        Name of the format of a file, if neither its suffix nor its content tells it.
    **options
        What the source does not say. An option that is None counts as not given.

        Arrays inside the source, by name:

        - `left` and `weight`: the two factor matrices, or the inputs and the weights of
          a head. `left` can also be an array or a data frame;
        - `bias` and `left_bias`: the biases of the right and the left rows. If the
          source is an array, these are arrays as well;
        - `id_array` and `left_id_array`: the ids of the right and the left rows;
        - `ignore`: one or several arrays to skip; `*` stands for any letters.

        Columns of a table of vectors, by name: `vector_id`, `vector` and `bias`.

        Other files:

        - `left_file`: the vectors of the left side;
        - `bias_file` and `left_bias_file`: biases next to a `.npy` file;
        - `ids` and `left_ids`: the ids of the rows, or a file with them. If the file is
          a table, `ids_column` and `left_ids_column` name its column (see `read_ids`);
        - `labels`: the names of the right rows, or a file with them;
        - `left_counts` and `right_counts`: the number of interactions of each row, or a
          file with them (see `read_counts`).

        How the arrays are stored, and what the rows are called:

        - `transpose`: the sides ("left", "right", "both", "none") that are stored with
          one column per entity;
        - `left_name` and `right_name`: the noun for one row of a side, such as "text"
          and "image".

        How the model was trained:

        - `link`: how scores become predictions;
        - `objective`: a word such as "implicit-als", "clip" or "word2vec" (`embaudit
          explain objectives` lists them). The word sets the link as well;
        - `compared`: "cosine" or "dot", if the model compares the rows of one table
          with each other, as sentence encoders do.

        Inputs of a head, or of a table of vectors:

        - `inputs`: the vectors that the rows are multiplied with, or a file with them.
          For a trained classifier these are inputs of its `predict`, and for a torch
          module inputs of its `forward`;
        - `states`: states of a network before the final norm of its head, or a file
          with them. The norm is applied to them;
        - `norm` and `norm_kind`: the name of the gains of that norm ("none" if there is
          no norm) and its kind ("rms" or "layer"). By default the architecture of the
          checkpoint decides;
        - `user_features` and `item_features`: the sparse matrices that a LightFM model
          was trained with, or "none".

    Returns
    -------
    FactorModel
        The model. Large arrays can stay on disk, as memory maps.

    Raises
    ------
    InputError
        If a file is missing or damaged; if the names of its arrays allow more than one
        reading; if an option does not apply to its format; if an array is left over
        that could change the result, such as a bias under another name; or if an object
        is not fitted, is of no known kind, has predictions that no link describes, or
        does not score as its arrays do.

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

    The report also lists arrays that were left over, and assumptions.

    Parameters
    ----------
    source : path, list of paths, array, data frame or object
        Everything that `load` reads.
    kind : {"auto", "factors", "head", "vectors"}
        As for `load`.
    format : str, optional
        As for `load`.
    **options
        As for `load`.

    Returns
    -------
    Reading
        The model and its intake.

    Raises
    ------
    InputError
        As for `load`.

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
    request = _request_for(location, given)
    with _naming_errors(location):
        contents = _contents_at(location, request)
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
    request = _request_for(location, _given(kind, format, options))
    with _naming_errors(location):
        contents = _contents_at(location, request)
        contents, request = _with_left(contents, request)
        contents = contents.of_kind(request.kind)
        intake = _report(contents, request, location)
        norm, link = contents.norm, contents.link
        if norm is None or link is None:
            return intake
        # A norm that does not fit is dropped when the model is built.
        width = contents.fields["right"].shape[-1] or 0
        if norm.norm.fits(link, width):
            intake = norm.recorded(intake)
        return intake


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
        folder, _ = with_common_folder(map(Path, source))
        return without_secrets(str(folder))
    return without_secrets(address_of(source))  # type: ignore[arg-type]


# Options of the caller


def _given(
    kind: str | None,
    format: str | None,  # noqa: A002
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the options that the caller gave.

    An option that is None, and kind="auto", count as not given.
    """
    options = {"kind": kind, "format": format, **options}
    given = {name: value for name, value in options.items() if value is not None}
    if given.get("kind") == "auto":
        del given["kind"]
    return given


def _request_for(location: Location, given: dict[str, Any]) -> Request:
    """Check the options that the caller gave for a source.

    Raises
    ------
    InputError
        For an unknown option, a value of another type, and options that contradict
        each other.
    """
    request = Request.from_options(given, arrays=is_array(location.value))
    left = request.left_file
    if is_path(left):
        _require_another_file(left, location)
    elif left is not None and kind_of_table(left) is None:
        raise must_be(
            "left",
            "an array, a data frame or the name of an array",
            type(left).__name__,
        )
    return request


def _require_another_file(left: Any, location: Location) -> None:
    """Refuse a left side that is the file of the model itself.

    If its rows are compared with each other, they are one table, not two sides.
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
            f"{left}, which is the file of this side",
            Sentence(
                "if the rows of one table are compared with each other, use {} instead",
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
    """An object in memory; None for a path and for an address."""

    @property
    def is_in_memory(self) -> bool:
        """True for an object in memory."""
        return self.path is None and not self.address

    @property
    def name(self) -> str:
        """The path or the address, as errors name it; empty for an object."""
        if self.path is not None:
            return str(self.path)
        return self.address

    def __str__(self) -> str:
        return self.name


def locate(source: Readable) -> Location:
    """Find the files or the object that a path, a list, an address or an object names.

    Raises
    ------
    InputError
        If a file is not there, or is empty.
    """
    if store_of(source) is not None:
        return Location(address=address_of(source))  # type: ignore[arg-type]
    if is_path(source):
        path, files = find_input(source)  # type: ignore[arg-type]
        return Location(path, files)
    return Location(value=unwrapped(source))


@contextmanager
def _naming_errors(location: Location) -> Iterator[None]:
    """Add the name of the file to errors, including those of the system."""
    name = location.name
    if location.files and location.path == Path():
        # Several files of the current folder were named, and "." names none of them.
        name = ""
    try:
        with naming(name):
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
                "{} must be omitted for an object in memory, because its class "
                "decides how "
                "it is read.",
                Parameter("format"),
            )
        # Imported late, so that reading a file does not import all readers of objects.
        from embaudit.io.objects.live import kind_of_object

        return kind_of_object(location.value)
    store = store_of(location.address)
    if store is not None:
        # Unlike a format, a store is returned without a check that its client is
        # installed: the reader checks the path first, so that a wrong path is named.
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
    if name is not None:
        return format_named(name)
    return detect_format(location.path)


# 3. Read arrays


def read_arrays(
    location: Location, reader: Format | LiveKind, request: Request
) -> Arrays | TableFile | Contents:
    """Read names and shapes of arrays, or of the columns of a table.

    A reader that knows the roles of its arrays returns the fields of a model instead.

    Raises
    ------
    InputError
        If a file is damaged, or an option does not apply to it.
    """
    require_options(request, reader.options, reader.noun)
    if isinstance(reader, LiveKind):
        # Readers of objects carry the inputs through the layers before the factors.
        return reader.read(location.value, _with_inputs_read(request))
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
    """Determine which array or column becomes which field of a model.

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
        folder = location.path
        if not folder.is_dir():
            folder = folder.parent
        tokens = tokens_beside(folder, contents)
        contents = replace(contents, fields={**contents.fields, **tokens})
    _require_files(request, contents)
    return replace(contents, files=contents.files or (str(location),))


def _require_files(request: Request, contents: Contents) -> None:
    """Refuse the name of an array as the value of an option that takes a file.

    Raises
    ------
    InputError
        If there is no such file, but an array or a column of the model's file has this
        name.
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
                f"{value!r}, the name of an array in the file of the model",
                Sentence("name the array with {}", Option(name, value)),
            )


def _contents_at(location: Location, request: Request) -> Contents:
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
    # The fields, with a left side from elsewhere, restricted to the kind of model that
    # the caller wants.
    if location.is_in_memory:
        request = _without_used_options(request, contents)
    all_contents, request = _with_left(contents, request)
    contents = all_contents.of_kind(request.kind)
    intake = _report(contents, request, location)

    # The model as the source describes it, with the ids and names of its rows.
    stated = with_rows_named(contents.model(), request)
    stated_intake = intake

    # What the caller declares, and what other files say, is added one after the other.
    model = with_declared(stated, request)
    model, norm = with_norm_of(model, contents.norm, request)
    model = with_inputs(model, _with_inputs_read(request))
    model, intake = with_training(model, intake, contents, request, location.path)
    model = with_overruled(model, stated, stated_intake, request, location.path)

    # The report of what was read.
    rows_of_files = contents.rows_of_files()
    if len(rows_of_files) > 1:
        intake = replace(intake, rows_of_files=rows_of_files)
    intake = intake.with_model(model, declared=request.given)
    if norm is not None:
        intake = norm.recorded(intake)

    # An object that can score is compared with all that was read of it, even if the
    # caller wants its vectors only.
    if all_contents.own is not None:
        scored = model
        if request.kind == "vectors":
            scored = all_contents.model()
        require_own_scores(scored, all_contents.own, type(location.value).__name__)
    return Reading(model, intake, norm)


def _with_inputs_read(request: Request) -> Request:
    """Replace the files of the options `inputs` and `states` by their vectors."""
    changes: dict[str, Any] = {}
    for name in ("inputs", "states"):
        value = getattr(request, name)
        if isinstance(value, str | os.PathLike):
            changes[name] = load(value, kind="vectors").right
    return replace(request, **changes)


def _without_used_options(request: Request, contents: Contents) -> Request:
    """Replace or drop the options that the reader of an object has already used."""
    if contents.inputs is not None:
        # The reader has carried the inputs through the layers before the factors.
        request = replace(request, inputs=contents.inputs)
    if contents.own is not None and contents.own.pairs is not None:
        # The inputs were examples of pairs, which are no rows of a left side.
        request = replace(request, inputs=None)
    if request.kind == "vectors" and "left" in contents.fields:
        # The reader named the left rows, which are now dropped.
        request = replace(request, left_ids=None)
    return request


def _with_left(contents: Contents, request: Request) -> tuple[Contents, Request]:
    """Add the vectors of the option `left` or `left_file` as the left side.

    They are read like a model of one side. Their ids, names and counts become those of
    the left side.

    Raises
    ------
    InputError
        If they are not vectors of one side, the contents already have a left side, or
        `transpose` names a left side that does not exist.
    """
    left = request.left_file
    if left is None:
        if request.transpose == "left" and "left" not in contents.fields:
            raise InputError(
                "{} must be omitted, because the model has no left side; choose {} to "
                "transpose its only table.",
                Option("transpose", "left"),
                Option("transpose", "right"),
            )
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
    left_request = _request_for(location, options)
    with _naming_errors(location):
        other = _contents_at(location, left_request)
    if "left" in other.fields:
        got, remedy = "a model of two sides", "give the vectors of one side"
        raise must_be(option, "vectors of one side", got, remedy)
    if "left" in contents.fields:
        raise InputError(
            "{} must be omitted, because the model has two sides already.",
            Option(option),
        )
    name = location.name or FROM_CALLER
    fields: dict[str, Source] = {}
    for field, source in other.fields.items():
        if field.startswith("right"):
            place = ""
            if source.name:
                place = f"{source.name} of {name}"
            fields[field.replace("right", "left")] = replace(source, name=place)
    fields["left"] = replace(fields["left"], name=name)
    contents = replace(
        contents,
        fields={**fields, **contents.fields},
        files=(*contents.files, *other.files),
    )
    # The option `kind` describes the file without this left side, so it is used up.
    return contents, replace(request, left_file=None, kind="auto")


def _report(contents: Contents, request: Request, location: Location) -> Intake:
    """Report which array becomes which field, and which fields come from options.

    A file that was copied from a URL is reported by its URL.
    """
    intake = contents.intake(contents.format, location.name or None)
    files: list[str] = []
    parts: list[Part] = []
    for option, field in FIELDS_FROM_OPTIONS.items():
        value = getattr(request, option)
        if value is None:
            continue
        if isinstance(value, str | os.PathLike):
            files.append(str(value))
            parts.append(Part(str(value), field))
        else:
            parts.append(Part(FROM_CALLER, field))
    intake = intake.beside(*parts)
    return replace(
        intake,
        parts=tuple(replace(part, name=with_urls(part.name)) for part in intake.parts),
        files=tuple(map(with_urls, (*intake.files, *files))),
    )
