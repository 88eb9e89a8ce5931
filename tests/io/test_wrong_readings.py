"""Tables, labels and tokens that are easily mistaken for other data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import read_labels, read_titles


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (
            '1\t"Weird Al" Yankovic\n2\tBeck\n3\tCher\n',
            ['"Weird Al" Yankovic', "Beck", "Cher"],
        ),
        (
            '1\tHunky Dory\n2\t"Heroes\n3\tLow\n4\tLodger\n',
            ["Hunky Dory", '"Heroes', "Low", "Lodger"],
        ),
        ('1\t"Heroes\n2\tLow\n3\tLodger\n', ['"Heroes', "Low", "Lodger"]),
        ('1\t"a ""b"" c"\n2\tBeck\n3\tCher\n', ['a "b" c', "Beck", "Cher"]),
        ('1\t12" single\n2\tBeck\n3\tCher\n', ['12" single', "Beck", "Cher"]),
        ('1\t"two\nlines"\n2\tBeck\n', ["two\nlines", "Beck"]),
        ('"1\tLow"\n2\tHigh\n', ['Low"', "High"]),
    ],
)
def test_quotes_in_titles_are_letters_where_they_enclose_nothing(
    tmp_path: Path, text: str, titles: list[str]
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\ttitle\n" + text)
    assert read_titles(path)[1].tolist() == titles


NAMES = ["Heat, The", 'a "b"', "plain"]


@pytest.mark.parametrize(
    "options",
    [
        {"index": False},
        {"index": False, "header": False},
        {},
        {"header": False},
        {"index": False, "lineterminator": "\r\n"},
    ],
)
@pytest.mark.parametrize("name", [None, "title"])
@pytest.mark.parametrize("file", ["labels.csv", "labels.txt"])
def test_labels_that_a_series_wrote(
    tmp_path: Path, options: dict[str, Any], name: str | None, file: str
) -> None:
    pd.Series(NAMES, name=name).to_csv(tmp_path / file, **options)
    assert read_labels(tmp_path / file, 3).tolist() == NAMES
    (tmp_path / file).write_text(
        'a\n"\nb' + options.get("lineterminator", ""), encoding="utf-8"
    )
    assert read_labels(tmp_path / file, 3).tolist() == ["a", '"', "b"]


def head_beside_tokens(folder, n_rows):
    """Read a head of so many rows that lies beside the files of a tokenizer."""
    rows = np.ones((n_rows, 2), dtype=np.float32)
    save_file({"lm_head.weight": rows}, folder / "model.safetensors")
    return ea.load(folder)


WORDS = ["<s>", "Ġthe", "a b", "é"]
ADDED = [{"id": 4, "content": "<pad>"}, {"id": 0, "content": "<bos>"}, {"id": "5"}, 3]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (
            {
                "tokenizer.json": {
                    "model": {"vocab": {w: i for i, w in enumerate(WORDS)}}
                }
            },
            WORDS,
        ),
        ({"tokenizer.json": {"model": {"vocab": [[w, -1.0] for w in WORDS]}}}, WORDS),
        (
            {
                "tokenizer.json": {
                    "model": {"vocab": {w: i for i, w in enumerate(WORDS)}},
                    "added_tokens": ADDED,
                }
            },
            ["<bos>", *WORDS[1:], "<pad>"],
        ),
        (
            {
                "vocab.json": {w: i for i, w in enumerate(WORDS)},
                "added_tokens.json": {"<x>": 4},
            },
            [*WORDS, "<x>"],
        ),
        (
            {"tokenizer.json": {"model": {"vocab": {"b": 1}}}, "vocab.json": {"a": 0}},
            ["<padding 0>", "b"],
        ),
        (
            {"vocab.json": {'"': 0, "a\tb": 1, "\n": 2, "a\0": 3, "a": 4}},
            ['"', "a\tb", "\n", "a\\x00", "a"],
        ),
        (
            {
                "tokenizer.json": {"version": "1.0"},
                "vocab.json": {"a": 0, "b": True, "c": -1},
            },
            ["a"],
        ),
    ],
)
def test_tokens_name_the_rows_of_a_head_and_rows_beyond_are_padding(
    tmp_path, files, names
):
    for file, content in files.items():
        (tmp_path / file).write_text(json.dumps(content))
    wanted = [*names, *(f"<padding {row}>" for row in range(len(names), 7))]
    head = head_beside_tokens(tmp_path, 7)
    assert head.right_names.tolist() == wanted
    is_padding = [name.startswith("<padding") for name in wanted]
    assert head.right_aside.tolist() == is_padding
    # A head of one row would be read as two labels.
    if len(names) > 1:
        whole = head_beside_tokens(tmp_path, len(names))
        assert whole.right_names.tolist() == names
    if len(names) > 2:
        # More tokens than rows are those of another model.
        assert head_beside_tokens(tmp_path, len(names) - 1).right_names is None


def test_a_token_far_longer_than_others_takes_no_room_for_all(tmp_path):
    (tmp_path / "vocab.json").write_text(json.dumps({"a" * 10**6: 0}))
    rule = r"vocab\.json must be texts of similar length"
    found = "got a text of 1,000,000 characters among 500"
    with pytest.raises(InputError, match=f"{rule}; {found}"):
        head_beside_tokens(tmp_path, 500)


def test_added_tokens_are_set_aside_where_they_are_called_special(tmp_path):
    added = [
        {"id": 1, "content": "x", "special": False},
        {"id": 2, "content": "</s>", "special": True},
    ]
    (tmp_path / "tokenizer.json").write_text(
        json.dumps({"model": {"vocab": {"a": 0}}, "added_tokens": added})
    )
    head = head_beside_tokens(tmp_path, 4)
    assert head.right_names.tolist() == ["a", "x", "</s>", "<padding 3>"]
    assert head.right_aside.tolist() == [False, False, True, True]


NORMALIZED = [
    {"idx": 0, "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "type": "sentence_transformers.models.Normalize"},
]
SAYING = [
    ("modules.json", NORMALIZED, "sentence-transformers", "compared-cosine"),
    (
        "config_sentence_transformers.json",
        {"similarity_fn_name": "dot"},
        "msmarco-dot",
        "compared-dot",
    ),
    ("config.json", {"model_type": "siglip"}, "siglip", "cosine"),
]


def write_towers(path, *, scale=1.0, **numbers):
    draw = np.random.default_rng(0)
    towers = [draw.standard_normal((n, 4)) for n in (40, 30)]
    users, items = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in towers)
    np.savez(path, user_factors=scale * users, item_factors=scale * items, **numbers)


@pytest.mark.parametrize(
    "name", ["logit_scale", "logit_bias", "model.logit_scale", "temperature", "tau"]
)
def test_a_number_beside_two_unit_towers_says_that_there_was_a_temperature(
    tmp_path, name
):
    path = tmp_path / "towers.npz"
    write_towers(path, **{name: np.float32(2.66)})
    found = ea.audit(path, n_gauges=1, n_pairs=50)
    assert (found.model.link.name, found.model.objective) == ("cosine", "temperature")
    assert found.answer.word == "BY CONVENTION"
    assert f"as {name} in towers.npz says" in found.answer.because
    # Options override it.
    fixed = ea.audit(path, objective="fixed-temperature", n_gauges=1, n_pairs=50)
    assert fixed.answer.word == "YES"
    assert ea.load(path, link="identity").objective is None


def test_no_temperature_is_read_where_rows_are_longer_or_the_number_is_a_vector(
    tmp_path,
):
    path = tmp_path / "towers.npz"
    write_towers(path, scale=2.0, logit_scale=np.float32(2.66))
    assert ea.load(path).objective is None
    write_towers(path, logit_scale=np.ones(3))
    assert (ea.load(path).objective, ea.load(path).link.name) == (None, "unknown")


def test_the_configuration_of_clip_speaks_of_two_towers_in_its_folder(tmp_path):
    path = tmp_path / "towers.npz"
    write_towers(path)
    assert ea.load(path).link.name == "unknown"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "clip"}))
    found = ea.audit(path, n_gauges=1, n_pairs=50)
    assert (found.model.link.name, found.answer.word) == ("cosine", "BY CONVENTION")
    assert "(clip, as config.json says)" in found.answer.because


@pytest.mark.parametrize(("name", "content", "word", "link"), SAYING)
def test_the_folder_is_named_as_the_source(tmp_path, name, content, word, link):
    np.save(tmp_path / "v.npy", np.random.default_rng(0).standard_normal((40, 4)))
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    found = ea.audit(tmp_path / "v.npy", n_gauges=1, n_pairs=50)
    answers = {"siglip": "BY CONVENTION", "msmarco-dot": "UNKNOWN"}
    answer = answers.get(word, "YES")
    assert (found.model.objective, found.model.link.name, found.answer.word) == (
        word,
        link,
        answer,
    )
    if word != "siglip":
        (together,) = (note for note in found.notes if note.code == "together")
        assert f"({word}, as {name} says)" in together.text
        assert f"({word}, as {name} in v.npy says)" not in found.explain()
    assert ea.load(tmp_path / "v.npy", objective="word2vec").objective == "word2vec"
    with pytest.raises(
        InputError,
        match=rf"an encoder \({word}, as {name} says\); export them in Python: numpy",
    ):
        ea.load(tmp_path)


def test_modules_of_an_encoder_say_nothing_of_tensors_of_its_checkpoint(tmp_path):
    """The table of tokens was compared with nothing, whatever the outputs were."""
    rows = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
    path = tmp_path / "model.safetensors"
    save_file({"embeddings.word_embeddings.weight": rows}, path)
    (tmp_path / "modules.json").write_text(json.dumps(NORMALIZED), encoding="utf-8")
    found = ea.audit(path, n_gauges=1, n_pairs=50, n_starts=0)
    assert found.model.objective is None
    assert found.answer.word == "UNKNOWN"
    declared = ea.audit(path, objective="none", n_gauges=1, n_pairs=50, n_starts=0)
    assert declared.answer.word == "NO"


def test_options_override_what_a_folder_says_and_the_report_names_it(tmp_path):
    np.save(tmp_path / "v.npy", np.random.default_rng(0).standard_normal((40, 4)))
    (tmp_path / "modules.json").write_text(json.dumps(NORMALIZED), encoding="utf-8")
    reading = ea.io.read(tmp_path / "v.npy", objective="word2vec")
    assert reading.model.objective == "word2vec"
    said = reading.intake.explain()
    assert "modules.json (sentence-transformers), which your options override" in said


@pytest.mark.parametrize("content", [NORMALIZED[:1], [], "{", {"modules": 3}])
def test_modules_without_a_normalising_layer_say_nothing(tmp_path, content):
    np.save(tmp_path / "v.npy", np.eye(4))
    (tmp_path / "modules.json").write_text(json.dumps(content), encoding="utf-8")
    assert ea.load(tmp_path / "v.npy").objective is None
    line = ea.io.read(tmp_path / "v.npy").intake.line()
    assert ("whose encoder does not normalise its vectors" in line) == isinstance(
        content, list
    )
