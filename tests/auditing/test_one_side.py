"""Audits of vectors of one side: their answer, first table and next steps.

Rows of length 1 that training compared by their cosines with the rows of another side
can be declared by the link, by the objective, or by both. All three declarations give
the same audit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit import audit
from embaudit.auditing.glance import glance_of
from embaudit.io.intake import Intake, Part
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel
from embaudit.report.next_steps import Invocation, next_steps

SMALL_AUDIT = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}
"""Options that make an audit fast."""
LONG_ROWS = random_model(0, n=None, p=40, k=4).right
UNIT_ROWS = unit_rows(LONG_ROWS)
ORTHONORMAL_COLUMNS = np.linalg.qr(LONG_ROWS)[0]

DECLARE_COMPARED = "embaudit audit v.npy --compared cosine"
ADD_OTHER_SIDE = "embaudit audit v.npy --left-file OTHER-SIDE.npy"


def small_audit(rows, **declaration):
    """Audit rows of one side, whose training is declared by fields of the model."""
    return audit(FactorModel.from_vectors(rows).replace(**declaration), **SMALL_AUDIT)


def suggested_commands(found, path="v.npy", reading=()):
    """List the commands of the next steps; a step without a command gives ""."""
    return [command for _, command in next_steps(found, Invocation(path, reading))]


@pytest.fixture(scope="module")
def undeclared_audit():
    """Return an audit of unit rows without any declaration."""
    return small_audit(UNIT_ROWS)


@pytest.fixture(scope="module")
def audit_of_declared_link():
    """Return an audit of unit rows whose link is declared as a cosine."""
    return small_audit(UNIT_ROWS, link="cosine")


# Declarations of a cosine


def without_objective(record):
    """Return a record of an audit without the name of the declared objective."""
    model = {key: value for key, value in record["model"].items() if key != "objective"}
    return {**record, "model": model}


@pytest.mark.parametrize(
    "declaration",
    [
        pytest.param({"objective": "cosine"}, id="objective"),
        pytest.param(
            {"link": "cosine", "objective": "cosine"}, id="link and objective"
        ),
    ],
)
def test_objective_of_cosines_gives_the_same_audit_as_their_link(
    declaration, audit_of_declared_link
):
    """The records differ only in the name of the objective."""
    record = small_audit(UNIT_ROWS, **declaration).to_dict()
    expected = audit_of_declared_link.to_dict()
    assert without_objective(record) == without_objective(expected)


def test_declared_cosines_give_another_answer_than_no_declaration(
    undeclared_audit, audit_of_declared_link
):
    """So the declarations above agree on more than what the rows alone say."""
    assert str(audit_of_declared_link.answer) != str(undeclared_audit.answer)


# What an audit of one side leaves out


def test_text_of_an_audit_of_one_side_does_not_mention_users(undeclared_audit):
    assert "user" not in str(undeclared_audit).lower()


def test_glance_of_one_side_has_no_row_on_predictions(undeclared_audit):
    """A prediction needs both sides, so only equivalent models are tabulated."""
    rows = glance_of(undeclared_audit.evidence).rows
    questions = {question for question, _, _ in rows}
    assert questions == {"largest change found among models with the same scores"}


# Next steps


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(UNIT_ROWS, id="rows of length 1"),
        pytest.param(LONG_ROWS, id="rows of any length"),
    ],
)
def test_next_steps_are_both_ways_of_training_if_nothing_is_declared(rows):
    """The objective of cosines is not among them, whatever the lengths are."""
    assert suggested_commands(small_audit(rows)) == [DECLARE_COMPARED, ADD_OTHER_SIDE]


def test_next_steps_repeat_the_options_that_were_typed(undeclared_audit):
    commands = suggested_commands(undeclared_audit, reading=("--kind", "vectors"))
    assert commands == [
        "embaudit audit v.npy --kind vectors --compared cosine",
        "embaudit audit v.npy --kind vectors --left-file OTHER-SIDE.npy",
    ]


def test_next_step_is_the_other_side_if_the_link_is_declared(audit_of_declared_link):
    assert suggested_commands(audit_of_declared_link) == [ADD_OTHER_SIDE]


def test_next_step_is_the_other_side_if_the_columns_are_orthonormal():
    """Whitened rows are factors of two tables, so they were not compared."""
    assert suggested_commands(small_audit(ORTHONORMAL_COLUMNS)) == [ADD_OTHER_SIDE]


def first_step_of_array(found, array_name):
    """Return the first step for an audit whose rows were read from a named array."""
    intake = Intake("shards", ("m",), (Part(array_name, "right"),))
    return next(next_steps(replace(found, intake=intake), Invocation("v.npy")))


def test_first_step_asks_for_the_training_of_distilled_rows(undeclared_audit):
    """Files of model2vec name the array of distilled rows `embeddings`."""
    description, command = first_step_of_array(undeclared_audit, "embeddings")
    assert "embaudit explain objectives" in description
    assert command == ""


def test_first_step_of_rows_that_are_not_distilled_is_how_they_were_compared(
    undeclared_audit,
):
    _, command = first_step_of_array(undeclared_audit, "vectors")
    assert command == DECLARE_COMPARED


@pytest.mark.parametrize(
    ("path", "first_option", "second_option"),
    [
        ("texts.npz", "--compared", "--left-file"),
        ("model2vec", "--compared", "--left-file"),
        ("words.json", "--left-file", "--compared"),
        ("clip-classes/embeddings.npz", "--left-file", "--compared"),
        ("items.npy", "--left-file", "--compared"),
    ],
)
def test_first_step_is_the_other_side_if_a_path_names_models_of_two_tables(
    undeclared_audit, path, first_option, second_option
):
    first, second = suggested_commands(undeclared_audit, path)
    assert first_option in first
    assert second_option in second


@pytest.mark.parametrize("path", ["texts.npz", "clip-classes/embeddings.npz"])
def test_each_command_has_the_whole_path(undeclared_audit, path):
    for command in suggested_commands(undeclared_audit, path):
        assert command.startswith(f"embaudit audit {path} ")


# No equivalent model with other cosines


@pytest.fixture(scope="module", params=[20, 60], ids="{} rows".format)
def audit_without_a_change(request):
    """Return an audit that finds no equivalent model with other cosines.

    The 20 rows fix only a part of the cosines. The 60 rows fix all cosines if the other
    side has full rank, which is unknown because that side was not loaded.
    """
    rows = np.random.default_rng(0).standard_normal((request.param, 8))
    return small_audit(unit_rows(rows), link="cosine")


def test_answer_is_unknown_if_no_change_was_found(audit_without_a_change):
    assert audit_without_a_change.answer.word == "UNKNOWN"


def test_glance_has_no_figures_if_no_change_was_found(audit_without_a_change):
    assert glance_of(audit_without_a_change.evidence).rows == ()


def test_glance_says_that_a_change_can_exist_if_none_was_found(audit_without_a_change):
    assert glance_of(audit_without_a_change.evidence).key[-1] == (
        "No model with the same predicted cosines and other item-item cosines was "
        "found; there may still be one."
    )


def test_next_step_is_the_other_side_if_no_change_was_found(audit_without_a_change):
    assert suggested_commands(audit_without_a_change) == [ADD_OTHER_SIDE]


@pytest.fixture(scope="module")
def audit_of_compared_rows():
    """Return an audit of rows that training compared by cosine, which fixes these."""
    model = FactorModel.from_vectors(LONG_ROWS)
    return audit(model, **SMALL_AUDIT, compared="cosine")


def test_answer_is_yes_if_cosines_are_fixed(audit_of_compared_rows):
    assert audit_of_compared_rows.answer.word == "YES"


def test_glance_shows_no_change_if_cosines_are_fixed(audit_of_compared_rows):
    question = "largest change found among models with the same predicted cosines"
    assert glance_of(audit_of_compared_rows.evidence).rows == (
        (question, "10 nearest kept", ("100 %",)),
        (question, "average change of a cosine", ("0.00",)),
    )


def test_no_next_step_if_cosines_are_fixed(audit_of_compared_rows):
    assert suggested_commands(audit_of_compared_rows) == []
