"""The page of an audit in a browser computes the numbers that the package computes."""

from __future__ import annotations

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import CHROMIUM, DESKTOP, HOSTILE, PHONE
from models import random_model

import embaudit as ea
from embaudit.canonical import at_exponent
from embaudit.gauges import Affine, GeneralLinear
from embaudit.model import softmax_link
from embaudit.model.final_norm import FinalNorm
from embaudit.report.explorer import explorer
from embaudit.report.page import page as written_page

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser is installed: apt-get install chromium"
)
GAIN = np.array([1.0, -2.0, 3.0, 0.5])


def popular(**fields):
    """A model with names, biases on both sides and shifts that a bias takes up."""
    names = [*HOSTILE, *(f"item {i}" for i in range(35))]
    biases = ["left_bias", "right_bias"]
    return random_model(
        p=40,
        k=4,
        scales=([6, 3, 2, 1], 1),
        means=(0, 0.5),
        biases=biases,
        right_names=names,
        **fields,
    )


MODELS = {
    "scores": lambda: popular(offset=3.0),
    "sigmoid": lambda: popular(link="sigmoid"),
    "softmax": lambda: random_model(
        p=40, k=4, means=(0.3, 1.0), link="softmax", biases=["right_bias"]
    ),
    "ranking": lambda: random_model(p=40, k=4, link="ranking"),
    "capped": lambda: random_model(p=40, k=4, link=softmax_link(soft_cap=3.0)),
    "head": lambda: random_model(n=None, p=40, k=4, means=(0, 1.0), link="softmax"),
    "predicted": lambda: at_exponent(
        random_model(p=40, k=4, scales=([6, 3, 2, 1], 1)), 0.0
    ),
}


class Audits(dict):
    """Audits by the name of the model, each made when first used."""

    def __missing__(self, name):
        norm = FinalNorm("rms", GAIN) if name == "head" else None
        self[name] = ea.audit(MODELS[name](), n_gauges=1, final_norm=norm)
        return self[name]


@pytest.fixture(scope="session")
def audits():
    return Audits()


@pytest.fixture(scope="session")
def written(audits, tmp_path_factory):
    """Return a function that writes the page of a model once."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name):
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(audits[name].report(), encoding="utf-8")
        return path

    return write


@pytest.fixture
def opened(showing, written):
    """Open the page of a model."""
    return lambda name, **options: showing(written(name), **options)


def rows_of(audit, found):
    """Return the model whose rows the explorer holds: a small model is held whole."""
    model = audit.evidence.model
    assert len(found.names) == model.n_right
    return model


def equal_model(audit, found, kind, place):
    """The model at a place of a family, by the package."""
    model = rows_of(audit, found)
    if kind == "exponent":
        return at_exponent(model, place)
    return model


def shown_predictions(model, found, left):
    """What the explorer shows of each left row."""
    scores = left.scores()
    if found.link == "ranking":
        return scores - scores.max(axis=1, keepdims=True)
    return model.link.predict(scores)


FAST = ("scores", "head")
"""Models whose pages are opened in every run; `make test-slow` opens the others."""


@pytest.mark.parametrize(
    "name",
    [
        name if name in FAST else pytest.param(name, marks=pytest.mark.slow)
        for name in MODELS
    ],
)
def test_cosines_and_predictions_are_those_of_the_package(audits, opened, name):
    audit, page = audits[name], opened(name)
    found = explorer(audit)
    model = rows_of(audit, found)
    one = found.families[-1]
    states = one.other_rows if one.basis is None else one.other_rows @ one.basis.T
    whole = (
        model if model.left is not None else model.replace(left=states, objective=None)
    )
    expected = shown_predictions(model, found, whole)
    for at, family in enumerate(found.families):
        for place in np.linspace(0, family.high, 3):
            shift = list(family.home)
            cosines = page.evaluate(f"explorer.cosines({at}, {place}, {shift}, 7)")
            equal = equal_model(audit, found, family.kind, place)
            pairs = [[7, j] for j in range(model.n_right)]
            assert (
                np.abs(np.array(cosines) - equal.cosines("right", pairs)).max() < 1e-6
            )
            shifts = [shift, [0.7, -0.4]] if found.pad is not None else [shift]
            for moved in shifts:
                call = f"explorer.predictions({at}, {place}, {moved}, j)"
                predicted = page.evaluate(f"[0, 1, 2].map((j) => {call})")
                assert np.abs(np.array(predicted) - expected[:3]).max() < 1e-9
    kinds = [family.kind for family in found.families]
    assert kinds == (["stored"] if name == "head" else ["exponent", "stored"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "head"])
def test_ranges_of_a_pair_are_those_of_the_package(audits, opened, name):
    audit, page = audits[name], opened(name)
    model = rows_of(audit, explorer(audit))
    pairs = [[i, j] for i in range(12) for j in range(i + 1, 12)]
    lengths = np.median(np.linalg.norm(model.right, axis=1)) * np.array(
        [0.0, 0.2, 0.6, 1.0, 1.7]
    )
    lengths = lengths if model.free_shifts else lengths[:1]
    for kappa in (1.0, 1.5, 6.0):
        for length in lengths:
            group = Affine(
                4, side="right", max_condition=kappa, max_shift=float(length)
            )
            group = group if length else GeneralLinear(4, max_condition=kappa)
            exact = ea.cosine_range(model, group, role="right", pairs=pairs)
            ends = np.array(
                page.evaluate(
                    f"{pairs}.map(([i, j]) => explorer.range(i, j, {kappa}, {length}))"
                )
            )
            assert np.abs(ends[:, 0] - exact.lower).max() < 1e-6
            assert np.abs(ends[:, 1] - exact.upper).max() < 1e-6


def lists(page):
    return [page.locator(f"#after-{at} .name").all_text_contents() for at in (0, 1)]


def predictions(page):
    return [page.locator(f"#predicted-{at} li").all_text_contents() for at in range(3)]


def settled(page):
    """Wait for two frames, after which the page shows all changes."""
    next_frame = "new Promise((done) => requestAnimationFrame(done))"
    page.evaluate(next_frame)
    page.evaluate(next_frame)


def back(page):
    """Go back to the model as stored."""
    page.locator("#reset").click()
    settled(page)
    assert page.locator("#replaced").text_content() == "0 %"
    assert (
        page.locator("#pair-cosine").text_content()
        == page.locator("#pair-before").text_content()
    )


@pytest.mark.parametrize(
    "name",
    [
        "scores",
        pytest.param("ranking", marks=pytest.mark.slow),
    ],
)
def test_sliders_change_neighbours_and_no_prediction(opened, name):
    page = opened(name)
    back(page)
    stored = predictions(page)
    assert all(len(one) == 3 for one in stored)
    for slider in page.locator(
        "#explorer .control:not(.shift) input[type=range]"
    ).all():
        seen = []
        for key in ("Home", "End", "PageDown"):
            slider.press(key)
            settled(page)
            seen.append(page.locator("#replaced").text_content())
            assert predictions(page) == stored
            assert page.locator("#changed").text_content().startswith("0 of ")
            assert float(page.locator("#most").text_content()) < 1e-9
        assert set(seen) != {"0 %"}
        assert "new" in " ".join(
            page.locator("#explorer ol li").evaluate_all(
                "all => all.map(one => one.className)"
            )
        )


def test_a_changed_prediction_is_counted_and_highlighted(opened):
    page = opened("scores")
    stored = predictions(page)
    page.evaluate("explorer.families[0].row_bias.fill(2e-5)")
    page.evaluate("explorer.go(explorer.families[0], 0.5, [0, 0])")
    settled(page)
    assert predictions(page) != stored
    count, _, every = page.locator("#changed").text_content().partition(" of ")
    assert (count, every) == ("1,600", "1,600")
    assert "some" in page.locator("#changed").get_attribute("class")


@pytest.mark.slow
def test_the_cosine_of_a_pair_stays_within_its_range(audits, opened):
    page, found = opened("scores"), explorer(audits["scores"])
    page.locator("#slider-0").press("Home")
    settled(page)
    pair, model = [list(found.first)], audits["scores"].model
    low, high = map(float, page.locator("#pair-range").text_content().split(" to "))
    now = float(page.locator("#pair-cosine").text_content())
    assert low <= now <= high
    home = at_exponent(model, 0.0)
    assert now == pytest.approx(home.cosines("right", pair)[0], abs=5e-5)
    assert (
        page.locator("#pair-before").text_content()
        == f"{model.cosines('right', pair)[0]:.4f}"
    )
    assert float(page.locator("#kappa").text_content()) == pytest.approx(
        found.families[0].kappas[0], abs=0.005
    )


@pytest.mark.slow
def test_the_pad_shifts_rows_and_changes_no_prediction(opened):
    page = opened("head")
    stored = predictions(page)
    pad = page.locator("#pad")
    box = pad.bounding_box()
    pad.click(position={"x": 0.8 * box["width"], "y": 0.3 * box["height"]})
    settled(page)
    assert page.locator("#replaced").text_content() != "0 %"
    assert predictions(page) == stored
    assert float(page.locator("#value-a").text_content()) > 0.3
    assert float(page.locator("#value-b").text_content()) > 0.1
    page.locator("#shift-a").press("End")
    settled(page)
    place, inside = page.locator("#origin").bounding_box(), pad.bounding_box()
    assert place["x"] > inside["x"] + inside["width"] / 2
    assert place["x"] + place["width"] <= inside["x"] + inside["width"] + 0.5
    assert page.locator("#shift-length").text_content() != "0.00"
    assert predictions(page) == stored
    assert page.locator("#changed").text_content().startswith("0 of ")


@pytest.mark.slow
def test_an_item_is_found_by_part_of_its_name(opened):
    page = opened("scores")
    field = page.locator("#item-0")
    field.fill("ITEM 7")
    field.press("Tab")
    settled(page)
    assert field.input_value() == "item 7"
    assert field.get_attribute("aria-invalid") == "false"
    near = lists(page)[0]
    assert "item 7" not in near
    field.fill("no such thing")
    settled(page)
    assert field.get_attribute("aria-invalid") == "true"
    assert lists(page)[0] == near
    page.locator("#user-1").select_option("20")
    settled(page)
    assert page.locator("#predicted-1 li").count() == 3


@pytest.mark.slow
def test_a_page_opens_at_an_equivalent_model_and_buttons_lead_to_others(opened, audits):
    for name in ("scores", "head"):
        page, found = opened(name), explorer(audits[name])
        stored = predictions(page)
        assert page.locator("#shows [aria-pressed=true]").all_text_contents() == [
            found.shows[0].name
        ]
        assert (
            f"The page opens at “{found.shows[0].name}”"
            in page.locator("#explorer").inner_text()
        )
        assert page.locator("#replaced").text_content() != "0 %"
        back(page)
        assert page.locator("#status-replaced").text_content() == "0 %"
        assert page.locator("#reset").get_attribute("aria-pressed") == "true"
        for i, one in enumerate(found.shows):
            button = page.locator(f"#show-{i}")
            assert button.text_content() == one.name
            button.click()
            settled(page)
            assert page.locator("#shows [aria-pressed=true]").all_text_contents() == [
                one.name
            ]
            share = page.evaluate(
                f"explorer.replaced({one.family}, {one.at}, {list(one.shift)})"
            )
            assert share > 0
            shown = f"{int(100 * share + 0.5)} %" if share >= 0.01 else "<1 %"
            assert page.locator("#status-replaced").text_content() == shown
            assert predictions(page) == stored
            assert page.locator("#status-changed").text_content().startswith("0 of ")
        back(page)
    stay = [f" .name:has-text('{name}')" for name in ("(went)", "(new)")]
    page.locator("#show-0").click()
    settled(page)
    assert all(page.locator(f"#explorer{one}").count() > 0 for one in stay)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scheme", "viewport"),
    [("scores", "light", PHONE), ("head", "dark", DESKTOP)],
)
def test_a_page_is_accessible_and_as_wide_as_the_screen(opened, name, scheme, viewport):
    page = opened(name, viewport=viewport, color_scheme=scheme, bypass_csp=True)
    page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    broken = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in broken] == []
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


@pytest.mark.slow
def test_a_long_path_does_not_widen_the_page_of_a_phone(showing, tmp_path):
    source = "/home/user/" + "checkpoints/" * 8 + "model.npz"
    audit = ea.audit(random_model(p=30, k=3), n_gauges=1, n_pairs=50, source=source)
    path = tmp_path / "page.html"
    path.write_text(written_page(audit, f"Audit of {source}"), encoding="utf-8")
    page = showing(path, viewport=PHONE)
    page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    widths = page.evaluate(
        "Array.from(document.querySelectorAll('.claims td:nth-child(5)'))"
        ".map((one) => one.clientWidth)"
    )
    assert min(widths) > 250, "a narrow column of sentences is a very tall table"


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_table_at_a_glance_shows_all_its_columns(opened, viewport):
    glance = opened("scores", viewport=viewport).locator(".glance").first
    assert glance.locator("thead th").count() == 3
    width, shown = glance.evaluate("(one) => [one.scrollWidth, one.clientWidth]")
    assert width == shown


@pytest.mark.slow
def test_without_scripts_everything_but_the_explorer_is_readable(opened, audits):
    page = opened("scores", java_script_enabled=False)
    assert page.locator("#explorer noscript").is_visible()
    assert not page.locator("#explorer-app").is_visible()
    assert page.locator("h1").text_content() == audits["scores"].answer.question
    for part in ("findings", "movement", "limits", "neighbours", "appendix"):
        assert page.locator(f"#{part} h2").is_visible()
    assert page.locator("#movement img.light").first.is_visible()


@pytest.mark.slow
def test_hostile_names_are_shown_as_text(opened):
    page = opened("scores")
    names = page.locator("#names option").evaluate_all(
        "all => all.map(one => one.value)"
    )
    assert names[:2] == HOSTILE[:2]
    assert names[2] == "'\\u202eabc\\u2066'"
    assert len(names[3]) == 80
    assert page.locator("img:not(.light, .dark)").count() == 0


def loaded(images):
    """Return whether each image was drawn: a broken one has no width of its own."""
    return images.evaluate_all("all => all.map(one => one.naturalWidth > 0)")


@pytest.mark.slow
def test_a_page_shows_the_figures_of_its_theme(showing, tmp_path):
    path, model = tmp_path / "movement.html", random_model(p=9, k=2)
    path.write_text(
        ea.movement(model, at_exponent(model, 0.0)).report(), encoding="utf-8"
    )
    for scheme, other in (("light", "dark"), ("dark", "light")):
        page = showing(path, color_scheme=scheme)
        assert page.locator(f"figure img.{scheme}").is_visible()
        assert not page.locator(f"figure img.{other}").is_visible()
        assert loaded(page.locator("figure img")) == [True, True]
    page.emulate_media(media="print")
    assert page.locator("figure img.light").is_visible()


# Replace each visible image by the SVG that it shows, as wide as the image, so that its
# texts have places.
OPENED = """all => all.forEach((image) => {
const base64 = image.src.split(",")[1];
const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
const text = new TextDecoder().decode(bytes);
const file = new DOMParser().parseFromString(text, "image/svg+xml");
const width = image.getBoundingClientRect().width;
const svg = document.importNode(file.documentElement, true);
svg.style.width = `${width}px`;
image.replaceWith(svg); })"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "viewport"), [("scores", PHONE), ("head", DESKTOP)])
def test_no_text_of_a_figure_is_cut_off_or_too_small(opened, name, viewport):
    page = opened(name, viewport=viewport)
    page.locator("figure img.light").evaluate_all(OPENED)
    figures = page.locator("figure > svg").all()
    assert len(figures) >= 2
    for figure in figures:
        box = figure.bounding_box()
        for text in figure.locator("text:not(:empty)").all():
            inside = text.bounding_box()
            assert inside["height"] >= 7
            assert inside["x"] >= box["x"] - 2
            assert inside["x"] + inside["width"] <= box["x"] + box["width"] + 2
