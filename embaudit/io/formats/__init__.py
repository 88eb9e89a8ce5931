"""The formats that embaudit reads and writes, and the detection of a file's format.

A format is one module of this package. It decodes the bytes of a file, says what its
arrays are, writes such files, and registers its reader and its writer. A new module
needs no other entry, because `list_formats` imports all modules of the package::

    @register("gguf", suffixes=(".gguf",), magic=b"GGUF", extra="gguf", ...)
    def read(path: Path, request: Request) -> Contents: ...

A reader returns one of three things:

- named arrays (`Arrays`), if the layouts of `embaudit.io.layouts` know their names;
- a table (`TableFile`), if its columns have roles such as id and vector;
- the fields of a model (`Contents`), if the format itself says what its arrays are.

A store of vectors, such as a database, is registered in the same way, by a module of
`embaudit.io.stores`. Its reader is called with an address, such as
`lancedb:folder/table`, instead of a path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import IO, Any, TypeAlias

from embaudit.errors import InputError, must_be
from embaudit.io.arrays import Arrays
from embaudit.io.contents import Contents
from embaudit.io.draft import Draft
from embaudit.io.files import AnyPath, as_path, first_bytes, plain_suffix
from embaudit.io.options import Request
from embaudit.io.refusals import refusal, refuse_foreign
from embaudit.io.tables.columns import TableFile

PACKAGES = ("embaudit.io.formats", "embaudit.io.stores")
"""Packages whose modules register formats."""
FIRST = (
    "native",
    "implicit",
    "npy",
    "safetensors",
    "spark",
    "tables",
    "json_vectors",
    "hdf5",
    "gguf",
    "word2vec",
    "faiss",
    "onnx",
)
"""Order of these modules in lists of formats. Other modules follow by name."""
MOST_TRIED = 100
"""Number of files of a folder that are opened, at most, to name the readable ones."""
COLUMNS = ("vector_id", "vector", "bias", "ignore")
"""Options that assign roles to the columns of a table."""
ARRAYS = (
    "left",
    "weight",
    "left_bias",
    "bias",
    "left_id_array",
    "id_array",
    "transpose",
    "ignore",
)
"""Options that assign roles to named arrays."""

Reader: TypeAlias = Callable[..., Arrays | TableFile | Contents]
"""Reads the headers of a file: `read(path, request)` returns named arrays, a table, or
the fields of a model. The reader of a format that can lie in several files takes them
as third argument. The reader of a store takes an address instead of a path.
"""
Writer: TypeAlias = Callable[[IO[bytes], Draft], None]
"""Writes a draft into an open file."""
KeptFields: TypeAlias = Callable[[Draft], frozenset[str]]
"""Returns the fields of a draft that a format can hold next to its right factors."""


@dataclass(frozen=True)
class TableWriter:
    """Writes new tables of a store. Every function takes the address of the table."""

    require_new: Callable[[str, bool], None]
    """`require_new(address, force)` refuses an address that `write` could not write,
    before the vectors are computed. A table that exists is refused unless `force`.
    """
    write: Callable[[str, Draft, str, bool], Mapping[str, str]]
    """`write(address, draft, metric, force)` writes a draft whole or not at all. The
    metric is "cosine" or "dot". A table that exists is replaced if `force`. The options
    of `load` are returned that read the table with the ids of the draft.
    """
    remove: Callable[[str], None]
    """Removes a table."""
    keeps: KeptFields
    """Returns the fields of a draft that a table can hold next to the vectors."""
    states_metric: Callable[[Draft], bool] = lambda _: True
    """Returns whether the table of a draft states its metric."""


@dataclass(frozen=True)
class Format:
    """One file format, or one store of vectors."""

    name: str
    """Value of the option `format`."""
    suffixes: tuple[str, ...]
    """File name endings; "/" stands for a directory."""
    origin: str
    """Source of such files."""
    content: str
    """Contents of such files."""
    read: Reader = field(repr=False)
    """Reads the headers."""
    options: tuple[str, ...] = ()
    """Options of `load` that this reader takes next to the common options."""
    extra: str = ""
    """The extra of embaudit that installs the package it needs; empty for none."""
    package: str = field(default="", repr=False)
    """Name of the module that the extra installs."""
    magic: bytes = field(default=b"", repr=False)
    """First bytes of its files, if these identify them under any name."""
    addresses: tuple[str, ...] = ()
    """Beginnings of the addresses of a store, such as "qdrant:"."""
    recognises: Callable[[Path], bool] | None = field(default=None, repr=False)
    """Returns whether a file or folder with one of the suffixes is of this format; None
    if the suffix is enough.
    """
    recognises_any: Callable[[Path], bool] | None = field(default=None, repr=False)
    """Returns whether a file with any other suffix is of this format. It is called if
    neither first bytes nor suffix tell the format.
    """
    takes_files: bool = field(default=False, repr=False)
    """True if one table can lie in several files."""
    write: Writer | None = field(default=None, repr=False)
    """Writes a draft; None if `save` does not write this format."""
    keeps: KeptFields = field(default=lambda _: frozenset(), repr=False)
    """Returns the fields of a draft that its files can hold next to the right factors.
    """
    tables: TableWriter | None = field(default=None, repr=False)
    """Writes tables of a store; None if `save` does not write to this store."""

    @property
    def is_written(self) -> bool:
        """True if `save` writes this format or store."""
        return self.write is not None or self.tables is not None

    @property
    def is_usable(self) -> bool:
        """True if the package that it needs is installed, or if it needs none."""
        return not self.package or find_spec(self.package) is not None

    @property
    def noun(self) -> str:
        """Noun for such files, or for tables of such a store, in errors."""
        if self.addresses:
            return f"{self.name} tables"
        return f"{self.name} files"

    def require_usable(self) -> None:
        """Check that the package that the format needs is installed.

        Raises
        ------
        InputError
            If it is not installed.
        """
        if not self.is_usable:
            raise InputError(
                f"the package {self.package}, which {self.noun} need, must be "
                f"installed; run pip install 'embaudit[{self.extra}]'."
            )


_readers: dict[str, dict[Reader, list[Format]]] = {}
"""Formats by the module of their reader, and by the reader."""
_writers: dict[str, tuple[Writer, KeptFields]] = {}
"""Writer of each format, and the fields that its files hold, by name of the format."""
_table_writers: dict[str, TableWriter] = {}
"""Writer of tables of each store, by name of the store."""


def register(
    name: str,
    *,
    suffixes: tuple[str, ...] = (),
    origin: str,
    content: str,
    extra: str = "",
    package: str = "",
    **properties: Any,
) -> Callable[[Reader], Reader]:
    """Register the decorated function as the reader of a format.

    A function that reads several formats is decorated once for each of them.

    Parameters
    ----------
    name, suffixes, origin, content, extra, package
        As in `Format`. By default `package` has the name of the extra.
    **properties
        Other fields of `Format`.
    """

    def decorator(read: Reader) -> Reader:
        entry = Format(
            name=name,
            suffixes=suffixes,
            origin=origin,
            content=content,
            read=read,
            extra=extra,
            package=package or extra,
            **properties,
        )
        formats_of_module = _readers.setdefault(read.__module__, {})
        formats_of_reader = formats_of_module.setdefault(read, [])
        # Python applies the last of several decorators first, so inserting at the
        # front keeps the formats in the order in which they are written.
        formats_of_reader.insert(0, entry)
        return read

    return decorator


def register_writer(name: str, keeps: KeptFields) -> Callable[[Writer], Writer]:
    """Register the decorated function as the writer of a format.

    Parameters
    ----------
    name : str
        Name of the format.
    keeps : callable
        Returns the fields of a draft that a file holds next to the right factors.
    """

    def decorator(write: Writer) -> Writer:
        _writers[name] = write, keeps
        return write

    return decorator


def register_tables(name: str, writer: TableWriter) -> None:
    """Register the writer of the tables of a store by the name of the store."""
    _table_writers[name] = writer


@cache
def list_formats() -> tuple[Format, ...]:
    """List the formats and stores, including those whose package is not installed.

    Examples
    --------
    >>> list_formats()[0].name
    'embaudit'
    """
    entries: list[Format] = []
    for module in _modules():
        import_module(module)
        for registered in _readers.get(module, {}).values():
            entries += registered
    for place, entry in enumerate(entries):
        if entry.name in _writers:
            write, keeps = _writers[entry.name]
            entries[place] = replace(entry, write=write, keeps=keeps)
        if entry.name in _table_writers:
            tables = _table_writers[entry.name]
            entries[place] = replace(entry, tables=tables, keeps=tables.keeps)
    return tuple(entries)


def _modules() -> list[str]:
    """Return the modules of all formats, in the order of `FIRST`, then by name."""
    modules = []
    for package in PACKAGES:
        if find_spec(package) is None:
            continue
        path = import_module(package).__path__
        names = sorted(module.name for module in iter_modules(path))
        ordered = [name for name in FIRST if name in names]
        ordered += [name for name in names if name not in FIRST]
        modules += [f"{package}.{name}" for name in ordered]
    return modules


def format_named(name: str) -> Format:
    """Find a format by its name.

    Raises
    ------
    InputError
        If there is none, or a package that it needs is not installed.
    """
    for candidate in list_formats():
        if candidate.name == name:
            candidate.require_usable()
            return candidate
    names = ", ".join(candidate.name for candidate in list_formats())
    raise must_be("format", f"one of {names}", repr(name))


def store_of(address: object) -> Format | None:
    """Return the store that an address belongs to; None for a path or another object.

    Examples
    --------
    >>> store_of("model.npz") is None
    True
    """
    if not isinstance(address, (str, os.PathLike)):
        return None
    text = os.fspath(address)
    if not isinstance(text, str) or os.path.lexists(text):
        return None
    for candidate in list_formats():
        if text.startswith(candidate.addresses):
            return candidate
    return None


def address_of(path: AnyPath) -> str:
    """Return an address or a path as text, with the slashes that `Path` has dropped.

    Examples
    --------
    >>> address_of(Path("postgresql://localhost/shop/items"))
    'postgresql://localhost/shop/items'
    >>> address_of(Path("models/v.npy"))
    'models/v.npy'
    """
    text = os.fspath(path)
    store = store_of(text)
    if store is None:
        return text
    for beginning in store.addresses:
        collapsed = beginning.replace("//", "/")
        if text.startswith(collapsed) and not text.startswith(beginning):
            return beginning + text.removeprefix(collapsed)
    return text


def detect_format(path: Path) -> Format:
    """Determine the format of a file or directory by its name and content.

    Raises
    ------
    InputError
        If no format reads it. The sentence says what would help.
    """
    refuse_foreign(path)
    entry = _by_magic(path) or _by_suffix(path) or _by_content(path)
    if entry is None:
        raise refusal(path, _file_suffixes(list_formats()), _readable_files(path))
    return entry


def _file_suffixes(formats: Iterable[Format]) -> list[str]:
    """List the suffixes of files of some formats, each once."""
    suffixes: list[str] = []
    for entry in formats:
        for suffix in entry.suffixes:
            if suffix != "/" and suffix not in suffixes:
                suffixes.append(suffix)
    return suffixes


def _by_magic(path: Path) -> Format | None:
    """Return the format whose files begin with the first bytes of this one."""
    beginning = first_bytes(path)
    for candidate in list_formats():
        if candidate.magic and beginning.startswith(candidate.magic):
            candidate.require_usable()
            return candidate
    return None


def _by_suffix(path: Path) -> Format | None:
    """Return the first format of this suffix that recognises the file."""
    suffix = "/" if path.is_dir() else plain_suffix(path)
    # Stores come first, because some of their files have the suffix of a table.
    stores_first = sorted(list_formats(), key=lambda entry: not entry.addresses)
    for candidate in stores_first:
        if suffix in candidate.suffixes and (
            candidate.recognises is None or candidate.recognises(path)
        ):
            candidate.require_usable()
            return candidate
    return None


def _by_content(path: Path) -> Format | None:
    """Return the first format that recognises the file by its content."""
    for candidate in list_formats():
        if candidate.recognises_any is not None and candidate.recognises_any(path):
            candidate.require_usable()
            return candidate
    return None


def _readable_files(folder: Path) -> list[Path]:
    """Return the files in a folder, and in its folders, that can be read as a model.

    The list is empty for a path that is no folder. Suffixes alone do not tell, because
    a vocabulary or a configuration has the suffix of a format as well. Therefore up to
    100 files are opened.
    """
    entries = sorted([*folder.glob("*"), *folder.glob("*/*")])
    files = [entry for entry in entries if entry.is_file()]
    readable = []
    for file in files[:MOST_TRIED]:
        try:
            detect_format(file).read(file, Request())
        except (InputError, OSError):
            continue
        readable.append(file)
    return readable


def writer_of(path: AnyPath) -> Format:
    """Determine the format of an output by its suffix, or the store by its address.

    Raises
    ------
    InputError
        If no writable format has that suffix, or the store is only read.
    """
    store = store_of(path)
    if store is not None and store.tables is None:
        stores = [candidate.name for candidate in list_formats() if candidate.tables]
        raise must_be(
            "the output",
            f"a file, or a table of one of {', '.join(stores)}",
            f"a table of {store.name}, which embaudit only reads",
        )
    if store is not None:
        return store
    target = as_path(path, "the output")
    suffix = plain_suffix(target)
    written = [candidate for candidate in list_formats() if candidate.write is not None]
    for candidate in written:
        if suffix in candidate.suffixes and target.suffix.lower() != ".gz":
            return candidate
    of_suffix = [one for one in list_formats() if suffix in one.suffixes]
    if len(of_suffix) == 1 and of_suffix[0].tables is not None:
        table = f"{of_suffix[0].name}:{path}/TABLE"
        raise must_be("the output", f"a table, such as {table}", path)
    suffixes = " ".join(_file_suffixes(written))
    raise must_be("the output", f"a file that ends in one of {suffixes}", path)
