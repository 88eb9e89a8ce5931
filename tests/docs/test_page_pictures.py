"""Every door page has a picture near its top, and committed pictures are up to date."""

from __future__ import annotations

import re
import runpy
import sys
from base64 import b64decode
from io import BytesIO
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread
from pages import DOCS, PAGES, ROOT, blocks

pytestmark = pytest.mark.slow

FOLDER = DOCS / "pictures"
FIGURES = r"```\{figure\} (\S+)\n:alt: (.+)\n\n(.+(?:\n.+)*)\n```"
DRAWN = sorted(path.stem for path in FOLDER.glob("*.svg"))
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?")
SVG = "{http://www.w3.org/2000/svg}"
PIXELS = re.compile(r"data:image/png;base64,\s*([^\"]*)")
MOST_BYTES = 60_000
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
POINTS = 0.5 if f"matplotlib=={mpl.__version__} " in LOCK else 3.0
"""Tolerance for places in 1/72 inch; versions of matplotlib lay axes out differently.
"""


@pytest.fixture(scope="module")
def draw():
    """Return the functions of docs/pictures.py that draw each picture, by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(DOCS), *sys.path])
        yield runpy.run_path(str(DOCS / "pictures.py"))["PICTURES"]


def committed(name):
    return (FOLDER / f"{name}.svg").read_text(encoding="utf-8")


def texts(picture):
    """Return the texts of a picture in their order."""
    return [each.text for each in ET.fromstring(picture).iter(f"{SVG}text")]


def numbers(texts):
    return [
        float(number.replace("−", "-"))
        for text in texts
        for number in NUMBER.findall(text)
    ]


def marks(picture):
    """Return the style and the first point of each path.

    Versions of matplotlib simplify the same path to more or fewer points.
    """
    paths = [*ET.fromstring(picture).iter(f"{SVG}path")]
    starts = [re.findall(r"-?[\d.]+", path.get("d"))[:2] for path in paths]
    moved = [
        re.findall(r"-?[\d.]+", path.get("transform", "0 0"))[:2] for path in paths
    ]
    points = np.array(starts, dtype=float) + np.array(moved, dtype=float)
    return [path.get("style") for path in paths], points


def images(picture):
    """Return the pixels of the images within a picture, such as heatmaps."""
    return [
        imread(BytesIO(b64decode(one)), format="png") for one in PIXELS.findall(picture)
    ]


def coarse(image):
    """Return the mean colours of 10 x 10 parts of an image."""
    return np.array(
        [
            part.mean(axis=(0, 1))
            for rows in np.array_split(image, 10)
            for part in np.array_split(rows, 10, axis=1)
        ]
    )


@pytest.mark.parametrize("door", ["recommender", "classifier", "encoder", "researcher"])
def test_each_door_begins_with_python_a_command_and_a_picture(door):
    first, *recipes = re.split(
        r"^## ",
        PAGES[f"docs/{door}.md"].read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )[1:]
    assert first.startswith("Five minutes\n")
    languages = [block.language.split()[0] for block in blocks(first)]
    assert languages[0] == "python"
    assert "console" in languages
    assert {"{figure}", "{image}"} & {*languages}
    assert len(recipes) >= 5


def test_pictures_have_a_text_alternative_and_a_caption():
    for name, page in PAGES.items():
        for path, alt, caption in re.findall(FIGURES, page.read_text(encoding="utf-8")):
            assert 40 < len(alt) < 160, f"{name}: {path}"
            assert caption.rstrip().endswith("."), f"{name}: {path}"


def test_every_committed_picture_is_shown_on_a_page_and_is_small(draw):
    shown = {
        name
        for page in PAGES.values()
        for name in re.findall(r"pictures/([a-z-]+)\.svg", page.read_text("utf-8"))
    }
    assert sorted(shown) == DRAWN
    assert sorted(draw) == DRAWN
    assert max((FOLDER / f"{name}.svg").stat().st_size for name in DRAWN) < MOST_BYTES


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "gate"])
def test_committed_pictures_are_what_is_drawn_today(name, draw):
    """Run `python docs/generate.py` if a picture has changed on purpose."""
    before, now = committed(name), draw[name]()
    words = [[NUMBER.sub("#", text) for text in texts(one)] for one in (before, now)]
    assert words[0] == words[1]
    # Searches for the worst gauge end a little elsewhere on another machine.
    np.testing.assert_allclose(
        numbers(texts(now)), numbers(texts(before)), rtol=0.02, atol=0.011
    )
    (styles, points), (styles_now, points_now) = marks(before), marks(now)
    assert styles_now == styles
    np.testing.assert_allclose(points_now, points, atol=POINTS)
    for one, other in zip(images(before), images(now), strict=True):
        np.testing.assert_allclose(coarse(other), coarse(one), atol=0.05)


def test_the_gate_passes_what_is_known_and_stops_at_what_is_new(draw):
    assert committed("gate") == draw["gate"]()
    cells = texts(committed("gate"))
    assert cells[-4:] == ["gate", "passes", "passes", "stops"]
    at = cells.index("50 % of item rows duplicate another row")
    assert cells[at - 1] == "EMB401"
    assert cells[at + 1 : at + 4] == ["–", "–", "issue, new"]
