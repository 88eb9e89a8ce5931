"""The figures of an audit are recomputed from its JSON: honest files agree, and forged
files do not.
"""

from __future__ import annotations

import copy
import json
import shlex
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import embaudit as ea
from embaudit.auditing.options import AuditOptions
from embaudit.auditing.recorded_equivalent import repeat_equivalent
from embaudit.errors import InputError
from embaudit.report.gate.gate import Baseline, Gate

DRAW = np.random.default_rng(0)
USERS, ITEMS = DRAW.standard_normal((30, 4)), DRAW.standard_normal((25, 4))
ITEMS[11] = ITEMS[3]  # two rows of one cosine to all others
MODEL = ea.FactorModel.from_user_item(
    USERS, ITEMS, item_names=[f"film {i}" for i in range(25)], objective="product"
)
HEAD = ea.FactorModel.from_softmax(ITEMS + 1)
FEW = {"n_gauges": 1, "n_pairs": 50, "n_starts": 1, "n_steps": 2}
SHORT = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}
"""Options of an audit without attacks, which takes a tenth of a second."""
HONEST = {
    "both sides": (MODEL.replace(objective=None), {}),
    "an objective": (MODEL, {"objective": "factors"}),
    "one side": (
        ea.FactorModel.from_vectors(ITEMS),
        {"groups": ["linear", "diagonal"]},
    ),
    "a head": (HEAD, {"role": "label"}),
    "a head with a bias": (
        HEAD.replace(right_bias=DRAW.standard_normal(25)),
        {},
    ),
    "a capped head": (HEAD, {"soft_cap": 3.0}),
    "a head of unit labels": (HEAD, {"normalised": True}),
    "the hull of a head": (HEAD, {"hull": True}),
    "unit rows": (
        MODEL.replace(link="cosine", objective=None),
        {"roles": ["item", "user"], "rng": 7},
    ),
    "rows asked for": (
        MODEL,
        {"show": ["film 3"], "n_neighbours": 3, "max_condition": 3.0},
    ),
}


@pytest.fixture(scope="module")
def record():
    audited = ea.audit(MODEL, source="m.npz", show=["film 5"], **SHORT)
    return json.loads(json.dumps(audited.to_dict(), allow_nan=False))


@pytest.fixture
def checked():
    """Return a function that verifies a record of `MODEL`."""
    return lambda forged: ea.verify(forged, MODEL, source="elsewhere/m.npz")


@pytest.mark.parametrize("name", HONEST)
def test_honest_files_agree(name, tmp_path):
    model, options = HONEST[name]
    record = ea.audit(model, **FEW, **options).to_dict()
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record, allow_nan=False))
    verified = ea.verify(path, model)
    assert verified.ok, verified.explain()
    assert verified.n_numbers > 100
    assert verified.explain() == (
        f"All agrees: {verified.n_numbers:,} numbers and every text are those of this "
        "model."
    )


def example(record):
    return record["neighbours"]["examples"][0]


def note(record, code):
    return next(one for one in record["notes"] if one["code"] == code)


def one_row_ten_times(record):
    before = example(record)["before"]
    example(record)["before"] = [before[0]] * len(before)


def neighbours_swapped(record):
    before = example(record)["before"]
    before[0][0], before[-1][0] = before[-1][0], before[0][0]


FORGED = {
    "a mean": lambda r: r["movement"][0].update(
        mean_abs=r["movement"][0]["mean_abs"] * (1 + 1e-8)
    ),
    "a small number": lambda r: r["movement"][0].update(
        sign_flips=r["movement"][0]["sign_flips"] + 1e-9
    ),
    "a number as text": lambda r: r["movement"][0].update(
        n_pairs=str(r["movement"][0]["n_pairs"])
    ),
    "a truth value for 1": lambda r: r["model"].update(rank=True),
    "a count for true": lambda r: r["drift"][0].update(ok=1),
    "drift above its tolerance": lambda r: r["drift"][0].update(max_abs=1e-3),
    "negative drift": lambda r: r["drift"][0].update(max_abs=-1.0),
    "a tolerance": lambda r: r["drift"][0].update(
        tolerance=r["drift"][0]["tolerance"] * 2
    ),
    "a failed check": lambda r: r["drift"][0].update(ok=False),
    "a quantile": lambda r: r["movement"][0]["quantiles"].update({"0.5": 0.9}),
    "Infinity": lambda r: note(r, "moved").update(value=float("inf")),
    "NaN": lambda r: note(r, "moved").update(value=float("nan")),
    "a huge integer": lambda r: note(r, "moved").update(value=10**400),
    "nothing for a number": lambda r: note(r, "moved").update(value=None),
    "a scope": lambda r: note(r, "drawn")["scope"].update(whole=True),
    "a budget": lambda r: note(r, "range")["scope"].update(max_condition=3.0),
    "a kind": lambda r: note(r, "drawn").update(kind="proven"),
    "a text": lambda r: note(r, "moved").update(text="Nothing moves."),
    "a change in a text": lambda r: r.update(
        verdict=r["verdict"].replace("up to rounding", "up to 0.1")
    ),
    "an extra note": lambda r: r["notes"].append(r["notes"][0]),
    "no notes": lambda r: r.update(notes=[]),
    "notes swapped": lambda r: r["notes"].reverse(),
    "no findings": lambda r: r.update(findings=[]),
    "findings twice": lambda r: r.update(findings=r["findings"] * 2),
    "a code": lambda r: r["findings"][0].update(code="EMB102"),
    "a severity": lambda r: r["findings"][0].update(severity="tip"),
    "the answer": lambda r: r["answer"].update(word="YES"),
    "another seed": lambda r: r.update(seed=1),
    "more models": lambda r: r["options"].update(n_gauges=2),
    "no number of pairs": lambda r: r["options"].update(n_pairs=None),
    "no length of lists": lambda r: r["options"].update(n_neighbours=None),
    "longer lists": lambda r: r["options"].update(n_neighbours=9),
    "another budget": lambda r: r["options"].update(max_condition=2.5),
    "another objective": lambda r: r["options"].update(objective="factors"),
    "fewer groups": lambda r: r["options"].update(groups=["linear"]),
    "another model": lambda r: r["input"].update(fingerprint="0" * 32),
    "no fingerprint": lambda r: r["input"].pop("fingerprint"),
    "another file": lambda r: r["input"].update(source="n.npz"),
    "an intake": lambda r: r["input"].update(intake={"format": "npz"}),
    "a removed key": lambda r: r["movement"][0].pop("rms"),
    "a removed section": lambda r: r.pop("certificates"),
    "an unknown key": lambda r: r.update(signature="mine"),
    "an unknown key within": lambda r: r["notes"][0].update(checked=True),
    "one row ten times": one_row_ten_times,
    "neighbours swapped": neighbours_swapped,
    "a shorter list": lambda r: example(r)["before"].pop(),
    "a cosine": lambda r: example(r)["after"][0].__setitem__(1, 0.5),
    "a name as a number": lambda r: example(r)["before"][0].__setitem__(0, 7),
    "an entry of three": lambda r: example(r)["before"][0].append(1),
    "no list": lambda r: example(r).update(before="film 1"),
    "a list in place of an object": lambda r: r.update(model=[]),
    "an object in place of a list": lambda r: r.update(notes={}),
    "a version": lambda r: r.update(embaudit_version="0.0.1"),
    "a schema": lambda r: r.update(schema_version=2),
}


QUICK = (
    "another seed",
    "the answer",
    "a text",
    "a quantile",
    "drift above its tolerance",
)
"""Forged in every run; each recomputes an audit, so the others are slow."""


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in FORGED
    ],
)
def test_no_forged_file_agrees(record, checked, name):
    forged = copy.deepcopy(record)
    FORGED[name](forged)
    assert checked(record).ok
    verified = checked(forged)
    assert not verified.ok
    assert verified.difference.recorded != verified.difference.recomputed


@pytest.fixture(scope="module")
def stopped(record):
    """Return the records of a model whose predictions moved and of its baseline."""
    shuffled = MODEL.replace(left=USERS[::-1])
    before = json.loads(json.dumps(ea.audit(shuffled, **SHORT).to_dict()))
    gate = Gate.from_options(None, baseline=Baseline({}, before["score_sample"]))
    after = gate.beside(ea.audit(MODEL, source="m.npz", show=["film 5"], **SHORT))
    after = json.loads(json.dumps(after.to_dict()))
    assert after["answer"]["word"] == "CHECK FIRST"
    return after, before


def test_an_audit_with_a_baseline_is_recomputed_with_it(stopped, checked):
    after, before = stopped
    verified = ea.verify(after, MODEL, baseline=before, source="m.npz")
    assert verified.ok, verified.explain()
    assert "not recomputed" not in verified.explain()
    alone = checked(after)
    assert alone.ok
    assert "EMB002 needs the baseline: not recomputed." in alone.explain()
    # An audit made without the baseline holds no EMB002.
    record = copy.deepcopy(after)
    record["findings"] = [one for one in record["findings"] if one["code"] != "EMB002"]
    assert not ea.verify(record, MODEL, baseline=before, source="m.npz").ok


@pytest.mark.parametrize(
    "forge",
    [
        lambda r: r["answer"].update(word="YES"),
        lambda r: r["answer"].update(because="all is well"),
        lambda r: r.update(verdict="YES: all is well"),
    ],
)
def test_no_other_answer_is_accepted_next_to_moved_predictions(stopped, checked, forge):
    forged = copy.deepcopy(stopped[0])
    forge(forged)
    assert not checked(forged).ok
    assert not ea.verify(forged, MODEL, baseline=stopped[1], source="m.npz").ok


def test_moved_predictions_that_were_added_by_hand_do_not_free_the_answer(
    record, stopped, checked
):
    """An honest answer next to a forged EMB002 is refused, too."""
    forged = copy.deepcopy(record)
    forged["findings"] = copy.deepcopy(stopped[0]["findings"])
    assert "answer" in str(checked(forged).difference)
    with_base = ea.verify(stopped[0], MODEL, baseline=record, source="m.npz")
    assert not with_base.ok


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda r: r.update(score_sample=None), "got no scores"),
        (
            lambda r: r.update(score_sample=3),
            "must be scores that `embaudit audit` wrote",
        ),
        (
            lambda r: r["score_sample"].update(left=["x"] * 30),
            "got scores of other rows",
        ),
    ],
)
def test_a_baseline_whose_scores_cannot_be_compared_is_refused(stopped, change, part):
    after, before = copy.deepcopy(stopped)
    change(before)
    with pytest.raises(InputError, match=part):
        ea.verify(after, MODEL, baseline=before, source="m.npz")


def test_an_audit_of_another_model_is_called_so_before_fingerprints_are_shown(
    record, checked
):
    forged = copy.deepcopy(record)
    FORGED["another model"](forged)
    recorded = "0" * 32
    recomputed = record["input"]["fingerprint"]
    explanation = checked(forged).explain()
    assert explanation.startswith(
        "This audit describes another model, or this model read with other options: "
        'it names "m.npz". Verify it'
    )
    assert explanation.endswith(
        f'input.fingerprint: the file says "{recorded}"; it is "{recomputed}".'
    )


def test_the_file_that_an_audit_of_another_model_names_is_shown(record, checked):
    forged = copy.deepcopy(record)
    FORGED["another model"](forged)
    FORGED["another file"](forged)
    assert 'names "n.npz". ' in checked(forged).explain()


def test_an_audit_of_the_same_model_from_no_file_is_not_of_another_model(
    record, checked
):
    forged = copy.deepcopy(record)
    forged["input"]["source"] = None
    assert "another model" not in checked(forged).explain()


@pytest.mark.slow
@given(data=st.data())
def test_verify_notices_any_changed_number_or_text_of_a_record(record, data):
    """Options and the seed are inputs of the audit and are tested elsewhere."""
    places = [place for place in leaves(record) if place[0] not in ("options", "seed")]
    *way, last = data.draw(st.sampled_from(places))
    forged = copy.deepcopy(record)
    part = forged
    for key in way:
        part = part[key]
    value = part[last]
    if isinstance(value, float) and abs(value) < 1e-11:
        return  # a residue of rounding, which verify allows for
    if isinstance(value, bool):
        part[last] = not value
    elif isinstance(value, int | float):
        part[last] = value * 1.001 + 1e-6
    else:
        part[last] = "other"
    assert not ea.verify(forged, MODEL, source="m.npz").ok


def leaves(value, way=()):
    """Yield the keys and indices that lead to each number and text of a record."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*way, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*way, index))
    else:
        yield way


def test_the_first_difference_is_named(record, checked):
    forged = copy.deepcopy(record)
    forged["movement"][0]["rms"] = 9.0
    forged["verdict"] = "YES"
    rms = record["movement"][0]["rms"]
    difference = checked(forged).difference
    assert str(difference) == f"movement[0].rms: the file says 9.0; it is {rms}."


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no notes", "notes: the file says a list of 0; it is a list of {n_notes}."),
        ("a removed key", "movement[0].rms: the file says nothing; it is 0."),
        ("an unknown key", 'signature: the file says "mine"; it is nothing.'),
        (
            "a version",
            'embaudit_version: the file says "0.0.1"; it is "{version}"; '
            "verify it with the version that wrote it.",
        ),
    ],
)
def test_a_difference_is_described_by_its_place_and_both_values(
    record, checked, name, sentence
):
    forged = copy.deepcopy(record)
    FORGED[name](forged)
    expected = sentence.format(n_notes=len(record["notes"]), version=ea.__version__)
    assert str(checked(forged).difference).startswith(expected)


WRONG = {
    "n_pairs": [10**12, -1, "many", 2.5, True, 10**400],
    "n_lists": [0, 10**9],
    "n_gauges": [10**6],
    "n_neighbours": ["10", -1],
    "n_starts": [-1],
    "n_steps": [-1],
    "max_condition": [0.5, "2", None, float("nan")],
    "groups": ["linear", ["none"], [3], None, {"linear": 1}],
    "roles": [3, ["diagonal"], [], "right"],
    "role": [3, "north"],
    "show": ["film 3", ["no such film"], None],
    "objective": [3, "joy"],
    "compared": [3, "joy"],
    "soft_cap": ["3", -1.0],
    "normalised": ["yes", 1, None],
    "hull": ["yes", 1, None],
    "quick": ["very", None],
    "served": [3, "joy"],
    "queries": [3, "no-such-file.npy"],
    "by": ["revision", 3],
    "tolerance": ["0.1", 0.0, 1.0],
    "noise": [-1.0, "no-such-file.csv"],
}


def test_every_option_has_wrong_values():
    missing = {option.name for option in fields(AuditOptions)} - set(WRONG)
    assert not missing, f"WRONG above lacks {sorted(missing)}"


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in WRONG.items() for value in values],
)
def test_options_of_a_file_are_checked_as_typed_ones(record, name, value):
    forged = copy.deepcopy(record)
    forged["options"][name] = value
    with pytest.raises(InputError, match=r"^[^\n]{10,400}$"):
        ea.verify(forged, MODEL)


@pytest.mark.parametrize(
    "forge",
    [
        lambda r: r["options"].pop("show"),
        lambda r: r["options"].update(speed=3),
        lambda r: r.pop("options"),
        lambda r: r.update(options=[]),
        lambda r: r.update(options=None),
        lambda r: r.pop("seed"),
        lambda r: r.update(seed=-1),
        lambda r: r.update(seed=None),
        lambda r: r.update(seed="0"),
        lambda r: r.update(input="m.npz"),
    ],
)
def test_what_no_audit_wrote_is_refused(record, forge):
    forged = copy.deepcopy(record)
    forge(forged)
    with pytest.raises(InputError, match=r"^[^\n]{10,600}$"):
        ea.verify(forged, MODEL)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("{", "Expecting"),
        ("[]", "must be JSON that `embaudit audit` wrote"),
        ("3", "must be JSON that `embaudit audit` wrote"),
        ('{"a": NaN}', "the number NaN"),
        ('{"a": -Infinity}', "the number -Infinity"),
        ('{"a": 1e999}', "the number 1e999"),
        ('{"a": 1, "a": 2}', "the key 'a' twice"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5_000, "must be JSON"),
        ("\xff", "must be JSON"),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(tmp_path, text, said):
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"^[^\n]{10,600}$") as refused:
        ea.verify(path, MODEL)
    assert said in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("model", [MODEL, HEAD, ea.FactorModel.from_vectors(ITEMS)])
def test_every_equivalent_model_of_an_audit_is_made_by_its_name(model):
    found = ea.audit(model, show=["3"] if model is HEAD else (), **FEW)
    record = json.loads(json.dumps(found.to_dict()))
    for drift, made in zip(record["drift"], found.evidence.equivalents, strict=True):
        given, equivalent = repeat_equivalent(record, model, drift["gauge"])
        np.testing.assert_array_equal(
            equivalent.apply(given).right, made.apply(found.model).right
        )


@pytest.fixture
def audited_files(embaudit):
    """Write a model, its audit and another model into the current folder."""
    ea.save(MODEL, "m.npz")
    ea.save(MODEL.replace(right=ITEMS * 2), "other.npz")
    small = ("--n-gauges", 1, "--n-steps", 1)
    audit = embaudit("audit", "m.npz", *small, "--json", "a.json")
    assert audit.code == 0


@pytest.mark.usefixtures("audited_files")
def test_the_command_writes_a_model_of_an_audit(embaudit):
    chosen = ("--from", "a.json", "--name", "linear 1")
    written = embaudit("gauge", "m.npz", *chosen, "--out", "g.npz")
    assert written.code == 0
    assert written.out.startswith("linear 1, condition number 2: ")
    model = ea.load("g.npz")
    np.testing.assert_allclose(model.scores(), MODEL.scores(), atol=1e-12)
    assert not np.allclose(model.right, ITEMS)


@pytest.mark.usefixtures("audited_files")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("m.npz --from a.json --name 'linear 2'", "the nearest one is linear 1."),
        ("m.npz --from a.json", "--from and --name must be given together"),
        ("m.npz --name 'linear 1'", "--from and --name must be given together"),
        (
            "m.npz --from a.json --name 'linear 1' --group linear",
            "--from must be given without",
        ),
        (
            "other.npz --from a.json --name 'linear 1'",
            "the model must be the audited model",
        ),
        ("m.npz --from m.npz --name 'linear 1'", "the audit must be JSON"),
    ],
)
def test_the_command_refuses_a_model_that_an_audit_does_not_have(
    embaudit, arguments, message
):
    refused = embaudit("gauge", *shlex.split(arguments), "--out", "h.npz")
    assert refused.code == 2
    assert message in refused.err
    assert refused.out == ""
