"""All sources of blocks give the same numbers as arrays in memory, and unreadable
sources are refused in one sentence.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from embaudit.blocks import BlockCosines, block_cosines
from embaudit.errors import InputError

Arrays = dict[str, np.ndarray]


def make_pair(n_rows: int) -> tuple[Arrays, Arrays]:
    rng = np.random.default_rng(3)
    shapes = {
        "emb.weight": (n_rows, 6),
        "conv": (4, 3, 2, 2),
        "bias": (7,),
        "scale": (),
        "none": (0, 3),
    }
    x = {
        name: np.array(rng.standard_normal(shape), np.float32)
        for name, shape in shapes.items()
    }
    y = {
        name: np.array(v + rng.standard_normal(v.shape), np.float32)
        for name, v in x.items()
    }
    return x, y


@pytest.fixture
def pair() -> tuple[Arrays, Arrays]:
    return make_pair(40)


def test_a_pattern_of_names_joins_tensors_to_one_block(
    pair: tuple[Arrays, Arrays],
) -> None:
    for blocks in ("emb*, conv", ["emb*", "conv"]):
        result = block_cosines(*pair, blocks)
        assert result.names == ["emb*", "conv", "other"]
        assert result.sizes.tolist() == [240, 48, 8]
    joined = block_cosines(*pair, ["[eb]*"])
    merged = [
        np.concatenate([side[name].ravel() for name in ("emb.weight", "bias")]).astype(
            float
        )
        for side in pair
    ]
    assert joined.cosines[0] == pytest.approx(
        merged[0] @ merged[1] / math.prod(map(np.linalg.norm, merged))
    )


def test_patterns_that_match_nothing_are_refused_or_noted(
    pair: tuple[Arrays, Arrays],
) -> None:
    message = r"patterns that match names; got 'foo\*'; the names are 'emb.weight', "
    with pytest.raises(InputError, match=message):
        block_cosines(*pair, "foo*")
    assert "no name matches 'foo*'" in block_cosines(*pair, "foo*,conv").notes
    assert block_cosines(*pair, "conv*").notes == ()


def save_bfloat16(path: Path, arrays: Arrays) -> None:
    header, offset, body = {"__metadata__": {"format": "np"}}, 0, b""
    for name, array in arrays.items():
        raw = (array.view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {
            "dtype": "BF16",
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(raw)],
        }
        offset, body = offset + len(raw), body + raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def assert_same(a: BlockCosines, b: BlockCosines) -> None:
    np.testing.assert_array_equal(a.cosines, b.cosines)
    np.testing.assert_array_equal(a.weights, b.weights)
    assert a.global_cosine == b.global_cosine


@pytest.mark.parametrize("n_rows", [40, 50_000])
@pytest.mark.parametrize("blocks", ["tensors", "rows"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_files_give_the_same_cosines_as_arrays_in_memory(
    dtype: str, blocks: str, n_rows: int, tmp_path: Path
) -> None:
    """Tensors of 300,000 entries are read in several pieces."""
    x, y = (
        {name: np.asarray(v * 10).astype(dtype) for name, v in side.items()}
        for side in make_pair(n_rows)
    )
    expected = block_cosines(
        dict(sorted(x.items())), dict(sorted(y.items())), blocks=blocks
    )
    for side, arrays in (("x", x), ("y", y)):
        safetensors.numpy.save_file(arrays, tmp_path / f"{side}.safetensors")
        np.savez(
            tmp_path / f"{side}.npz",
            **{n: np.array(v, order="F") for n, v in sorted(arrays.items())},
        )
        np.savez_compressed(
            tmp_path / f"{side}_small.npz", **dict(sorted(arrays.items()))
        )
    from_tensors = block_cosines(
        tmp_path / "x.safetensors", tmp_path / "y.safetensors", blocks=blocks
    )
    assert from_tensors.global_cosine == pytest.approx(
        expected.global_cosine, abs=1e-15
    )
    assert sorted(from_tensors.to_frame()["cosine"].dropna()) == sorted(
        expected.to_frame()["cosine"].dropna()
    )
    assert_same(
        block_cosines(str(tmp_path / "x.npz"), str(tmp_path / "y.npz"), blocks=blocks),
        expected,
    )
    assert_same(
        block_cosines(tmp_path / "x_small.npz", tmp_path / "y.npz", blocks=blocks),
        expected,
    )
    mixed = block_cosines(tmp_path / "x.safetensors", dict(y), blocks=blocks)
    assert mixed.global_cosine == from_tensors.global_cosine


def test_bfloat16_files(pair: tuple[Arrays, Arrays], tmp_path: Path) -> None:
    x, y = pair
    save_bfloat16(tmp_path / "x.safetensors", x)
    safetensors.numpy.save_file(y, tmp_path / "y.safetensors")
    rounded = {
        name: (v.view(np.uint32) >> 16 << 16).view(np.float32) for name, v in x.items()
    }
    result = block_cosines(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    assert result.global_cosine == pytest.approx(
        block_cosines(rounded, y).global_cosine, abs=1e-15
    )
    assert result.notes == ("5 tensors are bfloat16 in x and float32 in y",)


def test_sharded_checkpoints_and_npy_files_are_read(
    pair: tuple[Arrays, Arrays], tmp_path: Path
) -> None:
    x, y = pair
    homes = {name: f"part-{i % 2}.safetensors" for i, name in enumerate(x)}
    for file in set(homes.values()):
        safetensors.numpy.save_file(
            {n: x[n] for n, home in homes.items() if home == file}, tmp_path / file
        )
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": homes}))
    assert_same(block_cosines(index, y), block_cosines(x, y))
    np.save(tmp_path / "x.npy", x["emb.weight"])
    np.save(tmp_path / "y.npy", y["emb.weight"].T.copy().T)
    assert_same(block_cosines(tmp_path, y), block_cosines(x, y))
    result = block_cosines(tmp_path / "x.npy", tmp_path / "y.npy", blocks="rows")
    np.testing.assert_array_equal(
        result.cosines, block_cosines(x["emb.weight"], y["emb.weight"]).cosines
    )
    index.write_text(
        json.dumps({"weight_map": {**homes, "ghost": "part-0.safetensors"}})
    )
    with pytest.raises(
        InputError, match=r"'ghost', which part-0\.safetensors does not hold"
    ):
        block_cosines(index, y)


class TorchLike:
    """What of a torch tensor is used, without torch."""

    def __init__(self, array: np.ndarray, dtype: str) -> None:
        self.array, self.dtype, self.shape = array, f"torch.{dtype}", array.shape

    def reshape(self, shape: int) -> TorchLike:
        return TorchLike(self.array.reshape(shape), self.dtype.removeprefix("torch."))

    def __getitem__(self, part: slice) -> TorchLike:
        return TorchLike(self.array[part], self.dtype.removeprefix("torch."))

    def detach(self) -> TorchLike:
        return self

    cpu = detach

    def float(self) -> TorchLike:
        return TorchLike(self.array.astype(np.float32), "float32")

    def numpy(self) -> np.ndarray:
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_torch_tensors(dtype: str, pair: tuple[Arrays, Arrays]) -> None:
    x, y = pair
    wrapped = {name: TorchLike(array, dtype) for name, array in x.items()}
    assert block_cosines(wrapped, y).global_cosine == block_cosines(x, y).global_cosine


ONE = {"a": [1.0]}


@pytest.mark.parametrize(
    ("x", "y", "options", "sentence"),
    [
        (
            {"a": [1.0], "b": [1.0]},
            {"a": [1.0], "c": [1.0]},
            {},
            "must be the same; got 'b' in x only, 'c' in y only",
        ),
        (
            ONE,
            {"b": [1.0]},
            {"missing": "skip"},
            "in both x and y must be at least 1; got 0",
        ),
        (
            {"a": np.ones((2, 3))},
            {"a": np.ones((3, 2))},
            {},
            "at 'a' must be of the same sh",
        ),
        ([1.0, 2.0], [1.0], {}, r"must be of the same shape; got \(2,\) and \(1,\)"),
        (
            {"a": np.ones(2) * 1j},
            {"a": np.ones(2)},
            {},
            "real numbers; got dtype compl",
        ),
        ({"a": np.array(["b"])}, {"a": np.ones(1)}, {}, "array of real numbers"),
        ({"a": [1.0, math.nan]}, {"a": [1.0, 2.0]}, {}, "a in x must be finite"),
        (
            {"a": np.ones(2, np.float32)},
            {"a": np.array([1, np.inf], np.float32)},
            {},
            "a in y must be finite",
        ),
        ({"a": [0.0]}, ONE, {}, r"norm of x must be from 1e-100 to 1e\+100; got 0; "),
        ({}, {}, {}, "x must be one or more arrays with at least one"),
        ({"a": {"b": [1.0]}, "a.b": [1.0]}, {}, {}, "must be unique once nested keys"),
        ([1.0], [1.0], {"missing": "drop"}, "missing must be one of error, skip"),
        ([1.0], [1.0], {"blocks": "layers"}, "must be one of tensors, rows, coord"),
        ([1.0], [1.0], {"blocks": 1.5}, "must be one of tensors, rows, .*; got 1.5"),
        (ONE, ONE, {"blocks": ["a", 3]}, r"must be one of tensors, .*; got \['a', 3\]"),
        (
            [1.0, 2.0],
            [1.0, 2.0],
            {"blocks": ["a"]},
            "a list of 2 labels, one per entry",
        ),
    ],
)
def test_block_cosines_refuse(x, y, options, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        block_cosines(x, y, **options)


def test_more_than_5_million_blocks_are_refused() -> None:
    x = np.broadcast_to(np.float32(1), 5_000_001)
    with pytest.raises(
        InputError,
        match="at most 5,000,000; got 5,000,001; cut into larger blocks",
    ):
        block_cosines(x, x)


def test_damaged_and_absent_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"the input must be a file that exists; got .*absent.npz"
    ):
        block_cosines(tmp_path / "absent.npz", tmp_path / "a.npz")
    path = tmp_path / "a.npz"
    message = (
        r"a in .*a.npz must be a valid array; it cannot be read \(Bad CRC-32 for file"
    )
    for save in (np.savez_compressed, np.savez):
        save(path, a=np.arange(1000.0))
        broken = bytearray(path.read_bytes())
        broken[400:420] = bytes(20)
        path.write_bytes(broken)
        with pytest.raises(InputError, match=message):
            block_cosines(path, {"a": np.ones(1000)})


# --- arrays that stand alone ---


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {
        "m": rng.standard_normal((3, 4)),
        "n": rng.standard_normal((3, 4)),
        "v": rng.standard_normal(4),
    }
    for name, array in made.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.savez(tmp_path / "one.npz", weight=made["n"])
    np.savez(tmp_path / "two.npz", weight=made["n"], bias=made["v"])
    return made
