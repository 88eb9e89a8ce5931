"""Heads with their final norm folded in: equal predictions, in files with the names of
the tokens.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from embaudit.io import load
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

DRAW = np.random.default_rng(0)
ROWS, BIAS = DRAW.standard_normal((12, 4)) + 0.5, DRAW.standard_normal(12)
NAMES = [f"token {i} é" for i in range(12)]
GAIN, SHIFT = np.array([1.0, -4.0, 2.0, 0.5]), np.array([0.5, 1.0, -1.0, 0.0])
LAYER, RMS = FinalNorm("layer", GAIN, SHIFT), FinalNorm("rms", GAIN)
HEAD = FactorModel.from_softmax(ROWS, labels=NAMES)
STATES = DRAW.standard_normal((50, 4)) * 2 + 1


def probabilities(logits):
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("norm", [LAYER, RMS])
@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("kind", ["folded", "folded-centred"])
def test_a_folded_head_read_from_a_file_predicts_as_the_head_behind_its_norm(
    tmp_path, suffix, norm, bias, kind
):
    head = HEAD.replace(right_bias=bias)
    back = load(fix(head, kind, final_norm=norm).write(tmp_path / f"head{suffix}"))
    wanted = probabilities(
        norm.applied(STATES) @ ROWS.T + (0 if bias is None else bias)
    )
    found = back.replace(left=norm.normalised(STATES))
    np.testing.assert_allclose(found.predictions(), wanted, rtol=1e-11)
    assert back.link.name == "softmax"
    assert back.right_names.tolist() == NAMES
    assert (back.right_bias is None) == (bias is None and norm is RMS)


def checkpoint(folder):
    tensors = {"model.embed_tokens.weight": ROWS, "model.norm.weight": GAIN}
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(
        json.dumps({"model_type": "llama", "tie_word_embeddings": True})
    )
    vocabulary = {"model": {"vocab": {name: i for i, name in enumerate(NAMES[:10])}}}
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))
    return folder


def test_the_final_norm_of_a_checkpoint_is_read_with_it(tmp_path):
    np.testing.assert_allclose(
        fix(checkpoint(tmp_path), "folded").vectors(), ROWS * GAIN
    )


def test_the_command_fix_writes_folded_heads_with_token_names(embaudit, tmp_path):
    folder = checkpoint(tmp_path)
    for kind, wanted in (
        ("folded", ROWS * GAIN),
        ("folded-centred", (ROWS - ROWS.mean(axis=0)) * GAIN),
    ):
        result = embaudit("fix", folder, "--as", kind, "--out", f"{kind}.safetensors")
        assert result.code == 0, result.err
        assert result.err.startswith(
            "final norm: model.norm.weight (RMSNorm, which stretches some axes 8 "
            "times as much as others), by the model_type llama"
        )
        assert "multiplied in" in result.out
        back = load(f"{kind}.safetensors")
        np.testing.assert_allclose(back.right, wanted, atol=1e-14)
        assert back.right_names.tolist() == [
            *NAMES[:10],
            "<padding 10>",
            "<padding 11>",
        ]
    result = embaudit(
        "fix", folder, "--as", "folded", "--norm", "none", "--out", "x.safetensors"
    )
    assert result.code == 2
    assert "must be vectors of a head whose final norm is known" in result.err
    result = embaudit(
        "fix",
        folder,
        "--as",
        "folded-centred",
        "--norm-kind",
        "layer",
        "--out",
        "layer.npz",
        "--quiet",
    )
    assert (result.code, result.err, result.out) == (0, "", "")
    assert np.abs(load("layer.npz").right.sum(axis=1)).max() < 1e-13
