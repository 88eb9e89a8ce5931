"""`embaudit audit FOLDER --attention LAYER.HEAD`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from attention_files import GPT2, LLAMA, WIDTH, folder_of

import embaudit as ea


@pytest.fixture(autouse=True)
def _folders(embaudit):
    """Write two networks to the folder that `embaudit` enters."""
    folder_of(Path("llama"), LLAMA)
    folder_of(Path("gpt2"), GPT2)


def test_the_answer_and_a_table_are_printed(embaudit):
    result = embaudit("audit", "llama", "--attention", "0.1")
    assert result.code == 0
    text = " ".join(result.out.split())
    assert text.startswith(
        "NO: what head 1 of layer 0 computes does not fix the cosines of its keys, "
        "queries and values. Keys: a scale of each of the 2 rotary planes changes no "
        "attention weight."
    )
    assert "rows fixed? mean width of ranges moved in a drawn head" in text


def test_the_page_and_the_record_hold_the_figures(embaudit):
    arguments = ["--attention", "0.2", "--out", "h.html", "--json", "h.json"]
    assert embaudit("audit", "gpt2", *arguments).code == 0
    page = Path("h.html").read_text(encoding="utf-8")
    assert "Are the cosines fixed in head 2 of layer 0?" in page
    record = json.loads(Path("h.json").read_text(encoding="utf-8"))
    expected = json.loads(json.dumps(ea.audit_attention("gpt2", 0, 2).to_dict()))
    assert {name: record[name] for name in expected} == expected


def test_states_enter_other_layers(embaudit):
    refused = embaudit("audit", "llama", "--attention", "1.0")
    assert refused.code == 2
    assert "pass the states that enter the layer with --states FILE" in refused.err
    states = np.random.default_rng(0).standard_normal((30, WIDTH))
    np.save("states.npy", states)
    result = embaudit("audit", "llama", "--attention", "1.0", "--states", "states.npy")
    assert result.code == 0
    assert "Measured on all 30 states." in " ".join(result.out.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--attention", "x"], "--attention must be LAYER.HEAD, two integers from 0;"),
        (["--attention", "0.9"], "head must be from 0 to 3; got 9."),
        (["--attention", "0"], "--attention must be LAYER.HEAD"),
        (["--attention", "0.0", "--served", "dot"], "--served must be omitted"),
        (["gpt2", "--attention", "0.0"], "a second path must be omitted"),
    ],
)
def test_arguments_are_refused(embaudit, arguments, sentence):
    result = embaudit("audit", "llama", *arguments)
    assert result.code == 2
    assert sentence in " ".join(result.err.split())
