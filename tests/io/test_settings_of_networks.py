"""Settings of a network: a value of another type or range is refused if it counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_files import refusal
from llama_files import RMS, gguf_file
from safetensors.numpy import save_file

from embaudit.io import load
from embaudit.model import LINKS
from embaudit.model.links import softmax_link

DRAW = np.random.default_rng(11)
ROWS = DRAW.standard_normal((6, 3)).astype(np.float32)
GAIN = np.float32([1.0, 2.0, 4.0])
HEAD = {"lm_head.weight": ROWS, "model.norm.weight": GAIN}
EMBEDDINGS = {"model.embed_tokens.weight": ROWS}
T5 = {"lm_head.weight": ROWS, "decoder.final_layer_norm.weight": GAIN}


def checkpoint(folder: Path, tensors: dict[str, Any], settings: dict[str, Any]) -> Path:
    """Write a checkpoint with its `config.json`, and return the folder."""
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


SOFT_CAP = "final_logit_softcapping of config.json must be a finite number >= 0; got "
TIES_HEAD = "tie_word_embeddings of config.json must be true or false; got "
EPSILON = "rms_norm_eps of config.json must be a number >= 0 and below 1; got "
LOGIT_SCALE = "logit_scale of config.json must be a number > 0; got "
DIVISOR = "logits_scaling of config.json must be a number > 0; got "
COUNT = "of config.json must be a positive integer; got "


@pytest.mark.parametrize(
    ("tensors", "settings", "sentence"),
    [
        (HEAD, {"final_logit_softcapping": "30"}, f"{SOFT_CAP}'30'."),
        (HEAD, {"final_logit_softcapping": -30.0}, f"{SOFT_CAP}-30.0."),
        (HEAD, {"final_logit_softcapping": False}, f"{SOFT_CAP}False."),
        (HEAD, {"final_logit_softcapping": True}, f"{SOFT_CAP}True."),
        (HEAD, {"final_logit_softcapping": []}, f"{SOFT_CAP}[]."),
        (HEAD, {"final_logit_softcapping": ""}, f"{SOFT_CAP}''."),
        (HEAD, {"tie_word_embeddings": "false"}, f"{TIES_HEAD}'false'."),
        (HEAD, {"tie_word_embeddings": 0}, f"{TIES_HEAD}0."),
        (EMBEDDINGS, {"tie_word_embeddings": 1}, f"{TIES_HEAD}1."),
        (HEAD, {"model_type": "llama", "rms_norm_eps": "1e-6"}, f"{EPSILON}'1e-6'."),
        (HEAD, {"model_type": "cohere", "logit_scale": "2"}, f"{LOGIT_SCALE}'2'."),
        (HEAD, {"model_type": "cohere", "logit_scale": True}, f"{LOGIT_SCALE}True."),
        (HEAD, {"model_type": "cohere", "logit_scale": 0}, f"{LOGIT_SCALE}0."),
        (HEAD, {"model_type": "granite", "logits_scaling": -8}, f"{DIVISOR}-8."),
        (T5, {"model_type": "t5", "d_model": "16"}, f"d_model {COUNT}'16'."),
        (T5, {"model_type": "t5", "d_model": 0}, f"d_model {COUNT}0."),
        (
            T5,
            {"model_type": "t5", "scale_decoder_outputs": "no"},
            "scale_decoder_outputs of config.json must be true or false; got 'no'.",
        ),
        (
            {"lm_head.weight": ROWS},
            {"model_type": "olmo", "hidden_size": "3"},
            f"hidden_size {COUNT}'3'.",
        ),
        (
            EMBEDDINGS,
            {"architectures": "MistralModel"},
            "architectures of config.json must be a list of names; got 'MistralModel'.",
        ),
        (
            EMBEDDINGS,
            {"architectures": [3]},
            "architectures of config.json must be a list of names; got [3].",
        ),
    ],
)
def test_a_setting_of_another_type_or_range_is_refused_by_its_key(
    tmp_path: Path, tensors: Any, settings: Any, sentence: str
) -> None:
    assert refusal(load, checkpoint(tmp_path, tensors, settings)).endswith(sentence)
    if "model_type" not in settings:
        nested = {"text_config": settings}
        folder = checkpoint(tmp_path, tensors, nested)
        assert refusal(load, folder).endswith(sentence)


def test_a_wrong_flag_of_the_whole_network_is_refused_next_to_one_of_its_text_part(
    tmp_path: Path,
) -> None:
    settings = {
        "tie_word_embeddings": "false",
        "text_config": {"tie_word_embeddings": False},
    }
    sentence = refusal(load, checkpoint(tmp_path, HEAD, settings))
    assert sentence.endswith(f"{TIES_HEAD}'false'.")


@pytest.mark.parametrize("stored", [None, 0, 0.0])
def test_a_soft_cap_of_null_or_0_is_no_cap(tmp_path: Path, stored: Any) -> None:
    folder = checkpoint(tmp_path, HEAD, {"final_logit_softcapping": stored})
    assert load(folder).link == LINKS["softmax"]


def test_a_soft_cap_can_be_an_integer(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, HEAD, {"final_logit_softcapping": 30})
    assert load(folder).link == softmax_link(soft_cap=30.0)


def test_a_setting_that_is_not_read_can_have_any_value(tmp_path: Path) -> None:
    # Vectors have no logits, and a llama multiplies no logits.
    capped = checkpoint(tmp_path, HEAD, {"final_logit_softcapping": "30"})
    vectors = load(capped, kind="vectors", weight="lm_head.weight")
    np.testing.assert_array_equal(vectors.right, ROWS)
    settings = {"model_type": "llama", "logit_scale": "inv_sqrt_d_model"}
    head = load(checkpoint(tmp_path, HEAD, settings))
    np.testing.assert_array_equal(head.final_norm.gain, GAIN)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"final_logit_softcapping": -1.0},
            "final_logit_softcapping of the metadata of a GGUF file must be a finite "
            "number >= 0; got -1.0.",
        ),
        (
            {"logit_scale": "2"},
            "logit_scale of the metadata of a GGUF file must be a number > 0; got '2'.",
        ),
        (
            {"attention__layer_norm_rms_epsilon": 2.0},
            "layer_norm_rms_epsilon of the metadata of a GGUF file must be a number "
            ">= 0 and below 1; got 2.0.",
        ),
    ],
)
def test_a_setting_of_a_gguf_file_is_refused_by_its_key(
    tmp_path: Path, keys: Any, sentence: str
) -> None:
    tensors = {"token_embd.weight": ROWS, "output_norm.weight": GAIN}
    path = gguf_file(
        tmp_path / "m.gguf", tensors, architecture="gemma2", **{**RMS, **keys}
    )
    assert refusal(load, path).endswith(sentence)


def test_a_scale_of_0_in_a_gguf_file_is_no_scale(tmp_path: Path) -> None:
    """llama.cpp does not apply a scale of 0."""
    tensors = {"token_embd.weight": ROWS, "output_norm.weight": GAIN}
    path = gguf_file(
        tmp_path / "m.gguf",
        tensors,
        architecture="command-r",
        logit_scale=0.0,
        **RMS,
    )
    np.testing.assert_array_equal(load(path).final_norm.gain, GAIN)
