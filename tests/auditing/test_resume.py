"""An audit that was ended goes on where it was: same numbers, nothing done twice, nothing trusted that is not whole."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.errors import InputError
from embaudit.gauges import Diagonal
from embaudit.io.pieces import told_apart
from embaudit.io.pieces.folder import Pieces
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

DRAW = np.random.default_rng(5)
TWINS = np.repeat(DRAW.normal(size=(20, 4)), 2, axis=0)
HEAD = FactorModel.from_softmax(DRAW.normal(size=(40, 6)), DRAW.normal(size=40))
MODELS = {
    "two sides": (random_model(n=50, p=40, k=4, biases=["right_bias"], objective="product"), {}),
    "one side with copies": (FactorModel.from_vectors(TWINS, ids=[f"row {i}" for i in range(40)]), {"show": ["row 3"]}),
    "a head behind a norm": (HEAD, {"final_norm": FinalNorm("rms", np.linspace(1, 3, 6))}),
    "very long rows": (FactorModel.from_vectors(DRAW.normal(size=(30, 300))), {"groups": ["linear"]}),
}
ONE, GIVEN = MODELS["two sides"][0], {"n_gauges": 1, "rng": 3}
SAME = "the folder to resume in must be of the same audit; got {}, begun with another {}; name another folder, or empty"


class Ended(BaseException):
    """Ends an audit as Ctrl-C does."""


class Log:
    """Notes which pieces are done, and which are taken from the folder; may end the audit after some."""

    def __init__(self, monkeypatch):
        self.done, self.taken, self.most = [], [], None
        keep, found = Pieces.keep, Pieces.found

        def kept(pieces, name, value, known):
            keep(pieces, name, value, known)
            self.done.append(name)
            if self.most is not None and len(self.done) >= self.most:
                raise Ended

        def looked(pieces, name, known):
            there = found(pieces, name, known)
            self.taken += [name] if there is not None else []
            return there

        monkeypatch.setattr(Pieces, "keep", kept)
        monkeypatch.setattr(Pieces, "found", looked)

    def ended(self, folder, model=ONE, most=None, **given):
        """Audit until so many pieces are done, or to just before the end."""
        self.done, self.taken, self.most = [], [], most
        with suppress(Ended), ea.resume_in(folder):
            ea.audit(model, **GIVEN | given)
            raise Ended
        self.most = None
        return self.done

    def resumed(self, folder, model=ONE, **given):
        self.done, self.taken = [], []
        with ea.resume_in(folder):
            return ea.audit(model, **GIVEN | given)


@pytest.fixture
def log(monkeypatch):
    return Log(monkeypatch)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "pieces"


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("embaudit.auditing.limits.ATTACKED_RANK", 0)
        return ea.audit(ONE, **GIVEN)


def assert_same(one, other):
    assert one.to_dict() == other.to_dict()
    assert one.explain() == other.explain()
    for name in ("movement", "drift", "examples", "predicted", "traits"):
        assert told_apart(getattr(one.evidence, name)) == told_apart(getattr(other.evidence, name))
    assert told_apart(one.evidence.limits.attacks) == told_apart(other.evidence.limits.attacks)


@pytest.mark.parametrize("name", MODELS)
def test_every_piece_is_taken_and_none_done_again(name, log, folder):
    model, own = MODELS[name]
    alone = ea.audit(model, **GIVEN | own)
    done = log.ended(folder, model, **own)
    assert_same(log.resumed(folder, model, **own), alone)
    assert sorted(log.taken) == sorted(set(done))
    assert log.done == []
    kinds = {name.rstrip("0123456789") for name in done}
    assert {"visit ", "attack on right ", "lists beside", "traits"} <= kinds
    head = {"nearest labels", "equal head ", "argmaxes", "final norm"}
    assert kinds & head == (head if name == "a head behind a norm" else set())
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("without_attacks")
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("most", [1, 4, 9])
def test_an_audit_goes_on_from_any_piece(most, workers, log, folder, whole, monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", str(workers))
    # What others are at when one ends, they finish.
    assert most <= len(log.ended(folder, most=most)) < most + 2 * workers
    done = list(log.done)
    assert len(done) == most or workers > 1
    assert_same(log.resumed(folder), whole)
    assert sorted(log.taken) == sorted(done)
    assert not set(log.done) & set(done)


@pytest.mark.usefixtures("without_attacks")
def test_pieces_that_are_damaged_are_done_again(log, folder, whole):
    done = log.ended(folder)
    files = sorted(folder.glob("*.piece"))
    assert len(files) == len(done) > 7
    files[0].write_bytes(b"")
    files[1].write_bytes(files[1].read_bytes()[:-1])
    changed = bytearray(files[2].read_bytes())
    changed[len(changed) // 2] ^= 16
    files[2].write_bytes(changed)
    shutil.copy(files[4], files[3])  # whole, but another piece
    files[5].unlink()
    Path(folder, f".{files[6].name}.0123abcd.part").write_bytes(b"half")
    assert_same(log.resumed(folder), whole)
    assert len(log.done) == 5
    assert len(log.taken) == len(done) - 5
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("without_attacks")
def test_another_audit_is_refused_and_the_pieces_stay(log, folder, monkeypatch):
    log.ended(folder, most=2)
    before = sorted(folder.iterdir())
    rows = ONE.right.copy()
    rows[3, 1] = np.nextafter(rows[3, 1], 2)
    others = {
        "input": (ONE.replace(right=rows), {}),
        "input ": (ONE.replace(right_ids=[f"i{i}" for i in range(40)]), {}),
        "n_pairs and another rng": (ONE, {"n_pairs": 9, "rng": 4}),
        "groups": (ONE, {"groups": [Diagonal(4, max_condition=2.0)]}),
    }
    for named, (model, given) in others.items():
        with pytest.raises(InputError) as refused, ea.resume_in(folder):
            ea.audit(model, **GIVEN | given)
        assert str(refused.value) == SAME.format(folder, named.strip()) + " this one."
    monkeypatch.setattr("embaudit.auditing.purpose.__version__", "0.0.9")
    with pytest.raises(InputError, match="begun with another version; name"), ea.resume_in(folder):
        ea.audit(ONE, **GIVEN)
    for damaged in ("", "[]", "{"):
        Path(folder, "audit.json").write_text(damaged)
        with pytest.raises(InputError, match="begun with another record, which is damaged; name"), ea.resume_in(folder):
            ea.audit(ONE, **GIVEN)
    assert sorted(folder.iterdir()) == before


def test_what_is_no_folder_of_pieces_is_refused(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("notes.txt", ".hidden", "b"):
        (other / name).write_text("mine")
    file = tmp_path / "file"
    file.write_text("mine")
    refused = {
        file: f"the folder to resume in must be a folder; got the file {file}; name a folder, which need not be "
        "there yet.",
        other: "the folder to resume in must be empty, or hold pieces of an audit and nothing else; got "
        f"{other} with '.hidden', 'b' and 1 more; name a folder of its own.",
        tmp_path / "no" / "folder": "the folder above the one to resume in must be there already; got "
        f"{tmp_path / 'no'}; create it first.",
    }
    for path, sentence in refused.items():
        with pytest.raises(InputError) as error:
            ea.resume_in(path)
        assert str(error.value) == sentence
    with pytest.raises(InputError, match=r"^the folder to resume in must be a path, as text or a Path; got 3\.$"):
        ea.resume_in(3)
    assert sorted(entry.name for entry in other.iterdir()) == [".hidden", "b", "notes.txt"]


def test_an_audit_that_is_refused_begins_nothing(folder):
    with pytest.raises(InputError, match="n_gauges must be"), ea.resume_in(folder):
        ea.audit(ONE, n_gauges=0)
    assert list(folder.iterdir()) == []


def test_two_runs_at_once_are_refused(folder):
    with ea.resume_in(folder):
        with (
            pytest.raises(
                InputError, match=r"must be used by one run at a time; got .*, which another one works in\.$"
            ),
            ea.resume_in(folder),
        ):
            pass
        assert folder.exists()
    with ea.resume_in(folder):
        pass


class OfMyOwn(Diagonal):
    """A group that this package does not have."""


def test_groups_of_ones_own_cannot_be_told_apart(folder):
    with (
        pytest.raises(
            InputError, match=r"^groups must be made of what this package has, where pieces are kept; got \("
        ),
        ea.resume_in(folder),
    ):
        ea.audit(ONE, groups=[OfMyOwn(4, max_condition=2.0)])


KILLED = """
import sys
import embaudit as ea
import embaudit.auditing.limits
import models
embaudit.auditing.limits.ATTACKED_RANK = 0
model = models.random_model(n=400, p=300, k=6, objective="product")
with ea.resume_in(sys.argv[1]):
    ea.audit(model, n_gauges=12, rng=1)
"""


def killed(folder, after):
    """Audit in another process and kill it a moment after it kept another piece; return how many there are then."""
    there = len(list(folder.glob("*.piece")))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)],
        # One worker, so that no machine is done before it is killed.
        env=os.environ
        | {"EMBAUDIT_WORKERS": "1", "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
    )
    while process.poll() is None and len(list(folder.glob("*.piece"))) <= there:
        time.sleep(0.001)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    assert process.wait(60) in (-signal.SIGKILL, 0)
    return len(list(folder.glob("*.piece")))


@pytest.mark.usefixtures("without_attacks")
def test_an_audit_survives_being_killed_at_random_moments(log, folder):
    model = random_model(n=400, p=300, k=6, objective="product")
    moments = random.Random(16)
    counts = [killed(folder, moments.uniform(0, 0.1)) for _ in range(2)]
    assert 0 < counts[0] < counts[1]
    assert_same(log.resumed(folder, model, n_gauges=12, rng=1), ea.audit(model, n_gauges=12, rng=1))
    assert len(log.taken) == counts[1]
    assert log.done
    assert list(folder.iterdir()) == []
