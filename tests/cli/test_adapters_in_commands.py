"""`embaudit audit` and `embaudit compare` of low-rank adapters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from networks.adapters import pair, regauged, write_adapter

MODULES = {f"layers.{i}": pair(i, 80, 50, 4) for i in range(2)}


@pytest.fixture(autouse=True)
def _adapters(embaudit):
    """Write adapters to the folder that `embaudit` enters."""
    turned = {name: regauged(factors) for name, factors in MODULES.items()}
    write_adapter(Path("one"), MODULES)
    write_adapter(Path("turned"), turned)
    Path("v.csv").write_text("1,2\n3,4\n5,6\n")


@pytest.mark.parametrize("name", ["one", "one/adapter_model.safetensors"])
def test_an_audit_prints_the_conclusion_and_the_modules(embaudit, name):
    result = embaudit("audit", name)
    assert result.code == 0
    text = " ".join(result.out.split())
    assert text.startswith("No: cosines of rows of B, or of columns of A, say nothing.")
    assert "layers.1" in text


def test_an_audit_writes_its_files(embaudit):
    files = ["--json", "a.json", "--out", "a.html", "--markdown", "a.md"]
    options = ["--full", "--n-neighbours", "3", "--max-condition", "1000"]
    result = embaudit("audit", "one", *files, *options)
    assert result.code == 0
    assert "EMB601" in result.out
    record = json.loads(Path("a.json").read_text())
    condition = record["findings"][0]["scope"]["max_condition"]
    assert condition == pytest.approx(1000)
    assert record["modules"][0]["output_kept_by_chance"] == 3 / 79
    assert "EMB601" in Path("a.html").read_text()
    assert "say nothing" in Path("a.md").read_text()


def test_a_comparison_prints_the_answer_and_writes_its_files(embaudit):
    files = ["--json", "c.json", "--out", "c.html"]
    result = embaudit("compare", "one", "turned", *files)
    assert result.code == 0
    text = " ".join(result.out.split())
    assert text.startswith("The adapters are the same update in other factors.")
    record = json.loads(Path("c.json").read_text())
    assert record["likeness"] == "the same update in other factors"
    assert "Are these two adapters alike?" in Path("c.html").read_text()


def test_the_user_says_that_two_names_are_one_base_model(embaudit):
    """The second adapter is twice the first one, so their cosine is 1."""
    doubled = {name: (2 * b, a) for name, (b, a) in MODULES.items()}
    write_adapter(Path("named-one"), MODULES, base_model_name_or_path="base-of-one")
    write_adapter(Path("named-other"), doubled, base_model_name_or_path="base-of-other")
    result = embaudit("compare", "named-one", "named-other")
    text = " ".join(result.out.split())
    assert text.startswith("It is not decided whether the adapters are alike.")
    assert "base-of-one and base-of-other" in text
    result = embaudit("compare", "named-one", "named-other", "--same-base")
    assert result.out.startswith("The adapters are alike.")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("audit one --served cosine", "--served must be omitted for a low-rank"),
        ("audit one --fail-on issue", "--fail-on must be omitted"),
        ("audit one v.csv", "a further file must be omitted"),
        ("audit one --json one/adapter_config.json --force", "another file than the"),
        ("compare one", "the input must be two adapters; got one adapter"),
        ("compare one v.csv", "a low-rank adapter (LoRA) in safetensors"),
        ("compare v.csv one", "a low-rank adapter (LoRA) in safetensors"),
        ("compare one turned --role left", "--role must be omitted"),
        ("compare one turned --paired", "--paired must be omitted"),
        ("compare one turned one", "a further file must be omitted"),
        ("compare v.csv v.csv --same-base", "--same-base must be omitted unless"),
        ("fix one --out v.npz", "a low-rank adapter (LoRA); audit it with"),
    ],
)
def test_what_does_not_apply_to_adapters_is_refused(embaudit, words, text):
    result = embaudit(*words.split())
    assert result.code == 2
    assert text in result.err
    assert result.err.startswith("embaudit: ")
    assert len(result.err.splitlines()) == 1
