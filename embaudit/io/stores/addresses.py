"""Addresses of stores and of their tables, as a user types them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from embaudit.core.words import listed
from embaudit.errors import File, InputError, must_be, without_secrets

LISTED = 12
"""Largest number of tables that an error lists."""


@dataclass(frozen=True)
class Address:
    """Address of a store or of a table of vectors, as users type it: `STORE:PLACE`.

    Examples
    --------
    >>> address = Address("lancedb", "data/films")
    >>> str(address), str(address.with_table("items"))
    ('lancedb:data/films', 'lancedb:data/films/items')
    """

    store: str
    """Name of the format, such as "lancedb"."""
    place: str
    """Path or connection after the prefix, and the name of a table if there is one."""
    typed: str = ""
    """Address as the user typed it, for errors. If it is empty, errors show
    `STORE:PLACE`.
    """

    @classmethod
    def parse(cls, store: str, address: str | Path) -> Address:
        """Parse an address, whose prefix can be missing for a local store.

        Examples
        --------
        >>> Address.parse("lancedb", "lancedb:data/films").place
        'data/films'
        >>> print(Address.parse("lancedb", Path("data/films")))
        data/films
        """
        return cls(store, str(address).removeprefix(f"{store}:"), str(address))

    def __str__(self) -> str:
        return without_secrets(self.typed or f"{self.store}:{self.place}")

    def with_table(self, table: str) -> Address:
        """Add the name of a table to the address of a store."""
        return Address(self.store, f"{self.place.rstrip('/')}/{table}")

    def split(self, is_store: Callable[[Path], bool]) -> tuple[Path, str]:
        """Split the place into the path of a local store and the name of a table.

        The longest beginning of the place for which `is_store` is True is the path, and
        the other parts are the name, which can hold slashes. The name is empty if the
        whole place is a store. If no beginning is a store, the last part is the name.
        """
        path = Path(self.place)
        for parent in (path, *path.parents):
            if is_store(parent):
                table = path.relative_to(parent).as_posix()
                if table == ".":
                    table = ""
                return parent, table
        return path.parent, path.name


def chosen_table(
    address: Address, tables: Sequence[str], wanted: str, *, keyword: str = ""
) -> str:
    """Return the table that the caller named, or the only table of the store.

    Parameters
    ----------
    address : Address
        Address whose place is the store, without a table.
    tables : sequence of str
        Tables of the store that can hold vectors.
    wanted : str
        The table that the caller named; empty for none.
    keyword : str
        For a live client, which has no address, the keyword argument that names a
        table. Empty if the table can be named by its address.

    Raises
    ------
    InputError
        If the store has no such table, or if it has several and the caller named none.
        The sentence lists the addresses of all tables, or the values of the keyword.

    Examples
    --------
    >>> chosen_table(Address("lancedb", "db"), ["films", "users"], "")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: lancedb:db must be one table of vectors; got 2 tables;
    name one of lancedb:db/films, lancedb:db/users.
    >>> client = Address("qdrant", "client")
    >>> chosen_table(client, ["films", "users"], "", keyword="collection")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: qdrant:client must be one table of vectors; got 2
    tables; name one of collection='films', collection='users'.
    """
    if wanted in tables:
        return wanted
    if not tables:
        raise must_be(
            File(address),
            "a store with a table of vectors",
            "no such table",
            "name another store",
        )
    if keyword:
        choices = [f"{keyword}={name!r}" for name in tables]
    else:
        choices = [str(address.with_table(name)) for name in tables]
    remedy = f"name one of {listed(choices, LISTED)}"
    if wanted:
        # The address that the user typed ends in the name of the table already.
        missing_table = address
        if not address.typed:
            missing_table = address.with_table(wanted)
        raise must_be(
            File(missing_table),
            "a table of the store",
            "no table with this name",
            remedy,
        )
    if len(tables) > 1:
        raise must_be(
            File(address),
            "one table of vectors",
            f"{len(tables)} tables",
            remedy,
        )
    return tables[0]


def no_store(address: Address, kind: str) -> InputError:
    """Build the error for an address whose path leads to no store of its kind.

    Parameters
    ----------
    address : Address
        Address with the path of a local store, and perhaps a table.
    kind : str
        Kind of the store, such as "a folder of LanceDB".

    Examples
    --------
    >>> address = Address("lancedb", "no-such-folder/items")
    >>> print(no_store(address, "a folder of LanceDB"))
    lancedb:no-such-folder/items must be a table in a folder of LanceDB; got
    no-such-folder, which does not exist; check the path.
    """
    place = Path(address.place)
    found = f"{place}, another folder"
    # Name the first part of the path that is a file or does not exist, because what
    # follows it can be the name of a table.
    for path in (*reversed(place.parents), place):
        if path.is_file():
            found = f"{path}, another file"
            break
        if not path.exists():
            found = f"{path}, which does not exist"
            break
    return must_be(File(address), f"a table in {kind}", found, "check the path")
