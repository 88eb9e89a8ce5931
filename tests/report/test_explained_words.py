"""`embaudit explain` explains the headings of tables, the codes and the answers of every page and screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from models import random_model
from report.results_shown import KINDS, shown

import embaudit as ea
from embaudit.auditing.texts import ANSWERS, CODES, WORDS, entry
from embaudit.model.final_norm import FinalNorm
from embaudit.report.documents import document

SCREENS = Path(__file__).parents[1] / "cli" / "screens"
HEAD = random_model(n=None, p=30, k=4, link="softmax", means=(0, 2))
AUDITED = {
    "recommender": random_model(p=30, k=4, right_bias=range(30)),
    "head": HEAD.replace(final_norm=FinalNorm("rms", [1, 2, 3, 4])),
    "one side": random_model(n=None, p=30, k=4),
}


def names(view):
    """Return the headings of a document, but for names of its own rows, sides and levels."""
    grids = [*view.grids, *(one.grid for one in view.lists)]
    found = {heading for grid in grids for heading in grid.headings}
    glance = view.glance
    found |= (
        set()
        if glance is None
        else {*glance.grid.headings, *(title for title, _ in glance.groups)}
    )
    found = {heading for heading in found if not re.fullmatch(r"\d* ?%?", heading)}
    return {re.split(r" \(of |: diagonal| \d$", heading)[0] for heading in found}


def is_known(name):
    try:
        return bool(entry(name))
    except ea.InputError:
        return False


@pytest.mark.parametrize("kind", [*AUDITED, *KINDS])
def test_every_heading_of_a_page_is_explained(kind):
    result = (
        ea.audit(AUDITED[kind], n_gauges=1, n_starts=0)
        if kind in AUDITED
        else shown(kind)
    )
    view = document(result)
    sides = {"user", "item", "users", "items"} if kind == "compare" else set()
    own = set() if kind != "simpson" else {one.name[:40] for one in result.groupings}
    own |= {"in the first model", "in the second model"}
    unknown = [
        name
        for name in names(view) - sides
        if not any(name.startswith(part[:20]) for part in own)
    ]
    assert [name for name in unknown if not is_known(name)] == []
    for word, _ in (*view.words, *view.glossary):
        assert entry(word).name in WORDS


def test_codes_and_answers_of_screens_are_explained():
    for path in SCREENS.glob("*.txt"):
        text = path.read_text()
        assert {entry(code).name for code in re.findall("EMB[0-9]{3}", text)} <= set(
            CODES
        )
        answer = re.search("^([A-Z ]+): ", text, re.MULTILINE)[1]
        assert entry(answer).name == answer
    assert all(
        map(
            is_known,
            (
                "Seen in",
                "item-item",
                "average row",
                "special rows",
                "tip",
                "lost",
                "stretch",
            ),
        )
    )
    assert all(
        map(
            is_known,
            ("rotation", "shared", "rows", "known", "direction", "balanced cosine"),
        )
    )
    assert {entry(row.word).name for row in ANSWERS} == {
        "YES",
        "NO",
        "AS A CONVENTION",
        "CANNOT BE SAID",
    }


def test_a_number_in_a_heading_is_ignored_and_an_unknown_word_refused():
    assert entry("10 nearest lost") is entry("5 nearest lost") is WORDS["nearest lost"]
    assert entry("top-20 kept") is WORDS["nearest lost"]
    assert entry("emb202").name == "EMB202"
    with pytest.raises(ea.InputError, match="must be a code or a word"):
        entry("12")
