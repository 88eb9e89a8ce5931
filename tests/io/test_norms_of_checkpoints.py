"""Final norms of checkpoints: found by the architecture, by customary names or by an
option, and named in the description.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import load, read
from embaudit.model import FactorModel, softmax_link

DRAW = np.random.default_rng(0)
HEAD = DRAW.standard_normal((9, 4)).astype(np.float32)
GAIN = np.array([0.5, -1.0, 2.0, 1.0], dtype=np.float32)
SHIFT = np.array([0.25, 0.0, -1.0, 3.0], dtype=np.float32)


def checkpoint(folder, tensors, **config):
    save_file({"lm_head.weight": HEAD, **tensors}, folder / "model.safetensors")
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_norm_without_gains_is_a_norm(tmp_path):
    found = read(checkpoint(tmp_path, {}, model_type="olmo", hidden_size=4)).norm
    np.testing.assert_array_equal(found.norm.gain, np.ones(4))
    assert (found.norm.kind, found.name) == ("layer", "no tensor")
    for config in (
        {"model_type": "olmo"},
        {"model_type": "llama"},
    ):
        assert load(checkpoint(tmp_path, {}, **config)).final_norm is None


def test_a_norm_may_be_named_or_left_out(tmp_path):
    folder = checkpoint(
        tmp_path,
        {"model.norm.weight": GAIN, "own.scale": SHIFT, "own.norm.weight": GAIN},
        a=1,
    )
    assert read(folder, norm="none").norm is None
    for name in ("own.norm", "own.norm.weight"):
        found = read(folder, norm=name).norm
        assert (found.name, found.because, found.norm.kind) == (
            "own.norm.weight",
            "your word",
            "rms",
        )
    found = read(folder, norm="own.scale", norm_kind="layer").norm
    np.testing.assert_array_equal(found.norm.gain, SHIFT)
    assert (found.name, found.norm.kind) == ("own.scale", "layer")
    assert read(folder, norm_kind="layer").norm.norm.kind == "layer"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm": "model.nrom"}, "norm must be the name of a tensor of "),
        (
            {"norm": "lm_head.weight"},
            "the norm lm_head.weight must be one number per dimension; "
            "got shape (9, 4)",
        ),
        (
            {"norm_kind": "batch"},
            "norm_kind must be one of rms, layer; got 'batch'.",
        ),
    ],
)
def test_what_is_no_norm_is_refused(tmp_path, options, words):
    folder = checkpoint(tmp_path, {"model.norm.weight": GAIN}, model_type="llama")
    with pytest.raises(InputError) as refused:
        read(folder, **options)
    assert words in str(refused.value)
    if "nrom" in options.get("norm", ""):
        assert str(refused.value).endswith(
            "got 'model.nrom'; norms there: model.norm.weight."
        )


@pytest.mark.parametrize("text", ["", " \n", "[]", "{}", '{"model_type": 3}'])
def test_a_configuration_that_says_nothing(tmp_path, text):
    folder = checkpoint(tmp_path, {"model.norm.weight": GAIN})
    (folder / "config.json").write_text(text)
    found = read(folder).norm
    assert (found.because, found.norm.epsilon) == ("its name", 1e-5)


@pytest.mark.parametrize("text", ["{", '{"model_type": "gemma2",', "\xff"])
def test_a_damaged_configuration_is_refused(tmp_path, text):
    """Without it, the gains of Gemma would be read as w instead of 1 + w."""
    folder = checkpoint(tmp_path, {"model.norm.weight": GAIN}, model_type="gemma2")
    (folder / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(
        InputError, match=r"config\.json must be valid JSON; got .* move"
    ):
        read(folder)


@pytest.mark.parametrize(
    ("stored", "epsilon"), [(1e-6, 1e-6), (0, 0.0), (0.0, 0.0), (None, 1e-5)]
)
def test_the_epsilon_of_the_configuration(tmp_path, stored, epsilon):
    settings = {"model_type": "llama", "rms_norm_eps": stored}
    folder = checkpoint(tmp_path, {"model.norm.weight": GAIN}, **settings)
    assert read(folder).norm.norm.epsilon == epsilon


@pytest.mark.parametrize("stored", ["1e-6", 1.5, -1e-6, True, [1e-6]])
def test_an_epsilon_that_no_norm_can_add_is_refused(tmp_path, stored):
    settings = {"model_type": "llama", "rms_norm_eps": stored}
    folder = checkpoint(tmp_path, {"model.norm.weight": GAIN}, **settings)
    with pytest.raises(
        InputError, match=r"rms_norm_eps of config\.json must be a number"
    ):
        read(folder)


LM = Path(__file__).parents[2] / ".." / "shared" / "data" / "lm-stories260K"
FEW = {"n_gauges": 1, "n_pairs": 200, "n_lists": 20, "n_starts": 0}


@pytest.mark.parametrize("folder", ["imitation", LM], ids=["imitation", "stories"])
def test_a_model_that_was_loaded_is_audited_as_its_folder_is(tmp_path, folder):
    if folder == "imitation":
        folder = checkpoint(
            tmp_path,
            {"model.norm.weight": GAIN, "model.norm.bias": SHIFT},
            model_type="llama",
        )
    elif not folder.is_dir():
        pytest.skip("the model is not beside the checkout")
    model = load(folder)
    ea.save(model, tmp_path / "m.npz")
    expected = ea.audit(folder, **FEW).to_dict()
    assert expected["final_norm"] is not None
    for other in (model, load(tmp_path / "m.npz"), tmp_path / "m.npz"):
        record = ea.audit(other, **FEW).to_dict()
        assert {name: record[name] for name in record.keys() - {"input"}} == {
            name: expected[name] for name in expected.keys() - {"input"}
        }
        assert record["input"]["fingerprint"] == expected["input"]["fingerprint"]
    np.testing.assert_array_equal(
        ea.fix(model, "folded").vectors(),
        model.right * model.final_norm.gain.astype(model.right.dtype),
    )
    assert ea.audit(load(folder, norm="none"), **FEW).to_dict()["final_norm"] is None


def test_a_norm_stays_with_its_rows_and_its_head(tmp_path):
    head = load(checkpoint(tmp_path, {"model.norm.weight": GAIN}, model_type="llama"))
    assert head.take(right=np.arange(3)).final_norm is head.final_norm
    assert (
        head.replace(right_names=[f"t{i}" for i in range(9)], left=HEAD).final_norm
        is head.final_norm
    )
    assert head.replace(right=2 * HEAD).final_norm is None
    assert head.replace(link="identity").final_norm is None
    assert head.replace(link=softmax_link(unit_rows=True)).final_norm is None
    assert ea.gauges.Orthogonal(4).sample(rng=0).act(head).final_norm is None
    assert load(tmp_path, kind="vectors").final_norm is None
    assert (
        load(tmp_path, norm="model.norm", norm_kind="layer").final_norm.kind == "layer"
    )
    for wrong in (
        FactorModel.from_vectors(HEAD),
        FactorModel.from_softmax(HEAD[:, :3]),
    ):
        with pytest.raises(
            InputError,
            match="final_norm must be given with a softmax head of 4 dimensions",
        ):
            wrong.replace(final_norm=head.final_norm)
    with pytest.raises(
        InputError, match=r"can record the final norm; got a .safetensors file"
    ):
        ea.save(head, tmp_path / "head.safetensors")
    ea.save(head.replace(final_norm=None), tmp_path / "head.safetensors")


def test_the_logits_are_those_of_the_network(tmp_path):
    gain, shift, states = (
        1 + GAIN.astype(float),
        SHIFT.astype(float),
        DRAW.standard_normal((20, 4)),
    )
    tensors = {"model.norm.weight": GAIN, "model.norm.bias": SHIFT}
    folder = checkpoint(tmp_path, tensors, model_type="nemotron", norm_eps=0.01)
    x = (states - states.mean(axis=1, keepdims=True)) / np.sqrt(
        states.var(axis=1, keepdims=True) + 0.01
    )
    wanted = (x * gain + shift) @ HEAD.astype(float).T
    found = load(folder).replace(left=read(folder).norm.norm.applied(states))
    np.testing.assert_allclose(found.scores(), wanted, atol=1e-12)


def test_a_file_that_is_no_checkpoint_has_none(tmp_path):
    np.savez(tmp_path / "head.npz", W=HEAD)
    assert load(tmp_path / "head.npz", norm="none", kind="head").final_norm is None
    rule = (
        "norm must be omitted unless the model is a checkpoint in safetensors or GGUF"
    )
    with pytest.raises(InputError, match=f"{rule}; got"):
        load(tmp_path / "head.npz", norm="model.norm", kind="head")


@pytest.mark.parametrize(
    "layer", ["model.norm", "model.language_model.norm", "language_model.model.norm"]
)
def test_the_part_that_reads_text_is_asked(tmp_path, layer):
    tensors = {f"{layer}.weight": GAIN, "vision_tower.norm.weight": SHIFT}
    folder = checkpoint(
        tmp_path,
        tensors,
        model_type="paligemma",
        text_config={"model_type": "gemma", "rms_norm_eps": 1e-6},
    )
    found = read(folder).norm
    assert found.name == f"{layer}.weight"
    np.testing.assert_array_equal(found.norm.gain, 1 + GAIN)
    assert found.because == "the model_type gemma of config.json"
    assert found.norm.epsilon == 1e-6
