"""Options have one name in Python and on the command line; former spellings work, and a wrong one names the nearest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError

FEW = ("--n-gauges", 1, "--n-pairs", 50, "--n-starts", 1, "--n-steps", 2, "--n-lists", 5)


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    np.savez("m.npz", user_factors=draw.standard_normal((40, 4)), item_factors=draw.standard_normal((30, 4)))
    return "m.npz"


def test_former_spellings_are_the_same_options_and_hidden(model, embaudit):
    assert embaudit("audit", model, *FEW, "--n-neighbours", 3, "--json", "new.json").code == 0
    old = [str(word).replace("--n-", "--") for word in FEW]
    assert embaudit("audit", model, *old, "--top", 3, "--json", "old.json").code == 0
    new, old = (json.loads(Path(name).read_text(encoding="utf-8"))["options"] for name in ("new.json", "old.json"))
    assert new == old
    assert new["n_neighbours"] == 3
    shown = embaudit("audit", "--help").out + embaudit("explain", "audit").out
    assert "--n-neighbours" in shown
    assert "--top" not in shown


def test_settings_take_both_names(model, embaudit):
    Path("embaudit.toml").write_text("n-neighbours = 4\n", encoding="utf-8")
    assert embaudit("audit", model, *FEW, "--json", "a.json").code == 0
    assert json.loads(Path("a.json").read_text(encoding="utf-8"))["options"]["n_neighbours"] == 4


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: ea.audit("m.npz", n_neighbors=3), "n_neighbours"),
        (lambda: ea.load("m.npz", objektive="bpr"), "objective"),
        (lambda: ea.compare("m.npz", "m.npz", byrow=True), "by_row"),
        (lambda: ea.fix("m.npz", dimension=3), "dimensions"),
        (lambda: ea.evaluate_similarities("m.npz", ["a", "b"] * 15, rolle="item"), "role"),
    ],
)
def test_a_wrong_keyword_names_the_nearest(model, call, near):
    with pytest.raises(InputError, match=f"the nearest one is {near}") as refused:
        call()
    assert isinstance(refused.value, TypeError)


def test_labels_judge_the_model_of_a_path(model):
    found = ea.evaluate_similarities(model, ["a", "b"] * 15)
    assert found.to_dict() == ea.evaluate_similarities(ea.load(model), ["a", "b"] * 15).to_dict()


def test_one_side_alone_is_centred_and_a_frame_holds_its_vectors(model, embaudit):
    rows = np.load(model)["item_factors"]
    remedy = ea.fix(ea.FactorModel.from_vectors(rows, ids=[f"i{n}" for n in range(30)]), unit=True)
    frame = remedy.to_frame()
    assert (remedy.kind, list(frame), frame["id"][3]) == ("centred", ["id", "title", "vector"], "i3")
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(np.stack(frame["vector"]), centred / np.linalg.norm(centred, axis=1, keepdims=True))
    np.save("v.npy", rows)
    assert embaudit("fix", "v.npy", "--out", "f.npy").code == 0
    np.testing.assert_allclose(np.load("f.npy"), centred)
    assert list(ea.fix(model, "balanced").to_frame()) == ["role", "id", "title", "vector"]
    with pytest.raises(InputError, match="prediction vectors must be read from the predictions"):
        ea.fix("v.npy", "prediction")


@pytest.mark.parametrize("word", ["YES", "NO", "as a convention", "CANNOT BE SAID"])
def test_answers_are_explained(embaudit, word):
    result = embaudit("explain", *word.split())
    assert (result.code, result.out.split(" (also")[0].splitlines()[0]) == (0, word.upper())
