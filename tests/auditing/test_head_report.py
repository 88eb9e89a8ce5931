"""Audits of heads: examples of the paper, real, trained and misleading heads."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from embaudit.auditing.audit import audit
from embaudit.auditing.heads import head_report
from embaudit.errors import InputError
from embaudit.heads.label_sample import probe_inputs
from embaudit.model import Equivalence, FactorModel, softmax_link

FIGURE_1 = np.array([[1, 0.5], [0.5, 1], [-1, 0.4], [-0.8, -0.8], [0.9, -1.2]])
HEAD = FactorModel.from_softmax(FIGURE_1)


def centred_rows(seed: int, n: int = 40, rank: int = 8) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, rank))
    return np.asarray(rows - rows.mean(axis=0))


def real_head(path, weight: str, bias: str) -> FactorModel:
    with np.load(path / "head.npz") as arrays:
        return FactorModel.from_softmax(arrays[weight], arrays[bias])


def test_figure_1_has_three_equal_models_with_cosines_08_minus_1_and_1():
    inputs = np.random.default_rng(0).standard_normal((1_000, 2))
    report = head_report(
        FactorModel.from_softmax(FIGURE_1, embeddings=inputs), pair=(0, 1)
    )
    opposite, parallel = report.constructions
    assert [made.before for made in report.constructions] == pytest.approx(
        [0.8, 0.8], abs=1e-15
    )
    assert [opposite.after, parallel.after] == pytest.approx([-1.0, 1.0], abs=1e-15)
    median = np.median(np.linalg.norm(FIGURE_1, axis=1))
    assert opposite.shift * median == pytest.approx(np.linalg.norm([-0.75, -0.75]))
    assert parallel.shift * median == pytest.approx(np.linalg.norm([-1.25, -0.25]))
    assert max(opposite.change, parallel.change) < 1e-12
    for v in ([-0.75, -0.75], [-1.25, -0.25]):
        winners = [
            (inputs @ (FIGURE_1 + shift).T).argmax(axis=1)
            for shift in (np.zeros(2), np.array(v))
        ]
        assert np.array_equal(*winners)


@pytest.mark.parametrize(
    ("name", "arrays", "changed", "n", "matters"),
    [
        ("heads-charrnn/shakespeare", ("softmax_w", "softmax_b"), 0.3538, 65, True),
        ("heads-charrnn/charlotte_bronte", ("softmax_w", "softmax_b"), 0.25, 108, True),
        ("head-doodlenet-345", ("W", "b"), 0.0116, 345, False),
    ],
)
def test_of_real_heads_the_mean_row_decides_nearest_labels_or_little(
    shared_data, name, arrays, changed, n, matters
):
    report = head_report(real_head(shared_data(name), *arrays), n_gauges=1)
    assert report.neighbours.top1_changed == pytest.approx(changed, abs=1e-4)
    assert (report.neighbours.exact, report.neighbours.n_rows) == (True, n)
    assert report.origin_matters is matters
    assert (
        max(
            head.change
            for head in (report.centred, *report.equivalents, *report.constructions)
        )
        < 1e-12
    )


def test_neighbours_before_and_after_centring_are_those_of_a_dense_computation():
    rows = centred_rows(0) + 1.0
    report = head_report(
        FactorModel.from_softmax(rows, labels=[f"label {i}" for i in range(40)]),
        n_neighbours=3,
    )
    nearest = []
    for x in (rows, rows - rows.mean(axis=0)):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        nearest.append(np.argsort(-(unit @ unit.T - 2 * np.eye(40)), axis=1)[:, :3])
    before, after = nearest
    assert report.neighbours.top1_changed == pytest.approx(
        np.mean(before[:, 0] != after[:, 0])
    )
    kept = [len(np.intersect1d(*lists)) for lists in zip(before, after, strict=True)]
    assert report.neighbours.top_n_changed == pytest.approx(1 - np.mean(kept) / 3)
    for example in report.neighbours.examples:
        row = int(example.name.removeprefix("label "))
        assert [name for name, _ in example.before] == [
            f"label {i}" for i in before[row]
        ]
        assert [name for name, _ in example.after] == [f"label {i}" for i in after[row]]


def test_shortest_shifts_are_reached_and_not_undercut():
    rows = centred_rows(3, 6, 3)
    report = head_report(FactorModel.from_softmax(rows))
    median, directions = (
        np.median(np.linalg.norm(rows, axis=1)),
        np.random.default_rng(0).standard_normal((3_000, 3)),
    )
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert [summary.target for summary in report.shifts] == [0.0, -1.0, 1.0]
    for summary in report.shifts:
        assert summary.n_pairs == 15
        assert summary.exact
        for easy, hard in zip(summary.easiest, summary.hardest, strict=True):
            assert easy.shift <= hard.shift
            a, b = rows[[int(name) for name in easy.names]]
            v = (
                0.98
                * easy.shift
                * median
                * directions
                * np.random.default_rng(1).random((3_000, 1))
            )
            x, y = a + v, b + v
            cosines = (
                np.einsum("ij,ij->i", x, y)
                / np.linalg.norm(x, axis=1)
                / np.linalg.norm(y, axis=1)
            )
            # Shorter shifts leave the cosine on one side of its target.
            assert (cosines > summary.target).all() or (cosines < summary.target).all()


@pytest.mark.parametrize("inputs", [None, centred_rows(2, 30)])
def test_a_head_that_says_it_is_capped_is_audited_as_one_declared_so(inputs):
    head = FactorModel.from_softmax(
        centred_rows(4) + 1.0, np.arange(40.0) / 9, embeddings=inputs
    )
    for link, options in (
        (softmax_link(soft_cap=3.0), {"soft_cap": 3.0}),
        (softmax_link(unit_rows=True), {"normalised": True}),
        (
            softmax_link(soft_cap=3.0, unit_rows=True),
            {"soft_cap": 3.0, "normalised": True},
        ),
    ):
        stored, declared = (
            audit(head.replace(link=link), n_gauges=1),
            audit(head, n_gauges=1, **options),
        )
        # Options say what was declared.
        assert json.dumps(stored.to_dict() | {"options": {}}) == json.dumps(
            declared.to_dict() | {"options": {}}
        )
        assert declared.model.link == link
        assert declared.predictions_hold
        assert {record.level for record in declared.evidence.drift} == {
            Equivalence.PROBABILITIES
        }
    kept = audit(
        head.replace(link=softmax_link(soft_cap=3.0)), n_gauges=1, normalised=True
    )
    assert kept.model.link == softmax_link(soft_cap=3.0, unit_rows=True)


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (
            FactorModel.from_vectors(FIGURE_1),
            {},
            "must be a softmax head for a head report",
        ),
        (FactorModel.from_softmax(np.ones((20, 6))), {}, "must not all be equal"),
        (FactorModel.from_softmax(np.zeros((20, 6))), {}, "must not all be equal"),
        (FactorModel.from_softmax([[0.0, 0], [1, 2]]), {}, "got a row of zeros"),
        (
            FactorModel.from_softmax([[0.0], [0], [2]]),
            {},
            "with a nonzero row must be at least 2; got 1 of",
        ),
        (HEAD, {"pair": (0, 1, 2)}, "pair must be two row numbers; got (0, 1, 2)."),
        (HEAD, {"pair": ("0", "1")}, "pair must be two row numbers; got ('0', '1')."),
        (HEAD, {"pair": (0, 5)}, "pair must be rows from 0 to 4"),
        (HEAD, {"pair": (2, 2)}, "two different labels; got label 2 twice."),
        (HEAD, {"n_labels": 1}, "n_labels must be an integer >= 2; got 1."),
        (HEAD, {"n_gauges": -1}, "n_gauges must be an integer from 0 to 10000"),
        (HEAD, {"soft_cap": "a"}, "soft_cap must be a positive number; got 'a'"),
        (HEAD, {"rng": "x"}, "rng must be a numpy Generator, an integer >= 0 or None"),
        (HEAD, {"rng": -1}, "an integer >= 0 or None; got -1."),
    ],
)
def test_a_head_report_of_such_a_model_or_option_is_refused(model, options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        head_report(model, **options)


def test_probe_inputs_need_a_softmax_head():
    with pytest.raises(
        InputError, match="a softmax head for probe inputs; got one with"
    ):
        probe_inputs(FactorModel.from_vectors(FIGURE_1))
