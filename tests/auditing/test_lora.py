"""Audits of low-rank adapters: figures against dense updates, remarks and refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from networks.adapters import dense, pair, regauged, write_adapter
from schemas import closed

import embaudit as ea
from embaudit.errors import InputError
from embaudit.report.schemas import record

MODULES = {f"layers.{i}": pair(i, 80, 50, 4) for i in range(3)}


def nearest(rows, n):
    """Return the n nearest rows of each row, by brute force."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    return [set(line) for line in np.argsort(-cosines, axis=1)[:, :n]]


def kept(first, second):
    return np.mean(
        [len(one & other) / len(one) for one, other in zip(first, second, strict=True)]
    )


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Return the audit of an adapter with a factor of 2 for all modules."""
    folder = tmp_path_factory.mktemp("adapter") / "one"
    write_adapter(folder, MODULES, dtype=np.float64)
    return ea.audit_lora(folder, rng=3)


def test_the_norms_of_modules_are_those_of_dense_updates(audited):
    assert {module.name for module in audited.modules} == set(MODULES)
    for module in audited.modules:
        update = dense(MODULES[module.name], 2.0)
        assert module.norm == pytest.approx(np.linalg.norm(update))


def other_factors(module):
    """Return the factors that the gauge of a module makes."""
    b, a = MODULES[module.name]
    return module.gauge.apply(b, "left"), module.gauge.apply(a.T, "right").T


def test_the_gauge_of_a_module_keeps_its_update_and_spends_its_budget(audited):
    for module in audited.modules:
        update = dense(MODULES[module.name], 2.0)
        other_update = dense(other_factors(module), 2.0)
        np.testing.assert_allclose(other_update, update, atol=1e-10)
        condition_number = np.linalg.cond(module.gauge.matrix("left"))
        assert condition_number == pytest.approx(100)


def assert_shares_of_neighbours(side, stored, other, update):
    """Check the shares of the 10 nearest stored rows that other rows keep."""
    lists = nearest(stored, 10)
    by_pair = kept(lists, nearest(other, 10))
    by_update = kept(lists, nearest(update, 10))
    assert side.n == 10
    assert side.n_lists == len(stored)
    assert side.kept_by_pair == pytest.approx(by_pair)
    assert side.kept_by_update == pytest.approx(by_update)
    assert side.by_chance == 10 / (len(stored) - 1)


def test_shares_of_neighbours_against_dense_updates(audited):
    for module in audited.modules:
        b, a = MODULES[module.name]
        other_b, other_a = other_factors(module)
        update = dense((b, a), 2.0)
        assert_shares_of_neighbours(module.outputs, b, other_b, update)
        assert_shares_of_neighbours(module.inputs, a.T, other_a.T, update.T)


def test_modules_are_ordered_by_the_neighbours_they_keep(audited):
    shares = [module.kept_by_pair for module in audited.modules]
    assert shares == sorted(shares)


def test_the_share_of_an_adapter_counts_each_row_once(audited):
    """A module has 80 outputs and 50 inputs."""
    n_kept = sum(
        80 * module.outputs.kept_by_pair + 50 * module.inputs.kept_by_pair
        for module in audited.modules
    )
    expected = n_kept / (3 * (80 + 50))
    assert audited.kept_by_pair == pytest.approx(expected)
    assert audited.findings[0].value == pytest.approx(1 - expected)


@pytest.mark.parametrize("condition", [10.0, 1e3, 1e6])
def test_a_gauge_changes_no_figure_of_the_update(condition):
    factors = pair(0)
    before = ea.audit_lora(*factors).modules[0]
    after = ea.audit_lora(*regauged(factors, 1, condition)).modules[0]
    assert after.norm == pytest.approx(before.norm, rel=1e-8)
    assert after.effective_rank == pytest.approx(before.effective_rank, rel=1e-8)


def test_rows_of_the_update_are_its_prediction_rows():
    """The advice of the conclusion: cosines that no gauge changes."""
    b, a = pair(0)
    rows = ea.identified_factors(ea.FactorModel.from_user_item(b, a.T), "left")
    matrix = dense((b, a))
    np.testing.assert_allclose(rows @ rows.T, matrix @ matrix.T, atol=1e-8)


def test_scales_change_lengths_and_no_share():
    factors = pair(0)
    one, other = ea.audit_lora(*factors), ea.audit_lora(*factors, scale=-3.0)
    assert other.norm == pytest.approx(3 * one.norm)
    assert other.kept_by_pair == one.kept_by_pair


def test_remarks(tmp_path):
    b, a = pair(0)
    modules = {"one": (b, a), "zero": (0 * b, a)}
    folder = write_adapter(
        tmp_path / "x",
        modules,
        other={"base_model.model.score.weight": np.eye(3)},
        init_lora_weights="pissa",
    )
    notes = ea.audit_lora(folder).notes
    assert notes[0] == "The update is zero in zero."
    assert "1 other array, such as base_model.model.score.weight" in notes[1]
    assert "(init_lora_weights: pissa)" in notes[2]
    (folder / "adapter_config.json").unlink()
    assert "a scale of 1 was taken" in ea.audit_lora(folder).notes[2]
    assert ea.audit_lora(b, a).notes == ()


def test_a_record_is_plain_and_complete():
    audited = ea.audit_lora(*pair(0))
    values = json.loads(json.dumps(audited.to_dict(), allow_nan=False))
    assert values["findings"][0]["code"] == "EMB601"
    assert values["modules"][0]["rank"] == 4
    assert list(audited.to_frame().columns) == list(values["modules"][0])
    assert "EMB601" in audited.report()
    assert "effective rank" in audited._repr_html_()
    assert repr(audited) == "LoraAudit(1 module, EMB601)"


@pytest.mark.parametrize("zero", [False, True])
def test_a_record_has_the_fields_of_its_schema_and_no_others(tmp_path, embaudit, zero):
    modules = {"layers.0": (0 * pair(0)[0], pair(0)[1])} if zero else MODULES
    folder = write_adapter(tmp_path / "x", modules)
    schema = json.loads(embaudit("schema", "adapter").out)
    validator = Draft202012Validator(closed(schema))
    written = record(ea.audit_lora(folder))
    assert [error.message for error in validator.iter_errors(written)] == []
    del written["modules"][0]["norm"]
    assert not validator.is_valid(written)


def test_numbers_of_a_zero_update_are_missing_and_not_zero():
    b, a = pair(0)
    values = ea.audit_lora(0 * b, a).to_dict()
    assert values["kept_by_pair"] is None
    assert values["modules"][0]["effective_rank"] is None
    assert values["norm"] == 0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda b, a: ea.audit_lora(b), "a must be the factor A"),
        (lambda b, a: ea.audit_lora(a, b), r"\(out, r\) and \(r, in\)"),
        (
            lambda b, a: ea.audit_lora(b, a, max_condition=0.5),
            "max_condition must be a number from 1",
        ),
        (
            lambda b, a: ea.audit_lora(b, a, max_condition=np.nan),
            "max_condition must be",
        ),
        (lambda b, a: ea.audit_lora(b, a, n_neighbours=0), "n_neighbours must be"),
        (lambda b, a: ea.audit_lora(b, a, n_lists=0), "n_lists must be"),
        (lambda b, a: ea.audit_lora("x", scale=2.0), "scale must be omitted"),
        (lambda b, a: ea.audit_lora(np.nan * b, a), "B must be finite"),
    ],
)
def test_wrong_arguments_are_refused(call, text):
    with pytest.raises(InputError, match=text):
        call(*pair(0))
