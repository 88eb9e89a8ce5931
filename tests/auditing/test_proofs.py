"""Proofs: their files, the checker on its own, and the two commands."""

from __future__ import annotations

import ast
import json
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from models import random_model

import embaudit as ea
import embaudit.io.proofs.verify as checker
from embaudit.auditing import limits
from embaudit.auditing.claims import Kind
from embaudit.auditing.heads import head_evidence
from embaudit.auditing.proof.prove import PROVERS
from embaudit.canonical import span
from embaudit.errors import InputError
from embaudit.movements.movement import MovementProbe

CHECKER = Path(checker.__file__)


@pytest.fixture(scope="module")
def audited():
    """An audit with attacks on a model whose users and items may be shifted."""
    return ea.audit(random_model(n=20, p=15, k=2, biases=("left_bias", "right_bias")), n_gauges=1, n_pairs=50)


@pytest.fixture(scope="module")
def proof(audited):
    return audited.proof()


def test_every_firm_claim_is_in_the_proof_and_stands(audited, proof):
    firm = {claim.name for claim in audited.claims if claim.kind in (Kind.SHOWN, Kind.PROVEN)}
    assert {name.split(":")[0] for name in firm} == {"moved", "free", "range", "certified", "reached", "bound"}
    assert ea.verify(proof, audited.model) == [
        *((name, "") for name in ("left", "right", "left_bias", "right_bias")),
        *((claim["name"], "") for claim in proof.record["claims"]),
    ]
    assert {claim["name"] for claim in proof.record["claims"]} == firm


def test_a_proof_knows_what_it_is_of(audited, proof):
    assert repr(proof).startswith(f"Proof({len(proof.record['claims'])} claims, 0.0")
    record = proof.record["model"]
    assert record["link"] == {"name": "identity", "soft_cap": None, "unit_rows": False}
    assert record["arrays"]["left"] == checker.digest(audited.model.left)
    sizes = [array.size for array in proof.arrays.values()]
    assert max(sizes) < audited.model.n_left * audited.model.n_right * 20
    texts = {array.tobytes() + str(array.dtype).encode() for array in proof.arrays.values()}
    assert len(texts) == len(proof.arrays)


def test_single_precision_stands_too():
    audited = ea.audit(random_model(n=30, p=20, k=3, dtype=np.float32), n_gauges=1, n_pairs=50)
    assert {problem for _, problem in ea.verify(audited.proof(), audited.model)} == {""}


def test_near_copies_in_single_precision_are_counted_as_the_audit_counts_them():
    # Of twelve directions three rows each, whose cosines with others differ by less than float32 tells apart.
    draw = np.random.default_rng(0)
    rows = np.repeat(draw.normal(size=(12, 3)), 3, axis=0) + 1e-4 * draw.normal(size=(36, 3))
    audited = ea.audit(ea.FactorModel.from_vectors(rows.astype(np.float32)), n_gauges=1, n_pairs=50, n_neighbours=4)
    lost = {claim.name: claim.value for claim in audited.claims}["reached:neighbours:right:linear"]
    assert lost == 17 / 48
    assert {problem for _, problem in ea.verify(audited.proof(), audited.model)} == {""}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("biases", [(), ("left_bias", "right_bias")])
def test_dimensions_that_predictions_miss_are_left_out_as_precisely_as_rows_are_stored(kind, biases, monkeypatch):
    monkeypatch.setattr(limits, "ATTACKED_RANK", 3)
    model = random_model(5, n=20, p=15, k=4, biases=biases)
    left = model.left.copy()
    left[:, 3] = left[:, 2]
    audited = ea.audit(model.replace(left=left.astype(kind), right=model.right.astype(kind)), n_gauges=1, n_pairs=50)
    assert audited.evidence.fibre.reduction.effective_rank == 3
    proof = audited.proof()
    assert proof.record["claims"][-1]["text"] == "3 of 4 dimensions make the same predictions."
    assert {problem for _, problem in ea.verify(proof, audited.model)} == {""}


WIDE = {
    "both": random_model(n=5, p=6, k=40, biases=("left_bias",)),
    "items": random_model(n=None, p=6, k=40),
    "head": random_model(n=None, p=6, k=40, link="softmax"),
    "unit": random_model(n=None, p=6, k=40).replace(link=ea.Softmax(unit_rows=True), right_bias=np.arange(6.0)),
    "cosine": random_model(n=5, p=6, k=40, link="cosine"),
}


@pytest.fixture(scope="module")
def wide():
    """Proofs of models of more columns than rows, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "ATTACKED_RANK", 0)
        for function in (span.in_span, span.span_basis):
            patch.setitem(function.__kwdefaults__, "most", 30)
        return {name: ea.audit(model, n_gauges=1, n_pairs=20).proof() for name, model in WIDE.items()}


@pytest.mark.parametrize("name", WIDE)
def test_more_columns_than_rows_span_are_proven_in_what_they_span(name, wide):
    record, model = wide[name].record, WIDE[name]
    spanned = 6 + model.n_left + bool(model.free_shifts)
    last = record["claims"][-1]
    assert (last["name"], last["text"]) == ("span", f"All rows lie in {spanned} of 40 dimensions.")
    assert wide[name].arrays[last["proof"]["arrays"]["gauge_left"]].shape == (40, spanned)
    others = {claim["proof"]["arrays"]["span"] for claim in record["claims"][:-1]}
    assert others == {last["proof"]["arrays"]["gauge_left"]}
    assert {problem for _, problem in ea.verify(wide[name], model)} == {""}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda basis: 2 * basis, "its columns are not orthonormal"),
        (lambda basis: basis[:, :-1], "a row has more dimensions"),
        (lambda basis: basis[::-1], "a row has more dimensions"),
    ],
)
def test_what_rows_are_said_to_span_is_checked(change, problem, wide):
    record, arrays = json.loads(json.dumps(wide["items"].record)), dict(wide["items"].arrays)
    key = record["claims"][-1]["proof"]["arrays"]["gauge_left"]
    arrays["changed"] = change(arrays[key])
    record["claims"][-1]["proof"]["arrays"]["gauge_left"] = "changed"
    found = dict(ea.verify(ea.Proof(record, arrays), WIDE["items"]))
    assert found["span"] == problem
    assert found["moved:right"] == "its span is not that of the span"


def test_sampled_pairs_and_rows_are_stored(monkeypatch):
    monkeypatch.setattr(sys.modules[MovementProbe.__module__], "EXACT_PAIRS", 100)
    monkeypatch.setattr(limits, "ATTACKED_RANK", 0)
    audited = ea.audit(random_model(n=60, p=60, k=3), n_gauges=1, n_pairs=80, n_lists=7, roles=["right"])
    proof = audited.proof()
    stored = {claim["name"]: claim["proof"]["arrays"] for claim in proof.record["claims"]}["moved:right"]
    assert proof.arrays[stored["pairs"]].shape == (80, 2)
    assert proof.arrays[stored["lists"]].shape == (7, 10)
    assert proof.arrays[stored["pairs"]].dtype == np.int32
    assert {problem for _, problem in ea.verify(proof, audited.model)} == {""}


def test_labels_of_a_large_head_are_stored(monkeypatch):
    monkeypatch.setattr("embaudit.auditing.evidence.PANEL", 20)
    monkeypatch.setitem(head_evidence.__kwdefaults__, "n_labels", 20)
    monkeypatch.setattr(limits, "ATTACKED_RANK", 0)
    head = ea.FactorModel.from_softmax(np.random.default_rng(0).standard_normal((40, 3)) + 1, np.zeros(40))
    audited = ea.audit(head, n_gauges=1, n_pairs=50)
    assert audited.evidence.model.n_right == 20
    proof = audited.proof()
    assert {name: problem for name, problem in ea.verify(proof, head) if problem} == {}
    assert any("labels" in claim["proof"]["arrays"] for claim in proof.record["claims"])


def test_what_fewer_labels_were_asked_is_proven_of_these(monkeypatch):
    monkeypatch.setattr("embaudit.auditing.heads.FEWEST", 20)
    monkeypatch.setattr(limits, "ATTACKED_RANK", 0)
    head = ea.FactorModel.from_softmax(np.random.default_rng(0).standard_normal((40, 3)) + 1)
    audited = ea.audit(head, n_gauges=1, n_pairs=50, n_lists=1)
    assert (audited.head.n_panel, audited.head.neighbours.n_rows, audited.evidence.model.n_right) == (20, 6, 20)
    assert any(claim.name == "origin-decides" for claim in audited.claims)
    proof = audited.proof()
    assert {name: problem for name, problem in ea.verify(proof, head) if problem} == {}


def test_nothing_is_proven_where_the_check_itself_failed(audited, monkeypatch):
    failed = ea.Audit(audited.model, audited.evidence)
    monkeypatch.setattr("embaudit.auditing.evidence.Evidence.predictions_hold", False)
    with pytest.raises(InputError, match=r"a proof must be of an audit whose predictions hold; got one where .*EMB001"):
        failed.proof()


# Files


def test_a_file_holds_the_proof_and_is_never_replaced_unasked(proof, audited, tmp_path):
    path = tmp_path / "proof.npz"
    proof.save(path)
    again = ea.Proof.load(path)
    assert again.record == proof.record
    assert again.arrays.keys() == proof.arrays.keys()
    assert all(np.array_equal(again.arrays[name], x, equal_nan=True) for name, x in proof.arrays.items())
    assert ea.verify(path, audited.model) == ea.verify(proof, audited.model)
    with pytest.raises(InputError, match="a file that does not exist yet"):
        proof.save(path)
    proof.save(path, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["proof.npz"]


def written(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (
            {"x": np.eye(2)},
            r"the proof must be a file that embaudit wrote; got .*proof.npz; write one with `embaudit a",
        ),
        ({"record": np.array("{")}, r"got .*proof.npz, whose record is damaged; write one"),
        ({"record": np.array("[]")}, r"got .*proof.npz, whose record is damaged; write one"),
        ({"record": np.array('{"format": 1}')}, r"got .*proof.npz, whose record is damaged; write one"),
        ({"record": np.array("[" * 100_000)}, r"got .*proof.npz, whose record is damaged; write one"),
        (
            {"record": np.array('{"format": 2, "model": {"link": 1, "arrays": 1}, "claims": []}')},
            r"the proof must be of format 1; got .*proof.npz, of another one; write one",
        ),
        ({"record": np.array({}, dtype=object)}, r"record in .*proof.npz must be a plain array; it is pickled"),
    ],
)
def test_what_is_no_proof_is_refused_in_one_sentence(arrays, words, tmp_path):
    with pytest.raises(InputError, match=words) as refused:
        ea.Proof.load(written(tmp_path / "proof.npz", **arrays))
    assert "\n" not in str(refused.value)


def test_a_file_cut_off_is_refused(proof, tmp_path):
    proof.save(tmp_path / "proof.npz")
    whole = (tmp_path / "proof.npz").read_bytes()
    for kept in (1, 4, len(whole) // 2, *range(len(whole) - 120, len(whole), 7), len(whole) - 1):
        (tmp_path / "cut.npz").write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"cut\.npz must be a whole \.npz archive; it is not"):
            ea.Proof.load(tmp_path / "cut.npz")


def test_a_record_that_lies_about_its_arrays_fails_claim_by_claim(proof, audited):
    record = json.loads(json.dumps(proof.record))
    record["claims"][0]["proof"]["arrays"] = {"gauge_left": "no such array"}
    del record["claims"][1]["scope"]
    found = dict(ea.verify(ea.Proof(record, proof.arrays), audited.model))
    assert {name for name, problem in found.items() if problem} == {c["name"] for c in record["claims"][:2]}


def test_a_model_of_another_link_is_refused(proof, audited):
    with pytest.raises(InputError, match="the model must have the identity link of the proof; got ranking"):
        ea.verify(proof, audited.model.replace(link="ranking"))


@pytest.mark.parametrize(("side", "other"), [("right", "left"), ("left", "right")])
def test_a_shift_needs_a_bias_whichever_rows_are_compared(side, other, monkeypatch):
    monkeypatch.setattr(limits, "ATTACKED_RANK", 0)
    model = random_model(n=20, p=15, k=2, biases=(f"{other}_bias",))
    model = model.replace(**{other: np.vstack([np.zeros((1, 2)), getattr(model, other)[1:]])})
    proof = ea.audit(model, n_gauges=1, n_pairs=50, groups=["translation"], roles=[side]).proof()
    bare = {"left": model.left, "right": model.right, "left_bias": None, "right_bias": None}
    record = json.loads(json.dumps(proof.record))
    found = dict(checker.verify({**proof.contents, "record": np.array(json.dumps(record))}, bare))
    assert found[f"moved:{side}"].startswith("a prediction moves by")
    for claim in record["claims"]:
        claim["proof"]["arrays"][f"rows_{other}"] = "zero"  # a row on which no shift is seen
    arrays = {**proof.contents, "record": np.array(json.dumps(record)), "zero": np.zeros(1, dtype=np.int32)}
    found = dict(checker.verify(arrays, bare))
    assert found[f"moved:{side}"] == f"nothing absorbs a shift of {side} rows"


# The checker on its own


def test_the_checker_needs_numpy_alone():
    tree = ast.parse(CHECKER.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported - set(sys.stdlib_module_names) == {"numpy"}


def test_the_checker_knows_every_claim_that_can_be_proved():
    text = CHECKER.read_text()
    assert [name for name in PROVERS if name not in text] == []


@pytest.fixture
def copied(tmp_path, monkeypatch, capsys):
    """Run a copy of the checker in a folder of its own: (exit code, lines printed, errors)."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CHECKER, tmp_path / "verify.py")

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["verify.py", *arguments])
        with pytest.raises(SystemExit) as stopped:
            runpy.run_path("verify.py", run_name="__main__")
        streams = capsys.readouterr()
        return stopped.value.code, streams.out.splitlines(), streams.err

    return run


def test_a_copy_of_the_checker_verifies_arrays(copied, proof, audited):
    proof.save("proof.npz")
    for name in ("left", "right", "left_bias", "right_bias"):
        np.save(f"{name}.npy", getattr(audited.model, name))
    names = ("left.npy", "right.npy", "left_bias.npy", "right_bias.npy")
    code, lines, _ = copied("proof.npz", *names)
    assert code == 0
    assert lines == [f"stands  {name}" for name, _ in ea.verify(proof, audited.model)]
    np.save("right.npy", audited.model.right * [1, 2])
    code, lines, _ = copied("proof.npz", *names)
    assert code == 1
    assert "FAILS  right  another array than the one that was audited" in lines
    assert "stands  left" in lines
    assert any(line.startswith("FAILS  range:right:linear:2.0  value is 0.") for line in lines)
    code, lines, _ = copied("proof.npz", *names[:2], "-", "right_bias.npy")
    assert code == 1
    assert "FAILS  left_bias  another array than the one that was audited" in lines


def test_a_copy_of_the_checker_verifies_one_side(copied, monkeypatch):
    monkeypatch.setattr(limits, "ATTACKED_RANK", 0)
    model = random_model(n=None, p=12, k=2)
    ea.audit(model, n_gauges=1, n_pairs=50).proof().save("proof.npz")
    np.save("Q.npy", model.right)
    assert copied("proof.npz", "Q.npy")[0] == 0
    code, lines, errors = copied("proof.npz", "no.npy")
    assert (code, lines) == (2, [])
    assert "no.npy" in errors
    assert copied("proof.npz")[0] == 2


# The commands


@pytest.mark.usefixtures("without_attacks")
def test_an_audit_writes_a_proof_that_verifies(embaudit, tmp_path):
    ea.save(random_model(n=20, p=15, k=2), "model.npz")
    ea.save(random_model(1, n=20, p=15, k=2), "other.npz")
    options = ("--gauges", 1, "--pairs", 50, "--quiet")
    assert embaudit("audit", "model.npz", "--proof", "proof.npz", *options).code == 0
    result = embaudit("verify", "proof.npz", "model.npz")
    count = len(ea.verify("proof.npz", "model.npz"))
    assert (result.code, result.err) == (0, "")
    assert result.out == f"All {count} checks stand: the model is the one audited, and so are its claims.\n"
    result = embaudit("verify", "proof.npz", "other.npz")
    assert result.code == 1
    assert result.out.startswith("FAILS  left: another array than the one that was audited\nFAILS  right: another")
    assert "stand" not in result.out
    assert embaudit("verify", "model.npz", "model.npz").code == 2
    result = embaudit("audit", "model.npz", "--proof", "proof.npz", *options)
    assert result.code == 2
    assert "must be a file that does not exist yet" in result.err
    result = embaudit("audit", "model.npz", "--proof", "model.npz", "--force", *options)
    assert result.code == 2
    assert "another file than the input" in result.err
