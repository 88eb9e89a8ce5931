"""`embaudit audit CHECKPOINT` finds the final norm and names it; an option selects
another norm.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from llama_files import RMS, gguf_file
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.io import load

DRAW = np.random.default_rng(3)
HEAD, GAIN = DRAW.standard_normal((40, 5)), np.array([1.0, 5.0, 0.5, 2.0, 1.0])
FEW = ("--n-gauges", 1, "--n-pairs", 50, "--n-starts", 0)
SAID = (
    "final norm: model.norm.weight (RMSNorm, which stretches some axes 10 times as "
    "much as others), by the model_type llama of config.json; --norm none reads the "
    "head without it.\n"
)


@pytest.fixture
def folder(tmp_path):
    tensors = {
        "lm_head.weight": HEAD - HEAD.mean(axis=0),
        "model.norm.weight": GAIN,
        "other.weight": GAIN * GAIN,
    }
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return tmp_path


def test_the_norm_of_a_checkpoint_is_found_and_said(embaudit, folder):
    result = embaudit(
        "audit", folder, *FEW, "--json", "a.json", "--full", "--fail-on", "issue"
    )
    assert (result.code, result.err) == (1, SAID)
    found = json.loads(Path("a.json").read_text())
    assert found["final_norm"]["condition_number"] == 10
    assert "EMB307" in {finding["code"] for finding in found["findings"]}
    assert "conventions in use: one head behind its RMSNorm (κ = 10)" in " ".join(
        result.out.split()
    )
    assert embaudit("verify", "a.json", folder).code == 0
    assert embaudit("verify", "a.json", folder, "--norm", "none").code == 1


def test_python_and_the_command_record_a_norm_alike(embaudit, folder):
    embaudit("audit", folder, *FEW, "--n-steps", 1, "--json", "command.json", "--quiet")
    record = json.loads(Path("command.json").read_text())
    ours = ea.audit(folder, n_gauges=1, n_pairs=50, n_starts=0, n_steps=1)
    assert ours.to_dict()["input"]["intake"] == record["input"]["intake"]
    assert [part["became"] for part in record["input"]["intake"]["parts"]] == [
        "right",
        "link",
        "final_norm",
    ]
    assert ea.verify("command.json", folder).ok
    Path("python.json").write_text(json.dumps(ours.to_dict()))
    assert embaudit("verify", "python.json", folder).code == 0


@pytest.mark.parametrize("command", ["audit", "formats"])
def test_a_setting_of_another_type_is_refused_in_one_sentence(
    embaudit, folder, command
):
    settings = {"model_type": "llama", "final_logit_softcapping": "30"}
    (folder / "config.json").write_text(json.dumps(settings))
    result = embaudit(command, folder)
    assert result.code == 2
    assert result.out == ""
    assert result.err.rstrip().endswith(
        "final_logit_softcapping of config.json must be a finite number >= 0; got '30'."
    )


def test_tokens_of_a_tokenizer_beside_a_file_are_quoted(embaudit, tmp_path):
    np.save(tmp_path / "v.npy", HEAD)
    (tmp_path / "tokenizer.json").write_text(
        json.dumps({"model": {"vocab": {f" {row}": row for row in range(40)}}})
    )
    result = embaudit(
        "audit", tmp_path / "v.npy", *FEW, "--compared", "cosine", "--show", " 5"
    )
    assert "Nearest to ' 5':\n' " in result.out


def test_states_become_inputs_by_the_final_norm(embaudit, folder):
    (folder / "config.json").write_text(
        json.dumps({"model_type": "llama", "rms_norm_eps": 0.25})
    )
    states = np.random.default_rng(0).standard_normal((60, 5)) * [[1, 2, 3, 1, 2]] + 1
    inputs = GAIN * states / np.sqrt((states**2).mean(axis=1, keepdims=True) + 0.25)
    np.save("states.npy", states)
    np.save("inputs.npy", inputs)
    options = ["audit", folder, *FEW, "--quiet", "--json"]
    assert embaudit(*options, "a.json", "--states", "states.npy").code == 0
    assert embaudit(*options, "b.json", "--inputs", "inputs.npy").code == 0
    one, other = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))
    assert one["head"]["logit_agreement"] == pytest.approx(
        other["head"]["logit_agreement"], abs=1e-12
    )
    parts, others = (found["input"]["intake"]["parts"] for found in (one, other))
    assert ("states.npy", "left") in [(part["name"], part["became"]) for part in parts]
    assert [part["became"] for part in parts] == [part["became"] for part in others]
    assert embaudit("verify", "a.json", folder, "--states", "states.npy").code == 0
    assert embaudit("verify", "a.json", folder, "--inputs", "states.npy").code == 1
    assert (
        embaudit(
            "fix",
            folder,
            "--as",
            "prediction",
            "--states",
            "states.npy",
            "--out",
            "v.npz",
        ).code
        == 0
    )
    assert (
        embaudit(
            "fix",
            folder,
            "--as",
            "prediction",
            "--inputs",
            "inputs.npy",
            "--out",
            "w.npz",
        ).code
        == 0
    )
    np.testing.assert_allclose(
        *(np.load(name)["right"] for name in ("v.npz", "w.npz")), atol=1e-10
    )


def test_a_file_of_llama_cpp_is_audited_as_the_checkpoint_is(embaudit, folder):
    tensors = {
        "output.weight": HEAD - HEAD.mean(axis=0),
        "output_norm.weight": GAIN,
        "token_embd.weight": HEAD,
    }
    gguf_file(
        Path("m.gguf"), tensors, kinds="F32", tokens=[f"t{i}" for i in range(40)], **RMS
    )
    result = embaudit("audit", "m.gguf", *FEW, "--json", "a.json", "--fail-on", "issue")
    note = (
        "final norm: output_norm.weight "
        "(RMSNorm, which stretches some axes 10 times as much as others), "
        "by the architecture llama of its metadata; "
        "--norm none reads the head without it.\n"
    )
    assert (result.code, result.err) == (1, note)
    embaudit("audit", folder, *FEW, "--json", "b.json")
    one, other = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))
    apart = [
        [pair["nearest"]["share"] for pair in found["final_norm"]["apart"]]
        for found in (one, other)
    ]
    assert apart[0] == apart[1]
    assert len(apart[0]) == 3
    assert [found["code"] for found in one["findings"]] == [
        found["code"] for found in other["findings"]
    ]
    assert (
        "read as gguf: output.weight, tokenizer.ggml.tokens, output_norm.weight;"
        in result.out
    )
    assert (
        embaudit("fix", "m.gguf", "--as", "folded", "--out", "v.safetensors").code == 0
    )
    written = load(Path("v.safetensors"))
    np.testing.assert_allclose(
        written.right, tensors["output.weight"] * GAIN, rtol=1e-6
    )
    assert written.right_names.tolist() == [f"t{i}" for i in range(40)]
