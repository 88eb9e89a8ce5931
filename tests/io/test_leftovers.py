"""Arrays that are not read are named if they could be a bias."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from embaudit.errors import InputError
from embaudit.io import load

P, Q = np.arange(10.0).reshape(5, 2), np.arange(14.0).reshape(7, 2) + 1
A, B = np.arange(5.0), np.arange(7.0)


def sentence(array: str, why: str, ways: str) -> str:
    arrays = "every array of the state dictionary that could matter"
    return f"{arrays} must be named or ignored; got {array}, {why}; {ways}."


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        (
            {"u_bias": A},
            sentence(
                "u_bias (5,)",
                "one value for each entity of P",
                "name it with left_bias='u_bias', or ignore it with ignore='u_bias'",
            ),
        ),
        (
            {"item_intercept": B},
            sentence(
                "item_intercept (7,)",
                "one value for each entity of Q",
                "name it with bias='item_intercept', "
                "or ignore it with ignore='item_intercept'",
            ),
        ),
        (
            {"x": B[:, None]},
            sentence(
                "x (7, 1)",
                "one value for each entity of Q",
                "name it with bias='x', or ignore it with ignore='x'",
            ),
        ),
        (
            {"x": B.astype(int)},
            sentence(
                "x (7,)",
                "one value for each entity of Q",
                "name it with id_array='x', or ignore it with ignore='x'",
            ),
        ),
        (
            {"strength": np.ones(2)},
            sentence(
                "strength (2,)",
                "one number for each dimension of Q",
                "ignore it with ignore='strength'",
            ),
        ),
        (
            {"yj": Q},
            sentence(
                "yj (7, 2)",
                "the shape of Q",
                "name it with weight='yj', or ignore it with ignore='yj'",
            ),
        ),
        (
            {"yi": P},
            sentence(
                "yi (5, 2)",
                "the shape of P",
                "name it with left='yi', or ignore it with ignore='yi'",
            ),
        ),
    ],
)
def test_an_array_that_could_matter_stops_the_read(
    arrays: dict[str, Any], expected: str
) -> None:
    for flat in (
        arrays,
        {
            name: x.astype(np.float32) if x.dtype == float else x
            for name, x in arrays.items()
        },
    ):
        with pytest.raises(InputError) as refused:
            load({"P": P, "Q": Q, **flat})
        assert str(refused.value) == expected
    assert (
        load({"P": P, "Q": Q, **arrays}, ignore=next(iter(arrays))).right_bias is None
    )
    assert load({"P": P, "Q": Q, **arrays}, kind="vectors").left is None


def test_arrays_of_other_layers_do_not_stop_a_head() -> None:
    norm = {"norm.weight": B, "norm.bias": B}
    layer = {"dense.weight": np.ones((7, 3)), "dense.bias": B}
    head = {"lm_head.weight": Q}
    assert load({**head, **norm, **layer}).right_bias is None
    with pytest.raises(InputError, match=r"got lm_head\.other \(7,\)"):
        load({**head, **norm, **layer, "lm_head.other": B})
    with pytest.raises(InputError, match=r"got alone\.weight \(7,\)"):
        load({**head, **norm, "alone.weight": B})
    # One number for each dimension belongs to the layer before, where a weight has one
    # row a label by custom.
    assert load({**head, "norm.weight": np.ones(2)}).right_bias is None
    with pytest.raises(
        InputError, match=r"got x \(2,\), one number for each dimension of W"
    ):
        load({"W": Q, "b": B, "x": np.ones(2)})


NAMES = st.text(st.sampled_from("abiuvwxyz_."), min_size=1, max_size=12).filter(
    lambda s: s.strip("._") == s
)


CUSTOMARY = st.sampled_from(
    [
        "P",
        "Q",
        "user_factors",
        "item_factors",
        "U",
        "V",
        "Vt",
        "W",
        "H",
        "b",
        "bias",
        "weight",
        "lm_head.weight",
        "user_bias",
        "item_bias",
        "u_bias",
        "i_bias",
        "bu",
        "bi",
        "item_intercept",
        "mu",
        "ids",
        "item_names",
        "kernel",
        "out.kernel",
        "out.bias",
        "lm_head.bias",
        "fc.weight",
        "embed.weight",
        "labels",
        "norm.weight",
        "norm.bias",
        "x",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_file_is_read_without_the_bias_of_a_side(data: st.DataObject) -> None:
    stored = {"left": P, "right": Q, "left bias": A + 0.25, "right bias": B + 0.25}
    kept = data.draw(st.sets(st.sampled_from(["left", "left bias"]), max_size=2)) | {
        "right",
        "right bias",
    }
    names = data.draw(
        st.lists(CUSTOMARY | NAMES, min_size=len(kept), max_size=len(kept), unique=True)
    )
    arrays = {
        name: stored[what] for name, what in zip(names, sorted(kept), strict=True)
    }
    turned = data.draw(st.sets(st.sampled_from(names)))
    arrays = {
        name: np.ascontiguousarray(x.T) if name in turned else x
        for name, x in arrays.items()
    }
    with TemporaryDirectory() as folder:
        path = Path(folder, "m" + data.draw(st.sampled_from([".npz", ".safetensors"])))
        np.savez(path, **arrays) if path.suffix == ".npz" else save_file(arrays, path)
        try:
            model = load(path)
        except InputError:
            return
        of_size = {5: A + 0.25, 7: B + 0.25}
        for side in model.sides:
            bias = model.side(side).bias
            expected = of_size.get(len(model.side(side)))
            if expected is not None and (len(expected) == 7 or "left bias" in kept):
                assert bias is not None
                np.testing.assert_array_equal(bias, expected)


# Checkpoints


def checkpoint(path: Path, **tensors: np.ndarray) -> Path:
    save_file(
        {name.replace("__", "."): x.astype(np.float32) for name, x in tensors.items()},
        path,
    )
    return path


def test_one_part_of_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    path = checkpoint(tmp_path / "model-00001-of-00002.safetensors", lm_head__weight=Q)
    with pytest.raises(
        InputError,
        match=r"a complete checkpoint; got one part of 2; give its folder or its "
        r".* with",
    ):
        load(path)
    assert load(path, weight="lm_head.weight").n_right == 7
    assert (
        load(
            checkpoint(tmp_path / "model-00001-of-00001.safetensors", lm_head__weight=Q)
        ).n_right
        == 7
    )
