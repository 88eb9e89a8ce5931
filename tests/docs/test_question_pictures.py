"""Every question has a command and a picture, and committed pictures are what embaudit draws today."""

from __future__ import annotations

import re
import runpy
import sys
from base64 import b64decode
from io import BytesIO
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread
from pages import DOCS, PAGES, blocks

FOLDER = DOCS / "pictures"
QUESTIONS = re.split(r"^## ", PAGES["docs/questions.md"].read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
FIGURES = r"```\{figure\} (\S+)\n:alt: (.+)\n\n(.+(?:\n.+)*)\n```"
DRAWN = sorted(path.stem for path in FOLDER.glob("*.svg"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
IMAGE = r"data:image/png;base64,\s*([^\"]*)"
MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def draw():
    """What draws each picture, by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(DOCS), *sys.path])
        yield runpy.run_path(str(DOCS / "pictures.py"))["PICTURES"]


def texts(name):
    """What is read in a committed picture."""
    return [each.text for each in ET.parse(FOLDER / f"{name}.svg").iter("{http://www.w3.org/2000/svg}text")]


def dots(picture):
    """The picture without the images in it, and all their dots."""
    images = [imread(BytesIO(b64decode(one)), format="png") for one in re.findall(IMAGE, picture)]
    return re.sub(IMAGE, "image", picture), images


def moved(committed, drawn):
    """How far numbers of two pictures are apart, infinitely where anything else differs."""
    (committed, one), (drawn, other) = map(dots, (committed, drawn))
    if [image.shape for image in one] != [image.shape for image in other]:
        return np.inf
    if any(np.abs(first - second).mean() > 0.01 for first, second in zip(one, other, strict=True)):
        return np.inf
    if NUMBER.sub("#", committed) != NUMBER.sub("#", drawn):
        return np.inf
    one, other = (np.array(NUMBER.findall(text), dtype=float) for text in (committed, drawn))
    return float(np.abs(one - other).max())


def test_there_are_twelve_questions_each_with_a_command_and_a_picture():
    assert len(QUESTIONS) == 12
    for question in QUESTIONS:
        title = question.splitlines()[0]
        asked = [block for block in blocks(question) if block.language in ("console", "python")]
        assert asked, title
        figures = re.findall(FIGURES, question)
        assert len(figures) == 1, title
        path, alt, caption = figures[0]
        assert (DOCS / path).resolve().exists(), path
        assert 40 < len(alt) < 160, alt
        assert caption.rstrip().endswith("."), title


def test_every_picture_is_shown_and_small(draw):
    shown = [path for question in QUESTIONS for path, *_ in re.findall(FIGURES, question)]
    assert sorted(path for path in shown if path.startswith("pictures/")) == [f"pictures/{name}.svg" for name in DRAWN]
    assert sorted(draw) == DRAWN
    assert max((FOLDER / f"{name}.svg").stat().st_size for name in DRAWN) < MOST_BYTES


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "gate"])
def test_pictures_are_what_is_drawn_today(name, draw):
    # A search for the worst gauge may end a little elsewhere on another machine.
    assert moved((FOLDER / f"{name}.svg").read_text(encoding="utf-8"), draw[name]()) < 0.5, (
        "run `python docs/generate.py`"
    )


@pytest.mark.usefixtures("without_attacks")
def test_the_gate_passes_what_is_known_and_stops_at_what_is_new(draw):
    assert (FOLDER / "gate.svg").read_text(encoding="utf-8") == draw["gate"]()
    said = texts("gate")
    assert said[-4:] == ["gate", "passes", "passes", "stops"]
    at = said.index("50 % of item rows are copies of another row")
    assert said[at - 1 : at + 4] == ["EMB401", said[at], "–", "–", "issue, new"]


def test_a_number_that_moved_and_a_word_that_changed_are_noticed():
    assert moved("x 1.0 y -2", "x 1.2 y -2") == pytest.approx(0.2)
    assert moved("x 1", "x 9") == 8
    assert moved("x 1", "y 1") == np.inf
    assert moved("x 1", "x 1 2") == np.inf


def test_pictures_say_what_their_pages_say():
    assert texts("indexed")[1] == "All 18,000 predictions are the same, and so are the cosines of what is predicted."
    lists = texts("indexed")[-39:]
    columns = [[lists[at + 13 * i] for at in range(1, 13)] for i in range(3)]
    assert columns[0] == columns[1] == columns[2]
    assert columns[0][:2] == ["item 59", "0.91"]
    assert "together 0.55, their cosine." in " ".join(texts("dimensions"))
    assert "what so many of all 1,770 pairs of items stay below." in " ".join(texts("high"))


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_stands_alone_on_white(name):
    text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    assert root.get("aria-label")
    card = next(root.iter("{http://www.w3.org/2000/svg}rect"))
    width, height = map(float, root.get("viewBox").split()[2:])
    assert (card.get("fill"), float(card.get("width")), float(card.get("height"))) == ("#ffffff", width - 2, height - 2)
    assert not re.search(r"var\(|url\(|href=\"(?!data:image/png)|<script|@import", text)
