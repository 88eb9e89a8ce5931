"""Writing: `save` picks a format by the suffix; vectors may be computed meanwhile, and nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.array_files import open_arrays
from embaudit.io.draft import Draft
from embaudit.io.files import AnyPath, as_path, plain_suffix
from embaudit.io.formats import Format, formats, writer_of
from embaudit.io.loading import load
from embaudit.io.outputs import writable, written_whole
from embaudit.model import FactorModel


def save(model: FactorModel | Draft, path: AnyPath, *, force: bool = False) -> None:
    """Write a model in the format its suffix names; `.npz` holds all of it, the others vectors (and ids) only.

    Parameters
    ----------
    model : FactorModel or Draft
        What to write; the rows of a draft may be computed while they are written.
    path : path
        The file; it appears only when it is complete.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix names no format that can be written, the file exists, or the
        format cannot hold the model.
    """
    if not isinstance(model, FactorModel | Draft):
        raise must_be(
            "the model",
            "a FactorModel",
            type(model).__name__,
            "make one of an object with from_object",
        )
    path = as_path(path, "the output")
    draft = Draft.of(model) if isinstance(model, FactorModel) else model
    entry, suffix = writer_of(path), plain_suffix(path)
    # Two sides have one format; of other losses, the formats that have room for the
    # whole draft are named.
    losses = draft.losses(room_in(entry, draft))
    if "left" in losses:
        got, remedy = (
            " and ".join(draft.roles),
            "save it as .npz, or keep one side only",
        )
        raise must_be(
            f"a model saved as {suffix}", "one side only", f"{got} factors", remedy
        )
    if losses:
        usable = [x for x in formats() if x.write is not None and x.is_usable]
        roomy = [x.suffixes[0] for x in usable if not draft.losses(room_in(x, draft))]
        needed = f"a file that can record {next(iter(losses.values()))}"
        raise must_be(
            "the output", needed, f"a {suffix} file", f"write {' or '.join(roomy)}"
        )
    assert entry.write is not None
    with written_whole(path, force=force) as file:
        entry.write(file, draft)


def room_in(entry: Format, draft: Draft) -> frozenset[str]:
    """Return the fields of a model that a format can hold beside its right factors."""
    entry.require_usable()
    return entry.keeps(draft)


def stored_side(path: Path, side: str) -> Callable[[slice], NDArray[Any]]:
    """Return a reader of consecutive rows of a side of a file that `save` wrote; those of plain arrays stay there."""
    if plain_suffix(path) in (".npz", ".npy", ".safetensors"):
        arrays = open_arrays(path)
        return arrays.place(
            side if side in arrays.tensors else next(iter(arrays.tensors))
        ).rows
    return load(path, kind="vectors").right.__getitem__


def require_output(
    path: AnyPath, *, sides: Literal[1, 2] = 1, force: bool = False
) -> None:
    """Refuse an output that `save` could not write, before the work that leads to it.

    Parameters
    ----------
    path : path
        The file to write.
    sides : {1, 2}
        How many sides the model will have; only `.npz` holds two.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix names no format that can be written or holds that many sides, or
        the file exists and `force` is not set.

    Examples
    --------
    >>> require_output("vectors.npy")
    >>> require_output("model.npy", sides=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the output must be a file that ends in .npz, which holds both sides; got model.npy.
    """
    entry = writer_of(path)
    entry.require_usable()
    if sides == 2 and entry.name != "embaudit":
        raise must_be(
            "the output",
            "a file that ends in .npz, which holds both sides",
            path,
        )
    writable(path, force=force)
