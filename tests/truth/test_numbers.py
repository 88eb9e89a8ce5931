"""Every number of an answer, recomputed from the models that the audit visited."""

from __future__ import annotations

import re

import numpy as np
import pytest
from truth.table.rows import drawn

from embaudit import audit, save
from embaudit.model import FactorModel

MODELS = {
    "scores": FactorModel.from_user_item(drawn(9, 3), drawn(8, 3, 1)),
    "a user bias": FactorModel.from_user_item(
        drawn(9, 3), drawn(8, 3, 1), user_bias=np.zeros(9)
    ),
    "rankings": FactorModel.from_user_item(drawn(9, 3), drawn(8, 3, 1), link="ranking"),
    "sigmoid": FactorModel.from_user_item(drawn(9, 2), drawn(8, 2, 1), link="sigmoid"),
    "deficient": FactorModel.from_user_item(drawn(9, 3) * [1, 1, 0], drawn(8, 3, 1)),
}


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(rows), 1)]


def overlap(before, after, n):
    """Share of the n nearest rows that stay."""

    def nearest(rows):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.argsort(-(unit @ unit.T) + 3 * np.eye(len(rows)), axis=1)[:, :n]

    pairs = zip(nearest(before), nearest(after), strict=True)
    return np.mean([len(set(a) & set(b)) / n for a, b in pairs])


@pytest.mark.parametrize("name", MODELS)
def test_the_verdict_states_the_movement_between_the_models_it_names(name):
    model = MODELS[name]
    found = audit(model, n_gauges=3, n_neighbours=4, n_starts=0)
    twins = {
        made.title_for("right"): made.apply(model)
        for made in found.evidence.equivalents
    }
    moved = {
        label: np.abs(cosines(twin.right) - cosines(model.right))
        for label, twin in twins.items()
    }
    furthest = max(moved, key=lambda label: moved[label].mean())
    said = re.search(
        r"One equivalent model moves item-item cosines by ([\d.]+) on average, and by "
        r"([\d.]+) at most\. Its gauge: "
        r"(.*?)(?:, κ = [\d.]+)?(?:, a shift of [\d.]+ typical rows?)?\. Of the 4 "
        r"nearest, (\d+) % stay\.",
        found.verdict,
    )
    assert said[3] == furthest
    assert (float(said[1]), float(said[2])) == (
        pytest.approx(moved[furthest].mean(), abs=0.0051),
        pytest.approx(moved[furthest].max(), abs=0.0051),
    )
    assert float(said[4]) == pytest.approx(
        100 * overlap(model.right, twins[furthest].right, 4), abs=0.51
    )
    random = [label for label in twins if re.match(r"diagonal|linear", label)]
    mean_movement = r"κ = 2 move item-item cosines by ([\d.]+) on average"
    kept_share = r"(\d+) % of the 4 nearest stay"
    said = re.search(f"{mean_movement}, and {kept_share}", found.verdict)
    assert float(said[1]) == pytest.approx(
        np.mean([moved[label].mean() for label in random]), abs=0.0051
    )
    kept = [overlap(model.right, twins[label].right, 4) for label in random]
    assert float(said[2]) == pytest.approx(100 * np.mean(kept), abs=0.51)


@pytest.mark.parametrize("name", MODELS)
def test_the_largest_change_of_predictions_is_in_the_record_and_rounding_in_words(name):
    model = MODELS[name]
    found = audit(model, n_gauges=2, n_starts=0)
    twins = [made.apply(model) for made in found.evidence.equivalents]
    assert f"{len(twins)} equivalent models kept every" in found.verdict
    largest = max(model.link.gap(model.scores(), twin.scores()) for twin in twins)
    (note,) = [each for each in found.conclusions if each.code == "predictions"]
    assert note.value == pytest.approx(largest, rel=1, abs=1e-13)
    assert ", up to rounding." in found.verdict


def test_the_verdict_on_a_head_states_its_mean_row_shifts_and_changed_neighbours():
    labels = drawn(12, 3) + 1
    model = FactorModel.from_softmax(labels)
    found = audit(model, n_gauges=2, n_starts=0)
    centred = labels - labels.mean(axis=0)
    offset = np.linalg.norm(labels.mean(axis=0)) / np.median(
        np.linalg.norm(labels, axis=1)
    )
    assert (
        f"The mean row is {offset:.2g} of a typical row (median) long" in found.verdict
    )
    moved = np.abs(cosines(centred) - cosines(labels)).mean()
    assert f"cosines differ by {moved:.2f} on average" in found.verdict
    kept = round(12 * overlap(labels, centred, 1))
    assert f"{kept} of 12 labels keep their nearest label" in found.verdict
    made = len(found.evidence.drift) + 1 + len(found.head.equivalents)
    assert f"{made} equivalent models kept every probability" in found.verdict
    first, second = map(
        int, re.search(r"makes label (\d+) and label (\d+) ", found.verdict).groups()
    )
    middle = (
        -(labels[first] + labels[second]) / 2
    )  # the shortest shift to opposite rows leads halfway between them
    shift = np.linalg.norm(middle) / np.median(np.linalg.norm(labels, axis=1))
    assert (
        float(re.search(r"A shift of ([\d.]+) times", found.verdict)[1]) <= shift * 1.01
    )
    opposite = cosines((labels + middle)[[first, second]])
    assert opposite == pytest.approx(-1)


def test_the_verdict_counts_dimensions_that_no_prediction_sees():
    found = audit(MODELS["deficient"], n_gauges=1, n_starts=0)
    assert "No score shows more than 2 of 3 dimensions" in found.verdict
    finding = next(f for f in found.findings if f.code == "EMB203")
    shares = MODELS["deficient"].right[:, 2] ** 2 / (
        MODELS["deficient"].right ** 2
    ).sum(axis=1)
    assert f"up to {100 * shares.max():.0f} % of a row's squared length" in finding.text
    assert "Predictions see item rows in only 2 of 3 dimensions" in finding.text


def test_each_side_misses_its_own_number_of_dimensions():
    """Predictions see as many dimensions as the side of fewer has, but the other side
    reaches more.
    """
    found = audit(
        FactorModel.from_user_item(drawn(5, 6), drawn(3, 6, 1)), n_gauges=1, n_starts=0
    )
    texts = {f.role: f.text for f in found.findings if f.code == "EMB203"}
    item_sentence = (
        "Predictions see item rows in only 5 of 6 dimensions: "
        "5 users cannot span 6 dimensions"
    )
    user_sentence = (
        "Predictions see user rows in only 3 of 6 dimensions: "
        "3 items cannot span 6 dimensions"
    )
    assert item_sentence in texts["right"]
    assert user_sentence in texts["left"]
    doubled = drawn(5, 6)[[0, 1, 2, 3, 4, 0]]
    found = audit(
        FactorModel.from_user_item(doubled, drawn(9, 6, 1)), n_gauges=1, n_starts=0
    )
    text = next(
        f.text for f in found.findings if f.code == "EMB203" and f.role == "right"
    )
    assert (
        "5 of 6 dimensions: the other side makes no difference in the other dimensions"
        in text
    ), "six users could span six dimensions"


@pytest.mark.parametrize(
    ("columns", "title", "sees"),
    [
        # Columns that are 0 in every row of both sides count as stored, but no row
        # holds anything there: items hold what no prediction sees in 4 − 2 columns.
        (4, "2 dimensions", "2 of 6 dimensions: the other side makes no difference"),
        (3, "1 dimension", "2 of 6 dimensions: the other side makes no difference"),
    ],
)
def test_dimensions_are_counted_as_they_are_stored(columns, title, sees):
    """Users have 2 columns that are not 0, items have `columns`, and 6 are stored."""
    users = np.pad(drawn(9, 2), ((0, 0), (0, 4)))
    items = np.pad(drawn(8, columns, 1), ((0, 0), (0, 6 - columns)))
    model = FactorModel.from_user_item(users, items)
    found = audit(model, n_gauges=1, n_starts=0)
    finding = next(f for f in found.findings if f.code == "EMB203")
    assert f"item rows use {title} that no prediction sees:" in finding.title
    assert f"Predictions see item rows in only {sees}" in finding.text
    assert "No score shows more than 2 of 6 dimensions" in found.verdict


@pytest.mark.parametrize("name", ["scores", "a user bias"])
def test_a_caption_names_the_shifts_of_its_numbers(embaudit, name):
    """Widths are of a shift as long as a row, lists of a tenth of it, which leaves more
    uncertain than what ties.
    """
    save(MODELS[name], "model.npz")
    options = ("--n-gauges", 1, "--n-starts", 0, "--full")
    screen = " ".join(embaudit("audit", "model.npz", *options).out.split())
    uncertain = (
        "widths with shifts up to 1 typical row. "
        "Lists of 8 rows: shifts up to 0.1 typical rows,",
        "of entries uncertain",
    )
    for phrase in uncertain:
        assert (phrase in screen) == (name == "a user bias")
    assert "of entries tied" in screen, "of users, whom no shift of the items moves"


@pytest.mark.parametrize("name", MODELS)
def test_12_an_audit_knows_prediction_vectors_that_fix_wrote(embaudit, name):
    save(MODELS[name], "model.npz")
    assert (
        embaudit("fix", "model.npz", "--as", "prediction", "--out", "vectors.npz").code
        == 0
    )
    result = embaudit(
        "audit",
        "vectors.npz",
        "--n-gauges",
        1,
        "--n-starts",
        0,
        "--fail-on",
        "tip",
        "--full",
    )
    said = " ".join(result.out.replace("│", " ").split())
    assert "Read these cosines as cosines of those predictions." in said
    assert "Do not read" not in said
    assert result.code == 0
