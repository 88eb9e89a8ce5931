"""Named arrays: two tables, a head or vectors, and arrays next to them.

`test_customary_names.py` tests the customary names.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import npz, refusal, write_all

from embaudit.errors import InputError
from embaudit.io import load, read
from embaudit.io.npy import Npz

if TYPE_CHECKING:
    from pathlib import Path

    import embaudit as ea

USERS = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
ITEMS = np.array([[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 1.0, 1.0]])
SCORES = [[1, 4, 6, 3], [-1, 1, 2, 0]]
"""Products of the rows above, by hand."""
BIAS = np.array([0.5, -1.0, 0.0, 2.0])


def loaded(folder: Path, arrays: dict[str, Any], **options: Any) -> ea.FactorModel:
    return load(write_all(folder, {"m.npz": npz(**arrays)}), **options)


def test_a_pair_with_everything_beside_it(tmp_path: Path) -> None:
    user_bias = np.array([10.0, 20.0])
    arrays = {
        "P": USERS,
        "Q": ITEMS,
        "bu": user_bias[:, None],
        "bi": BIAS[None],
        "mu": np.array([100.0]),
        "user_ids": np.array([7, 8]),
        "item_ids": np.array([4, 3, 2, 1]),
        "item_titles": np.array(["Heat", "Ran", "M", "Kes"]),
        "item_counts": np.array([4, 0, 1, 2]),
        "seed": 3,
    }
    found = read(write_all(tmp_path, {"m.npz": npz(**arrays)}))
    model = found.model
    expected = np.array(SCORES) + user_bias[:, None] + BIAS + 100
    assert model.predictions().tolist() == expected.tolist()
    assert model.link.name == "identity"
    assert model.left_ids.tolist() == [7, 8]
    assert model.right_ids.tolist() == [4, 3, 2, 1]
    assert model.right_names.tolist() == ["Heat", "Ran", "M", "Kes"]
    assert model.right_counts.tolist() == [4, 0, 1, 2]
    assert [part.name for part in found.intake.left_over] == ["seed"]


def test_a_pair_with_one_row_per_user_and_item(tmp_path: Path) -> None:
    model = loaded(tmp_path, {"users": USERS, "items": ITEMS})
    assert model.predictions().tolist() == SCORES


def test_items_with_one_column_each_are_transposed_by_their_shape(
    tmp_path: Path,
) -> None:
    model = loaded(tmp_path, {"W": USERS, "H": ITEMS.T})
    assert model.predictions().tolist() == SCORES


def test_two_sides_with_one_column_each_are_transposed_by_their_shapes(
    tmp_path: Path,
) -> None:
    model = loaded(tmp_path, {"u": USERS.T, "v": ITEMS.T})
    assert model.predictions().tolist() == SCORES


def test_axes_of_length_1_are_dropped(tmp_path: Path) -> None:
    arrays = {
        "users": USERS.reshape(1, 2, 3),
        "items": ITEMS.reshape(4, 1, 3),
    }
    assert loaded(tmp_path, arrays).predictions().tolist() == SCORES


def test_numbers_of_half_precision_are_read_exactly(tmp_path: Path) -> None:
    model = loaded(tmp_path, {"users": USERS.astype(np.float16), "items": ITEMS})
    assert model.predictions().tolist() == SCORES


def test_numbers_in_the_other_byte_order_are_read_exactly(tmp_path: Path) -> None:
    model = loaded(tmp_path, {"users": USERS, "items": ITEMS.astype(">f8")})
    assert model.predictions().tolist() == SCORES


def test_turned_sides_are_named_as_assumed(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"m.npz": npz(u=USERS.T, v=ITEMS.T)})
    assert "u has one column per entity" in read(path).intake.assumed
    assert read(path, transpose="both", link="identity").intake.assumed == ()


def test_a_square_side_is_turned_only_if_asked(tmp_path: Path) -> None:
    square = np.array([[1.0, 2.0], [3.0, 4.0]])
    arrays = {"u": square, "v": square}
    assert loaded(tmp_path, arrays).left.tolist() == [[1, 2], [3, 4]]
    turned = loaded(tmp_path, arrays, transpose="left")
    assert turned.left.tolist() == [[1, 3], [2, 4]]
    assert turned.right.tolist() == [[1, 2], [3, 4]]


def test_chosen_names_of_biases_and_ids(tmp_path: Path) -> None:
    arrays = {"users": USERS, "items": ITEMS, "b": BIAS, "c": [7, 8], "d": [0.5, 1.5]}
    model = loaded(tmp_path, arrays, bias="b", left_id_array="c", left_bias="d")
    assert model.right_bias.tolist() == BIAS.tolist()
    assert model.left_bias.tolist() == [0.5, 1.5]
    assert model.left_ids.tolist() == [7, 8]


def test_repeated_ids_are_refused_after_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "twice.npz"
    np.savez(path, user_factors=USERS, item_factors=ITEMS, item_ids=[7] * len(ITEMS))
    with pytest.raises(InputError) as refused:
        load(path)
    expected = f"{path}: item ids must be unique; got 7 in {len(ITEMS)} rows"
    assert str(refused.value).startswith(expected)


def test_the_objective_sets_the_link(tmp_path: Path) -> None:
    arrays = {"a": USERS, "b": ITEMS}
    model = loaded(tmp_path, arrays, left="a", weight="b", objective="bpr")
    assert (model.link.name, model.objective) == ("ranking", "bpr")


def test_singular_values_are_left_out_only_by_name(tmp_path: Path) -> None:
    arrays = {"u": USERS, "s": np.ones(3), "vt": ITEMS.T}
    path = write_all(tmp_path, {"m.npz": npz(**arrays)})
    assert "the cosines depend on the side that s belongs to" in refusal(load, path)
    options = {"left": "u", "weight": "vt", "transpose": "right", "ignore": "s"}
    assert load(path, **options).predictions().tolist() == SCORES


def test_patterns_of_names_are_ignored(tmp_path: Path) -> None:
    arrays = {"users": USERS, "items": ITEMS, "other": ITEMS}
    model = loaded(tmp_path, arrays, ignore=["oth*", "x"])
    assert model.predictions().tolist() == SCORES


@pytest.mark.parametrize("weight", [ITEMS, ITEMS.T])
def test_a_head_with_its_bias_and_classes(tmp_path: Path, weight: Any) -> None:
    """The length of the bias tells whether labels are rows or columns."""
    classes = np.array(["a", "b", "c", "d"])
    head = loaded(tmp_path, {"W": weight, "b": BIAS, "classes": classes})
    assert head.right.tolist() == ITEMS.tolist()
    assert head.right_bias.tolist() == BIAS.tolist()
    assert head.right_names.tolist() == ["a", "b", "c", "d"]
    assert (head.link.name, head.roles) == ("softmax", ("input", "label"))


def test_a_head_of_one_row_without_bias_is_two_labels(tmp_path: Path) -> None:
    head = loaded(tmp_path, {"coef_": [[2.0, 1.0, 0.0]]})
    assert head.right.tolist() == [[0, 0, 0], [2, 1, 0]]


def test_a_head_of_one_row_can_be_read_as_a_vector(tmp_path: Path) -> None:
    vectors = loaded(tmp_path, {"coef_": [[2.0, 1.0, 0.0]]}, kind="vectors")
    assert vectors.right.tolist() == [[2, 1, 0]]


def test_one_array_is_vectors(tmp_path: Path) -> None:
    assert loaded(tmp_path, {"x": ITEMS}).link.name == "identity"


def test_one_array_with_a_named_bias_is_a_head(tmp_path: Path) -> None:
    head = loaded(tmp_path, {"x": ITEMS, "y": BIAS}, bias="y")
    assert head.link.name == "softmax"
    assert head.right_bias.tolist() == BIAS.tolist()


PAIR = {"users": USERS, "items": ITEMS}
OTHERS = {"a": USERS, "b": ITEMS}


@pytest.mark.parametrize(
    ("arrays", "options", "part"),
    [
        # Nothing is guessed by shape where no name tells.
        (OTHERS, {}, "name two factors with left=A and weight=B, or one table with"),
        ({"y": BIAS}, {}, "got no matrix"),
        ({"dense/kernel": USERS}, {}, "got dense/kernel (2, 3)"),
        (
            {"W": np.eye(4), "b": BIAS},
            {},
            "choose transpose='none' if each row is a label",
        ),
        # An array that could matter is named or ignored.
        ({**PAIR, "other": ITEMS}, {}, "name it with weight='other'"),
        ({**PAIR, "b": BIAS}, {}, "name it with bias='b'"),
        ({**PAIR, "b": np.arange(4)}, {}, "name it with id_array='b'"),
        ({**PAIR, "b": np.arange(2)}, {}, "name it with left_id_array='b'"),
        ({**PAIR, "b": np.ones(3)}, {}, "one number for each dimension of items"),
        ({**PAIR, "mlp.weight": np.ones((7, 6))}, {}, "a layer beside the tables"),
        (
            {**PAIR, "mlp.bias": np.ones(3), "mlp.weight": np.eye(3)},
            {},
            "got mlp.weight (3, 3), a layer beside the tables",
        ),
        ({**PAIR, "other.weight": ITEMS}, {}, "name it with weight='other.weight'"),
        ({"x": ITEMS, "counts": np.arange(4)}, {}, "name it with id_array='counts'"),
        # Shapes that do not fit.
        (
            {"u": np.ones((5, 3)), "v": np.ones((4, 2))},
            {},
            "number of columns; got 3 and 2",
        ),
        ({"u": np.ones((2, 3)), "v": np.ones((2, 2))}, {}, "say transpose='left'"),
        ({"u": np.ones((2, 2)), "v": np.ones((2, 3))}, {}, "say transpose='right'"),
        ({"coef_": USERS[:1], "intercept_": [0.5, 1]}, {}, "must be one number; got"),
        # Values that are not what the name says.
        ({**PAIR, "item_ids": [4, 3, 2, 1.5]}, {}, "got fractions such as 1.5"),
        ({**PAIR, "mu": np.array("x")}, {}, "mu must be one number"),
        ({"x": np.arange(8).reshape(4, 2)}, {}, "got int64, counts or codes"),
        ({"x": ITEMS.astype(complex)}, {}, "real numbers; got complex128"),
        (
            {"users": np.array([["a"], [None]], object), "items": ITEMS},
            {},
            "got a pickle, which could run code",
        ),
        # Options that do not fit.
        (OTHERS, {"left": "x", "weight": "b"}, "must be one of a (2, 3), b"),
        (PAIR, {"weight": "x"}, "weight must be one of users (2, 3), items (4, 3)"),
        (OTHERS, {"left": "a"}, "must be named, with left=A and weight=B"),
        (OTHERS, {"weight": "b"}, "kind must be given with weight; got auto"),
        (OTHERS, {"weight": "a", "kind": "factors"}, "must be named, with"),
        (PAIR, {"kind": "head"}, "one recognised table, pair or head"),
        (PAIR, {"inputs": ITEMS}, "the model has users of its own"),
        (PAIR, {"link": "cosine", "compared": "dot"}, "omitted if compared"),
    ],
)
def test_arrays_that_leave_a_question_are_refused(
    tmp_path: Path, arrays: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"m.npz": npz(**arrays)})
    assert part in refusal(load, path, **options)


# Models that implicit saved


FACTORS = {"user_factors": USERS, "item_factors": ITEMS, "regularization": 0.1}


@pytest.mark.parametrize(
    ("arrays", "options", "part"),
    [
        ({**FACTORS, "factors": 2}, {}, "the user factors must be constant 1"),
        ({**FACTORS, "factors": 0}, {}, "at most 2 more for biases"),
        ({**FACTORS, "item_factors": ITEMS[:, :2], "factors": 3}, {}, "of equal width"),
        (
            {**FACTORS, "factors": 3.0},
            {"format": "implicit"},
            "must be one integer",
        ),
        (
            {"data": USERS, "indptr": USERS, "indices": USERS, "shape": USERS, "K": 20},
            {},
            "a nearest-neighbour model of implicit",
        ),
    ],
)
def test_files_of_implicit_that_hold_other_columns_are_refused(
    tmp_path: Path, arrays: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"m.npz": npz(**arrays)})
    assert part in refusal(load, path, **options)


# Models that embaudit saved


OWN = {
    "embaudit_format": 1,
    "right": ITEMS,
    "link": "softmax",
    "offset": 0.0,
    "left_role": "input",
    "right_role": "label",
    "objective": "",
}


def test_the_final_norm_and_the_cap_of_a_saved_head(tmp_path: Path) -> None:
    norm = {
        "final_norm_gain": np.array([1.0, 2.0, 3.0]),
        "final_norm_shift": np.ones(3),
        "final_norm_kind": "layer 1e-06",
    }
    head = loaded(tmp_path, {**OWN, **norm, "link": 'softmax {"soft_cap": 30.0}'})
    assert head.link.soft_cap == 30
    assert (head.final_norm.kind, head.final_norm.epsilon) == ("layer", 1e-6)
    assert head.final_norm.gain.tolist() == [1, 2, 3]
    assert head.final_norm.shift.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"embaudit_format": 2}, "the format version of"),
        ({"offset": "a"}, "offset in"),
        ({"objective": ["a"]}, "must be one value"),
        ({"link": "magic"}, "link must be one of identity, softmax, sigmoid, cosine"),
        ({"link": "softmax {"}, "the stored link must be a link that embaudit wrote"),
        ({"link": 'softmax {"cap": 3}'}, "a link that embaudit wrote"),
        ({"link": 'softmax {"soft_cap": -1}'}, "soft_cap must be a positive number"),
        (
            {"final_norm_gain": np.ones(3), "final_norm_kind": "layer x"},
            "the final norm",
        ),
    ],
)
def test_a_saved_model_that_was_changed_is_refused(
    tmp_path: Path, changed: Any, part: str
) -> None:
    path = write_all(tmp_path, {"m.npz": npz(**{**OWN, **changed})})
    assert part in refusal(load, path)


def test_a_saved_model_needs_its_rows(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"m.npz": npz(embaudit_format=1)})
    assert "must hold an array named right" in refusal(load, path)


def test_a_header_of_python_2_is_read_as_numpy_reads_it(tmp_path):
    rows = np.arange(400.0).reshape(50, 8)
    np.save(tmp_path / "v.npy", rows)
    content = (tmp_path / "v.npy").read_bytes()
    content = content.replace(b"(50, 8), }  ", b"(50L, 8L), }", 1)
    (tmp_path / "v.npy").write_bytes(content)
    assert load(tmp_path / "v.npy").right.tolist() == rows.tolist()


def test_an_archive_is_refused_if_it_was_replaced_after_it_was_opened(
    tmp_path: Path,
) -> None:
    """The other file is packed by LZMA and damaged, which zlib does not report."""
    path = write_all(tmp_path, {"m.npz": npz(W=ITEMS)})
    opened = Npz(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("W.npy", np.random.default_rng(0).bytes(1000))
    content = bytearray(path.read_bytes())
    content[60:120] = bytes(60)
    path.write_bytes(content)
    for again in (lambda: opened["W"], lambda: opened.open("W")):
        assert "W in " in refusal(again)
