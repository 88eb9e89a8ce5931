"""`fit`, `fix` and others on every executor: the same files to the last bit, and refusals in a sentence."""

from __future__ import annotations

import importlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.blocks.sources import as_source, file_of
from embaudit.errors import InputError
from embaudit.foundation.executors import Unchanged, named_executor, spread

DRAW = np.random.default_rng(9)
# Large enough for the arrays to be opened by the workers, where they lie.
MODEL, OTHER = (
    ea.FactorModel(left=DRAW.normal(size=(900, 10)), right=DRAW.normal(size=(1_000, 10)), objective="factors")
    for _ in range(2)
)
X, Y = ({name: DRAW.normal(size=(100, 200)).astype(np.float32) for name in "abc"} for _ in range(2))
EXECUTORS = ["threads:2", "processes:2"]
REFUSED = "executor must be threads:N or processes:N, N from 1 to 1,024, or dask://HOST:PORT; got 'ray:3'."
COMMANDS = {
    "fix": ["fix", "m.npz", "--as", "balanced", "--out", "v.npz"],
    "compare": ["compare", "m.npz", "n.npz", "--by-row", "--json", "c.json"],
    "evaluate": ["evaluate", "m.npz", "--items", "i.csv", "--truth", "kind", "--by-row", "--json", "e.json"],
    "blocks": ["blocks", "x.npz", "y.safetensors", "--json", "b.json"],
    "fit": ["fit", "r.csv", "--objective", "factors", "--rank", "4", "--out", "f.npz"],
}


@pytest.fixture
def files(embaudit):
    """Models and tensors in the folder that commands run in."""
    ea.save(MODEL, "m.npz")
    ea.save(OTHER, "n.npz")
    Path("i.csv").write_text("item,kind\n" + "".join(f"i{i},k{i % 5}\n" for i in range(1_000)), encoding="utf-8")
    np.savez("x.npz", **X)
    save_file(Y, "y.safetensors")
    rated = DRAW.permutation(400 * 300)[:6_000]
    pd.DataFrame({"user": rated // 300, "item": rated % 300, "rating": 1 + rated % 5}).to_csv("r.csv", index=False)


@pytest.fixture
def seen(monkeypatch):
    """Note what workers are given, and let few entries be enough to hand out."""
    given = []
    monkeypatch.setattr(importlib.import_module("embaudit.blocks.compute"), "FEW_ENTRIES", 0)
    module = importlib.import_module("embaudit.foundation.executors.spread")
    real = module._submitted
    monkeypatch.setattr(module, "_submitted", lambda place, *rest: given.append(place) or real(place, *rest))
    return given


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", EXECUTORS)
def test_commands_write_the_same_on_every_executor(name, embaudit, seen):
    for command in COMMANDS.values():
        *rest, file = command
        here, there = (Path(f"{where}-{file}") for where in ("here", "there"))
        assert embaudit(*rest, here, "--quiet").code == 0
        assert seen == []
        assert embaudit(*rest, there, "--quiet", "--executor", name).code == 0
        assert seen
        seen.clear()
        if file.endswith(".json"):
            assert json.loads(here.read_text()) == json.loads(there.read_text())
            continue
        with np.load(here) as one, np.load(there) as other:
            assert one.files == other.files
            for array in one.files:
                np.testing.assert_array_equal(one[array], other[array])


def test_long_rows_that_workers_map_are_those_of_threads(processes, seen, tmp_path):
    np.save(tmp_path / "x.npy", DRAW.normal(size=(400, 260)).astype(np.float32))
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    remedy = ea.fix(ea.FactorModel(left=rows[:300], right=rows), "balanced", role="right")
    here = remedy.vectors("right")
    assert seen == []
    with ea.work_on(processes):
        np.testing.assert_array_equal(remedy.vectors("right"), here)
    assert len(seen) == 1


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_an_executor_they_do_not_know(command, embaudit):
    result = embaudit(*COMMANDS[command], "--executor", "ray:3")
    assert (result.code, result.err) == (2, f"embaudit: {REFUSED}\n")
    assert not Path(COMMANDS[command][-1]).exists()


@pytest.mark.parametrize("command", [*COMMANDS, "audit"])
def test_such_a_name_is_refused_before_anything_is_read(command, embaudit):
    result = embaudit(*COMMANDS.get(command, ["audit", "m.npz"]), "--executor", "ray:3")
    assert (result.code, result.err) == (2, f"embaudit: {REFUSED}\n")


@pytest.fixture(scope="module")
def processes():
    with named_executor("processes:2") as pool:
        yield pool


@pytest.mark.usefixtures("files", "seen")
def test_blocks_are_summed_by_workers_that_open_the_files_themselves(processes):
    np.save("x.npy", X["a"])
    np.save("columns.npy", np.asfortranarray(X["a"]))
    np.savez_compressed("packed.npz", **X)
    pairs = [("x.npz", "y.safetensors"), ("packed.npz", Y), ("x.npy", "columns.npy"), ("x.npy", {"w": Y["a"]})]
    alone = [ea.block_cosines(*pair) for pair in pairs]
    with ea.work_on(processes):
        there = [ea.block_cosines(*pair) for pair in pairs]
        pids = set(spread(lambda _: os.getpid(), range(4)))
    assert os.getpid() not in pids
    for one, other in zip(alone, there, strict=True):
        for field in ("xx", "yy", "xy", "ex", "ey"):
            np.testing.assert_array_equal(getattr(one.sums, field), getattr(other.sums, field))


@pytest.mark.usefixtures("files", "seen")
@pytest.mark.parametrize(("name", "other"), [("x.npz", "y.safetensors"), ("x.npy", "y.npy")])
def test_a_file_that_changes_or_goes_meanwhile_is_refused(name, other, processes, monkeypatch):
    np.save("x.npy", X["a"])
    np.save("y.npy", Y["a"])
    module = importlib.import_module("embaudit.blocks.compute")
    real, path = module.spread, Path(name).resolve()
    for change, sentence in (
        (lambda: os.utime(path, ns=(1, 1)), "{} must stay as it is while workers read it; it was written to since."),
        (path.unlink, "every worker must reach {}: No such file or directory; name a folder that all of them share."),
    ):
        monkeypatch.setattr(module, "spread", lambda *given, change=change: change() or real(*given))
        with pytest.raises(InputError) as refused, ea.work_on(processes):
            ea.block_cosines(name, other, blocks="tensors")
        assert str(refused.value) == sentence.format(repr(str(path)))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ["x.npz", "packed.npz", "y.safetensors", "x.npy", "columns.npy"])
def test_what_was_opened_by_a_relative_path_is_found_from_another_folder(name, monkeypatch, tmp_path):
    np.savez_compressed("packed.npz", **X)
    np.save("x.npy", X["a"])
    np.save("columns.npy", np.asfortranarray(X["a"]))
    source = as_source(name, "x")
    tensor = next(iter(source.tensors))
    path = Path(name).resolve()
    sent = pickle.dumps(source)
    assert file_of(source, tensor) == Unchanged.of(path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    there = pickle.loads(sent)
    assert file_of(there, tensor) == Unchanged.of(path)
    with there.open(tensor) as read:
        np.testing.assert_array_equal(read(20_000), (Y if name.startswith("y") else X)["a"].ravel())


def test_what_lies_in_memory_travels_as_arrays_and_has_no_file():
    source = as_source({"w": pd.Series([1.0, 2.0])}, "x")
    there = pickle.loads(pickle.dumps(source))
    assert type(there["w"]) is type(vars(there)["_arrays"]["w"]) is np.ndarray
    assert (there["w"].tolist(), there.tensors) == ([1.0, 2.0], source.tensors)
    assert file_of(source, "w") is None


def test_a_file_is_unchanged_by_its_size_and_time(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    os.utime(path, ns=(7, 8))
    monkeypatch.chdir(tmp_path)
    found = Unchanged.of(Path("f"))
    assert found == Unchanged(str(path.resolve()), (5, 8))
    found.require()
    path.write_bytes(b"123456")
    os.utime(path, ns=(7, 8))
    with pytest.raises(InputError, match="must stay as it is while workers read it"):
        found.require()
