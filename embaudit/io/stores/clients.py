"""The client packages of stores, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from embaudit.errors import File, InputError
from embaudit.io.stores.addresses import Address


def import_client(module: str, *, extra: str, what: str) -> ModuleType:
    """Import the client package of a store.

    Parameters
    ----------
    module : str
        Name of the package.
    extra : str
        Extra of embaudit that installs the package.
    what : str
        Kind of table that the client reads, such as "a LanceDB table".

    Raises
    ------
    InputError
        If the package is not installed.

    Examples
    --------
    >>> import_client("no_such_client", extra="lancedb", what="a LanceDB table")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the package no_such_client, which reads a LanceDB table,
    must be installed; run pip install 'embaudit[lancedb]'.
    """
    if find_spec(module) is None:
        raise InputError(
            f"the package {module}, which reads {what}, must be installed; run "
            f"pip install 'embaudit[{extra}]'."
        )
    return import_module(module)


def unreadable(address: Address, error: Exception, verb: str = "read") -> InputError:
    r"""Build the error for a store that its client cannot read or write.

    The reason is the first line of the error of the client. `verb` is "read" or
    "written".

    Examples
    --------
    >>> error = OSError("The disk is full.\nBytes missing: 3")
    >>> print(unreadable(Address("lancedb", "db"), error, "written"))
    lancedb:db cannot be written: The disk is full.
    """
    first_line = str(error).strip().partition("\n")[0].rstrip()
    reason = first_line or type(error).__name__
    return InputError("{} cannot be {}: {}.", File(address), verb, reason.rstrip("."))


@contextmanager
def errors_of_client(
    address: Address, errors: tuple[type[Exception], ...]
) -> Iterator[None]:
    """Raise InputError, which names the store, instead of errors of a client.

    Examples
    --------
    >>> with errors_of_client(Address("lancedb", "db"), (OSError,)):
    ...     raise OSError("a file is missing.")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: lancedb:db cannot be read: a file is missing.
    """
    try:
        yield
    except InputError:
        raise
    except errors as error:
        raise unreadable(address, error) from error
