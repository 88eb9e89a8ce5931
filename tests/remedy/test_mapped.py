"""Old vectors that are mapped into the space of a new encoder and written."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError


@pytest.fixture
def old():
    draw = np.random.default_rng(0)
    rows = 2 * draw.standard_normal((9, 6))[draw.integers(9, size=240)]
    return ea.FactorModel.from_vectors(
        rows + draw.standard_normal((240, 6)), ids=[f"d{i}" for i in range(240)]
    )


@pytest.fixture
def turned(old):
    """The same documents by an encoder that only turns the axes."""
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    return old.replace(right=old.right @ turn)


@pytest.fixture
def stretched(old):
    """The same documents by an encoder that stretches the axes."""
    return old.replace(right=old.right @ np.diag(np.geomspace(1, 8, 6)))


def directions(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_a_rotation_that_is_enough_is_taken(old, turned):
    remedy = ea.fix(old, map_to=turned)
    assert remedy.space_map.best.kind == "rotation"
    np.testing.assert_allclose(remedy.vectors(), turned.right, atol=1e-12)
    assert repr(remedy) == "Remedy(mapped vectors of items, 6 dimensions)"
    assert "A rotation is enough" in remedy.explain()


def test_a_linear_map_is_taken_if_a_rotation_is_not_enough(old, stretched):
    remedy = ea.fix(old, map_to=stretched)
    assert remedy.space_map.best.kind == "linear"
    cosines = (directions(remedy.vectors()) * directions(stretched.right)).sum(axis=1)
    assert cosines.min() > 0.999


def test_the_map_can_be_chosen(old, stretched):
    remedy = ea.fix(old, map_to=stretched, by_map="rotation")
    lengths = np.linalg.norm(remedy.vectors(), axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(old.right, axis=1), rtol=1e-12)


def test_texts_are_about_the_chosen_map(old, stretched):
    by_advice = ea.fix(old, map_to=stretched).space_map
    chosen = ea.fix(old, map_to=stretched, by_map="rotation").space_map
    assert (by_advice.used.kind, chosen.used.kind) == ("linear", "rotation")
    assert by_advice.conclusion.startswith("A linear map is enough")
    assert chosen.conclusion.startswith("The rotation that you chose keeps ")
    assert "A linear map is enough" in chosen.conclusion
    # The rotation leaves other angles, so the threshold is another one, too.
    assert "After the rotation, nine in ten items" in chosen.explain()
    assert chosen.typical_threshold.after != by_advice.typical_threshold.after
    assert chosen.to_dict()["map"] == "rotation"


def test_a_choice_that_follows_the_advice_changes_no_text(old, stretched):
    by_advice = ea.fix(old, map_to=stretched)
    chosen = ea.fix(old, map_to=stretched, by_map="linear")
    assert chosen.explain() == by_advice.explain()


def test_documents_that_the_new_encoder_lacks_are_mapped_too(old, turned):
    fewer = turned.take(right=np.arange(200))
    remedy = ea.fix(old, map_to=fewer)
    assert remedy.space_map.n_paired == 200
    np.testing.assert_allclose(remedy.vectors(), turned.right, atol=1e-12)


def test_mapped_vectors_are_written_with_their_ids(old, turned, tmp_path):
    path = tmp_path / "mapped.parquet"
    ea.fix(old, map_to=turned, unit=True).write(path)
    written = ea.load(path)
    assert written.right_ids.tolist() == old.right_ids.tolist()
    np.testing.assert_allclose(written.right, directions(turned.right), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"as_": "centred"}, "as_ must be omitted if vectors are mapped"),
        ({"align_to": True}, "align_to must be omitted if vectors are mapped"),
        ({"dimensions": 2}, "dimensions must be omitted if vectors are mapped"),
        ({"by_map": "shear"}, "by_map must be one of rotation, linear; got 'shear'"),
    ],
)
def test_options_of_other_vectors_are_refused(old, turned, options, sentence):
    with pytest.raises(InputError, match=sentence):
        ea.fix(old, map_to=turned, **options)


def test_a_map_without_a_new_encoder_is_refused(old):
    with pytest.raises(
        InputError, match="by_map must be omitted unless map_to is given"
    ):
        ea.fix(old, by_map="rotation")


def test_the_left_side_is_refused(old, turned):
    sides = [
        ea.FactorModel.from_user_item(model.right[:40], model.right)
        for model in (old, turned)
    ]
    with pytest.raises(InputError, match="must be the items; got the users"):
        ea.fix(sides[0], map_to=sides[1], role="left")
