"""The data of the explorer of a page: rows and families of equivalent models.

A page computes cosines and predictions from this data by the formulas that
`moved_rows` repeats here. The tests in a browser check that the page does so.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from browsing import text_of
from models import random_model
from scipy.special import expit, softmax

import embaudit as ea
from embaudit.model.final_norm import FinalNorm
from embaudit.report.explorer import explorer, explorer_parts, held

pytestmark = pytest.mark.slow

GAIN = np.array([1.0, -2.0, 3.0, 0.5])


def data_of(audit):
    """Return the data that the page of an audit holds."""
    return json.loads(held(explorer(audit)))


def unpacked(packed):
    return np.frombuffer(b64decode(packed["data"]), "<" + packed["type"]).astype(float)


class Family:
    """One family of equivalent models, as the data holds it."""

    def __init__(self, data, kind):
        (family,) = (one for one in data["families"] if one["kind"] == kind)
        self.fields = family
        self.step = unpacked(family["step"])
        columns = len(self.step)
        self.rows, self.other_rows, self.shifts = (
            unpacked(family[name]).reshape(-1, columns)
            for name in ("rows", "other_rows", "shifts")
        )
        self.row_bias, self.other_bias = (
            unpacked(family[name]) for name in ("row_bias", "other_bias")
        )
        self.link, self.offset = data["link"], data["offset"]

    def moved_rows(self, place, shift=None):
        """Return the rows of both sides at a place of the slider."""
        weight = np.exp(self.step * (place - self.fields["origin"]))
        return (self.rows + self._added(shift)) * weight, self.other_rows / weight

    def predictions(self, place, shift=None):
        """Return the predictions at a place, with one row per row of the other side."""
        rows, others = self.moved_rows(place, shift)
        scores = (
            others @ rows.T + self.row_bias + self.other_bias[:, None] + self.offset
        )
        if self.link in ("identity", "sigmoid"):
            # A free bias of the other side takes up what a shift adds to a whole row.
            scores -= (self.other_rows @ self._added(shift))[:, None]
        if self.link == "ranking":
            return scores - scores.max(axis=1, keepdims=True)
        return {"sigmoid": expit, "softmax": lambda x: softmax(x, axis=1)}.get(
            self.link, lambda x: x
        )(scores)

    def _added(self, shift):
        home = self.fields["home"]
        return np.subtract(home if shift is None else shift, home) @ self.shifts


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


MODELS = {
    "scores": random_model(
        scales=([5, 3, 2, 1, 0.5], 1), biases=["right_bias"], offset=2.0
    ),
    "free biases": random_model(
        k=4, means=(0, 0.5), biases=["left_bias", "right_bias"]
    ),
    "probabilities": random_model(k=3, link="sigmoid"),
    "rankings": random_model(k=3, link="ranking", means=(0.5, 1.0)),
    "softmax": random_model(k=3, means=(0.5, 1.0), link="softmax"),
}
"""Models of two sides, which have an exponent."""


@pytest.fixture(scope="module")
def audits():
    return {name: ea.audit(model, n_gauges=1) for name, model in MODELS.items()}


@pytest.fixture(scope="module")
def head():
    model = random_model(n=None, p=40, k=4, means=(0, 2.0), link="softmax")
    return ea.audit(model, n_gauges=1, final_norm=FinalNorm("rms", GAIN))


@pytest.mark.parametrize("kind", ["exponent", "stored"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_of_the_model_everywhere(audits, name, kind):
    data, model = data_of(audits[name]), MODELS[name]
    expected = model.scores()
    if name == "rankings":
        expected = expected - expected.max(axis=1, keepdims=True)
    else:
        expected = model.link.predict(expected)
    family = Family(data, kind)
    shifts = [None] if data["pad"] is None else [None, (0.7, -0.4)]
    for shift in shifts:
        for place in (0.0, 0.3, 1.0):
            predicted = family.predictions(place, shift)
            np.testing.assert_allclose(predicted, expected, atol=1e-12)


def test_only_models_whose_predictions_allow_shifts_offer_them(audits):
    with_shifts = {name for name in MODELS if data_of(audits[name])["pad"] is not None}
    assert with_shifts == {"free biases", "rankings", "softmax"}


@pytest.mark.parametrize("exponent", [0.0, 0.3, 1.0])
def test_cosines_at_an_exponent_are_those_of_that_canonical_form(audits, exponent):
    model = MODELS["scores"]
    family = Family(data_of(audits["scores"]), "exponent")
    rows, others = family.moved_rows(exponent)
    equal = ea.at_exponent(model, exponent)
    np.testing.assert_allclose(cosines(rows), cosines(equal.right), atol=1e-12)
    np.testing.assert_allclose(cosines(others), cosines(equal.left), atol=1e-12)


def test_the_condition_number_at_an_exponent_is_that_of_the_gauge_leading_there(audits):
    model = MODELS["scores"]
    fields = Family(data_of(audits["scores"]), "exponent").fields
    assert fields["is_gauge"]
    assert len(fields["kappas"]) == fields["places"] + 1
    for exponent in (0.0, 0.5, 1.0):
        gauge = np.linalg.pinv(model.right) @ ea.at_exponent(model, exponent).right
        kappa = fields["kappas"][round(exponent * fields["places"])]
        assert kappa == pytest.approx(np.linalg.cond(gauge), rel=1e-9)


def test_the_slider_of_exponents_names_the_standard_forms(audits):
    fields = Family(data_of(audits["scores"]), "exponent").fields
    assert fields["stops"] == [
        [0.0, "users whitened (prediction cosine)"],
        [0.5, "balanced"],
        [1.0, "items whitened"],
    ]


def test_the_slider_of_exponents_starts_at_the_position_of_the_model():
    draw = np.random.default_rng(0)
    left, _ = np.linalg.qr(draw.normal(size=(5, 3)))
    right, _ = np.linalg.qr(draw.normal(size=(20, 3)))
    s = np.array([9.0, 4.0, 1.0])
    model = ea.FactorModel.from_user_item(left * s**0.25, right * s**0.75)
    family = Family(data_of(ea.audit(model, quick=True)), "exponent")
    assert family.fields["start"] == 0.25


def test_a_shift_to_the_centre_subtracts_the_mean_row_of_all_rows(audits):
    model, data = MODELS["softmax"], data_of(audits["softmax"])
    mean = model.right.mean(axis=0)
    unit = np.median(np.linalg.norm(model.right, axis=1))
    assert data["pad"]["unit"] == pytest.approx(unit)
    assert data["pad"]["mean"] == pytest.approx(np.linalg.norm(mean))
    centre = (-np.linalg.norm(mean) / unit, 0.0)
    assert data["pad"]["reach"] >= -centre[0]
    # Canonical forms have the mean row subtracted; the stored rows do not.
    assert Family(data, "exponent").fields["home"] == pytest.approx(centre)
    assert Family(data, "stored").fields["home"] == [0.0, 0.0]
    rows, _ = Family(data, "stored").moved_rows(0.0, centre)
    np.testing.assert_allclose(cosines(rows), cosines(model.right - mean), atol=1e-12)
    rows, _ = Family(data, "exponent").moved_rows(0.3)
    equal = ea.at_exponent(model, 0.3)
    np.testing.assert_allclose(cosines(rows), cosines(equal.right), atol=1e-12)


def test_shifts_run_along_two_orthogonal_directions_of_a_typical_length(audits):
    model, data = MODELS["softmax"], data_of(audits["softmax"])
    shifts = Family(data, "stored").shifts
    unit = np.median(np.linalg.norm(model.right, axis=1))
    np.testing.assert_allclose(shifts @ shifts.T, unit**2 * np.eye(2), atol=1e-9)
    points = unpacked(data["pad"]["points"]).reshape(-1, 2)
    rows, _ = Family(data, "stored").moved_rows(0.0)
    np.testing.assert_allclose(points, rows @ shifts.T / unit**2, atol=1e-4)


def test_a_head_alone_has_the_family_of_the_model_as_stored(head):
    assert [family["kind"] for family in data_of(head)["families"]] == ["stored"]


def test_a_small_model_is_held_whole_with_its_names():
    names = [f"film {i}" for i in range(20)]
    model = random_model(n=9, p=20, k=3).replace(right_names=np.array(names))
    audit = ea.audit(model, quick=True)
    data = data_of(audit)
    assert data["names"] == names
    assert data["other_names"] == [f"user {i}" for i in range(9)]
    rows, _ = Family(data, "stored").moved_rows(0.0)
    np.testing.assert_allclose(cosines(rows), cosines(model.right), atol=1e-12)
    assert data["listed"] == 10
    assert len(set(data["first"])) == 2
    assert all(0 <= row < 20 for row in data["first"])
    sentence = explorer_parts(audit)["of_which"]
    assert sentence == "Scores of all 9 users, for all 20 items."


def test_of_a_large_model_the_300_rows_with_most_interactions_are_held():
    model = random_model(n=30, p=400, k=3, right_counts=np.arange(400.0))
    audit = ea.audit(model, quick=True)
    data = data_of(audit)
    assert data["names"] == [f"item {i}" for i in range(100, 400)]
    rows, _ = Family(data, "stored").moved_rows(0.0)
    np.testing.assert_allclose(cosines(rows), cosines(model.right[100:]), atol=1e-12)
    parts = explorer_parts(audit)
    assert parts["few"] == "300 of 400 items"
    assert parts["which"] == "those with most interactions"


def test_of_a_large_model_without_counts_300_rows_are_drawn_at_random():
    model = random_model(n=150, p=400, k=3)
    audit = ea.audit(model, quick=True)
    data = data_of(audit)
    numbers = [int(name.removeprefix("item ")) for name in data["names"]]
    assert len(set(numbers)) == len(numbers) == 300
    assert max(numbers) > 300
    rows, others = Family(data, "stored").moved_rows(0.0)
    np.testing.assert_allclose(cosines(rows), cosines(model.right[numbers]), atol=1e-12)
    users = [int(name.removeprefix("user ")) for name in data["other_names"]]
    assert len(users) == 100
    assert max(users) > 100
    np.testing.assert_allclose(
        others @ rows.T, model.scores()[np.ix_(users, numbers)], atol=1e-12
    )
    assert explorer_parts(audit)["which"] == "drawn at random"


def test_the_inputs_that_a_head_lacks_are_drawn_at_random_and_called_so():
    audit = ea.audit(ea.FactorModel.from_softmax(random_model(k=3).right), quick=True)
    data = data_of(audit)
    assert len(data["other_names"]) == 100
    assert data["other_names"][0] == "random state 1"
    assert explorer_parts(audit)["of_which"] == (
        "Probabilities of 100 states drawn at random, among all 30 labels."
    )


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("sigmoid", "Probabilities of all 40 users, for all 30 items."),
        ("ranking", "Leads of all 40 users, among all 30 items."),
    ],
)
def test_the_page_says_which_predictions_it_shows(link, sentence):
    audit = ea.audit(random_model(k=3, link=link), quick=True)
    assert explorer_parts(audit)["of_which"] == sentence


@pytest.mark.parametrize(
    "model",
    [
        # One direction: every cosine is 1 or -1.
        ea.FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]]),
        # Two rows: the only neighbour of each is the other one.
        ea.FactorModel.from_user_item(np.eye(2), np.eye(2)),
        ea.FactorModel.from_vectors(random_model(k=3).right, compared="cosine"),
        # These have neither an exponent nor a free origin.
        ea.FactorModel.from_vectors(random_model(k=3).right),
        random_model(k=3, link="cosine"),
        random_model(n=None, k=3, link=ea.softmax_link(unit_rows=True)),
    ],
    ids=["one direction", "two rows", "compared rows", "one side", "cosine", "unit"],
)
def test_there_is_no_explorer_where_nothing_could_move(model):
    assert explorer(ea.audit(model, quick=True)) is None


def test_there_is_no_explorer_if_an_equivalent_model_predicted_otherwise(audits):
    audit = audits["scores"]
    drift = tuple(
        replace(one, max_abs=1.0, tolerance=0.0) for one in audit.evidence.drift
    )
    evidence = replace(audit.evidence, drift=drift)
    assert explorer(replace(audit, evidence=evidence)) is None


def test_there_is_no_explorer_for_the_inputs_of_a_softmax_model():
    audit = ea.audit(random_model(link="softmax"), role="left", quick=True)
    assert explorer(audit) is None
    assert "explorer-data" not in audit.report()


def test_a_page_allows_its_own_script_and_no_name_ends_its_data():
    names = ["</script><script>alert(1)</script>", "&amp;", *map(str, range(20))]
    audit = ea.audit(
        random_model(p=22).replace(right_names=np.array(names)), quick=True
    )
    html = audit.report()
    assert html.count("<script") == html.count("</script>") == 2
    text = html.split('id="explorer-data">')[1].split("</script>")[0]
    assert json.loads(text) == data_of(audit)
    assert json.loads(text)["names"][:2] == names[:2]
    assert explorer_parts(audit)["of_which"] in text_of(html)
    allowed = re.search(r"script-src 'sha256-([^']+)'", html)[1]
    ran = html.split("<script>")[1].split("</script>")[0]
    assert b64decode(allowed) == sha256(ran.encode()).digest()


def buttons(audit):
    """Return name, kind of family, place and shift of each button."""
    data = data_of(audit)
    kinds = [family["kind"] for family in data["families"]]
    return [
        (
            one["name"],
            kinds[one["family"]],
            one["at"],
            np.round(one["shift"], 9).tolist(),
        )
        for one in data["shows"]
    ]


def centre_of(audit):
    pad = data_of(audit)["pad"]
    return np.round([-pad["mean"] / pad["unit"], 0.0], 9).tolist()


def test_buttons_of_a_recommender_lead_to_the_standard_forms(audits):
    assert buttons(audits["scores"]) == [
        ("Prediction cosine", "exponent", 0.0, [0, 0]),
        ("Balanced", "exponent", 0.5, [0, 0]),
    ]


def test_the_prediction_cosine_of_users_is_at_exponent_1():
    model = random_model(n=9, p=20, k=3)
    audit = ea.audit(model, role="user", quick=True)
    first_button = buttons(audit)[0]
    assert first_button == ("Prediction cosine", "exponent", 1.0, [0, 0])


def test_the_button_of_a_head_leads_to_its_rows_without_their_mean(head):
    centre = centre_of(head)
    assert buttons(head) == [("Mean row subtracted", "stored", 0.0, centre)]
    rows, _ = Family(data_of(head), "stored").moved_rows(0.0, centre)
    labels = head.model.right
    expected = cosines(labels - labels.mean(axis=0))
    np.testing.assert_allclose(cosines(rows), expected, atol=1e-6)


def test_the_button_of_the_mean_row_comes_last_if_it_matters_little(audits):
    names = [name for name, *_ in buttons(audits["free biases"])]
    assert names == ["Prediction cosine", "Balanced", "Mean row subtracted"]
