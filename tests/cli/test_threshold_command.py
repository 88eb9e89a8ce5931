"""`embaudit threshold MODEL`: which cosines are high, and which threshold to use."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import embaudit as ea

TOPICS = np.arange(200) % 40
IDS = [f"t{row}" for row in range(200)]


@pytest.fixture(autouse=True)
def _tables(embaudit):
    """Write two models, groups and labelled pairs to the folder of `embaudit`."""
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((40, 12))[TOPICS] + draw.standard_normal((200, 12))
    ea.save(ea.FactorModel.from_vectors(rows, ids=IDS), "texts.npz")
    ea.save(ea.FactorModel.from_vectors(np.tanh(rows), ids=IDS), "new.npz")
    pd.DataFrame({"id": IDS, "topic": TOPICS, "all": 1}).to_csv(
        "topics.csv", index=False
    )
    records = []
    for query in range(80):
        records += [(query, query + 80, 1), (query, query + 120, 1)]
        others = draw.choice(np.arange(80, 200), 5, replace=False)
        others = others[TOPICS[others] != TOPICS[query]]
        records += [(query, row, 0) for row in others.tolist()]
    pairs = pd.DataFrame(records, columns=["a", "b", "label"])
    pairs[["a", "b"]] = "t" + pairs[["a", "b"]].astype(str)
    pairs.to_csv("pairs.csv", index=False)
    permuted = pairs.assign(label=draw.permutation(pairs["label"]))
    permuted.to_csv("permuted.csv", index=False)


GROUPS = ("--items", "topics.csv", "--groups", "topic")


def words(text):
    return " ".join(text.split())


def test_the_cut_the_score_and_levels_are_printed(embaudit):
    result = embaudit("threshold", "texts.npz", "--score", "0.9", *GROUPS)
    assert result.code == 0
    found = ea.threshold("texts.npz", groups=TOPICS, score=0.9)
    text = words(result.out)
    assert text.startswith(f"Cut at {found.threshold:.2f}: at most 1 % of unrelated")
    assert words(found.conclusion) in text
    assert "0.9 is high: " in text
    assert "at most cosine of 199 items" in text


def test_labels_print_a_table_of_errors(embaudit):
    result = embaudit("threshold", "texts.npz", "--pairs", "pairs.csv", *GROUPS)
    text = words(result.out)
    assert result.code == 0
    assert "for 40 queries that took no part in the choice" in text
    headings = "cut at recall precision false positives per query of unrelated pairs"
    assert headings in text


def test_permuted_labels_have_no_threshold(embaudit):
    arguments = ["threshold", "texts.npz", "--pairs", "permuted.csv"]
    result = embaudit(*arguments, "--out", "cut.json")
    assert result.code == 0
    assert words(result.out).startswith("No threshold separates these pairs")
    assert json.loads(Path("cut.json").read_text())["threshold"] is None


@pytest.mark.parametrize(
    "arguments",
    [(), ("--pairs", "pairs.csv"), ("--level", 0.05), ("--to", "new.npz")],
)
def test_a_service_reads_the_cut_from_json(embaudit, arguments):
    result = embaudit("threshold", "texts.npz", *arguments, "--out", "cut.json")
    assert result.code == 0
    settings = json.loads(Path("cut.json").read_text())
    schema = json.loads(embaudit("schema", "threshold").out)
    assert not list(Draft202012Validator(schema).iter_errors(settings))
    assert set(settings) == set(schema["properties"]) == set(schema["required"])
    options = {"level": 0.05} if "--level" in arguments else {}
    if "--pairs" in arguments:
        options["pairs"] = "pairs.csv"
    if "--to" in arguments:
        options["to"] = "new.npz"
    expected = ea.threshold("texts.npz", **options).settings()
    assert settings == json.loads(json.dumps(expected))
    # The fingerprint is that of the audit.
    audit = ea.audit("texts.npz", quick=True, n_pairs=20)
    assert settings["model"]["fingerprint"] == audit.fingerprint


def test_outputs_are_not_overwritten_without_force(embaudit):
    Path("cut.json").write_text("{}")
    result = embaudit("threshold", "texts.npz", "--out", "cut.json")
    assert result.code == 2
    assert "--force" in result.err
    assert Path("cut.json").read_text() == "{}"
    assert embaudit("threshold", "texts.npz", "--out", "cut.json", "--force").code == 0
    assert json.loads(Path("cut.json").read_text())["threshold"]


def test_the_page_and_the_record_hold_the_figures(embaudit):
    arguments = ["--pairs", "pairs.csv", "--to", "new.npz"]
    outputs = ["--out", "t.html", "--json", "t.json"]
    result = embaudit("threshold", "texts.npz", *arguments, *outputs)
    assert result.code == 0
    page = Path("t.html").read_text(encoding="utf-8")
    assert "Where to set the cut-off?" in page
    assert "what passes a cut" in page
    record = json.loads(Path("t.json").read_text(encoding="utf-8"))
    found = ea.threshold("texts.npz", pairs="pairs.csv", to="new.npz")
    expected = json.loads(json.dumps(found.to_dict()))
    assert {name: record[name] for name in expected} == expected
    assert "In the other model, cut at" in words(result.out)


def test_groups_of_both_sides_have_a_table_each(embaudit):
    draw = np.random.default_rng(0)
    model = ea.FactorModel.from_user_item(
        draw.standard_normal((30, 4)),
        draw.standard_normal((60, 4)),
        user_ids=[f"q{i}" for i in range(30)],
        item_ids=[f"d{i}" for i in range(60)],
    )
    ea.save(model, "two.npz")
    left, right = np.arange(30) % 6, np.arange(60) % 6
    pd.DataFrame({"id": model.left_ids, "topic": left}).to_csv("q.csv", index=False)
    pd.DataFrame({"id": model.right_ids, "topic": right}).to_csv("d.csv", index=False)
    arguments = ["--groups", "topic", "--items", "d.csv"]
    result = embaudit("threshold", "two.npz", *arguments, "--left-items", "q.csv")
    assert result.code == 0
    found = ea.threshold(model, groups=[left, right])
    assert words(found.conclusion) in words(result.out)
    assert "300 pairs of one group do not count" in words(result.out)
    result = embaudit("threshold", "two.npz", *arguments)
    assert result.code == 2
    assert "--left-items must be given with --groups for user-item pairs" in result.err
    one_side = embaudit("threshold", "two.npz", *arguments, "--role", "item")
    assert one_side.code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--groups", "topic"], "--groups must be given with --items"),
        (["--left-items", "topics.csv"], "--left-items must be given with --groups"),
        (
            ["--items", "topics.csv", "--groups", "subject"],
            "the groups column must be one of id, topic, all",
        ),
        (
            ["--items", "topics.csv", "--groups", "all"],
            "--groups must be labels that differ between some rows",
        ),
        (["--level", "2"], "--level must be a share of unrelated pairs"),
        (["--by", "share"], "--by must be omitted unless --to"),
        (["--scoring", "f1"], "--scoring must be omitted unless --pairs"),
        (["--to", "new.npz", "--by", "error"], "--pairs must be given if a threshold"),
        (["--out", "cut.csv"], "--out must be a file that ends in .json for a service"),
        (["--pairs", "topics.csv"], "must be a, b and label; got id, topic, all"),
        (["--role", "cross"], "user factors must be loaded for this; got item factors"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(embaudit, arguments, sentence):
    result = embaudit("threshold", "texts.npz", *arguments)
    assert result.code == 2
    assert sentence in words(result.err)
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("t0,t9,2", "1 for related and 0 for unrelated pairs; got 2 in line 3"),
        ("t0,t9,", "got an empty cell in line 3"),
        ("t0,x,0", "got x, which the model lacks, in line 3 (1 such row)"),
        ("t0,t0,0", "the same row twice in line 3"),
        ("t90,t0,0", "the same pair with both labels in line 2 and line 3"),
    ],
)
def test_a_wrong_line_of_pairs_is_named(embaudit, line, sentence):
    Path("wrong.csv").write_text(f"a,b,label\nt0,t90,1\n{line}\n")
    result = embaudit("threshold", "texts.npz", "--pairs", "wrong.csv")
    assert result.code == 2
    assert sentence in words(result.err)


def test_a_model_with_names_and_no_ids_is_told_to_read_the_names_as_ids(embaudit):
    np.save("rows.npy", np.random.default_rng(0).standard_normal((30, 4)))
    Path("names.txt").write_text("".join(f"film {row}\n" for row in range(30)))
    pairs = [f"film {row},film {row + 15},{row % 2}" for row in range(15)]
    Path("pairs.csv").write_text("\n".join(["a,b,label", *pairs]))
    command = ("threshold", "rows.npy", "--pairs", "pairs.csv")
    result = embaudit(*command, "--labels", "names.txt")
    assert result.code == 2
    assert words(result.err) == (
        "embaudit: column a of pairs.csv must be row numbers of items, from 0 to 29, "
        "because the model has no ids; got film 0, the name of one item, in line 2 "
        "(15 such rows); give the file of the names as --ids FILE."
    )
    assert embaudit(*command, "--ids", "names.txt").code == 0


def test_unknown_ids_of_the_left_side_name_the_option_for_its_ids(embaudit):
    draw = np.random.default_rng(0)
    arrays = {"user_factors": (40, 4), "item_factors": (30, 4)}
    np.savez("m.npz", **{name: draw.random(shape) for name, shape in arrays.items()})
    Path("pairs.csv").write_text("a,b,label\nu1,2,1\n")
    result = embaudit("threshold", "m.npz", "--pairs", "pairs.csv")
    assert result.code == 2
    assert "row numbers of users, from 0 to 39" in words(result.err)
    assert "give the ids of the rows with --left-ids FILE" in words(result.err)


@pytest.mark.parametrize("suffix", [".parquet", ".safetensors"])
def test_label_vectors_that_fix_wrote_are_called_labels(embaudit, suffix):
    draw = np.random.default_rng(0)
    np.savez("head.npz", W=draw.standard_normal((30, 4)), b=draw.standard_normal(30))
    np.save("states.npy", draw.standard_normal((50, 4)))
    path = f"labels{suffix}"
    options = ("--kind", "head", "--inputs", "states.npy", "--as", "prediction")
    assert embaudit("fix", "head.npz", *options, "--out", path).code == 0
    assert "unrelated label-label pairs" in words(embaudit("threshold", path).out)
