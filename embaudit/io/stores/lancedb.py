"""Tables of LanceDB, read and written by its client.

A store is a folder with a folder `TABLE.lance` for each table.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embaudit.core.progress import announced
from embaudit.errors import File, must_be
from embaudit.io.contents import Contents
from embaudit.io.draft import Draft
from embaudit.io.formats import COLUMNS, TableWriter, register, register_tables
from embaudit.io.intake import Metric
from embaudit.io.options import Request
from embaudit.io.stores.addresses import Address, chosen_table, no_store
from embaudit.io.stores.clients import errors_of_client, import_client, unreadable
from embaudit.io.stores.metrics import metric_named, metric_of_indexes
from embaudit.io.stores.tabular import ColumnTable, chosen_table_of_columns
from embaudit.io.stores.writing import (
    already_there,
    arrow_batches,
    arrow_schema,
    keeps,
    removed_if_new,
    require_place,
)

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".lance"
PLACE = "_rowid"
"""Column that LanceDB adds if the place of each row is wanted."""
ERRORS = (RuntimeError, OSError, ValueError)
"""Types of the errors that the client and its Rust code raise."""
PANIC = "RustPanic"
"""Name of the error that the client raises at some damaged tables. No module exports
its class.
"""
CODES = ("PQ", "SQ", "RQ")
"""Endings of the types of indexes that search rounded copies: product, scalar and
RaBitQ quantisation.
"""
DEFAULT = Metric(
    "l2", "LanceDB's default for a column without an index", is_default=True
)


def is_store(path: Path) -> bool:
    """Check for a folder with tables of LanceDB, or the folder of one table."""
    return _is_table(path) or any(map(_is_table, path.glob(f"*{SUFFIX}")))


def _is_table(path: Path) -> bool:
    return path.suffix == SUFFIX and (path / "_versions").is_dir()


@register(
    "lancedb",
    suffixes=("/",),
    origin="LanceDB, a folder or lancedb:FOLDER/TABLE",
    content="vectors, ids, titles, metric",
    options=COLUMNS,
    extra="lancedb",
    addresses=("lancedb:",),
    recognises=is_store,
)
def read(address: str | Path, request: Request) -> Contents:
    """Assign roles to the columns of a table; no vectors are read yet.

    Raises
    ------
    InputError
        If there is no such table, several and none is named, or it holds no vectors.
    """
    typed = Address.parse("lancedb", address)
    folder, wanted = _folder_and_table(typed)
    store = replace(typed, place=str(folder))
    names = sorted(path.stem for path in folder.glob(f"*{SUFFIX}") if _is_table(path))
    if not names:
        raise no_store(typed, "a folder of LanceDB")
    if wanted:
        # Tables are folders, so a wrong name is refused even without the client.
        chosen_table(store, names, wanted)
    lancedb = import_client("lancedb", extra="lancedb", what="a LanceDB table")
    with _errors_refused(typed):
        database = lancedb.connect(str(folder))
        name = chosen_table_of_columns(
            store, names, wanted, lambda name: database.open_table(name).schema
        )
        rows = _Rows(database.open_table(name), typed)
        return rows.table(str(folder / f"{name}{SUFFIX}")).contents(request)


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table as the client has opened it, in the version of that moment."""

    stored: Any
    address: Address

    def table(self, folder: str) -> ColumnTable:
        return ColumnTable(
            self.address,
            self.stored.schema,
            self.count,
            self.scan,
            self.metric,
            (folder,),
        )

    def count(self, filled: Sequence[str]) -> int:
        """Count the rows in which some columns are filled."""
        return int(self.stored.count_rows(_filter(filled)))

    def scan(
        self, columns: Sequence[str], *, filled: Sequence[str], n_rows: int
    ) -> Iterator[tuple[Any, pa.RecordBatch]]:
        """Read columns in the order of the rows; see `Scan`."""
        query = self.stored.search().select(list(columns)).with_row_id(True)
        # Older versions return ten rows of a search without a vector.
        query = query.limit(self.count(()))
        condition = _filter(filled)
        if condition is not None:
            query = query.where(condition)
        with _errors_refused(self.address):
            for batch in query.to_batches(n_rows):
                yield batch.column(PLACE), batch.select(list(columns))

    def metric(self, column: str) -> Metric:
        """Return the metric of the indexes of a column.

        The default of LanceDB is returned for a column without an index. If several
        indexes agree, `codes` describes what the first of them searches.
        """
        metrics = {}
        codes = {}
        for index in self.stored.list_indices():
            if list(index.columns) == [column]:
                statistics = self.stored.index_stats(index.name)
                name = getattr(statistics, "distance_type", None)
                if name:
                    metrics[index.name] = metric_named(str(name))
                    codes[index.name] = _codes(str(statistics.index_type))
        metric = metric_of_indexes(metrics)
        if metric is None:
            return DEFAULT
        if not metric.is_stated:
            return metric
        first_index = next(iter(codes))
        return replace(metric, codes=codes[first_index])


def _codes(index_type: str) -> str:
    """Describe what an index searches; empty for the vectors themselves.

    Examples
    --------
    >>> _codes("IVF_PQ"), _codes("IVF_HNSW_SQ"), _codes("IVF_FLAT")
    ('PQ codes of them', 'SQ codes of them', '')
    """
    ending = index_type.upper().rpartition("_")[2]
    if ending in CODES:
        return f"{ending} codes of them"
    return ""


@contextmanager
def _errors_refused(address: Address) -> Iterator[None]:
    """Turn errors of the client, and its panics, into refusals that name the store."""
    with errors_of_client(address, ERRORS):
        try:
            yield
        except Exception as error:
            if type(error).__name__ != PANIC:
                raise
            sentence = "the client LanceDB failed, as it does at damaged tables"
            raise RuntimeError(sentence) from error


def _filter(filled: Sequence[str]) -> str | None:
    """Return a condition of SQL for rows in which some columns are filled."""
    if not filled:
        return None
    return " AND ".join(f"`{name}` IS NOT NULL" for name in filled)


def _folder_and_table(address: Address) -> tuple[Path, str]:
    """Return the folder of the store, and the name of the table; empty for none."""
    folder, name = address.split(is_store)
    if _is_table(folder):
        return folder.parent, folder.stem
    return folder, name.removesuffix(SUFFIX)


def _require_new(text: str, force: bool) -> None:
    """Refuse a table that exists."""
    address = Address.parse("lancedb", text)
    folder, name = _folder_and_table(address)
    require_place(address, folder, name, "lancedb:FOLDER/TABLE")
    if folder.exists() and not folder.is_dir():
        raise must_be(File(folder), "a folder", "a file")
    if _is_table(folder / f"{name}{SUFFIX}") and not force:
        raise already_there(address)


def _remove(text: str) -> None:
    """Remove a table."""
    folder, name = _folder_and_table(Address.parse("lancedb", text))
    lancedb = import_client("lancedb", extra="lancedb", what="a LanceDB table")
    lancedb.connect(str(folder)).drop_table(name, ignore_missing=True)


def _write(text: str, draft: Draft, metric: str, force: bool) -> dict[str, str]:
    """Write a table with an index that states the metric.

    A table that is replaced gets a new version. If writing fails, its old version is
    restored.
    """
    address = Address.parse("lancedb", text)
    folder, name = _folder_and_table(address)
    _require_new(text, force)
    lancedb = import_client("lancedb", extra="lancedb", what="a LanceDB table")
    version = None
    if _is_table(folder / f"{name}{SUFFIX}"):
        version = lancedb.connect(str(folder)).open_table(name).version
    failures: list[BaseException] = []

    def batches() -> Iterator[pa.RecordBatch]:
        # The client replaces an error of this generator by its own, also after Ctrl-C,
        # so the error is kept.
        try:
            yield from arrow_batches(draft)
        except BaseException as error:
            failures.append(error)
            raise

    mode = "create" if version is None else "overwrite"
    try:
        with removed_if_new(folder):
            database = lancedb.connect(str(folder))
            table = database.create_table(
                name,
                batches(),
                schema=arrow_schema(draft),
                mode=mode,
            )
            with announced("building the index"):
                _build_index(table, metric, draft.right.shape[0])
    except BaseException as error:
        if version is None:
            shutil.rmtree(folder / f"{name}{SUFFIX}", ignore_errors=True)
        else:
            _restore(lancedb.connect(str(folder)).open_table(name), version)
        if failures:
            raise failures[0] from error
        if isinstance(error, ERRORS):
            raise unreadable(address, error, "written") from error
        raise
    return {}


def _restore(table: Any, version: int) -> None:
    """Return to a version of a table, unless it is the current one."""
    if table.version != version:
        table.checkout(version)
        table.restore()


def _build_index(table: Any, metric: str, n_rows: int) -> None:
    """Build an index of whole vectors, in parts of about 4,096 rows."""
    n_parts = max(1, n_rows // 4096)
    if "config" in signature(table.create_index).parameters:
        index = import_module("lancedb.index").IvfFlat
        config = index(distance_type=metric, num_partitions=n_parts)
        table.create_index("vector", config=config)
    else:
        table.create_index(
            metric=metric,
            vector_column_name="vector",
            index_type="IVF_FLAT",
            num_partitions=n_parts,
        )


register_tables("lancedb", TableWriter(_require_new, _write, _remove, keeps))
