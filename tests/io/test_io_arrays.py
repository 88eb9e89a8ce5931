"""NumPy archives and heads: names, shapes and options identify the arrays, and
ambiguous files are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load
from embaudit.model import LINKS

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(5)
USERS, ITEMS = (
    DRAW.normal(size=(6, 3)).astype(np.float32),
    DRAW.normal(size=(8, 3)).astype(np.float32),
)
A, B = DRAW.normal(size=6), DRAW.normal(size=8)


def saved(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


# implicit: exactly the members its `save` writes


def test_implicit_als(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "m.npz",
        user_factors=USERS,
        item_factors=ITEMS,
        regularization=0.01,
        factors=3,
        iterations=15,
        use_native=True,
        use_cg=True,
        cg_steps=3,
        calculate_training_loss=False,
        dtype="float32",
        alpha=1.0,
    )
    model = load(path)
    np.testing.assert_array_equal(model.left, USERS)
    np.testing.assert_array_equal(model.right, ITEMS)
    assert (model.link, model.right_bias, model.objective) == (
        LINKS["identity"],
        None,
        "factors",
    )


def test_implicit_bpr_keeps_scores_without_the_bias_in_the_factors(
    tmp_path: Path,
) -> None:
    users = np.column_stack([USERS, np.ones(6)]).astype(np.float32)
    items = np.column_stack([ITEMS, B]).astype(np.float32)
    path = saved(
        tmp_path / "m.npz",
        user_factors=users,
        item_factors=items,
        learning_rate=0.01,
        regularization=0.0,
        factors=3,
        iterations=100,
        verify_negative_samples=True,
        num_threads=0,
        dtype="float32",
    )
    model = load(path)
    assert model.rank == 3
    np.testing.assert_allclose(
        model.scores(),
        users.astype(float) @ items.T.astype(float),
        rtol=1e-12,
        atol=1e-12,
    )
    assert (model.link, model.objective) == (LINKS["ranking"], "none")


def test_implicit_logistic_has_a_bias_on_both_sides(tmp_path: Path) -> None:
    users, items = (
        np.column_stack([USERS, np.ones(6), A]),
        np.column_stack([ITEMS, B, np.ones(8)]),
    )
    path = saved(
        tmp_path / "m.npz",
        user_factors=users,
        item_factors=items,
        regularization=0.6,
        factors=3,
        learning_rate=1.0,
        neg_prop=30,
        num_threads=0,
        iterations=30,
        dtype="float32",
    )
    model = load(path)
    np.testing.assert_allclose(model.scores(), users @ items.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.left_bias, A)
    np.testing.assert_array_equal(model.right_bias, B)


# Archives with customary or chosen names


def test_chosen_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Names of arrays go before those of files.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("no vectors")
    path = saved(tmp_path / "m.npz", a=USERS, b=ITEMS.T, c=B)
    with pytest.raises(
        InputError, match=r"a \(6, 3\).*left=A and weight=B, or .*kind='vectors'"
    ):
        load(path)
    for options in ({"transpose": "right"}, {}):
        model = load(path, left="a", weight="b", bias="c", **options)
        np.testing.assert_array_equal(model.right, ITEMS)
        np.testing.assert_array_equal(model.right_bias, B)
    np.testing.assert_array_equal(load(path, kind="vectors", weight="a").right, USERS)
    np.testing.assert_array_equal(
        load(path, kind="head", weight="b", transpose=True, ignore="c").right, ITEMS
    )
    np.testing.assert_array_equal(
        load(path, left="a", weight="b", ignore="c").right, ITEMS
    )
    head = load(path, left="a", weight="b", bias="c", kind="head")
    assert head.link == LINKS["softmax"]
    np.testing.assert_allclose(head.scores(), USERS.astype(float) @ ITEMS.T + B)


# Heads


def test_the_bias_tells_which_way_weights_lie(tmp_path: Path) -> None:
    np.testing.assert_array_equal(
        load(saved(tmp_path / "m.npz", W=ITEMS.T, b=B)).right, ITEMS
    )
    square = saved(tmp_path / "s.npz", W=ITEMS[:3], b=B[:3])
    with pytest.raises(InputError, match=r"transpose='none' if each row is a label"):
        load(square)
    np.testing.assert_array_equal(load(square, transpose="right").right, ITEMS[:3].T)
    np.testing.assert_array_equal(load(square, transpose=False).right, ITEMS[:3])


def test_a_binary_head_is_two_labels(tmp_path: Path) -> None:
    w, b = ITEMS[:1].astype(float), B[:1]
    model = load(
        saved(tmp_path / "m.npz", coef_=w, intercept_=b, classes_=["no", "yes"])
    )
    x = USERS.astype(float)
    probabilities = model.replace(left=x).predictions()
    np.testing.assert_allclose(
        probabilities[:, 1], 1 / (1 + np.exp(-(x @ w[0] + b[0]))), rtol=1e-12
    )
    assert model.names("right").tolist() == ["no", "yes"]


# One array a file


def base_of(array: Any) -> Any:
    while not isinstance(array, np.memmap) and array.base is not None:
        array = array.base
    return array


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 2, 3, 4), (1, 3, 1, 4)])
def test_more_axes_are_named_with_their_shapes_or_squeezed(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    array = np.arange(float(np.prod(shape))).reshape(shape)
    np.save(tmp_path / "x.npy", array)
    for path, got in (
        (tmp_path / "x.npy", f"shape {shape}"),
        (saved(tmp_path / "x.npz", a=array), f"a {shape}"),
    ):
        if 2 in shape:
            with pytest.raises(InputError, match=re.escape(got)):
                load(path)
        else:
            np.testing.assert_array_equal(load(path).right, array[0, :, 0])


def test_npy_stays_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ITEMS)
    model = load(tmp_path / "v.npy")
    assert isinstance(base_of(model.right), np.memmap)
    assert (model.left, model.link) == (None, LINKS["identity"])
    np.testing.assert_array_equal(model.right, ITEMS)
