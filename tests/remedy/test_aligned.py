"""`fix(new, align_to=old)`: files of aligned vectors, their words, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.errors import InputError
from embaudit.gauges import GeneralLinear, Orthogonal
from embaudit.io import load, save
from embaudit.model import FactorModel
from embaudit.remedy import fix

OLD = random_model(
    1,
    scales=(np.geomspace(3, 0.3, 5), np.geomspace(0.5, 2, 5)),
    biases=("left_bias", "right_bias"),
    offset=0.7,
    left_ids=np.arange(40) + 7,
    right_ids=[f"item-{i}" for i in range(30)],
)
"""A model with biases, whose columns are far from balanced."""


def moved(old, seed=2, noise=0.3):
    """Return a model that differs from another by noise, in other axes."""
    draw = np.random.default_rng(seed)
    rows = {
        role: old.factors(role) + noise * draw.standard_normal(old.factors(role).shape)
        for role in old.sides
    }
    gauge = GeneralLinear(old.rank, max_condition=20.0).sample(rng=seed)
    return gauge.act(old.replace(**rows))


NEW = moved(OLD)
TABLE = FactorModel.from_vectors(OLD.right, ids=OLD.right_ids)
TURNED = Orthogonal(5).sample(rng=3).act(TABLE)


def test_both_sides_are_written_with_the_scores_and_biases_of_the_new_model(tmp_path):
    remedy = fix(NEW, align_to=OLD)
    back = load(remedy.write(tmp_path / "aligned.npz"))
    scores = NEW.scores()
    np.testing.assert_allclose(back.scores(), scores, atol=1e-12 * np.abs(scores).max())
    for name in ("left_bias", "right_bias", "left_ids", "right_ids"):
        np.testing.assert_array_equal(getattr(back, name), getattr(NEW, name))
    assert back.offset == NEW.offset
    np.testing.assert_allclose(back.right, remedy.to_model().right)


def test_files_are_read_for_both_models(tmp_path):
    for name, model in (("old", OLD), ("new", NEW)):
        save(model, tmp_path / f"{name}.npz")
    found = fix(tmp_path / "new.npz", align_to=tmp_path / "old.npz")
    np.testing.assert_array_equal(found.vectors(), fix(NEW, align_to=OLD).vectors())


@pytest.mark.parametrize("suffix", ["npz", "parquet", "csv", "feather", "faiss"])
@pytest.mark.parametrize("role", ["left", "right"])
def test_one_side_is_written_in_every_format(tmp_path, suffix, role):
    # FAISS keeps ids only if they are whole numbers.
    ids = np.arange(len(NEW.side(role))) + 100
    old = OLD.replace(**{f"{role}_ids": ids})
    new = NEW.replace(**{f"{role}_ids": ids})
    expected = fix(new, align_to=old).to_model().factors(role)

    remedy = fix(new, align_to=old, role=role)
    path = remedy.write(tmp_path / f"vectors.{suffix}")

    # A file of one side is a table, whose rows are read as the right side.
    table = load(path, kind="vectors")
    np.testing.assert_allclose(table.right, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(table.right_ids.astype(int), ids)


def test_vectors_of_length_1_are_written_for_one_side_only():
    x = fix(NEW, align_to=OLD, role="item", unit=True).vectors()
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1)
    with pytest.raises(InputError, match="unit must be omitted for a model"):
        fix(NEW, align_to=OLD, unit=True)


def test_a_new_table_of_a_store_compares_as_the_model_predicts():
    """A store that divided by lengths would lose what the scores need."""
    assert fix(NEW, align_to=OLD, role="item").metric == "dot"
    assert fix(TURNED, align_to=TABLE).metric == "cosine"
    old = OLD.replace(link="cosine")
    new = NEW.replace(link="cosine")
    assert fix(new, align_to=old, role="item").metric == "cosine"


def test_a_turned_table_keeps_how_its_rows_were_compared(tmp_path):
    old, new = [
        FactorModel.from_vectors(model.right, ids=model.right_ids, compared="dot")
        for model in (TABLE, TURNED)
    ]
    back = load(fix(new, align_to=old).write(tmp_path / "v.npz"))
    assert back.compared == "dot"
    np.testing.assert_allclose(back.right, TABLE.right, atol=1e-13)


def test_rows_without_direction_are_left_out_of_a_table_and_stay_in_a_model():
    rows = np.array(NEW.right)
    rows[4] = 0
    new = NEW.replace(right=rows)
    assert fix(new, align_to=OLD).to_model().n_right == 30
    table = fix(new, align_to=OLD, role="item")
    assert table.to_model().n_right == 29
    assert "1 item has no cosine (item-4) and is left out" in table.explain()


@pytest.mark.parametrize(
    ("objective", "kept"), [("product", "product"), ("factors", None)]
)
def test_the_objective_is_kept_if_other_axes_keep_its_value(objective, kept):
    new = NEW.replace(objective=objective)
    assert fix(new, align_to=OLD).to_model().objective == kept


def test_the_words_say_that_scores_stay_and_that_vectors_may_be_mixed():
    text = fix(NEW, align_to=OLD).explain()
    assert text.startswith(
        "user and item vectors of 5 dimensions, in the coordinates of the old model. "
        "Every score and bias stays."
    )
    assert "Old and new vectors may be mixed for user → user" in text


def test_the_words_say_that_vectors_of_an_unlike_model_may_not_be_mixed():
    text = fix(moved(OLD, noise=9.0), align_to=OLD).explain()
    assert "Do not mix old and new vectors for user → user" in text
    assert "may be mixed" not in text


def test_the_words_say_that_a_table_is_only_turned():
    text = fix(TURNED, align_to=TABLE).explain()
    assert "only turned, so that their cosines stay" in text
    assert "align both sides together" in text
    assert "Index them as the old vectors are." in text


def test_the_words_say_that_the_probabilities_of_a_softmax_stay():
    old = OLD.replace(link="softmax")
    new = NEW.replace(link="softmax")
    assert "Every probability and bias stays." in fix(new, align_to=old).explain()


def test_the_record_holds_the_figures_of_the_alignment():
    remedy = fix(NEW, align_to=OLD)
    record = remedy.to_dict()
    assert record["kind"] == "aligned"
    assert record["alignment"] == remedy.alignment.to_dict()
    assert fix(NEW).to_dict()["alignment"] is None
    assert repr(remedy) == "Remedy(aligned vectors of users and items, 5 dimensions)"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"as_": "balanced"}, "as_ must be omitted if vectors are aligned"),
        ({"dimensions": 2}, "dimensions must be omitted if vectors are aligned"),
        ({"role": "movie"}, "role must be one of"),
        ({"align_to": "no-such-file.npz"}, "no-such-file.npz"),
        ({"align_to": 7}, "got int|7"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_sentence(options, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        fix(NEW, **{"align_to": OLD, **options})
    assert "\n" not in str(refused.value)


def test_rows_compared_by_distance_are_refused():
    old = FactorModel.from_vectors(
        TABLE.right, ids=TABLE.right_ids, compared="distance"
    )
    new = FactorModel.from_vectors(
        TURNED.right, ids=TURNED.right_ids, compared="distance"
    )
    with pytest.raises(InputError, match="a model of dot products or cosines"):
        fix(new, align_to=old)
