"""The audit of a head on the paper's examples, real heads, trained ones and heads that are not what they seem."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from embaudit.auditing import Audit, audit
from embaudit.auditing.checks.origin import origin_matters
from embaudit.auditing.head_report import HeadReport, head_report
from embaudit.errors import InputError
from embaudit.io import load
from embaudit.kernels.pairs import all_pairs
from embaudit.model import Equivalence, FactorModel, Softmax
from embaudit.softmax.panel import probe_inputs

FIGURE_1 = np.array([[1, 0.5], [0.5, 1], [-1, 0.4], [-0.8, -0.8], [0.9, -1.2]])


def codes(report: HeadReport | Audit) -> list[str]:
    return [finding.code for finding in report.findings]


def centred_rows(seed: int, n: int = 40, rank: int = 8) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, rank))
    return np.asarray(rows - rows.mean(axis=0))


def real_head(path, weight: str, bias: str) -> FactorModel:
    with np.load(path / "head.npz") as arrays:
        return FactorModel.from_softmax(arrays[weight], arrays[bias])


def test_figure_1_has_three_equal_models_with_cosines_08_minus_1_and_1():
    inputs = np.random.default_rng(0).standard_normal((1_000, 2))
    report = head_report(FactorModel.from_softmax(FIGURE_1, embeddings=inputs), pair=(0, 1))
    opposite, parallel = report.constructions
    assert [made.before for made in report.constructions] == pytest.approx([0.8, 0.8], abs=1e-15)
    assert [opposite.after, parallel.after] == pytest.approx([-1.0, 1.0], abs=1e-15)
    median = np.median(np.linalg.norm(FIGURE_1, axis=1))
    assert opposite.shift * median == pytest.approx(np.linalg.norm([-0.75, -0.75]))
    assert parallel.shift * median == pytest.approx(np.linalg.norm([-1.25, -0.25]))
    assert max(opposite.change, parallel.change) < 1e-12
    for v in ([-0.75, -0.75], [-1.25, -0.25]):
        winners = [(inputs @ (FIGURE_1 + shift).T).argmax(axis=1) for shift in (np.zeros(2), np.array(v))]
        assert np.array_equal(*winners)


@pytest.mark.parametrize(("name", "changed", "n"), [("shakespeare", 0.35, 65), ("charlotte_bronte", 0.25, 108)])
def test_character_models_alarm(shared_data, name, changed, n):
    report = head_report(real_head(shared_data(f"heads-charrnn/{name}"), "softmax_w", "softmax_b"), n_gauges=1)
    assert report.neighbours.top1_changed == pytest.approx(changed, abs=0.005)
    assert report.neighbours.exact
    assert report.neighbours.n_rows == n
    assert report.alarms
    assert codes(report)[0] == "EMB301"
    assert "depend on an origin that no probability shows" in report.verdict
    assert max(head.change for head in (report.centred, *report.equivalents, *report.constructions)) < 1e-12


def test_the_image_classifier_is_quiet_and_says_why(shared_data):
    report = head_report(real_head(shared_data("head-doodlenet-345"), "W", "b"), n_gauges=1)
    assert report.neighbours.top1_changed == pytest.approx(0.0116, abs=1e-4)
    assert not report.alarms
    assert report.offset == pytest.approx(0.0504, abs=1e-4)
    assert "Centring changes little: " in report.verdict
    assert "only 0.05 of a typical row (median) long" in report.verdict
    assert "move cosines by up to" in report.verdict


@pytest.mark.parametrize(("name", "n_changed"), [("off_centre", 27), ("nearly_centred", 1)])
def test_drawn_heads_alarm_where_the_mean_row_decides_the_nearest_label(drawn_heads, name, n_changed):
    rows = load(drawn_heads / f"{name}.csv", kind="vectors").right
    report = head_report(FactorModel.from_softmax(rows), n_gauges=1)
    nearest = []
    for x in (rows, rows - rows.mean(axis=0)):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        nearest.append(np.argmax(unit @ unit.T - 2 * np.eye(len(x)), axis=1))
    assert report.neighbours.top1_changed == np.mean(nearest[0] != nearest[1]) == n_changed / 80
    assert report.neighbours.exact
    assert report.offset == pytest.approx(np.linalg.norm(rows.mean(axis=0)) / np.median(np.linalg.norm(rows, axis=1)))
    assert codes(report) == (["EMB301"] if name == "off_centre" else [])
    assert ("depend on an origin that no probability shows" in report.verdict) == report.alarms
    assert ("Centring changes little: " in report.verdict) != report.alarms
    assert max(head.change for head in (report.centred, *report.equivalents, *report.constructions)) < 1e-12


@given(seed=st.integers(0, 2**32 - 1), shift=st.sampled_from([0.0, 0.02, 3.0]))
@settings(max_examples=8, deadline=None)
def test_it_alarms_iff_the_origin_is_far_from_the_labels(seed, shift):
    rows = centred_rows(seed) + shift * np.eye(8)[0]
    report = head_report(FactorModel.from_softmax(rows), n_gauges=1)
    assert report.alarms == origin_matters(report) == (shift == 3.0)
    assert report.offset == pytest.approx(shift / np.median(np.linalg.norm(rows, axis=1)), abs=1e-12)


def test_neighbours_before_and_after_centring_are_those_of_a_dense_computation():
    rows = centred_rows(0) + 1.0
    report = head_report(FactorModel.from_softmax(rows, labels=[f"label {i}" for i in range(40)]), n_neighbours=3)
    nearest = []
    for x in (rows, rows - rows.mean(axis=0)):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        nearest.append(np.argsort(-(unit @ unit.T - 2 * np.eye(40)), axis=1)[:, :3])
    before, after = nearest
    assert report.neighbours.top1_changed == pytest.approx(np.mean(before[:, 0] != after[:, 0]))
    kept = [len(np.intersect1d(*lists)) for lists in zip(before, after, strict=True)]
    assert report.neighbours.top_n_changed == pytest.approx(1 - np.mean(kept) / 3)
    for example in report.neighbours.examples:
        row = int(example.name.removeprefix("label "))
        assert [name for name, _ in example.before] == [f"label {i}" for i in before[row]]
        assert [name for name, _ in example.after] == [f"label {i}" for i in after[row]]


def test_probabilities_are_compared_as_scipy_computes_them_and_a_wrong_gauge_is_caught():
    head = FactorModel.from_softmax(centred_rows(1), np.ones(40), embeddings=centred_rows(2, 30))
    moved = head.replace(right=head.right + 1e-6 * np.eye(40, 8))
    expected = np.abs(log_softmax(moved.scores(), axis=1) - log_softmax(head.scores(), axis=1)).max()
    assert head.link.gap(head.scores(), moved.scores()) == pytest.approx(expected, rel=1e-6)
    assert expected > 1e-7


def test_shortest_shifts_are_reached_and_not_undercut():
    rows = centred_rows(3, 6, 3)
    report = head_report(FactorModel.from_softmax(rows))
    median, directions = np.median(np.linalg.norm(rows, axis=1)), np.random.default_rng(0).standard_normal((3_000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert [summary.target for summary in report.shifts] == [0.0, -1.0, 1.0]
    for summary in report.shifts:
        assert summary.n_pairs == 15
        assert summary.exact
        for easy, hard in zip(summary.easiest, summary.hardest, strict=True):
            assert easy.shift <= hard.shift
            a, b = rows[[int(name) for name in easy.names]]
            v = 0.98 * easy.shift * median * directions * np.random.default_rng(1).random((3_000, 1))
            x, y = a + v, b + v
            cosines = np.einsum("ij,ij->i", x, y) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
            # Shorter shifts leave the cosine on one side of its target.
            assert (cosines > summary.target).all() or (cosines < summary.target).all()


def test_a_declared_cap_or_normalisation_changes_the_verdict():
    head = FactorModel.from_softmax(centred_rows(4) + 1.0)
    plain = head_report(head, n_gauges=1)
    capped, unit = head_report(head, n_gauges=1, soft_cap=3.0), head_report(head, n_gauges=1, normalised=True)
    assert "EMB301" in codes(plain)
    for report in (capped, unit):
        assert "EMB301" not in codes(report)
        assert "EMB305" in codes(report)
        assert report.verified
        assert report.constructions == report.shifts == ()
        assert "would change its probabilities" in report.verdict
        assert report.centred.change > 1e-3
    assert [made.kind for made in capped.equivalents] == ["linear"]
    assert capped.equivalents[0].change < 1e-12
    assert unit.equivalents == ()
    assert "An equal model moves them" in unit.verdict
    assert "Do not read meaning" in unit.verdict
    many = head_report(FactorModel.from_softmax(centred_rows(4)[:, :3]), n_gauges=1, normalised=True)
    assert "part of what the model predicts" in many.verdict
    with pytest.raises(InputError, match="soft_cap must be a positive number; got 0"):
        head_report(head, soft_cap=0)


@pytest.mark.parametrize("inputs", [None, centred_rows(2, 30)])
def test_a_head_that_says_it_is_capped_is_audited_as_one_declared_so(inputs):
    head = FactorModel.from_softmax(centred_rows(4) + 1.0, np.arange(40.0) / 9, embeddings=inputs)
    for link, options in (
        (Softmax(soft_cap=3.0), {"soft_cap": 3.0}),
        (Softmax(unit_rows=True), {"normalised": True}),
        (Softmax(soft_cap=3.0, unit_rows=True), {"soft_cap": 3.0, "normalised": True}),
    ):
        stored, declared = audit(head.replace(link=link), n_gauges=1), audit(head, n_gauges=1, **options)
        # Options say what was declared.
        assert json.dumps(stored.to_dict() | {"options": {}}) == json.dumps(declared.to_dict() | {"options": {}})
        assert declared.model.link == link
        assert declared.predictions_hold
        assert {record.level for record in declared.evidence.drift} == {Equivalence.PROBABILITIES}
        assert "softmax-decay" in declared.verdict
    kept = audit(head.replace(link=Softmax(soft_cap=3.0)), n_gauges=1, normalised=True)
    assert kept.model.link == Softmax(soft_cap=3.0, unit_rows=True)


def test_a_head_whose_probabilities_moved_fails_once_and_says_nothing_else():
    result = audit(FactorModel.from_softmax(centred_rows(4) + 1.0), n_gauges=1)
    head = result.evidence.head
    broken = replace(head, centred=replace(head.centred, change=1e-3))
    failed = Audit(result.model, replace(result.evidence, head=broken))
    assert result.predictions_hold
    assert not failed.predictions_hold
    for report in (failed, failed.head):
        assert [code for code in codes(report) if code == "EMB001"] == codes(report)[:1]
        assert "Under mean row removed a probability changed by 0.001 of itself" in report.findings[0].explanation
        assert report.verdict.startswith("The check failed")
        assert "origin" not in report.verdict


def test_labels_and_inputs_without_direction_are_told_apart():
    rows, inputs = centred_rows(4) + 1.0, centred_rows(2, 30)
    rows[3] = inputs[:2] = 0
    titles = [f.title for f in audit(FactorModel.from_softmax(rows, embeddings=inputs), n_gauges=1).findings]
    assert {"1 label has no direction", "2 inputs have no direction"} <= set(titles)


def test_labels_of_a_large_head_are_called_by_their_rows():
    rows = np.random.default_rng(0).standard_normal((2_500, 4))
    result = audit(FactorModel.from_softmax(rows), n_gauges=1)
    for example in result.evidence.examples:
        nearest, cosine = example.before[0]
        a, b = rows[int(example.name)], rows[int(nearest)]
        assert cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_affinely_independent_labels_are_told_apart_from_many_in_few_dimensions():
    few, many = (head_report(FactorModel.from_softmax(centred_rows(5, n)), n_gauges=1) for n in (8, 200))
    assert few.argmax.n_can == 8
    assert "EMB302" in codes(few)
    assert {"EMB302", "EMB303"}.isdisjoint(codes(many))
    assert "EMB303" in codes(head_report(FactorModel.from_softmax(centred_rows(5, 14)), n_gauges=1))


def test_labels_inside_the_hull_are_named():
    rows = np.vstack([centred_rows(6, 60, 3), np.full((1, 3), 1e-3)])
    names = [f"seen {i}" for i in range(60)] + ["never seen"]
    report = head_report(FactorModel.from_softmax(rows, labels=names), n_gauges=1)
    finding = next(finding for finding in report.findings if finding.code == "EMB304")
    assert "never seen" in report.to_dict()["argmax"]["cannot"]
    assert finding.value == report.argmax.n_cannot >= 1


def test_rows_without_direction_are_counted_and_left_out():
    rows = np.vstack([centred_rows(7) + 0.5, np.zeros(8)])
    report = head_report(FactorModel.from_softmax(rows), n_gauges=1)
    assert report.n_zero == 1
    assert report.n_panel == 40
    assert report.neighbours.exact
    assert "EMB201" in codes(report)
    at_mean = np.vstack([centred_rows(7) + 0.5, np.full(8, 0.5)])
    assert head_report(FactorModel.from_softmax(at_mean), n_gauges=1).n_zero == 1


def test_a_panel_of_a_large_head_estimates_what_all_labels_say():
    rows = np.random.default_rng(8).standard_normal((1_500, 4)) + np.eye(4)[0]
    head = FactorModel.from_softmax(rows.astype(np.float32))
    everyone, some = head_report(head, n_gauges=1), head_report(head, n_gauges=1, n_labels=300, pair=(5, 9))
    assert everyone.n_panel == 1_500
    assert 300 <= some.n_panel <= 302
    assert some.neighbours.ci_low < everyone.neighbours.top1_changed < some.neighbours.ci_high
    assert some.constructions[0].names == ("5", "9")
    assert not some.neighbours.exact
    assert some.argmax.is_sample
    assert some.centred.change < 1e-12
    assert not some.shifts[0].exact


def test_with_inputs_they_verify_and_logit_cosines_are_compared():
    head = FactorModel.from_softmax(centred_rows(10), embeddings=centred_rows(11, 400) * np.geomspace(1, 20, 8))
    report = head_report(head, n_gauges=1)
    assert report.has_inputs
    assert report.n_inputs == 256
    pairs = all_pairs(40)
    logits = head.scores()
    logits = logits - logits.mean(axis=1, keepdims=True)
    logits -= logits.mean(axis=0)
    dense = np.corrcoef(logits.T)  # columns have mean 0, so these are cosines
    expected = np.corrcoef(head.cosines("right", pairs), dense[tuple(pairs.T)])[0, 1]
    assert report.logit_agreement == pytest.approx(expected, abs=1e-9)
    assert report.verdict.endswith("Do not read meaning into them; use logit cosines.")
    assert head_report(head.replace(left=None), n_gauges=1).logit_agreement is None


def test_probe_inputs_stand_at_the_scale_of_the_head_wherever_its_origin_is():
    head = FactorModel.from_softmax(centred_rows(12, 200, 16))
    for scale, shift in ((1.0, 0.0), (1e-3, 0.0), (1e3, 50.0)):
        moved = head.replace(right=scale * (head.right + shift))
        logits = probe_inputs(moved, 2_000, rng=1) @ moved.right.T
        spread = (logits - logits.mean(axis=1, keepdims=True)).std()
        assert spread == pytest.approx(4.0, rel=0.05)


def test_the_frame_has_one_row_for_each_equivalent_head():
    frame = head_report(FactorModel.from_softmax(centred_rows(14)), n_gauges=2).to_frame()
    assert frame["kind"].tolist() == ["centring", *2 * ["linear", "translation", "affine"]]
    assert frame["ok"].all()
    linear = frame[frame["kind"] == "linear"]
    assert linear["condition_number"].round(6).tolist() == [2.0, 2.0]
    assert linear["mean_abs"].min() > 0.01


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("side", ["right", "left"])
def test_heads_of_extraordinary_scale_are_refused_in_one_sentence(scale, side):
    head = FactorModel.from_softmax(centred_rows(0) + 1.0, np.ones(40), embeddings=centred_rows(1))
    large = head.replace(**{side: getattr(head, side) * scale})
    with pytest.raises(InputError, match=r"between 1e-100 and 1e\+100 long"):
        head_report(large)
    with pytest.raises(InputError, match=r"between 1e-100 and 1e\+100 long"):
        probe_inputs(large)


@pytest.mark.parametrize("scale", [1e99, 1e-99])
def test_heads_of_a_scale_just_within_are_audited_as_any(scale):
    rows = centred_rows(0) + 1.0
    usual, scaled = (head_report(FactorModel.from_softmax(s * rows), n_gauges=1) for s in (1.0, scale))
    assert scaled.verified
    assert scaled.offset == pytest.approx(usual.offset)
    assert scaled.neighbours.top1_changed == usual.neighbours.top1_changed
    for one, other in zip(scaled.shifts, usual.shifts, strict=True):
        assert list(one.quantiles.values()) == pytest.approx(list(other.quantiles.values()))


def test_labels_of_equal_rows_are_no_labels_that_never_lead():
    rows = np.random.default_rng(0).standard_normal((20, 6))
    twice = head_report(FactorModel.from_softmax(np.vstack([rows, rows])), n_gauges=1)
    assert twice.argmax.n_tied == 40
    assert "EMB304" not in codes(twice)
    inside = np.vstack([rows, rows, rows[:10].mean(axis=0) / 2 + rows.mean(axis=0) / 2])
    report = head_report(FactorModel.from_softmax(inside), n_gauges=1)
    finding = next(finding for finding in report.findings if finding.code == "EMB304")
    assert finding.value == 1
    assert "puts them ('40') ahead" in finding.explanation
    assert "1e-06" in finding.explanation, "the margin of the test is part of what it says"


def test_where_only_cosines_move_nothing_is_said_about_neighbours():
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    report = head_report(FactorModel.from_softmax(circle + 0.2), n_gauges=1)
    assert report.neighbours.top1_changed < 0.05
    finding = report.findings[0]
    assert finding.code == "EMB301"
    assert finding.title.startswith("subtracting the average row moves label cosines by")
    assert finding.value == report.centred.movement.mean_abs
    assert finding.explanation.endswith("it decides cosines.")
    assert "nearest label" not in report.verdict
    turned = head_report(FactorModel.from_softmax(centred_rows(0) + 2.0), n_gauges=1)
    assert "of nearest labels" in turned.findings[0].title
    assert turned.findings[0].explanation.endswith("it decides neighbours.")
    assert "have another nearest label" in turned.verdict


@pytest.mark.parametrize("objective", ["softmax-decay", "logistic-decay"])
def test_a_mean_row_contradicts_weight_decay(objective):
    rows = centred_rows(3)
    off, centred = (FactorModel.from_softmax(x).replace(objective=objective) for x in (rows + 0.1, rows + 1e-4))
    report = head_report(off, n_gauges=1)
    finding = next(finding for finding in report.findings if finding.code == "EMB306")
    assert finding.severity.title == "tip"
    assert finding.value == report.offset > 0.01
    assert objective in finding.title
    assert "EMB306" not in codes(head_report(centred, n_gauges=1))
    assert "EMB306" not in codes(head_report(off, n_gauges=1, soft_cap=5.0))
    for other in (None, objective.removesuffix("-decay")):
        assert "EMB306" not in codes(head_report(off.replace(objective=other), n_gauges=1))


def test_rows_that_weight_decay_trained_add_up_to_zero():
    from sklearn.linear_model import LogisticRegression

    draw = np.random.default_rng(0)
    x = draw.standard_normal((300, 5)) + 1.0
    y = (x @ draw.standard_normal((5, 4)) + draw.gumbel(size=(300, 4))).argmax(axis=1)
    fitted = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(x, y)
    report = head_report(FactorModel.from_softmax(fitted.coef_).replace(objective="logistic-decay"), n_gauges=1)
    assert report.offset < 1e-6
    assert "EMB306" not in codes(report)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: head_report(FactorModel.from_vectors(FIGURE_1)), "^a head report must be asked of a softmax head"),
        (lambda: probe_inputs(FactorModel.from_vectors(FIGURE_1)), "^probe inputs must be asked of a softmax head"),
        (
            lambda: head_report(FactorModel.from_softmax(FIGURE_1), pair=(0, 1, 2)),
            "pair must be two row numbers",
        ),
        (lambda: head_report(FactorModel.from_softmax(FIGURE_1), pair=("0", "1")), "pair must be two row numbers"),
        (
            lambda: head_report(FactorModel.from_softmax(FIGURE_1), soft_cap="a"),
            "soft_cap must be a positive number; got 'a'",
        ),
        (lambda: head_report(FactorModel.from_softmax(FIGURE_1), rng="x"), "rng must be a numpy Generator, an integer"),
        (lambda: head_report(FactorModel.from_softmax(FIGURE_1), rng=-1), "rng must be a numpy Generator, an integer"),
        (lambda: head_report(FactorModel.from_softmax(FIGURE_1), n_gauges=-1), "an integer from 0 to 10000; got -1"),
        (lambda: head_report(FactorModel.from_softmax(np.ones((20, 6)))), "differ from each other; all rows are equal"),
        (
            lambda: head_report(FactorModel.from_softmax(np.zeros((20, 6)))),
            "differ from each other; all rows are equal",
        ),
        (lambda: head_report(FactorModel.from_softmax(FIGURE_1), pair=(0, 5)), r"pair must be rows from 0 to 4"),
        (lambda: head_report(FactorModel.from_softmax(FIGURE_1), pair=(2, 2)), "two different labels; got label 2"),
        (lambda: head_report(FactorModel.from_softmax(FIGURE_1), n_labels=1), "n_labels must be an integer >= 2"),
        (lambda: head_report(FactorModel.from_softmax([[0.0, 0.0], [1.0, 2.0]])), "a binary head is rows 0 and w"),
        (lambda: head_report(FactorModel.from_softmax([[0.0], [0.0], [2.0]])), "at least two labels with a direction"),
    ],
)
def test_what_cannot_be_audited_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
