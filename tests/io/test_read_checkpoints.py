"""Checkpoints of networks in safetensors: the head, its labels and the final norm.

Customary names of heads and norms stand in `test_customary_names.py`.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import refusal, safetensors, write_all

from embaudit.io import load, read

if TYPE_CHECKING:
    from pathlib import Path

HEAD = np.arange(12, dtype=np.float32).reshape(4, 3)
GAIN = np.float32([0.5, 2.0, 1.0])
LLAMA = {"lm_head.weight": HEAD, "model.norm.weight": GAIN}
CLASSIFIER = ["LlamaForSequenceClassification"]


def checkpoint(folder: Path, tensors: dict[str, Any], **files: Any) -> Path:
    """Write a folder with tensors; other files are named without their `.json`."""
    beside = {f"{name}.json": json.dumps(content) for name, content in files.items()}
    content = {"model.safetensors": safetensors(tensors), **beside}
    return write_all(folder, {"d": content})


def test_tokens_beyond_the_vocabulary_are_padding_and_set_aside(tmp_path: Path) -> None:
    added = [{"id": 2, "content": "<s>", "special": True}]
    tokenizer = {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": added}
    folder = checkpoint(tmp_path, LLAMA, tokenizer=tokenizer)
    head = load(folder)
    assert head.right_names.tolist() == ["a", "b", "<s>", "<padding 3>"]
    assert head.right_aside.tolist() == [False, False, True, True]


def test_the_configuration_tells_the_norm_and_the_cap(tmp_path: Path) -> None:
    said = {
        "model_type": "llama",
        "rms_norm_eps": 1e-6,
        "final_logit_softcapping": 30.0,
    }
    found = read(checkpoint(tmp_path, LLAMA, config=said))
    assert found.model.link.soft_cap == 30
    assert (found.norm.norm.kind, found.norm.norm.epsilon) == ("rms", 1e-6)
    assert found.norm.norm.gain.tolist() == GAIN.tolist()
    assert found.norm.because == "the model_type llama of config.json"


def test_states_become_inputs_behind_the_final_norm(tmp_path: Path) -> None:
    """RMSNorm divides a state by its root mean square; gemma adds 1 to the gains."""
    states = np.array([[3.0, 0.0, 0.0], [1.0, -1.0, 1.0]])
    folder = checkpoint(tmp_path, LLAMA, config={"model_type": "gemma"})
    # The root mean squares are √3 and 1.
    expected = np.array([[3 / np.sqrt(3), 0, 0], [1, -1, 1]]) * (1 + GAIN)
    np.testing.assert_allclose(load(folder, states=states).left, expected, rtol=1e-5)
    sentence = refusal(load, folder, states=states[:, :2])
    assert "vectors of 3 numbers, as wide as the final norm; got 2" in sentence
    both = refusal(load, folder, states=states, inputs=states)
    assert "inputs must be omitted if states" in both


def test_classes_of_a_classifier_are_named_by_its_configuration(tmp_path: Path) -> None:
    config = {"architectures": CLASSIFIER, "id2label": {"0": "bad", "1": "good"}}
    tensors = {"score.weight": HEAD[:2]}
    head = load(checkpoint(tmp_path, tensors, config=config))
    assert head.link.name == "softmax"
    assert head.right_names.tolist() == ["bad", "good"]


def test_a_head_in_one_of_two_shards(tmp_path: Path) -> None:
    homes = {"a.weight": "x.safetensors", "lm_head.weight": "y.safetensors"}
    folder = {
        "model.safetensors.index.json": json.dumps({"weight_map": homes}),
        "x.safetensors": safetensors({"a.weight": HEAD[:2]}),
        # A tensor that the index does not name is no part of the model.
        "y.safetensors": safetensors({"lm_head.weight": HEAD, "other": HEAD[:2]}),
    }
    found = read(write_all(tmp_path, {"d": folder}))
    assert found.model.right.tolist() == HEAD.tolist()
    assert [part.name for part in found.intake.left_over] == ["a.weight"]


def test_one_shard_is_read_only_by_the_name_of_its_tensor(tmp_path: Path) -> None:
    name = "m-00001-of-00002.safetensors"
    path = write_all(tmp_path, {name: safetensors({"x": HEAD})})
    assert "a complete checkpoint; got one part of 2" in refusal(load, path)
    assert load(path, weight="x", kind="vectors").right.tolist() == HEAD.tolist()


def test_names_and_the_link_are_kept_in_the_metadata(tmp_path: Path) -> None:
    metadata = {"embaudit_names": '["a", "b", "c", "d"]', "embaudit_link": "cosine"}
    content = safetensors({"x": HEAD}, **metadata)
    model = load(write_all(tmp_path, {"v.safetensors": content}))
    assert (model.link.name, model.right_names.tolist()) == ("cosine", list("abcd"))


@pytest.mark.parametrize("names", ['["a"]', "["])
def test_names_that_do_not_fit_the_rows_are_no_names(
    tmp_path: Path, names: str
) -> None:
    content = safetensors({"x": HEAD}, embaudit_names=names)
    model = load(write_all(tmp_path, {"v.safetensors": content}))
    assert model.right_names is None


def test_integers_are_read_as_vectors_of_model2vec(tmp_path: Path) -> None:
    """model2vec rounds its vectors to 8 bits, without a scale."""
    codes = np.array([[1, -2], [3, 4]], dtype=np.int8)
    said = {"model_type": "model2vec"}
    folder = checkpoint(tmp_path, {"embedding.weight": codes}, config=said)
    assert load(folder).right.tolist() == [[1, -2], [3, 4]]


EMBEDDING = {"model.embed_tokens.weight": HEAD}


@pytest.mark.parametrize(
    ("tensors", "config", "options", "part"),
    [
        # The head is somewhere else.
        (EMBEDDING, {"tie_word_embeddings": False}, {}, "tie_word_embeddings is false"),
        (
            EMBEDDING,
            {"architectures": ["LlamaModel"]},
            {},
            "because it is a LlamaModel",
        ),
        (
            {**EMBEDDING, "other": HEAD},
            {},
            {},
            "both (4, 3); name the head with weight=",
        ),
        (
            {"fc.weight": HEAD, "last.weight": HEAD[:2, :1] @ np.ones((1, 4), "f4")},
            {},
            {},
            "whose outputs last.weight takes",
        ),
        (
            {"fc.weight": np.ones((1, 4), "f4"), "embeddings": HEAD},
            {},
            {},
            "one number for each row of embeddings",
        ),
        (
            {**LLAMA, "model.lm_head.lora_A.weight": HEAD[:2]},
            {},
            {},
            "merge the adapters",
        ),
        # No softmax follows.
        (
            {"score.weight": HEAD[:1]},
            {"architectures": CLASSIFIER, "id2label": {"0": "LABEL_0"}},
            {},
            "one label: a reward or a regression",
        ),
        (
            {"classifier.weight": HEAD},
            {"problem_type": "multi_label_classification"},
            {},
            "got the problem_type multi_label_classification",
        ),
        # The final norm is another one.
        (LLAMA, {}, {"norm": "model.nrom"}, "norms there: model.norm.weight"),
        (LLAMA, {}, {"norm": "lm_head"}, "one number per dimension; got shape (4, 3)"),
        (LLAMA, {}, {"norm_kind": "batch"}, "must be one of rms, layer; got 'batch'"),
    ],
)
def test_checkpoints_that_leave_a_question_are_refused(
    tmp_path: Path, tensors: Any, config: Any, options: Any, part: str
) -> None:
    folder = checkpoint(tmp_path, tensors, config=config)
    assert part in refusal(load, folder, **options)


HEADER = b'{"w":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}'
UNKNOWN_TYPE = struct.pack("<Q", len(HEADER)) + HEADER + bytes(4)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (safetensors({"x": HEAD})[:60], "a valid safetensors file"),
        (UNKNOWN_TYPE, "floating-point numbers; got F4"),
        (
            safetensors({"x": HEAD}, embaudit_link="magic"),
            "link must be one of identity",
        ),
    ],
)
def test_damaged_files_of_tensors_are_refused(
    tmp_path: Path, content: bytes, part: str
) -> None:
    path = write_all(tmp_path, {"m.safetensors": content})
    assert part in refusal(lambda: load(path).right)


@pytest.mark.parametrize(
    ("homes", "part"),
    [
        ({"w": "no.safetensors"}, "got no file no.safetensors; fetch this file"),
        ({"x": "a.safetensors"}, "got 'x', which a.safetensors does not hold"),
        ({"w": "../a.safetensors"}, "got '../a.safetensors'; move it there"),
    ],
)
def test_an_index_of_shards_names_files_beside_it(
    tmp_path: Path, homes: Any, part: str
) -> None:
    index = {"model.safetensors.index.json": json.dumps({"weight_map": homes})}
    path = write_all(tmp_path, {**index, "a.safetensors": safetensors({"w": HEAD})})
    assert part in refusal(load, path)
