"""The description of a trained model of another library."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from peers.films import Films


@dataclass(frozen=True)
class Trained:
    """A model, and how its own library scores and stores it."""

    live: Any
    """What `load` takes."""
    predict: Callable[[Any, Any], Any]
    """Scores for a list of users by a list of films, both under their ids, from the
    library itself.
    """
    options: dict[str, Any] = field(default_factory=dict)
    """What `load` has to be told."""
    store: Callable[[Path], tuple[Path, dict[str, Any]]] | str = "a pickle"
    """Write the library's own file into a folder, and what `load` has to be told of it;
    or why there is none.
    """


@dataclass(frozen=True)
class Peer:
    """One class of a library, and how to train it small."""

    library: str
    """Its name in the package index."""
    model: str
    """The name of the class."""
    train: Callable[[Films], Trained]

    def __str__(self) -> str:
        return f"{self.library} {self.model}"


def installed(library: str) -> str | None:
    """Return the version of a library, None where it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def call_in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a new process, and return its result.

    Whatever imports TensorFlow goes through here: the Triton that comes with torch
    aborts a process in which TensorFlow was imported first, because both register the
    options of LLVM.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
