"""Layouts of named arrays: the matching layout is named, and two matches are a
question.

`test_customary_names.py` tests the customary names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import inspect, load, read
from embaudit.io.layouts.recipes import RECIPES, Recipe, head_recipe

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(5)
USERS, ITEMS, PLACES = (DRAW.normal(size=(n, 4)).astype("f4") for n in (6, 8, 5))
BIAS = DRAW.normal(size=8).astype("f4")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_each_recipe_is_the_first_that_fits_its_own_names(recipe: Recipe) -> None:
    """A recipe behind another one that fits the same names would never be used."""
    right = ITEMS.T if recipe.transposed else ITEMS
    arrays = {recipe.right: right}
    if recipe.left:
        arrays[recipe.left] = USERS
    if recipe.bias:
        arrays[recipe.bias] = BIAS
    if recipe.kind == "tied head":
        arrays["predictions.bias"] = BIAS
    if recipe.kind != "vectors":
        arrays["places"] = PLACES[:, :3]
    reading = read(arrays)
    assert reading.intake.layout == recipe.title
    np.testing.assert_array_equal(reading.model.right, ITEMS)
    assert (reading.model.right_bias is not None) == (recipe.kind.endswith("head"))


TEXTBOOK = "P/Q of textbooks on matrix factorisation"
CAUSAL_LM = "lm_head.weight of causal language models of transformers"
TIED_BERT = (
    "embeddings.word_embeddings.weight of BERT, input embeddings that are also the head"
)
BERT = {"bert.embeddings.word_embeddings.weight": ITEMS, "cls.predictions.bias": BIAS}
BY_OPTIONS = "arrays that options name"


@pytest.mark.parametrize(
    ("arrays", "options", "layout"),
    [
        ({"P": USERS, "Q": ITEMS}, {}, TEXTBOOK),
        ({"p": USERS, "module.Q.weight": ITEMS}, {}, TEXTBOOK),
        ({"model.lm_head.weight": ITEMS, "places": PLACES}, {}, CAUSAL_LM),
        (BERT, {}, TIED_BERT),
        ({"components_": ITEMS.T}, {}, "components_ of scikit-learn"),
        ({"x": ITEMS}, {}, "the only matrix"),
        ({"x": ITEMS, "y": BIAS}, {"bias": "y"}, "the only matrix"),
        ({"a": USERS, "b": ITEMS}, {"left": "a", "weight": "b"}, BY_OPTIONS),
        ({"lm_head.weight": ITEMS}, {"weight": "lm_head.weight"}, BY_OPTIONS),
    ],
)
def test_the_layout_is_named_in_the_report(
    tmp_path: Path, arrays: dict[str, np.ndarray], options: dict[str, str], layout: str
) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, **arrays)
    for intake in (read(path, **options).intake, inspect(path, **options)):
        assert intake.layout == layout
        assert f"Layout: {layout}." in intake.explain()
        assert json.loads(json.dumps(intake.to_dict()))["layout"] == layout
        assert layout not in intake.line()


def test_formats_without_names_of_arrays_have_no_layout(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", ITEMS)
    found = read(tmp_path / "m.npy").intake
    assert found.layout is None
    assert "Layout" not in found.explain()


def test_the_layer_of_keras_and_the_group_of_anndata_are_the_layout(
    tmp_path: Path,
) -> None:
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file["obsm/X_pca"] = ITEMS
        file["obs/_index"] = np.array([b"%d" % row for row in range(8)])
        file["obs"].attrs["_index"] = "_index"
    assert inspect(tmp_path / "a.h5ad").layout == "obsm/X_pca of AnnData"
    dense = {"name": "out", "activation": "softmax"}
    layers = {"config": {"layers": [{"class_name": "Dense", "config": dense}]}}
    with h5py.File(tmp_path / "k.h5", "w") as file:
        file["model_weights/out/out/kernel:0"] = ITEMS.T
        file["model_weights/out/out/bias:0"] = BIAS
        file.attrs["model_config"] = json.dumps(layers)
    found = read(tmp_path / "k.h5")
    assert found.intake.layout == "out.kernel of Keras, the last layer with a softmax"
    np.testing.assert_array_equal(found.model.right, ITEMS)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Two recipes of one rank that read different arrays.
        ({"P": USERS, "Q": ITEMS}, {"u": USERS, "v": ITEMS}),
        ({"user_factors": USERS, "item_factors": ITEMS}, {"lm_head.weight": ITEMS}),
        ({"score.weight": ITEMS}, {"lm_head.weight": ITEMS}),
        ({"a.lm_head.weight": ITEMS}, {"b.lm_head.weight": ITEMS}),
        ({"a.wte.weight": ITEMS}, {"b.shared.weight": ITEMS}),
    ],
)
def test_two_readings_of_equal_rank_are_a_question(
    first: dict[str, np.ndarray], second: dict[str, np.ndarray]
) -> None:
    load(first)
    load(second)
    with pytest.raises(InputError, match="must be one recognised table, pair or head"):
        load({**first, **second})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"lm_head.weight": ITEMS}, {"model.score.weight": ITEMS + 1}),
        ({"model.lm_head.weight": ITEMS}, {"wte.weight": ITEMS + 1}),
        ({"wte.weight": ITEMS}, {"model.shared.weight": ITEMS + 1}),
        ({"W": ITEMS, "H": USERS.T}, {"weight": ITEMS + 1}),
    ],
)
def test_the_reading_of_the_first_rank_is_taken(
    first: dict[str, np.ndarray], second: dict[str, np.ndarray]
) -> None:
    expected = load(first)
    found = load({**second, **first}, ignore="weight")
    np.testing.assert_array_equal(found.right, expected.right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("query_tower", "candidate_tower"),
        ("user_tower", "item_tower"),
        ("query", "document"),
    ],
)
def test_layers_with_the_names_of_towers_are_no_outputs(left: str, right: str) -> None:
    """The weights of two linear layers would be transposed by their shapes."""
    load({left: USERS, right: ITEMS})
    with pytest.raises(InputError, match="must be one recognised table, pair or head"):
        load({f"{left}.weight": USERS.T, f"{right}.weight": ITEMS.T})


@pytest.mark.parametrize(
    "names", [("target", "context"), ("target_embedding", "context_embedding")]
)
def test_words_and_contexts_are_a_question(names: tuple[str, str]) -> None:
    """Skip-gram puts a target in, CBOW predicts it: neither name says the side."""
    with pytest.raises(InputError, match="must be one recognised table, pair or head"):
        load(dict(zip(names, (USERS, ITEMS), strict=True)))


def test_three_towers_are_a_question() -> None:
    towers = {"query_tower": USERS, "candidate_tower": ITEMS, "item_tower": PLACES}
    with pytest.raises(InputError, match="must be one recognised table, pair or head"):
        load(towers)


def test_a_layer_inside_a_network_is_no_head() -> None:
    assert head_recipe("model.layers.3.fc.weight") is not None
    arrays = {"model.layers.3.fc.weight": ITEMS, "router.head.weight": PLACES}
    with pytest.raises(InputError, match="must be one recognised table, pair or head"):
        load(arrays)


def test_the_unembedding_of_a_wrapped_network_has_one_column_per_token() -> None:
    head = load({"model.unembed.W_U": ITEMS.T, "places": PLACES})
    np.testing.assert_array_equal(head.right, ITEMS)


# Rows or columns


@pytest.mark.parametrize(
    "beside",
    [
        {"item_ids": np.arange(8)},
        {"item_titles": np.array(list("abcdefgh"))},
        {"ids": np.arange(8), "item_counts": np.arange(8)},
    ],
)
def test_ids_tell_that_a_table_has_one_column_per_entity(
    tmp_path: Path, beside: dict[str, np.ndarray]
) -> None:
    np.savez(tmp_path / "v.npz", x=ITEMS.T, **beside)
    found = read(tmp_path / "v.npz")
    np.testing.assert_array_equal(found.model.right, ITEMS)
    assert found.intake.assumed == ("x has one column per entity",)
    with pytest.raises(InputError, match=r"one per row|vector of 4"):
        load(tmp_path / "v.npz", transpose="none")


def test_classes_tell_that_a_head_without_bias_has_one_column_per_label(
    tmp_path: Path,
) -> None:
    np.savez(tmp_path / "h.npz", W=ITEMS.T, classes=np.array(list("abcdefgh")))
    np.testing.assert_array_equal(load(tmp_path / "h.npz").right, ITEMS)


def test_ids_of_a_square_table_or_of_another_size_do_not_turn_it(
    tmp_path: Path,
) -> None:
    """Nor do those of weights of torch, which have one row per entity by custom."""
    square = DRAW.normal(size=(4, 4))
    np.savez(tmp_path / "v.npz", x=square, ids=np.arange(4))
    np.testing.assert_array_equal(load(tmp_path / "v.npz").right, square)
    np.savez(tmp_path / "v.npz", **{"item.weight": ITEMS.T, "ids": np.arange(8)})
    with pytest.raises(InputError, match="item ids must be a list of 4"):
        load(tmp_path / "v.npz")
    np.savez(tmp_path / "v.npz", x=ITEMS, ids=np.arange(8), labels=np.arange(4))
    with pytest.raises(InputError, match="item names must be a list of 8"):
        load(tmp_path / "v.npz")


def test_the_shapes_tell_that_v_of_a_decomposition_is_transposed(
    tmp_path: Path,
) -> None:
    np.savez(tmp_path / "uv.npz", u=USERS, v=ITEMS.T)
    np.testing.assert_array_equal(load(tmp_path / "uv.npz").right, ITEMS)


def test_the_shapes_tell_more_than_the_name_of_a_factor(tmp_path: Path) -> None:
    """Some code calls two tables W and H although both have one row per entity."""
    np.savez(tmp_path / "wh.npz", W=USERS, H=ITEMS)
    found = read(tmp_path / "wh.npz")
    np.testing.assert_array_equal(found.model.right, ITEMS)
    assert found.intake.assumed == ("the identity link",)
    # Both ways fit here, so the name decides.
    np.savez(tmp_path / "wh.npz", W=USERS[:4], H=ITEMS.T)
    found = read(tmp_path / "wh.npz")
    np.testing.assert_array_equal(found.model.right, ITEMS)
    assert "H has one column per entity" in found.intake.assumed
