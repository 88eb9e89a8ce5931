"""Parts of the first screen: their order, their lengths, and figures of the table."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from models import one_sided_vectors, random_model
from screens import table_of

import embaudit as ea
from embaudit.auditing.glance import glance_of
from embaudit.report.next_steps import Invocation
from embaudit.report.terminal import first_screen

FEW = {"n_gauges": 1, "n_starts": 0}
N_LISTED = 10


def recommender():
    """Return a model whose items are shared out unevenly over the dimensions."""
    names = [f"film {i}" for i in range(40)]
    return random_model(p=40, k=4, scales=([5, 3, 2, 1], 1), right_names=names)


def screen_of(model, named=(), **options):
    """Return the first screen of a small audit."""
    found = ea.audit(model, **FEW, **options)
    return first_screen(found, Invocation("model.npz"), named)


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def nearest(rows, n):
    """Return the set of the n nearest other rows of each row."""
    similar = cosines(rows)
    np.fill_diagonal(similar, -np.inf)
    return [set(row) for row in np.argsort(-similar, axis=1)[:, :n]]


def share_kept(before, after, n=N_LISTED):
    """Return the mean share of the n nearest rows that stay."""
    pairs = zip(nearest(before, n), nearest(after, n), strict=True)
    return np.mean([len(old & new) / n for old, new in pairs])


def figures(model, role, **options):
    """Return the figures of one kind of pairs by question and measure."""
    glance = glance_of(ea.audit(model, **FEW, **options).evidence)
    column = glance.pairs.index(role)
    return {(row[0], row[1]): row[2][column] for row in glance.rows}


def percentage(text):
    return float(text.removesuffix(" %"))


def test_the_parts_of_a_screen_stand_in_a_fixed_order():
    starts = [
        "model.npz: two tables, 40 users × 40 items, 4 dimensions",
        "Are these item-item cosines fixed by what the model predicts?",
        "To compare items by their predictions",
        "EMB102 tip: ",
        "Nearest to film ",
        " item-item ",
        "99 % of all 780 pairs have a cosine of at most ",
        "Served from an index? ",
    ]
    parts = screen_of(recommender()).split("\n\n")
    assert len(parts) == len(starts)
    for part, start in zip(parts, starts, strict=True):
        assert part.lstrip().startswith(start.lstrip())


def test_a_part_that_is_empty_is_left_out():
    """Two rows have one cosine, so they have neither lists nor a scale."""
    parts = screen_of(np.array([[1.0, 0.0], [1.0, 2.0]]), compared="cosine").split(
        "\n\n"
    )
    assert [part.split()[0] for part in parts] == [
        "model.npz:",
        "Are",
        "Use",
        "EMB407",
        "item-item",
        "Everything:",
    ]


@pytest.fixture
def audited():
    return ea.audit(recommender(), **FEW)


def with_findings(audit, count):
    """Return the audit with that many findings, which are of other codes."""
    finding = audit.findings[0]
    several = [
        replace(finding, code=f"EMB9{n:02}", title=f"case {n}") for n in range(count)
    ]
    vars(audit)["findings"] = tuple(several)
    return several


@pytest.mark.parametrize(
    ("count", "n_lines", "more"),
    [(3, 3, None), (4, 3, "1 more: --full"), (7, 3, "4 more: --full")],
)
def test_three_findings_have_a_line_and_the_others_are_counted(
    audited, count, n_lines, more
):
    with_findings(audited, count)
    screen = first_screen(audited, Invocation("model.npz"))
    assert len(re.findall(r"^EMB9\d\d tip: case \d$", screen, re.MULTILINE)) == n_lines
    assert re.findall(r"^\d more: --full$", screen, re.MULTILINE) == [more] * bool(more)


def test_findings_that_a_gate_names_all_stand_and_come_first(audited):
    findings = with_findings(audited, 6)
    named = findings[1:6]
    screen = first_screen(audited, Invocation("model.npz"), named)
    codes = re.findall(r"^(EMB9\d\d) ", screen, re.MULTILINE)
    assert codes == [finding.code for finding in named]
    assert "1 more: --full" in screen


def test_a_finding_whose_title_the_answer_quotes_is_not_repeated():
    model = random_model(n=None, p=40, k=4, link="softmax", means=(0, 2))
    found = ea.audit(model, **FEW)
    screen = first_screen(found, Invocation("head.npz"))
    titles = {finding.code: finding.title for finding in found.findings}
    assert titles["EMB301"].lower() in found.answer.because.lower()
    assert "EMB301" not in screen
    assert "EMB102 tip: " in screen


@pytest.mark.parametrize("names", [(), ("film 3",), ("film 3", "film 11", "film 20")])
def test_every_row_that_was_asked_for_has_a_list_of_five(names):
    screen = screen_of(recommender(), show=names)
    lists = re.findall(r"^Nearest to (film \d+):\n(?:.+\n){6}", screen, re.MULTILINE)
    assert len(lists) == max(1, len(names))
    assert not names or lists == list(names)


@pytest.mark.parametrize(
    ("model", "count"),
    [(recommender(), 1), (random_model(n=None, p=40, k=4), 2)],
    ids=["NO", "UNKNOWN"],
)
def test_one_command_stands_or_two_where_either_may_decide(model, count):
    screen = screen_of(model)
    assert len(re.findall(r"^  embaudit ", screen, re.MULTILINE)) == count


def test_lists_by_predictions_keep_the_share_that_the_scores_say():
    model = recommender()
    scores = (model.left @ model.right.T).T
    found = figures(model, "item-item", n_lists=40)
    told = found["change if compared by their predictions", "10 nearest kept"]
    assert percentage(told) == round(100 * share_kept(model.right, scores))


def test_another_model_changes_at_least_what_whitening_the_users_does():
    model = recommender()
    q, r = np.linalg.qr(model.left)
    np.testing.assert_allclose(q @ (model.right @ r.T).T, model.left @ model.right.T)
    found = figures(model, "item-item", n_lists=40)
    same = "largest change found among models with the same scores"
    kept = share_kept(model.right, model.right @ r.T)
    places = np.triu_indices(40, 1)
    moved = np.abs(cosines(model.right) - cosines(model.right @ r.T))[places].mean()
    assert percentage(found[same, "10 nearest kept"]) <= round(100 * kept)
    assert float(found[same, "average change of a cosine"]) >= round(moved, 2)


@pytest.mark.parametrize("mean", [3.0, 30.0])
def test_a_head_changes_at_least_what_subtracting_its_mean_row_does(mean):
    """No random translation is as long as the mean row, which is a convention too."""
    rows = random_model(p=40, k=4, means=(0, mean)).right
    head = ea.FactorModel.from_softmax(rows)
    centred = head.right - head.right.mean(axis=0)
    found = figures(head, "label-label", groups=["diagonal"])
    same = "largest change found among models with the same probabilities"
    places = np.triu_indices(40, 1)
    moved = np.abs(cosines(head.right) - cosines(centred))[places].mean()
    assert float(found[same, "average change of a cosine"]) == round(moved, 2)
    kept = share_kept(head.right, centred)
    assert percentage(found[same, "10 nearest kept"]) <= round(100 * kept)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({}, "scores"),
        ({"compared": "cosine"}, "predicted cosines"),
        ({"compared": "dot"}, "products"),
        ({"compared": "distance"}, "distances"),
    ],
)
def test_the_table_says_what_the_models_have_in_common(options, same):
    rows = random_model(n=None, p=40, k=4).right
    screen = screen_of(rows, **options)
    assert f"largest change found among models with the same {same}\n" in screen
    assert ("A score is the product of" in screen) == (same == "scores")


def test_no_word_of_the_first_screen_needs_gauges():
    for model in (recommender(), random_model(n=None, p=40, k=4, link="softmax")):
        assert not re.search(r"κ|gauge|budget|certified|whitened", screen_of(model))


TABLES = {
    "lm-stories260K": """\
                               label-label
largest change found among models with the same probabilities
  10 nearest kept                     72 %
  average change of a cosine          0.64
""",
    "factors": """\
                               item-item   user-user   user-item
change if compared by their predictions
  10 nearest kept                   86 %        83 %           –
largest change found among models with the same scores
  10 nearest kept                   73 %        81 %           –
  average change of a cosine        0.12        0.21        0.03
Duplicate rows count once.
""",
    "product": """\
                               item-item   user-user   user-item
change if compared by their predictions
  10 nearest kept                   77 %      99.9 %           –
largest change found among models with the same scores
  10 nearest kept                   71 %        71 %           –
  average change of a cosine        0.13        0.31        0.04
Duplicate rows count once.
""",
    "normalised": """\
                               item-item
largest change found among models with the same scores
  10 nearest kept                   56 %
  average change of a cosine        0.16
A score is the product of a row with a row of the second table.
""",
    "orthonormal": """\
                               item-item
largest change found among models with the same scores
  10 nearest kept                   54 %
  average change of a cosine        0.14
A score is the product of a row with a row of the second table.
""",
    "common-mean": """\
                               item-item
largest change found among models with the same scores
  10 nearest kept                   55 %
  average change of a cosine        0.32
A score is the product of a row with a row of the second table.
""",
}
"""The whole tables of a language model, of factors fitted to MovieLens, and of vectors.
"""
FEW_OF_COMMAND = ("--n-gauges", 1, "--n-starts", 1, "--n-steps", 1)


def audited_file(name, embaudit, shared_data):
    """Put a model into the current folder, and return the path of its file."""
    if name == "lm-stories260K":
        return shared_data(name)
    if name in ("factors", "product"):
        ratings = shared_data("ml-latest-small") / "ratings.csv"
        training = ("--objective", name, "--n-components", 20)
        embaudit("fit", ratings, *training, "--out", f"{name}.npz")
        return f"{name}.npz"
    np.save(f"{name}.npy", one_sided_vectors()[name])
    return f"{name}.npy"


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_of_models_are_those_that_were_reviewed(embaudit, shared_data, name):
    file = audited_file(name, embaudit, shared_data)
    screen = embaudit("audit", file, *FEW_OF_COMMAND).out
    assert table_of(screen) == TABLES[name]
