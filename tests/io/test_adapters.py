"""Low-rank adapters as PEFT, kohya and diffusers write them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io.adapters import adapter_of, is_adapter, read_adapter
from embaudit.io.formats.safetensors import DTYPES

DRAW = np.random.default_rng(0)
A = DRAW.normal(size=(4, 10)).astype("f4")
B = DRAW.normal(size=(12, 4)).astype("f4")
QUERY = "base_model.model.model.layers.0.self_attn.q_proj"
PEFT = {f"{QUERY}.lora_A.weight": A, f"{QUERY}.lora_B.weight": B}
CONFIG = {"peft_type": "LORA", "r": 4, "lora_alpha": 8}


def folder_of(tmp_path, arrays, config=CONFIG, file="adapter_model.safetensors"):
    tmp_path.mkdir(exist_ok=True)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(arrays, tmp_path / file)
    if config is not None:
        (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    return tmp_path


def update(pair):
    return pair.scale * np.asarray(pair.b, float) @ np.asarray(pair.a, float)


@pytest.mark.parametrize("named", ["folder", "file"])
def test_an_adapter_of_peft(tmp_path, named):
    path = folder_of(tmp_path, PEFT)
    if named == "file":
        path = path / "adapter_model.safetensors"
    assert is_adapter(path)
    adapter = read_adapter(path)
    (pair,) = adapter.pairs.values()
    assert pair.name == "model.layers.0.self_attn.q_proj"
    assert (pair.shape, pair.rank, pair.scale) == ((12, 10), 4, 2.0)
    np.testing.assert_array_equal(update(pair), 2.0 * B.astype(float) @ A.astype(float))
    assert adapter.left_over == ()
    assert adapter.scale_is_known


@pytest.mark.parametrize(
    ("config", "scale"),
    [
        (CONFIG, 2.0),
        (CONFIG | {"use_rslora": True}, 4.0),
        (CONFIG | {"alpha_pattern": {"q_proj": 2}}, 0.5),
        (CONFIG | {"alpha_pattern": {"k_proj": 2}}, 2.0),
        (CONFIG | {"alpha_pattern": {"^self_attn.q_proj": 2}}, 2.0),
        (CONFIG | {"alpha_pattern": {"^model.layers.0.*q_proj": 2}}, 0.5),
        (CONFIG | {"alpha_pattern": {r"layers\.\d+\.self_attn\.q_proj": 1}}, 0.25),
    ],
)
def test_the_scale_is_that_of_the_configuration(tmp_path, config, scale):
    (pair,) = read_adapter(folder_of(tmp_path, PEFT, config)).pairs.values()
    assert pair.scale == scale


def test_without_a_configuration_the_scale_is_1_and_not_known(tmp_path):
    adapter = read_adapter(folder_of(tmp_path, PEFT, None))
    assert not adapter.scale_is_known
    assert [pair.scale for pair in adapter.pairs.values()] == [1.0]


SPELLINGS = {
    "name of the adapter": ("m.q.lora_A.default.weight", "m.q.lora_B.default.weight"),
    "embedding": ("m.q.lora_embedding_A", "m.q.lora_embedding_B"),
    "kohya": ("m.q.lora_down.weight", "m.q.lora_up.weight"),
    "diffusers": ("m.q.lora.down.weight", "m.q.lora.up.weight"),
    "old diffusers": ("m.q_lora.down.weight", "m.q_lora.up.weight"),
    "loralib": ("m.q.lora_A", "m.q.lora_B"),
}


@pytest.mark.parametrize("names", SPELLINGS.values(), ids=SPELLINGS)
def test_names_of_factors(tmp_path, names):
    arrays = dict(zip(names, (A, B), strict=True))
    path = folder_of(tmp_path, arrays, None, "x.safetensors") / "x.safetensors"
    assert is_adapter(path)
    adapter = read_adapter(path)
    assert list(adapter.pairs) == ["m.q"]
    np.testing.assert_array_equal(adapter.pairs["m.q"].b, B)


@pytest.mark.parametrize(("alpha", "scale"), [(2.0, 0.5), (0.0, 1.0)])
def test_kohya_states_alpha_per_module(tmp_path, alpha, scale):
    arrays = {
        "lora_unet_to_q.lora_down.weight": A,
        "lora_unet_to_q.lora_up.weight": B,
        "lora_unet_to_q.alpha": np.array(alpha, "f4"),
    }
    folder = folder_of(tmp_path, arrays, None, "style.safetensors")
    adapter = read_adapter(folder / "style.safetensors")
    assert adapter.pairs["lora_unet_to_q"].scale == scale
    assert adapter.scale_is_known
    assert adapter.left_over == ()


def test_kernels_of_a_convolution_are_laid_out_in_rows(tmp_path):
    down = DRAW.normal(size=(4, 5, 3, 3)).astype("f4")
    up = B[:, :, None, None]
    arrays = {"c.lora_A.weight": down, "c.lora_B.weight": up}
    pair = read_adapter(folder_of(tmp_path, arrays)).pairs["c"]
    dense = np.einsum("or,rikl->oikl", B.astype(float), down.astype(float))
    np.testing.assert_allclose(update(pair), 2 * dense.reshape(12, -1), atol=1e-12)


def test_arrays_that_are_no_factors_are_named(tmp_path):
    others = {
        f"{QUERY}.lora_magnitude_vector": np.ones(12, "f4"),
        f"{QUERY}.lora_B.bias": np.ones(12, "f4"),
    }
    adapter = read_adapter(folder_of(tmp_path, PEFT | others))
    assert sorted(adapter.left_over) == sorted(others)


@pytest.mark.parametrize(
    ("init", "start"),
    [(True, ""), ("gaussian", ""), ("eva", ""), ("pissa", "pissa"), (False, "False")],
)
def test_a_product_that_does_not_start_at_zero_is_known(tmp_path, init, start):
    config = CONFIG | {"init_lora_weights": init}
    assert read_adapter(folder_of(tmp_path, PEFT, config)).start == start


@pytest.mark.parametrize("code", ["F16", "BF16", "F32", "F64"])
def test_types_of_numbers(tmp_path, code):
    """Zeros and powers of two are the same in all types."""
    a = np.ldexp(1.0, np.arange(8).reshape(2, 4))
    values = {
        "F16": a.astype("f2").tobytes(),
        "BF16": (a.astype("f4").view("u4") >> 16).astype("u2").tobytes(),
        "F32": a.astype("f4").tobytes(),
        "F64": a.tobytes(),
    }
    header = {}
    data = b""
    for name, shape in (("m.lora_A.weight", [2, 4]), ("m.lora_B.weight", [4, 2])):
        offsets = [len(data), len(data) + len(values[code])]
        header[name] = {"dtype": code, "shape": shape, "data_offsets": offsets}
        data += values[code]
    text = json.dumps(header).encode()
    path = tmp_path / "adapter_model.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    pair = read_adapter(path).pairs["m"]
    np.testing.assert_array_equal(pair.a, a)
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
    assert pair.spacing == 2.0 ** -digits[DTYPES[code]]


def without(name, arrays=PEFT):
    return {key: array for key, array in arrays.items() if name not in key}


NAN = A.copy()
NAN[1, 2] = np.nan
REFUSED = {
    "A without B": (without("lora_B"), CONFIG, "must be a pair of factors; got"),
    "B without A": (without("lora_A"), CONFIG, "must be a pair of factors; got"),
    "NaN": (PEFT | {f"{QUERY}.lora_A.weight": NAN}, CONFIG, "nan at row 1, column 2"),
    "transposed": (
        {name: array.T for name, array in PEFT.items()},
        CONFIG,
        r"of shapes \(out, r\) and \(r, in\); got \(4, 12\) and \(10, 4\); transpose",
    ),
    "integers": (
        {name: array.astype("i4") for name, array in PEFT.items()},
        CONFIG,
        "of dtype float64, float32, float16, bfloat16; got int32",
    ),
    "a number": ({"m.lora_A.weight": A[0, 0], "m.lora_B.weight": B}, CONFIG, "matrix"),
    "LoCon": (
        {"m.lora_down.weight": A, "m.lora_up.weight": B, "m.lora_mid.weight": A},
        CONFIG,
        "a product of two factors; got a third factor, lora_mid",
    ),
    "two adapters": (
        {
            f"m.lora_{x}.{name}.weight": f
            for x, f in (("A", A), ("B", B))
            for name in "pq"
        },
        CONFIG,
        "must be one adapter; got p, q",
    ),
    "alpha": (
        {"m.lora_down.weight": A, "m.lora_up.weight": B, "m.alpha": A[0]},
        CONFIG,
        "m.alpha of .* must be one finite number",
    ),
    "no factor": (
        {"m.hada_w1_a": A},
        CONFIG,
        "must be a low-rank adapter .*; got m.hada",
    ),
    "IA3": (PEFT, CONFIG | {"peft_type": "IA3"}, "must be LORA.*; got IA3"),
    "alpha of the configuration": (
        PEFT,
        CONFIG | {"lora_alpha": "8"},
        "lora_alpha .* a number; got '8'",
    ),
    "patterns": (
        PEFT,
        CONFIG | {"alpha_pattern": [1]},
        "alpha_pattern .* must be a map",
    ),
    "pattern": (
        PEFT,
        CONFIG | {"alpha_pattern": {"(": 1}},
        r"names of modules.*; got '\('",
    ),
    "wildcards": (
        PEFT,
        CONFIG | {"alpha_pattern": {r"\d+" * 5: 1}},
        "names of modules",
    ),
    "experts": (
        PEFT,
        CONFIG | {"target_parameters": ["experts.up"]},
        "got an adapter with target_parameters",
    ),
    "diagonal": (
        PEFT,
        CONFIG | {"kasa_config": {"beta": 1.0}},
        "got an adapter with kasa_config",
    ),
    "configuration": (PEFT, [], "must be a JSON object"),
    "one module twice": (
        PEFT | {name.removeprefix("base_model.model."): x for name, x in PEFT.items()},
        CONFIG,
        "must be named once",
    ),
}


@pytest.mark.parametrize(("arrays", "config", "text"), REFUSED.values(), ids=REFUSED)
def test_damaged_adapters_are_refused(tmp_path, arrays, config, text):
    path = folder_of(tmp_path, arrays, config)
    assert is_adapter(path)
    with pytest.raises(InputError, match=text) as refused:
        read_adapter(path)
    assert "\n" not in str(refused.value)


def test_pickles_and_empty_folders_are_refused(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match=r"a folder with adapter_model\.safetensors"):
        read_adapter(tmp_path)
    (tmp_path / "adapter_model.bin").write_bytes(b"PK\x03\x04")
    for path in (tmp_path, tmp_path / "adapter_model.bin"):
        assert is_adapter(path)
        with pytest.raises(InputError, match=r"a pickle.*save_pretrained"):
            read_adapter(path)


def test_other_checkpoints_are_no_adapters(tmp_path):
    head = {"lm_head.weight": B, "model.norm.weight": B[0]}
    save_file(head | PEFT, tmp_path / "model.safetensors")
    assert not is_adapter(tmp_path)
    save_file(head, tmp_path / "x.safetensors")
    assert not is_adapter(tmp_path / "x.safetensors")
    (tmp_path / "y.safetensors").write_bytes(b"nothing")
    assert not is_adapter(tmp_path / "y.safetensors")


def test_an_adapter_is_no_model(tmp_path):
    path = folder_of(tmp_path, PEFT) / "adapter_model.safetensors"
    with pytest.raises(InputError, match=r"a low-rank adapter \(LoRA\); audit it with"):
        ea.load(path)
    assert ea.load(path, weight=f"{QUERY}.lora_B.weight", kind="vectors").n_right == 12


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: adapter_of(B), "must be a path, or two matrices B and A; got ndarray"),
        (lambda: adapter_of((B, A[:3])), r"got \(12, 4\) and \(3, 10\)\.$"),
        (lambda: adapter_of((B.T, A.T)), "transpose both"),
        (lambda: adapter_of((A, A.T)), "give B first, then A"),
        (lambda: adapter_of((B, A), scale=np.nan), "scale must be a finite number"),
        (lambda: adapter_of((B, NAN)), "A must be finite"),
        (lambda: adapter_of(3), "must be a path, or two matrices"),
        (lambda: adapter_of("x", scale=2.0), "scale must be omitted"),
        (lambda: adapter_of("no-such-file"), "a file that exists"),
    ],
)
def test_matrices_that_are_no_factors(call, text):
    with pytest.raises(InputError, match=text):
        call()
