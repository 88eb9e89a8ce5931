"""Executors by name, as the command line takes them: threads:N, processes:N, dask://HOST:PORT."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

from embaudit.errors import InputError, must_be

MOST = 1_024
"""Workers that one machine is asked for at most."""
PATIENCE = "5s"
"""How long a scheduler has to answer."""
SCHEDULER = re.compile(r"dask://((?:[^\s:/\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5})")
"""Its address; a client that cannot read one tells of it again and again as it goes."""


def require_name(name: str) -> None:
    """Refuse what is no executor's name; whether anybody answers there is not asked.

    Raises
    ------
    InputError
        If it is none of `threads:N`, `processes:N` and `dask://HOST:PORT`.

    Examples
    --------
    >>> require_name("threads:4")
    """
    kind, _, rest = name.partition(":")
    counted = kind in ("threads", "processes") and rest.isascii() and rest.isdecimal() and 1 <= int(rest) <= MOST
    if not (counted or SCHEDULER.fullmatch(name)):
        raise must_be("executor", f"threads:N or processes:N, N from 1 to {MOST:,}, or dask://HOST:PORT", repr(name))


@contextmanager
def named_executor(name: str) -> Iterator[Executor]:
    """Open an executor by its name, and close it after use.

    Parameters
    ----------
    name : str
        `threads:N`, `processes:N`, or the address of a Dask scheduler, `dask://HOST:PORT`.

    Raises
    ------
    InputError
        If it is none of these, its library is missing, or nobody answers there.

    Examples
    --------
    >>> with named_executor("threads:2") as executor:
    ...     list(executor.map(abs, [-1, 2]))
    [1, 2]
    """
    require_name(name)
    scheduler = SCHEDULER.fullmatch(name)
    if scheduler:
        with _dask(scheduler[1]) as executor:
            yield executor
        return
    kind, _, rest = name.partition(":")
    with ThreadPoolExecutor(int(rest)) if kind == "threads" else _processes(int(rest)) as executor:
        yield executor


def _processes(count: int) -> Executor:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    _needs("cloudpickle")
    # A fork would copy locks that threads hold.
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"))
    with _deaf_to_ctrl_c():
        for _ in range(count):
            pool.submit(int)  # a task for which nobody is idle starts a process
    return pool


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes that are started now leave Ctrl-C to this one: each would print a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    _needs("cloudpickle")
    _needs("distributed")
    from distributed import Client

    try:
        client = Client(f"tcp://{address}", timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise must_be("executor", "the address of a Dask scheduler that answers", repr(f"dask://{address}")) from error
    with client:
        yield client.get_executor()


def _needs(library: str) -> None:
    from importlib.util import find_spec

    if find_spec(library) is None:
        raise InputError(f"work in other processes needs {library}: pip install 'embaudit[cluster]'.")
