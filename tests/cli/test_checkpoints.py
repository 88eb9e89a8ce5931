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


@pytest.fixture
def states_and_inputs(folder):
    """Write states, and what the RMSNorm of the checkpoint makes of them."""
    epsilon = 0.25
    config = {"model_type": "llama", "rms_norm_eps": epsilon}
    (folder / "config.json").write_text(json.dumps(config))
    states = np.random.default_rng(0).standard_normal((60, 5)) * [1, 2, 3, 1, 2] + 1
    mean_squares = (states**2).mean(axis=1, keepdims=True)
    np.save(folder / "states.npy", states)
    np.save(folder / "inputs.npy", GAIN * states / np.sqrt(mean_squares + epsilon))


def audit_record(embaudit, *arguments, out="a.json"):
    result = embaudit("audit", *arguments, *FEW, "--quiet", "--json", out)
    assert result.code == 0
    return json.loads(Path(out).read_text())


def roles_of(record):
    """Return the names of the parts that were read, with their roles."""
    parts = record["input"]["intake"]["parts"]
    return {part["name"]: part["became"] for part in parts}


@pytest.mark.usefixtures("states_and_inputs")
def test_an_audit_of_states_is_that_of_the_inputs_behind_the_final_norm(
    embaudit, folder
):
    of_states = audit_record(embaudit, folder, "--states", "states.npy")
    given = ("--inputs", "inputs.npy")
    of_inputs = audit_record(embaudit, folder, *given, out="b.json")
    expected = of_inputs["head"]["logit_agreement"]
    assert of_states["head"]["logit_agreement"] == pytest.approx(expected, abs=1e-12)
    assert roles_of(of_states)["states.npy"] == "left"
    assert [*roles_of(of_states).values()] == [*roles_of(of_inputs).values()]


@pytest.mark.usefixtures("states_and_inputs")
def test_states_are_verified_as_states_and_not_as_inputs(embaudit, folder):
    audit_record(embaudit, folder, "--states", "states.npy")
    assert embaudit("verify", "a.json", folder, "--states", "states.npy").code == 0
    assert embaudit("verify", "a.json", folder, "--inputs", "states.npy").code == 1


@pytest.mark.usefixtures("states_and_inputs")
def test_prediction_vectors_of_states_are_those_of_inputs(embaudit, folder):
    for name in ("states", "inputs"):
        given = (f"--{name}", f"{name}.npy", "--out", f"{name}.npz")
        assert embaudit("fix", folder, "--as", "prediction", *given).code == 0
    of_states, of_inputs = load("states.npz"), load("inputs.npz")
    np.testing.assert_allclose(of_states.right, of_inputs.right, atol=1e-10)


CENTRED_HEAD = HEAD - HEAD.mean(axis=0)
TOKENS = [f"t{i}" for i in range(40)]


@pytest.fixture
def gguf(tmp_path):
    """Write the head and the norm of the checkpoint as a file of llama.cpp."""
    tensors = {
        "output.weight": CENTRED_HEAD,
        "output_norm.weight": GAIN,
        "token_embd.weight": HEAD,
    }
    gguf_file(tmp_path / "m.gguf", tensors, kinds="F32", tokens=TOKENS, **RMS)


@pytest.mark.usefixtures("gguf")
def test_the_norm_of_a_file_of_llama_cpp_is_found_and_said(embaudit):
    result = embaudit("audit", "m.gguf", *FEW, "--fail-on", "issue")
    assert result.code == 1
    assert result.err == (
        "final norm: output_norm.weight "
        "(RMSNorm, which stretches some axes 10 times as much as others), "
        "by the architecture llama of its metadata; "
        "--norm none reads the head without it.\n"
    )
    parts = "read as gguf: output.weight, tokenizer.ggml.tokens, output_norm.weight;"
    assert parts in result.out


@pytest.mark.usefixtures("gguf")
def test_a_file_of_llama_cpp_is_audited_as_the_checkpoint_is(embaudit, folder):
    def nearest_labels_and_codes(path, out):
        record = audit_record(embaudit, path, out=out)
        pairs = record["final_norm"]["apart"]
        shares = [pair["nearest"]["share"] for pair in pairs]
        return shares, [finding["code"] for finding in record["findings"]]

    shares, codes = nearest_labels_and_codes("m.gguf", "a.json")
    assert len(shares) == 3
    assert (shares, codes) == nearest_labels_and_codes(folder, "b.json")


@pytest.mark.usefixtures("gguf")
def test_folded_vectors_of_a_file_of_llama_cpp_keep_their_tokens(embaudit):
    result = embaudit("fix", "m.gguf", "--as", "folded", "--out", "v.safetensors")
    assert result.code == 0
    written = load(Path("v.safetensors"))
    np.testing.assert_allclose(written.right, CENTRED_HEAD * GAIN, rtol=1e-6)
    assert written.right_names.tolist() == TOKENS
