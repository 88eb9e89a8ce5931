"""Vectors alone: nothing is said of predictions or of users, and three ways to say the same thing say the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit import audit
from embaudit.auditing.alone import is_alone
from embaudit.auditing.checks.identification import identification
from embaudit.auditing.checks.one_side import orthonormal_columns, unit_rows
from embaudit.auditing.claims import claims
from embaudit.auditing.claims.claim import Kind
from embaudit.auditing.claims.training import training
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.fibre import fibre_of
from embaudit.auditing.finding import Severity
from embaudit.auditing.traits import Traits
from embaudit.model import FactorModel, Link
from embaudit.report.first_screen import first_screen
from embaudit.report.next_steps import Asked, next_steps
from tests.models import random_model

VECTORS = random_model(0, n=None, p=40, k=4)
PAIR = random_model(0, n=30, p=40, k=4)
UNIT = VECTORS.replace(right=VECTORS.right / np.linalg.norm(VECTORS.right, axis=1, keepdims=True))
HEAD = random_model(0, n=None, p=40, k=4, link="softmax")


def of_traits(model=VECTORS, *, off_unit=0.5, orthonormal=False):
    """Evidence of which nothing but the lengths of rows and the shape of columns was measured."""
    traits = Traits("right", 1234, off_unit, orthonormal)
    return Evidence(model, fibre_of(model, ("right",)), traits=(traits,))


def record(found):
    (one,) = found
    assert one.severity is Severity.TIP
    claim = one.claim
    assert (claim.kind, str(claim.scope), claim.evidence) == (Kind.MEASURED, "the rows as they are stored", "traits")
    return one.code, one.title, one.explanation, one.remedy, one.value, claim.name, claim.subject


def test_rows_of_length_one_leave_two_ways_open_and_one_declaration_settles_it():
    assert record(unit_rows(of_traits(off_unit=2e-8))) == (
        "EMB409",
        "all item rows have length 1: trained so, or normalised afterwards",
        "Either training compared cosines, or the rows were divided by their lengths afterwards. "
        "The file cannot say which, and only the first pins anything.",
        "If training compared cosines, say so (`--objective cosine`): then it is tested whether 1,234 items of that "
        "length fix their cosines. With the other side at hand, its lengths count too, and cosines of the scores can "
        "be compared.",
        2e-8,
        "unit-rows:right",
        "item rows",
    )


@pytest.mark.parametrize(
    ("model", "off_unit"),
    [
        (VECTORS, 1.1e-3),
        (PAIR, 0.0),
        (HEAD, 0.0),
        (VECTORS.replace(link="cosine"), 0.0),
        (VECTORS.replace(objective="factors"), 0.0),
        (VECTORS.replace(objective="prediction"), 0.0),
    ],
)
def test_nothing_is_asked_of_other_rows_or_where_training_is_known(model, off_unit):
    assert list(unit_rows(of_traits(model, off_unit=off_unit))) == []


def test_orthonormal_columns_are_called_what_they_are_where_users_are_at_hand():
    found = record(orthonormal_columns(of_traits(orthonormal=True)))
    assert found == (
        "EMB410",
        "item columns are orthonormal, so cosines weigh all directions alike",
        "The items are whitened. Every latent direction counts the same in their cosines, however little it matters "
        "to a score. With as many directions as items, all these cosines would be 0.",
        "If they are the V of a singular value decomposition, multiply the columns by its singular values. "
        "With the other side at hand, `embaudit fix` does so.",
        None,
        "whitened:right",
        "item rows",
    )
    basis = np.linalg.qr(PAIR.right)[0]
    whitened = FactorModel.from_user_item(PAIR.left * [4, 3, 2, 1], basis)
    assert found[2].lower() in audit(whitened, n_gauges=1, n_pairs=50).evidence.position.explain().lower()


def identified(model):
    (found,) = identification(Evidence(model, fibre_of(model, ("right",))))
    return found.code, found.title, found.explanation, found.remedy


def test_nothing_is_predicted_by_vectors_alone():
    assert identified(VECTORS) == (
        "EMB102",
        "one side does not fix the cosines, and training is not known",
        "Vectors that give the same scores have other cosines; whether training chose one depends on its objective.",
        "Name the objective (product, factors, factors-counted, decoupled-decay, none or another one, `--objective`).",
    )
    code, _, text, remedy = identified(VECTORS.replace(objective="decoupled-decay"))
    assert (code, remedy) == ("EMB102", "Compare models and lists by scores until there is one.")
    assert text.endswith("no law is known for what decoupled decay leaves of them, given the scores.")
    code, _, text, remedy = identified(VECTORS.replace(objective="factors"))
    assert (code, remedy) == (
        "EMB103",
        "Read them as one convention, never across models; with the other side at hand, compare scores.",
    )
    assert text.endswith("not by the data alone. The scores alone would allow others.")
    code, _, _, remedy = identified(VECTORS.replace(objective="none"))
    assert (code, remedy) == (
        "EMB101",
        "Rank by the dot product; with the other side at hand, compare scores instead of vectors.",
    )


@pytest.mark.parametrize(
    ("model", "scope", "text"),
    [
        (VECTORS, "models of the same scores", "Given the scores, the cosines"),
        (PAIR, "models of the same predictions", "Given the predictions, the cosines"),
        (HEAD, "models of the same predictions", "Given the predictions, the cosines"),
    ],
)
def test_training_is_told_given_what_there_is(model, scope, text):
    (claim,) = training(Evidence(model, fibre_of(model, ("right",))))
    assert str(claim.scope) == scope
    assert text in claim.text
    assert ("prediction" in claim.text) == (not is_alone(model))


@pytest.fixture(scope="module")
def told():
    """Audits of unit rows that were declared in three ways."""
    ways = {
        "neither": {}, "link": {"link": "cosine"}, "objective": {"objective": "cosine"},
        "both": {"link": "cosine", "objective": "cosine"},
    }  # fmt: skip
    return {name: audit(UNIT.replace(**way), n_gauges=1, n_pairs=50) for name, way in ways.items()}


def test_a_link_and_an_objective_of_cosines_are_one_declaration(told):
    said = {name: (found.explain(), [str(claim) for claim in claims(found.evidence)]) for name, found in told.items()}
    assert said["link"] == said["objective"] == said["both"] != said["neither"]
    assert told["objective"].model.link == Link.COSINE
    assert told["objective"].model.objective == "cosine"
    assert said["link"][0].startswith("YES: item-item cosines are the same in all linear maps of these rows")
    assert said["link"][0].endswith("Read these cosines as fixed, whatever the other side holds.")
    asked = audit(UNIT, objective="cosine", n_gauges=1, n_pairs=50)
    assert asked.explain() == said["link"][0]


def test_other_objectives_and_two_sides_keep_their_link():
    assert audit(VECTORS, objective="factors", n_gauges=1, n_pairs=50).model.link == "identity"
    kept = VECTORS.replace(objective="factors")
    assert audit(kept, n_gauges=1, n_pairs=50).model is kept
    assert audit(HEAD.replace(objective="softmax"), n_gauges=1, n_pairs=50).model.link == "softmax"


def test_too_few_rows_of_length_one_stay_undecided_however_it_is_said():
    few = FactorModel.from_vectors(np.eye(3))
    for way in ({"link": "cosine"}, {"objective": "cosine"}):
        found = audit(few.replace(**way), n_gauges=1, n_pairs=50)
        assert str(found.answer) == "CANNOT BE SAID: nobody knows whether an equal model has other item-item cosines."
        assert "The item rows leave 3 directions, which the other side may fix. 3 of 6 numbers" in found.verdict
        (tip,) = found.findings
        assert (tip.code, tip.title) == ("EMB105", "whether the scores fix the cosines is undecided")


def test_what_to_type_next_is_the_declaration_that_decides(told):
    assert list(next_steps(told["neither"], Asked("v.npy"))) == [
        (
            "with the other side (put its file's name for OTHER-SIDE.npy)",
            "embaudit audit v.npy --left OTHER-SIDE.npy",
        ),
        ("if you trained by cosine", "embaudit audit v.npy --objective cosine"),
        ("to read every table and finding", "embaudit audit v.npy --full"),
    ]
    # Whoever says that these are vectors has no other side.
    as_vectors = next_steps(told["neither"], Asked("v.npy", ("--kind", "vectors")))
    assert [command for _, command in as_vectors] == [
        "embaudit audit v.npy --kind vectors --objective cosine",
        "embaudit audit v.npy --kind vectors --full",
    ]
    assert list(next_steps(told["link"], Asked("v.npy"))) == [
        ("to read every table and finding", "embaudit audit v.npy --full")
    ]
    evidence = told["neither"].evidence
    stretched = replace(evidence, traits=tuple(replace(traits, off_unit=0.5) for traits in evidence.traits))
    assert list(next_steps(replace(told["neither"], evidence=stretched), Asked("v.npz"))) == [
        (
            "if you trained with the same weight decay on both sides",
            "embaudit audit v.npz --objective factors",
        ),
        ("to read every table and finding", "embaudit audit v.npz --full"),
    ]
    whitened = replace(evidence, traits=tuple(replace(one, orthonormal=True) for one in stretched.traits))
    assert [command for _, command in next_steps(replace(told["neither"], evidence=whitened), Asked("v.npy"))] == [
        "embaudit audit v.npy --left OTHER-SIDE.npy",
        "embaudit audit v.npy --full",
    ]


def test_the_first_screen_speaks_of_scores():
    alone = first_screen(audit(VECTORS, n_gauges=1, n_pairs=50), Asked("v.npy"))
    pair = first_screen(audit(PAIR, n_gauges=1, n_pairs=50), Asked("v.npz"))
    assert "Equal models: same products of both sides. κ: largest / smallest stretch." in alone
    assert "predict" not in alone
    assert "Equal models predict the same. κ: largest / smallest stretch." in pair
