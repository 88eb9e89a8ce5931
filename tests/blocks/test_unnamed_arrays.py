"""An array alone in a file is that array: its file's name does not count, and a path says what the array says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embaudit.blocks import Boundaries, Labels, block_cosines, require_cosine
from embaudit.errors import InputError


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {"m": rng.standard_normal((3, 4)), "n": rng.standard_normal((3, 4)), "v": rng.standard_normal(4)}
    for name, array in made.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.savez(tmp_path / "one.npz", weight=made["n"])
    np.savez(tmp_path / "two.npz", weight=made["n"], bias=made["v"])
    return made


@pytest.mark.parametrize(
    "partition", [None, "rows", "columns", "coordinates", 5, Labels(list("aabbccaabbcc")), Boundaries([2, 9])]
)
def test_a_path_says_what_its_array_says(tmp_path, arrays, partition):
    m, n = tmp_path / "m.npy", tmp_path / "n.npy"
    expected = block_cosines(arrays["m"], arrays["n"], partition=partition)
    for x, y in ((m, n), (m, arrays["n"]), (arrays["m"], n)):
        found = block_cosines(x, y, partition=partition)
        assert found.to_frame().equals(expected.to_frame())
        assert found.names.partition.title == expected.names.partition.title
        assert found.notes == ()


def test_by_default_a_matrix_is_cut_into_rows_and_a_vector_into_coordinates(tmp_path, arrays):
    assert len(block_cosines(tmp_path / "m.npy", tmp_path / "m.npy")) == 3
    assert len(block_cosines(tmp_path / "v.npy", tmp_path / "v.npy")) == 4


def test_an_unnamed_array_matches_the_only_array_of_the_other_side_and_nothing_else(tmp_path, arrays):
    expected = block_cosines(arrays["m"], arrays["n"], partition="rows").cosines
    for x, y in (("m.npy", "one.npz"), ("one.npz", "m.npy")):
        found = block_cosines(tmp_path / x, tmp_path / y, partition="rows")
        assert np.array_equal(found.cosines, expected)
        assert found.names[0] == "weight[0]"
    with pytest.raises(InputError, match="only x has an array without a name"):
        block_cosines(tmp_path / "m.npy", tmp_path / "two.npz")
    with pytest.raises(InputError, match="only x has 'a', only y has 'b'"):
        block_cosines({"a": arrays["v"]}, {"b": arrays["v"]})
    many = dict.fromkeys("abcde", arrays["v"])
    for missing, said in (("bcd", "x alone has 'b', 'c', 'd'"), ("bcde", "x alone has 'b', 'c', 'd' and 1 more")):
        x = {name: many[name] for name in ("a", *missing)}
        assert block_cosines(x, {"a": arrays["v"]}, missing="skip").notes == (f"{said}: left out",)


def test_a_folder_is_refused_as_a_folder(tmp_path, arrays):
    with pytest.raises(InputError, match=r"the path must be a file; got the folder .*; name a file in it"):
        block_cosines(tmp_path, tmp_path / "m.npy")


def test_patterns_that_match_nothing_are_refused_or_noted(arrays):
    tensors = {"layers.0.w": arrays["m"], "head": arrays["v"]}
    with pytest.raises(InputError, match=r"patterns that match some name; got 'foo\*'; the names are 'layers.0.w', "):
        block_cosines(tensors, tensors, partition="foo*")
    some = block_cosines(tensors, tensors, partition="foo*,layers.*")
    assert some.notes == ("no name matches 'foo*'",)
    assert some.names[[0, 1]] == ["layers.*", "other"]
    assert block_cosines(tensors, tensors, partition="layers.*").notes == ()
    assert block_cosines(tensors, tensors, partition=lambda name: "all").notes == ()


@pytest.mark.parametrize("value", [1.5, -1.01, float("nan"), "a", None])
def test_what_no_cosine_can_reach_is_refused_beforehand(value):
    with pytest.raises(InputError, match="the threshold must be a cosine, from -1 to 1; got"):
        require_cosine("the threshold", value)
    assert require_cosine("the threshold", -1) == -1.0
