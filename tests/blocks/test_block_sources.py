"""Every source gives the numbers of the same arrays in memory, and says clearly what it cannot read."""

from __future__ import annotations

import json
import math
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from embaudit.blocks import (
    BlockCosines,
    Boundaries,
    Chunks,
    Columns,
    Coordinates,
    Heads,
    Labels,
    Partition,
    Rows,
    block_cosines,
    sums,
)
from embaudit.errors import InputError

Arrays = dict[str, np.ndarray]


@pytest.fixture
def pair() -> tuple[Arrays, Arrays]:
    rng = np.random.default_rng(3)
    shapes = {"emb.weight": (40, 6), "conv": (4, 3, 2, 2), "bias": (7,), "scale": (), "none": (0, 3)}
    x = {name: np.array(rng.standard_normal(shape), np.float32) for name, shape in shapes.items()}
    y = {name: np.array(v + rng.standard_normal(v.shape), np.float32) for name, v in x.items()}
    return x, y


@pytest.fixture(params=["whole", "small pieces"])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "small pieces":
        monkeypatch.setattr(sums, "PIECE", 13)
        monkeypatch.setattr(sums, "READ", 29)


def by_hand(x: Arrays, y: Arrays, cut: Callable[[np.ndarray], list[np.ndarray]]) -> np.ndarray:
    parts = [(a, b) for name in x if x[name].size for a, b in zip(cut(x[name]), cut(y[name]), strict=True)]
    wide = [(np.ravel(a).astype(float), np.ravel(b).astype(float)) for a, b in parts]
    return np.array([a @ b / math.sqrt((a @ a) * (b @ b)) for a, b in wide])


def columns(a: np.ndarray) -> list[np.ndarray]:
    return list(a.reshape(len(a), -1).T) if a.ndim > 1 else [a]


CUTS: dict[str, tuple[Partition | str, Callable[[np.ndarray], list[np.ndarray]]]] = {
    "tensors": ("tensors", lambda a: [a]),
    "rows": (Rows(), lambda a: list(a) if a.ndim > 1 else [a]),
    "columns": (Columns(), columns),
    "coordinates": (Coordinates(), lambda a: list(a.ravel())),
    "chunks": (Chunks(5), lambda a: np.split(a.ravel(), range(5, a.size, 5))),
    "one chunk": (Chunks(10**6), lambda a: [a]),
    "heads": (Heads(2, pattern="[ec]*"), lambda a: np.split(a, 2) if a.ndim > 1 else [a]),
    "heads of axis 1": (
        Heads(3, axis=1, pattern="[ec]*"),
        lambda a: np.split(a, 3, axis=1) if a.ndim > 1 else [a],
    ),
}


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("kind", CUTS)
def test_partitions_match_slicing(kind: str, pair: tuple[Arrays, Arrays]) -> None:
    partition, cut = CUTS[kind]
    result = block_cosines(*pair, partition=partition)
    np.testing.assert_allclose(result.cosines, by_hand(*pair, cut), atol=1e-14)
    assert result.sizes.tolist() == [p.size for v in pair[0].values() if v.size for p in map(np.asarray, cut(v))]
    names = result.names[range(len(result))]
    assert len(set(names)) == len(names)
    assert result.identity_error < 1e-14


def test_block_names_say_where_they_are(pair: tuple[Arrays, Arrays]) -> None:
    def names(partition: Partition) -> list[str]:
        result = block_cosines(*pair, partition=partition)
        return result.names[range(len(result))]

    assert names(Rows())[39:42] == ["emb.weight[39]", "conv[0]", "conv[1]"]
    assert names(Columns())[5:8] == ["emb.weight[:, 5]", "conv[:, 0, 0, 0]", "conv[:, 0, 0, 1]"]
    assert names(Coordinates())[239:242] == ["emb.weight[39, 5]", "conv[0, 0, 0, 0]", "conv[0, 0, 0, 1]"]
    assert names(Chunks(100))[2] == "emb.weight[200:240]"
    assert names(Heads(2, pattern="emb*"))[:3] == ["emb.weight/head 0", "emb.weight/head 1", "conv"]
    with pytest.raises(IndexError):
        block_cosines(*pair).names[10**6]


def test_names_group_tensors(pair: tuple[Arrays, Arrays]) -> None:
    x, y = pair
    for partition in ("emb*,conv", ["emb*", "conv"], {"emb*": "emb*", "conv": "conv"}):
        result = block_cosines(x, y, partition=partition)
        assert result.names[range(3)] == ["emb*", "conv", "other"]
    by_function = block_cosines(x, y, partition=lambda name: "b" if "b" in name else "rest")
    assert by_function.sizes.tolist() == [240 + 7, 48 + 1]
    merged = [np.concatenate([side[name].ravel() for name in ("emb.weight", "bias")]).astype(float) for side in pair]
    assert by_function.cosines[0] == pytest.approx(merged[0] @ merged[1] / math.prod(map(np.linalg.norm, merged)))


@pytest.mark.usefixtures("pieces")
def test_labels_and_boundaries_cut_one_array() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 60))
    labels = rng.integers(0, 4, 60)
    result = block_cosines(x, y, partition=Labels(labels))
    for name, cosine in zip(result.names[range(4)], result.cosines, strict=True):
        chosen = labels == int(name)
        assert cosine == pytest.approx(
            x[chosen] @ y[chosen] / np.linalg.norm(x[chosen]) / np.linalg.norm(y[chosen]), abs=1e-14
        )
    cut = block_cosines(x, y, partition=Boundaries([10, 11, 59]))
    assert cut.sizes.tolist() == [10, 1, 48, 1]
    np.testing.assert_allclose(
        cut.contributions,
        [p.sum() for p in np.split(x * y, [10, 11, 59])] / (np.linalg.norm(x) * np.linalg.norm(y)),
        atol=1e-14,
    )


def test_natural_parts_by_default() -> None:
    assert len(block_cosines(np.ones(5), np.ones(5))) == 5
    assert len(block_cosines(np.ones((5, 2)), np.ones((5, 2)))) == 5
    assert len(block_cosines([np.ones(5), np.ones(3)], [np.ones(5), np.ones(3)])) == 2
    assert len(block_cosines([[1, 2], [3]], [[1, 2], [3]])) == 2
    nested = {"a": {"w": [1.0, 2.0], "b": [3.0]}, "c": [np.ones(2), np.ones((2, 2))]}
    result = block_cosines(nested, nested)
    assert result.names[range(4)] == ["a.w", "a.b", "c.0", "c.1"]


def save_bfloat16(path: Path, arrays: Arrays) -> None:
    header, offset, body = {"__metadata__": {"format": "np"}}, 0, b""
    for name, array in arrays.items():
        raw = (array.view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [offset, offset + len(raw)]}
        offset, body = offset + len(raw), body + raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def same(a: BlockCosines, b: BlockCosines) -> None:
    np.testing.assert_array_equal(a.cosines, b.cosines)
    np.testing.assert_array_equal(a.sums.xy, b.sums.xy)
    assert a.global_cosine == b.global_cosine


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("partition", ["tensors", "rows", "columns", "chunks:7"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_files_give_what_memory_gives(dtype: str, partition: str, pair: tuple[Arrays, Arrays], tmp_path: Path) -> None:
    x, y = ({name: np.asarray(v * 10).astype(dtype) for name, v in side.items()} for side in pair)
    expected = block_cosines(dict(sorted(x.items())), dict(sorted(y.items())), partition=partition)
    for side, arrays in (("x", x), ("y", y)):
        safetensors.numpy.save_file(arrays, tmp_path / f"{side}.safetensors")
        np.savez(tmp_path / f"{side}.npz", **{n: np.array(v, order="F") for n, v in sorted(arrays.items())})
        np.savez_compressed(tmp_path / f"{side}_small.npz", **dict(sorted(arrays.items())))
    from_tensors = block_cosines(tmp_path / "x.safetensors", tmp_path / "y.safetensors", partition=partition)
    assert from_tensors.global_cosine == pytest.approx(expected.global_cosine, abs=1e-15)
    assert sorted(from_tensors.to_frame()["cosine"].dropna()) == sorted(expected.to_frame()["cosine"].dropna())
    same(block_cosines(str(tmp_path / "x.npz"), str(tmp_path / "y.npz"), partition=partition), expected)
    same(block_cosines(tmp_path / "x_small.npz", tmp_path / "y.npz", partition=partition), expected)
    mixed = block_cosines(tmp_path / "x.safetensors", dict(y), partition=partition)
    assert mixed.global_cosine == from_tensors.global_cosine


def test_bfloat16_files(pair: tuple[Arrays, Arrays], tmp_path: Path) -> None:
    x, y = pair
    save_bfloat16(tmp_path / "x.safetensors", x)
    safetensors.numpy.save_file(y, tmp_path / "y.safetensors")
    rounded = {name: (v.view(np.uint32) >> 16 << 16).view(np.float32) for name, v in x.items()}
    result = block_cosines(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    assert result.global_cosine == pytest.approx(block_cosines(rounded, y).global_cosine, abs=1e-15)
    assert result.notes == ("5 tensors are bfloat16 in x and float32 in y",)


def test_shards_and_npy(pair: tuple[Arrays, Arrays], tmp_path: Path) -> None:
    x, y = pair
    homes = {name: f"part-{i % 2}.safetensors" for i, name in enumerate(x)}
    for file in set(homes.values()):
        safetensors.numpy.save_file({n: x[n] for n, home in homes.items() if home == file}, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": homes}))
    same(block_cosines(index, y), block_cosines(x, y))
    np.save(tmp_path / "x.npy", x["emb.weight"])
    np.save(tmp_path / "y.npy", y["emb.weight"].T.copy().T)
    same(block_cosines(tmp_path, y), block_cosines(x, y))
    result = block_cosines(tmp_path / "x.npy", {"x": y["emb.weight"]}, partition="rows")
    np.testing.assert_array_equal(result.cosines, block_cosines(x["emb.weight"], y["emb.weight"]).cosines)
    index.write_text(json.dumps({"weight_map": {**homes, "ghost": "part-0.safetensors"}}))
    with pytest.raises(InputError, match="'ghost', which is in none"):
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


def test_a_dtype_numpy_does_not_know_is_refused() -> None:
    with pytest.raises(InputError, match="tensor 'a' must be an array of real numbers; got dtype float8_e4m3fn"):
        block_cosines({"a": TorchLike(np.ones(2), "float8_e4m3fn")}, {"a": np.ones(2)})


@pytest.mark.usefixtures("pieces")
def test_views_are_read_in_place(pair: tuple[Arrays, Arrays]) -> None:
    a, b = (side["emb.weight"] for side in pair)
    np.testing.assert_array_equal(
        block_cosines(a.T[::2], b.T[::2]).cosines, block_cosines(a.T[::2].copy(), b.T[::2].copy()).cosines
    )


def test_sums_do_not_lose_digits_with_size() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(300_000) * 10.0 ** rng.integers(-6, 6, 300_000)
    y = rng.standard_normal(300_000)
    result = block_cosines({"a": x}, {"a": y})
    exact = math.fsum((x * x).tolist())
    assert abs(result.sums.xx[0] - exact) <= 4 * np.spacing(exact)
    # Numbers a running sum would lose one after another.
    lost = np.full(2**20, 2.0**-27)
    lost[0] = 1.0
    assert block_cosines({"a": lost}, {"a": lost}).sums.xx[0] == pytest.approx(1 + (2**20 - 1) * 2.0**-54, rel=3e-16)
    assert np.cumsum(lost * lost)[-1] == 1.0


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "keys": (
        lambda: block_cosines({"a": [1.0], "b": [1.0]}, {"a": [1.0], "c": [1.0]}),
        r"x and y must be of the same keys; got only x has 'b', only y has 'c'; rename them, or compare .*skip'",
    ),
    "no common key": (
        lambda: block_cosines({"a": [1.0]}, {"b": [1.0]}, missing="skip"),
        "at least one common key",
    ),
    "shapes": (
        lambda: block_cosines({"a": np.ones((2, 3))}, {"a": np.ones((3, 2))}),
        r"x and y at 'a' must be of one shape; got \(2, 3\) and \(3, 2\)",
    ),
    "lengths": (lambda: block_cosines([1.0, 2.0], [1.0]), r"x and y must be of one shape; got \(2,\) and \(1,\)"),
    "complex": (lambda: block_cosines({"a": np.ones(2) * 1j}, {"a": np.ones(2)}), "array of real numbers; got dtype"),
    "text": (lambda: block_cosines({"a": np.array(["b"])}, {"a": np.ones(1)}), "array of real numbers; got dtype <U1"),
    "nan": (lambda: block_cosines({"a": [1.0, math.nan]}, {"a": [1.0, 2.0]}), "a in x must be finite; got nan"),
    "infinity": (
        lambda: block_cosines({"a": np.ones(2, np.float32)}, {"a": np.array([1, np.inf], np.float32)}),
        "a in y must be finite",
    ),
    "zero": (lambda: block_cosines({"a": [0.0]}, {"a": [1.0]}), "x must be nonzero somewhere; got zeros only"),
    "nothing": (lambda: block_cosines({}, {}), "x must be at least one array with an entry; got nothing"),
    "twice": (lambda: block_cosines({"a": {"b": [1.0]}, "a.b": [1.0]}, {}), "unique once nested keys are joined"),
    "missing": (lambda: block_cosines([1.0], [1.0], missing="drop"), "missing must be one of"),  # type: ignore[arg-type]
    "partition": (lambda: block_cosines([1.0], [1.0], partition="layers"), "partition must be one of tensors, rows"),
    "partition type": (lambda: block_cosines([1.0], [1.0], partition=1.5), "wrap the labels of single entries"),  # type: ignore[arg-type]
    "chunk": (
        lambda: block_cosines([1.0], [1.0], partition=0),
        "size of a chunk must be an integer from 1 to 1",
    ),
    "heads": (
        lambda: block_cosines({"q": np.ones((5, 2))}, {"q": np.ones((5, 2))}, partition="heads:2"),
        "axis 0 of q must be divisible by 2 heads; got 5",
    ),
    "no heads": (lambda: Heads(0), "number of heads must be an integer from 1 to 100000000; got 0"),
    "axis": (lambda: Heads(2, axis=2), "axis of the heads must be an integer from 0 to 1; got 2"),
    "labels": (
        lambda: block_cosines([1.0, 2.0], [1.0, 2.0], partition=Labels(["a"])),
        "labels must be one for each of the 2 entries; got 1",
    ),
    "labels of a mapping": (
        lambda: block_cosines({"a": [1.0]}, {"a": [1.0]}, partition=Labels(["a"])),
        "one array each to be cut by labels",
    ),
    "boundaries": (
        lambda: block_cosines([1.0, 2.0], [1.0, 2.0], partition=Boundaries([2])),
        "boundaries must be increasing positions from 1 to 1",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_clear_errors(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(InputError, match=message):
        call()


def test_too_many_blocks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from embaudit.blocks import compute

    monkeypatch.setattr(compute, "MAX_BLOCKS", 3)
    with pytest.raises(InputError, match="number of blocks must be at most 3; got 4; cut into larger blocks"):
        block_cosines(np.ones(4), np.ones(4))


def test_skipped_keys_are_named() -> None:
    result = block_cosines({"a": [1.0], "b": [1.0]}, {"a": [2.0], "c": [1.0]}, missing="skip")
    assert result.notes == ("x alone has 'b': left out", "y alone has 'c': left out")
    assert "alone has" in result._repr_html_()


def test_clear_errors_of_files(tmp_path: Path) -> None:
    good = tmp_path / "good.safetensors"
    safetensors.numpy.save_file({"a": np.ones(4, np.float32)}, good)
    whole = good.read_bytes()

    def message(name: str, content: bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            block_cosines(path, good)
        return str(caught.value)

    assert "cut-off or misplaced bytes of 'a'" in message("cut.safetensors", whole[:-4])
    assert "must be a safetensors file" in message("text.safetensors", b"not at all a header")
    assert "a header that is no JSON" in message("json.safetensors", (4).to_bytes(8, "little") + b"nope")
    listed = b'{"a": [1, 2]}'
    assert "does not describe 'a'" in message("odd.safetensors", len(listed).to_bytes(8, "little") + listed)
    assert "names no tensors" in message("list.safetensors", (2).to_bytes(8, "little") + b"[]")
    assert "of dtype F64" in message("f8.safetensors", whole.replace(b'"F32"', b'"F8X"'))
    assert "a whole .npz archive; it is not (File is not a zip file)" in message("bad.npz", b"PK nothing")
    assert "numpy's file format" in message("bad.npy", b"nothing")
    assert "pickle" in message("model.pt", b"")
    assert "it is a pickle, which could run code" in message("named.npz", pickle.dumps([1.0]))
    assert "which is empty" in message("empty.safetensors", b"")
    assert "misplaced bytes of 'a'" in message("gap.safetensors", whole.replace(b"[0,16]", b"[1,17]"))
    assert "4 bytes of no tensor" in message("more.safetensors", whole + bytes(4))
    assert "weight_map" in message("m.safetensors.index.json", b"{}")
    with pytest.raises(InputError, match=r"the input must be a file that exists; got .*absent.npz"):
        block_cosines(tmp_path / "absent.npz", good)
    np.savez_compressed(tmp_path / "a.npz", a=np.arange(1000.0))
    broken = bytearray((tmp_path / "a.npz").read_bytes())
    broken[400:420] = bytes(20)
    (tmp_path / "a.npz").write_bytes(broken)
    with pytest.raises(InputError, match=r"array 'a' of .*a.npz must be readable; got damaged bytes"):
        block_cosines(tmp_path / "a.npz", {"a": np.ones(1000)})
    with zipfile.ZipFile(tmp_path / "cut.npz", "w") as archive:
        np.save(tmp_path / "a.npy", np.ones(100))
        archive.writestr("a.npy", (tmp_path / "a.npy").read_bytes()[:-8])
    with pytest.raises(InputError, match="its header says 800 bytes, and 792 follow"):
        block_cosines(tmp_path / "cut.npz", {"a": np.ones(100)})
