"""A declared training is compared with the statement in the file."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.model.trainings import StatedTraining

FEW = {"n_gauges": 1, "n_starts": 0, "n_pairs": 20}
DRAW = np.random.default_rng(0)


@pytest.fixture
def path(tmp_path):
    """A file that says that its model was trained with the objective product."""
    users, items = DRAW.standard_normal((30, 3)), DRAW.standard_normal((20, 3))
    model = ea.FactorModel.from_user_item(users, items, objective="product")
    ea.save(model, tmp_path / "m.npz")
    return tmp_path / "m.npz"


def contradictions(audit):
    return [one for one in audit.findings if one.code == "EMB106"]


def test_a_declaration_of_load_and_one_of_audit_contradict_the_file_alike(path):
    by_audit = ea.audit(path, objective="factors", **FEW)
    by_load = ea.audit(ea.load(path, objective="factors"), **FEW)
    by_read = ea.audit(ea.io.read(path, objective="factors"), **FEW)
    (finding,) = contradictions(by_audit)
    assert finding.title == (
        "you declared factors, but objective in m.npz says product"
    )
    for other in (by_load, by_read):
        assert contradictions(other) == [finding]
        assert other.answer == by_audit.answer
        assert other.evidence.declared_by == by_audit.evidence.declared_by
    assert by_audit.answer.word == "CHECK FIRST"


def test_a_word_for_the_same_law_contradicts_nothing(path):
    assert ea.load(path, objective="product").overruled is None
    loaded = ea.load(path, objective="factors")
    assert loaded.overruled == StatedTraining("product", "objective in m.npz")
    # Declared again as the file says, nothing contradicts it any more.
    assert not contradictions(ea.audit(loaded, objective="product", **FEW))


def test_what_the_file_says_comes_before_what_was_declared_at_first(path):
    loaded = ea.load(path, objective="factors")
    (finding,) = contradictions(ea.audit(loaded, objective="none", **FEW))
    assert finding.title == "you declared none, but objective in m.npz says product"


def test_a_new_objective_or_file_drops_the_statement(path, tmp_path):
    loaded = ea.load(path, objective="factors")
    assert loaded.replace(offset=1.0).overruled is not None
    assert loaded.replace(objective="none").overruled is None
    # A file with the declared objective is what the finding advises.
    ea.save(loaded, tmp_path / "right.npz")
    assert not contradictions(ea.audit(tmp_path / "right.npz", **FEW))


def test_the_folder_of_an_encoder_is_a_source_too(tmp_path):
    modules = '[{"type": "sentence_transformers.models.Normalize"}]'
    (tmp_path / "modules.json").write_text(modules)
    rows = DRAW.standard_normal((20, 3))
    np.save(tmp_path / "rows.npy", rows / np.linalg.norm(rows, axis=1, keepdims=True))
    file = tmp_path / "rows.npy"
    stated = ea.load(file).objective
    assert stated is not None
    loaded = ea.load(file, objective="word2vec")
    (finding,) = contradictions(ea.audit(loaded, **FEW))
    assert finding.title == f"you declared word2vec, but modules.json says {stated}"


def test_a_word_without_a_law_agrees_with_training_without_a_penalty():
    users, items = DRAW.standard_normal((30, 3)), DRAW.standard_normal((20, 3))
    model = ea.FactorModel.from_arrays(users, items, link="ranking", objective="none")
    audit = ea.audit(model, objective="warp", **FEW)
    assert not contradictions(audit)
    assert audit.answer.word == "NO"
    # Weight decay has a law, so a word without a law contradicts it.
    decayed = ea.FactorModel.from_arrays(users, items, objective="factors")
    (finding,) = contradictions(
        ea.audit(decayed.replace(link="ranking"), objective="warp", **FEW)
    )
    assert finding.title == "you declared warp, but the model says factors"
