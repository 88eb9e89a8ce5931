"""Every figure: readable text, reproducible files, unchanged global settings."""

from __future__ import annotations

import itertools
import json

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from embaudit.errors import InputError
from embaudit.reproduce import nielsen

FIGURES = ("netflix", "nielsen", "simpson")
PICTURES = (*FIGURES, "remedies")


@pytest.fixture
def drawn_texts(monkeypatch):
    """Return a function that draws a figure and lists its texts and boxes in pixels."""

    def draw(figure, dpi):
        boxes = []
        original = Text.draw

        def record(self, renderer):
            if self.get_visible() and self.get_text().strip():
                boxes.append((self.get_text(), self.get_window_extent(renderer)))
            original(self, renderer)

        figure.set_dpi(dpi)
        with monkeypatch.context() as patch:
            patch.setattr(Text, "draw", record)
            FigureCanvasAgg(figure).draw()
        return boxes

    return draw


@pytest.mark.parametrize("dpi", [100, 200])
@pytest.mark.parametrize("name", PICTURES)
def test_texts_neither_overlap_nor_leave_the_page(drawings, name, dpi, drawn_texts):
    boxes = drawn_texts(drawings[name], dpi)
    assert len(boxes) > 10
    page = drawings[name].bbox
    for text, box in boxes:
        assert page.x0 - 1 <= box.x0, text
        assert box.x1 <= page.x1 + 1, text
        assert page.y0 - 1 <= box.y0, text
        assert box.y1 <= page.y1 + 1, text
    for (first, a), (second, b) in itertools.combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert width <= 1 or height <= 1, (first, second)


@pytest.mark.parametrize("name", FIGURES)
def test_csv_and_json_files_hold_the_tables_of_the_figure(name, figures, saved):
    figure = figures[name]
    folder = saved[name][0].parent
    document = json.loads((folder / f"{name}.json").read_text())
    assert document["figure"] == name
    assert document["caption"] == figure.caption
    for table_name, table in figure.tables.items():
        stem = name if table_name == "numbers" else f"{name}_{table_name}"
        in_csv = pd.read_csv(folder / f"{stem}.csv")
        pd.testing.assert_frame_equal(in_csv, table, check_exact=True)
        in_json = pd.DataFrame(document[table_name])
        pd.testing.assert_frame_equal(in_json, table, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_another_run_writes_the_same_tables_and_pictures(name, makers, saved, tmp_path):
    first, again = saved[name], makers[name]().save(tmp_path)
    assert [path.name for path in first] == [path.name for path in again]
    assert {path.suffix for path in first} == {".png", ".pdf", ".csv", ".json"}
    for one, other in zip(first, again, strict=True):
        # A PDF file contains the time at which it was written.
        if one.suffix != ".pdf":
            assert one.read_bytes() == other.read_bytes(), one.name


def test_a_pdf_file_holds_its_text_as_text_in_truetype_fonts(saved):
    for files in saved.values():
        for path in files:
            if path.suffix == ".pdf":
                content = path.read_bytes()
                assert content.startswith(b"%PDF")
                assert b"/Subtype /CIDFontType2" in content or b"/TrueType" in content
                assert b"/Type3" not in content


def test_a_picture_keeps_its_style_if_it_is_drawn_under_other_settings():
    with mpl.rc_context({"xtick.labelsize": 30, "axes.titlesize": 30}):
        picture = nielsen().plot()
        picture.canvas.draw()
        labels = picture.axes[0].get_xticklabels()
    assert {label.get_fontsize() for label in labels} == {7.5}


def test_drawing_leaves_the_global_settings_alone():
    before = dict(mpl.rcParams)
    nielsen().plot()
    assert dict(mpl.rcParams) == before


def test_a_notebook_shows_a_figure_that_pyplot_does_not_know():
    n_known = len(plt.get_fignums())
    assert nielsen().plot()._repr_png_().startswith(b"\x89PNG")
    assert len(plt.get_fignums()) == n_known


@pytest.mark.slow
def test_a_folder_is_made_and_a_file_in_its_place_is_refused(figures, tmp_path):
    paths = figures["simpson"].save(tmp_path / "new" / "folder")
    assert [path.name for path in paths if path.exists()] == [
        "simpson.png",
        "simpson.pdf",
        "simpson_sweep.csv",
        "simpson_groups.csv",
        "simpson_points.csv",
        "simpson.json",
    ]
    (tmp_path / "file").write_text("mine")
    for folder in ("file", "file/below"):
        with pytest.raises(
            InputError,
            match=rf"{folder} cannot be made: (File exists|Not a directory)\.$",
        ):
            figures["simpson"].save(tmp_path / folder, force=True)
    assert (tmp_path / "file").read_text() == "mine"
