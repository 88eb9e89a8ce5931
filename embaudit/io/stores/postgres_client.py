"""Connections to PostgreSQL: addresses, transactions, and errors with advice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

from embaudit.errors import File, InputError, must_be
from embaudit.io.stores.addresses import Address
from embaudit.io.stores.clients import import_client

if TYPE_CHECKING:
    from psycopg import Connection

PLACE = re.compile(r"(?P<slashes>/*)(?P<path>[^?]*)\??(?P<query>.*)", re.DOTALL)
"""The slashes behind the scheme of an address, its path and its parameters."""
FORM = (
    "postgresql://HOST/DATABASE/TABLE, or postgresql:TABLE if the environment names "
    "the server"
)
"""What an address looks like."""
SECRET_PARAMETERS = ("password", "sslpassword", "oauth_client_secret")
"""Parameters of a connection that are secrets."""
TIMEOUT_SECONDS = 10
"""Time to wait for a server, unless the address says otherwise."""
ADVICE = {
    "canceling statement": "run the command again",
    "starting up": "run the command again",
    "shutting down": "run the command again",
    "password": "set PGUSER and PGPASSWORD, or write them to ~/.pgpass",
    "Connection refused": "start the server, or check host and port",
    "No such file": "start the server, or name its host in the address",
    "resolve host": "check the host",
    "timeout": "check host and port",
    "certificate": "check sslrootcert in the address or PGSSLROOTCERT",
    "SSL": "check sslmode in the address or PGSSLMODE",
    "permission denied": "ask its owner to GRANT SELECT on the table to you",
    "role ": "set PGUSER",
    "database ": "check the database in the address or PGDATABASE",
}
"""What to do, by a part of the message of the server or the client.

The first part that the message contains decides: an error of a certificate is also an
error of SSL.
"""


@dataclass(frozen=True)
class Place:
    """A table and its database, as an address names them.

    Examples
    --------
    >>> text = "//ann@db:5433/shop/public.items?vectors=e&sslmode=require"
    >>> place = Place.parse(Address("postgresql", text))
    >>> place.database, place.table, place.vector
    ('postgresql://ann@db:5433/shop?sslmode=require', 'public.items', 'e')
    >>> Place.parse(Address("postgresql", "items"))
    Place(database='postgresql://', table='items', vector=None)
    """

    database: str
    """Address of the database for libpq. The environment gives its missing parts."""
    table: str
    """Name of a table, perhaps with its schema: `items` or `public.items`."""
    vector: str | None
    """Column of the vectors, if the address names it."""

    @classmethod
    def parse(cls, address: Address) -> Place:
        """Take an address apart.

        Raises
        ------
        InputError
            If it names no table, or holds a password.
        """
        match = PLACE.fullmatch(address.place)
        assert match is not None
        path = match["path"]
        host = ""
        if match["slashes"] == "//":
            host, _, path = path.partition("/")
        parameters = _parameters(match["query"])
        user = host.rpartition("@")[0]
        if ":" in user or any(name in parameters for name in SECRET_PARAMETERS):
            raise must_be(
                "the address of a table of PostgreSQL",
                "free of passwords, which other users of this machine could see",
                "an address with a password",
                "set PGPASSWORD, or write it to ~/.pgpass",
            )
        database, _, table = path.strip("/").rpartition("/")
        if not table:
            raise must_be("the address of a table of PostgreSQL", FORM, File(address))
        vector = parameters.pop("vectors", None)
        server = f"postgresql://{host}"
        if database:
            server += f"/{database}"
        if parameters:
            # Encode a space as %20, because libpq reads a + as itself.
            server += f"?{urlencode(parameters, quote_via=quote)}"
        return cls(server, unquote(table), vector or None)


def _parameters(query: str) -> dict[str, str]:
    """Split the parameters of an address, as libpq does.

    Unlike in the addresses of web pages, a + is not a space.

    Examples
    --------
    >>> _parameters("application_name=a+b&options=-c%20search_path%3Dshop")
    {'application_name': 'a+b', 'options': '-c search_path=shop'}
    """
    parameters = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name:
            parameters[unquote(name)] = unquote(value)
    return parameters


@contextmanager
def connection_to(
    address: Address, place: Place, *, writes: bool = False
) -> Iterator[Connection[Any]]:
    """Open a connection for one transaction, which sees one state of the database.

    The transaction can only read unless `writes` is True. If the block fails, nothing
    is written.

    Raises
    ------
    InputError
        If the server cannot be reached, denies access, or fails inside the block.
    """
    psycopg = import_client("psycopg", extra="postgres", what="a table of PostgreSQL")
    import_client("pgvector", extra="postgres", what="a table of PostgreSQL")
    try:
        with psycopg.connect(
            place.database,
            fallback_application_name="embaudit",
            **_default_timeout(place),
        ) as connection:
            connection.read_only = not writes
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            # Another transaction that changes the table can lock it for a long time.
            connection.execute(f"SET LOCAL lock_timeout = {1000 * TIMEOUT_SECONDS}")
            yield connection
    except psycopg.Error as error:
        verb = "written" if writes else "read"
        raise _refusal(address, error, verb) from error


def _default_timeout(place: Place) -> dict[str, int]:
    """Return a timeout, unless the address has one.

    A keyword of psycopg would override the timeout in the address.
    """
    if "connect_timeout=" in place.database:
        return {}
    return {"connect_timeout": TIMEOUT_SECONDS}


def _refusal(address: Address, error: Exception, verb: str) -> InputError:
    """Build the error, with advice, for a table that the client cannot use.

    Parameters
    ----------
    address : Address
        Address of the table.
    error : psycopg.Error
        The error of the client or of the server.
    verb : str
        What was tried: the table cannot be "read" or "written".
    """
    reason = _reason(error)
    advice = _advice(reason, verb)
    if not advice:
        return InputError("{} cannot be {}: {}.", File(address), verb, reason)
    return InputError("{} cannot be {}: {}; {}.", File(address), verb, reason, advice)


def _reason(error: Exception) -> str:
    """Return the part of an error message that gives the reason.

    Examples
    --------
    >>> _reason(OSError('connection failed: FATAL:  role "ann" does not exist.'))
    'role "ann" does not exist'
    """
    lines = [line.strip(" -\t") for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    line = lines[0]
    if line.startswith("Multiple connection attempts failed") and len(lines) > 1:
        # The client lists its attempts behind the first line, the last one last.
        line = lines[-1]
    # Remove that the connection failed, and the severity, which are not the reason.
    line = re.sub(r"^(?:.*connection (?:failed|is bad): )+", "", line)
    return re.sub(r"\b(?:FATAL|ERROR): +", "", line).rstrip(".")


def _advice(reason: str, verb: str) -> str:
    """Return what to do about a reason; empty if nothing is known. See `_refusal`."""
    if verb == "written" and "permission denied" in reason:
        return "ask its owner for the right to create tables there"
    for part, advice in ADVICE.items():
        if part in reason:
            return advice
    return ""
