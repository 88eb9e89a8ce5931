"""Fixtures for the tests with other libraries, and the table of their results."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from peers.films import Films
from peers.table import MISSING, Row, locked, rows_of, stored, write
from peers.trained import Peer, Trained, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

HERE = Path(__file__).parent
NARROWING = ("keyword", "markexpr", "deselect", "collectonly", "lf")
"""Options of pytest that leave tests out."""
ABSENT = "the real input"
"""What the reason begins with where a test has no data."""
OUTCOMES = pytest.StashKey[list[Row]]()


def pytest_configure(config: pytest.Config) -> None:
    # Compiling takes longer than all else together.
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    config.addinivalue_line(
        "markers",
        "holds(column, library, models): a column of the table that a test fills in",
    )
    config.stash[OUTCOMES] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings of other libraries are their own affair."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore", "error:::embaudit"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    mark = item.get_closest_marker("holds")
    if mark is not None and (report.when == "call" or not report.passed):
        item.config.stash[OUTCOMES].extend(
            rows_of(mark, getattr(item, "callspec", None), report)
        )
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table after a green run; one of some tests, or without real inputs,
    changes their columns alone.
    """
    # A process of pytest-xdist has only a part of the tests.
    if session.testsfailed or hasattr(session.config, "workerinput"):
        return
    whole = [Path(name).resolve() for name in session.config.args] == [HERE]
    narrowed = (
        any(session.config.getoption(name, None) for name in NARROWING)
        or session.shouldstop
    )
    rows = session.config.stash[OUTCOMES]
    tried = [row for row in rows if not row.outcome.startswith(ABSENT)]
    if tried and not other_versions(rows):
        write(
            tried,
            known={}
            if whole and not narrowed and len(tried) == len(rows)
            else stored(),
        )


def other_versions(rows: list[Row]) -> dict[str, str | None]:
    """Return the libraries of some rows whose installed version is not that of the
    lock.

    The table states what holds for the versions of the lock, so a run with others must
    not change it. A library that is not installed has the version None.
    """
    versions = locked()
    found = {row.library: installed(row.library) for row in rows}
    return {name: found[name] for name in found if found[name] != versions[name]}


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for name, version in sorted(other_versions(config.stash[OUTCOMES]).items()):
        terminalreporter.write_line(
            f"The table was not written: {name} is {version or 'not installed'}, "
            "which is not the version of requirements-peers.lock"
        )
    for name, reason in MISSING.items():
        terminalreporter.write_line(f"Not tried: {name}: {reason}")


@pytest.fixture(scope="session")
def films(shared_data: Callable[[str], Path]) -> Films:
    return Films.of(shared_data("ml-latest-small"))


@pytest.fixture(scope="session")
def trained(films: Films) -> Callable[[Peer], Trained]:
    """Return a function that trains a model once, or skips the test with the reason why
    it cannot.
    """
    models: dict[str, Trained] = {}

    def train(peer: Peer) -> Trained:
        if installed(peer.library) is None:
            pytest.skip("not installed")
        if str(peer) not in models:
            models[str(peer)] = peer.train(films)
        return models[str(peer)]

    return train


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Return the number of a port that accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]
