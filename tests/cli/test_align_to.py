"""`embaudit fix NEW --align-to OLD`: what it writes and prints, and refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

import embaudit as ea

pytestmark = pytest.mark.usefixtures("inputs")


def test_the_command_writes_the_new_model_in_the_old_coordinates(embaudit):
    result = embaudit("fix", "twin.npz", "--align-to", "model.npz", "--out", "a.npz")
    assert result.code == 0
    old, found = ea.load("model.npz"), ea.load("a.npz")
    np.testing.assert_allclose(found.right, old.right, atol=1e-12)
    np.testing.assert_allclose(found.left, old.left, atol=1e-12)
    text = " ".join(result.out.split())
    assert "Every score and bias stays. Old and new vectors may be mixed for" in text
    assert "30 shared items are 0.0° apart on average; before the alignment" in text
    assert "a.npz, read back and verified" in text


def test_the_command_says_when_old_and_new_vectors_may_not_be_mixed(embaudit):
    new = ea.load("model.npz")
    rows = np.random.default_rng(0).standard_normal(new.right.shape)
    ea.save(new.replace(right=rows), "new.npz")
    result = embaudit("fix", "new.npz", "--align-to", "model.npz", "--out", "a.npz")
    text = " ".join(result.out.split())
    assert result.code == 0
    assert "Do not mix old and new vectors for" in text
    assert "mixed vectors keep" in text


def test_compare_names_the_command_as_the_next_step(embaudit):
    command = "embaudit fix NEW --align-to OLD"
    result = embaudit("compare", "model.npz", "twin.npz", "--json", "c.json")
    assert command in " ".join(result.out.split())
    with open("c.json") as file:  # noqa: PTH123
        record = json.load(file)
    assert record["mixable"] == ["user → user", "item → item", "user → item"]
    result = embaudit("compare", "model.npz", "model.npz")
    assert command not in " ".join(result.out.split())


def test_json_holds_the_figures(embaudit):
    arguments = ["--align-to", "model.npz", "--role", "item", "--out", "v.parquet"]
    assert embaudit("fix", "other.npz", *arguments, "--json", "a.json").code == 0
    with open("a.json") as file:  # noqa: PTH123
        record = json.load(file)
    expected = ea.fix("other.npz", align_to="model.npz", role="item")
    assert record["alignment"] == json.loads(json.dumps(expected.alignment.to_dict()))
    assert record["kind"] == "aligned"
    assert record["schema_version"] == 1


def test_options_for_reading_apply_to_both_models(embaudit):
    rows = np.load("items.npy")
    np.save("turned.npy", rows @ np.linalg.qr(np.vander(np.arange(4.0)))[0])
    arguments = ["--align-to", "items.npy", "--kind", "vectors", "--by-row"]
    result = embaudit("fix", "turned.npy", *arguments, "--out", "v.npy")
    assert result.code == 0
    np.testing.assert_allclose(np.load("v.npy"), rows, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--as", "balanced"], "--as must be omitted if vectors are aligned"),
        (["--dimensions", "2"], "--dimensions must be omitted if vectors are aligned"),
        (["--json", "model.npz"], "model.npz"),
    ],
)
def test_refusals_are_one_sentence_and_nothing_is_written(
    embaudit, arguments, sentence, tmp_path
):
    before = sorted(tmp_path.iterdir())
    result = embaudit(
        "fix", "twin.npz", "--align-to", "model.npz", "--out", "a.npz", *arguments
    )
    assert result.code == 2
    assert sentence in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_tables_without_ids_are_not_matched_by_their_order_alone(embaudit):
    result = embaudit(
        "fix",
        "unit.npy",
        "--align-to",
        "items.npy",
        "--kind",
        "vectors",
        "--out",
        "v.npy",
    )
    assert result.code == 2
    assert "--by-row" in result.err
