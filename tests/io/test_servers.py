"""Stores on servers without their clients, and folders that are not opened."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from embaudit.errors import InputError
from embaudit.io import load, require_output

if TYPE_CHECKING:
    from pathlib import Path

ADDRESSES = {
    "qdrant:http://localhost:6333/items": ("qdrant_client", "qdrant"),
    "postgresql://localhost/shop/items": ("psycopg", "postgres"),
    "postgres:items": ("psycopg", "postgres"),
}
"""Addresses, the client that each needs, and the extra that brings it."""


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_client_that_is_missing_is_named_with_its_extra(
    address: str, monkeypatch: pytest.MonkeyPatch, embaudit: Any
) -> None:
    client, extra = ADDRESSES[address]
    monkeypatch.setitem(sys.modules, client, None)
    line = f"pip install 'embaudit[{extra}]'"
    result = embaudit("audit", address)
    assert result.code == 2
    assert line in " ".join(result.err.split())
    with pytest.raises(InputError, match=f"the package {client}, which") as caught:
        require_output(address)
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("collections", "name"),
    [({"films": {}}, "films"), ({"a": {}, "b": {}}, "NAME"), (None, "NAME")],
)
def test_folders_of_the_local_mode_of_qdrant_are_refused(
    tmp_path: Path, collections: Any, name: str
) -> None:
    folder = tmp_path / "local"
    (folder / "collection" / "films").mkdir(parents=True)
    # A file that would be read as SQLite, with pickles in it.
    (folder / "collection" / "films" / "storage.sqlite").write_bytes(b"SQLite format 3")
    settings = "{" if collections is None else json.dumps({"collections": collections})
    (folder / "meta.json").write_text(settings)
    with pytest.raises(InputError, match="a folder of pickles, which could run") as one:
        load(folder)
    assert f"QdrantClient(path={str(folder)!r}), collection={name!r})" in str(one.value)


def test_a_store_that_is_only_read_is_no_output() -> None:
    with pytest.raises(InputError, match="a table of sqlite-vec, which embaudit only"):
        require_output("sqlite-vec:films.db/items")
