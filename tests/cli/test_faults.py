"""User files survive faults: inputs, files created meanwhile, full disks, signals and
killed runs.
"""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from models import random_model
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.cli import main
from embaudit.errors import InputError
from embaudit.io import open_output


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    ea.save(random_model(n=20, p=15, k=3, objective="product"), path)
    return path


@contextmanager
def no_room():
    """Let no file grow beyond 1,000 bytes, as long as nothing but the work writes: what
    tests print may be a file.
    """
    before, bytecode = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        sys.dont_write_bytecode,
    )
    # A module imported meanwhile would leave the beginning of its bytecode, on which
    # the next command dies.
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = bytecode


def refused(result, *words):
    assert result.code == 2, result
    assert result.err.startswith("embaudit: "), result.err
    assert result.err.count("\n") == 1, result.err
    assert all(word in result.err for word in words), result.err


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


# Nowhere to complain


class NoRoom(io.StringIO):
    """A stream on a full disk: what is written fails when it is put there."""

    def flush(self):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("stream", [None, NoRoom()])
@pytest.mark.parametrize(
    "arguments", [("audit", "nofile"), ("blocks", "nofile", "nofile")]
)
def test_a_refusal_that_nobody_can_be_told_is_no_finding(
    monkeypatch, stream, arguments
):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "argv", ["embaudit", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert sys.stderr is None, "nothing is left to be written when Python ends"


# Inputs, wherever they are named


def sharded(folder):
    draw = np.random.default_rng(0)
    shards = {"a.safetensors": "left", "b.safetensors": "right"}
    for shard, name in shards.items():
        save_file(
            {name: draw.standard_normal((12, 3)).astype(np.float32)}, folder / shard
        )
    index = folder / "two.safetensors.index.json"
    index.write_text(
        json.dumps({"weight_map": {name: shard for shard, name in shards.items()}})
    )
    return index


def test_force_never_writes_over_a_shard(embaudit, tmp_path):
    index = sharded(tmp_path)
    before = (tmp_path / "b.safetensors").read_bytes()
    (tmp_path / "b.json").symlink_to("b.safetensors")
    options = (
        "--left",
        "left",
        "--weight",
        "right",
        "--json",
        "./b.json",
        "--force",
    )
    refused(
        embaudit("compare", index, index, "--by-row", *options),
        "another file than the input",
        "b.safetensors",
    )
    assert (tmp_path / "b.safetensors").read_bytes() == before


@pytest.mark.parametrize("victim", ["users.npy", "names.txt"])
def test_force_never_writes_over_what_an_option_names(embaudit, tmp_path, victim):
    draw = np.random.default_rng(0)
    np.save("items.npy", draw.standard_normal((9, 3)))
    np.save("users.npy", draw.standard_normal((12, 3)))
    (tmp_path / "names.txt").write_text("".join(f"item {i}\n" for i in range(9)))
    before = (tmp_path / victim).read_bytes()
    left_files = ("--left-file", "users.npy") * 2
    options = (*left_files, "--labels", "names.txt")
    refused(
        embaudit(
            "compare",
            "items.npy",
            "items.npy",
            "--by-row",
            *options,
            "--json",
            victim,
            "--force",
        ),
        "than the input",
    )
    assert (tmp_path / victim).read_bytes() == before
    assert names(tmp_path) == ["items.npy", "names.txt", "users.npy"]


# Files that appear meanwhile


def test_a_file_made_meanwhile_is_kept_and_the_result_too(tmp_path):
    target = tmp_path / "out.json"
    made = pytest.raises(
        InputError,
        match=r"which another program has created meanwhile; the result is in .*\.$",
    )
    with made as refusal, open_output(target, mode="w") as file:
        file.write("ours")
        target.write_text("theirs")
    assert target.read_text() == "theirs"
    kept = Path(str(refusal.value).rpartition(" is in ")[2].removesuffix("."))
    assert kept.read_text() == "ours"
    assert sorted(names(tmp_path)) == sorted([kept.name, "out.json"])
    assert kept.suffix == ".json"


@pytest.mark.parametrize("name", ["é" * 120 + ".json", "a." + "é" * 120])
def test_the_result_is_kept_even_if_the_name_of_the_output_is_long(tmp_path, name):
    """A name of 255 bytes leaves no room for the name of another file next to it."""
    target = tmp_path / name
    with (  # noqa: PT012
        pytest.raises(InputError, match="the result is in"),
        open_output(target) as file,
    ):
        file.write(b"ours")
        target.write_bytes(b"theirs")
    contents = sorted(path.read_bytes() for path in tmp_path.iterdir())
    assert contents == [b"ours", b"theirs"]


@pytest.mark.parametrize("there", [False, True])
def test_without_hard_links_nothing_is_replaced_either(tmp_path, monkeypatch, there):
    monkeypatch.setattr(
        os,
        "link",
        lambda *_: (_ for _ in ()).throw(PermissionError(1, "no links here")),
    )
    target = tmp_path / "out"
    if not there:
        with open_output(target) as file:
            file.write(b"ours")
        assert target.read_bytes() == b"ours"
        assert names(tmp_path) == ["out"]
        return
    with (  # noqa: PT012
        pytest.raises(InputError, match="created meanwhile"),
        open_output(target) as file,
    ):
        file.write(b"ours")
        target.write_bytes(b"theirs")
    assert target.read_bytes() == b"theirs"


# No room


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".safetensors", ".parquet", ".txt"])
def test_a_file_too_large_is_one_sentence_and_leaves_nothing(tmp_path, suffix):
    vectors = ea.FactorModel.from_vectors(
        np.random.default_rng(0).standard_normal((400, 30))
    )
    with pytest.raises(InputError, match=f"out{suffix} cannot be written: "), no_room():
        ea.save(vectors, tmp_path / f"out{suffix}")
    assert names(tmp_path) == []


def test_a_report_too_large_is_one_sentence(embaudit, model, tmp_path):
    with no_room():
        result = embaudit("compare", model, model, "--by-row", "--out", "page.html")
    refused(result, "page.html cannot be written: File too large.")
    assert names(tmp_path) == ["model.npz"]


@pytest.mark.parametrize("path", ["/dev/full", "/dev/zero"])
def test_devices_are_no_files(embaudit, model, path):
    refused(
        embaudit("compare", model, model, "--by-row", "--json", path, "--force"),
        "a device, pipe or stream",
    )
    refused(embaudit("compare", model, path), "a pipe or device")


def test_a_pipe_is_refused_as_an_input_at_once(embaudit, tmp_path):
    (tmp_path / "als/itemFactors").mkdir(parents=True)
    (tmp_path / "als/userFactors").mkdir()
    for name in ("pipe.npy", "als/userFactors/p.parquet"):
        os.mkfifo(tmp_path / name)
        refused(
            embaudit("audit", name.split("/")[0]),
            "a pipe or device; save it to a file first",
        )


# Signals and killed runs

WAITING = """
import signal, sys, time
# A shell switches this handler off for commands in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from embaudit.cli import main
import embaudit.cli.compare, embaudit.comparison
def wait(*_, **__):
    print("ready", flush=True)
    time.sleep(60)
embaudit.comparison.compare = wait
sys.argv = ["embaudit", "compare", "model.npz", "model.npz", "--by-row"]
sys.argv += ["--json", "out.json", "--quiet"]
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_output_and_the_next_run_works(
    embaudit, model, tmp_path, number
):
    run = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    run.send_signal(number)
    _, err = run.communicate(timeout=30)
    is_killed = number == signal.SIGKILL
    assert run.returncode == (-signal.SIGKILL if is_killed else 128 + number)
    assert err == ("embaudit: stopped by Ctrl-C.\n" if number == signal.SIGINT else "")
    left = [name for name in names(tmp_path) if name.endswith(".part")]
    assert len(left) == is_killed
    options = ("--by-row", "--json", "out.json", "--quiet")
    assert embaudit("compare", model, model, *options).code == 0
    assert names(tmp_path) == [*left, "model.npz", "out.json"]


def test_writers_of_one_name_do_not_touch_each_other(tmp_path):
    with open_output(tmp_path / "out", force=True) as first:
        first.write(b"first")
        with open_output(tmp_path / "out", force=True) as second:
            second.write(b"second")
        assert (tmp_path / "out").read_bytes() == b"second"
    assert (tmp_path / "out").read_bytes() == b"first"
    assert names(tmp_path) == ["out"]


def test_two_writers_at_once_leave_a_whole_file_in_every_round(tmp_path):
    def write(content):
        try:
            with open_output(tmp_path / "out", force=force) as file:
                file.write(content)
        except InputError:
            assert not force, "only a writer without force may find the name taken"

    for round_number in range(100):
        force = round_number % 2 == 0
        contents = [letter * 1000 for letter in (b"a", b"b")]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write, contents))
        assert (tmp_path / "out").read_bytes() in contents
        for path in tmp_path.iterdir():
            assert path.read_bytes() in contents
            path.unlink()


def test_a_pipe_with_the_name_of_a_part_file_does_not_stop_a_writer(tmp_path):
    os.mkfifo(tmp_path / ".out.abcdefgh.part")
    with open_output(tmp_path / "out") as file:
        file.write(b"content")
    assert names(tmp_path) == [".out.abcdefgh.part", "out"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    with open_output(tmp_path / "out") as file:
        file.write(b"content")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode


# Damaged and crafted texts


class Closed(io.StringIO):
    """A stream whose reader went away."""

    def write(self, text):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    def fileno(self):
        return 1


@pytest.mark.parametrize(
    "arguments",
    [("formats",), ("--version",), ("explain", "EMB001"), ("--help",)],
    ids=str,
)
def test_a_reader_that_went_away_is_no_finding(arguments, monkeypatch, capfd):
    monkeypatch.setattr("sys.argv", ["embaudit", *arguments])
    monkeypatch.setattr("sys.stdout", Closed())
    # What rich puts in the place of the pipe.
    monkeypatch.setattr("os.dup2", lambda *_: None)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 128 + signal.SIGPIPE
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("audit all.npy --quick", ["1e-100 and 1e+100 long", "got inf"]),
        ("audit head.npz --kind head --quick", ["label bias", "got 1e+308"]),
        ("blocks one.npy all.npy", ["the norm of y", "divide y by a constant"]),
    ],
)
def test_entries_near_the_largest_number_are_refused_in_one_sentence(
    embaudit, tmp_path, monkeypatch, command, words
):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(60, 4))
    np.save("one.npy", rows)
    np.save("all.npy", np.where(rows > 0, 1e308, -1e308))
    np.savez("head.npz", W=rows, b=np.where(np.arange(60) == 2, 1e308, 0.0))
    refused(embaudit(*command.split()), *words)
