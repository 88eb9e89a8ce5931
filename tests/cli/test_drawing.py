"""`audit --heatmap` draws the picture of `plot_heatmap`, in the format of the file
name, and refuses a bad name before the audit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from models import random_model

import embaudit as ea

BEGINS = {"png": b"\x89PNG", "PDF": b"%PDF", "svg": b"<?xml"}


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = np.array([f"film {i}" for i in range(12)])
    ea.save(
        random_model(
            n=20,
            p=12,
            k=3,
            right_names=names,
            right_ids=np.arange(12),
            objective="product",
        ),
        "m.npz",
    )
    Path("films.csv").write_text(
        "id,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(12))
    )
    return "m.npz"


def drawn(embaudit, model, *options):
    assert (
        embaudit(
            "audit", model, "--n-gauges", 1, "--n-starts", 0, "--quiet", *options
        ).code
        == 0
    )


def test_a_heatmap_is_written_as_what_its_name_says_and_alike_each_time(
    embaudit, model
):
    for suffix, begins in BEGINS.items():
        drawn(embaudit, model, "--heatmap", f"heat.{suffix}")
        assert Path(f"heat.{suffix}").read_bytes().startswith(begins)
    first = Path("heat.svg").read_bytes()
    drawn(embaudit, model, "--heatmap", "heat.svg", "--force")
    assert Path("heat.svg").read_bytes() == first
    assert b">prediction cosine<" in first.replace(b"<!-- ", b">").replace(
        b" -->", b"<"
    )


def test_rows_stand_by_group_or_are_those_shown_where_they_are_several(
    embaudit, model, monkeypatch
):
    taken = []
    monkeypatch.setattr(
        "embaudit.report.display.drawn_file",
        lambda shown, kind: taken.append(shown) or b"",
    )
    by_kind = ("--items", "films.csv", "--heatmap-groups", "kind")
    drawn(embaudit, model, "--heatmap", "a.svg", *by_kind)
    drawn(embaudit, model, "--heatmap", "b.svg", "--show", "film 3", "--show", "film 5")
    drawn(embaudit, model, "--heatmap", "c.svg", "--show", "film 3")
    grouped, shown, alone = taken
    assert grouped.selection.groups == ("a",) * 6 + ("b",) * 6
    assert sorted(shown.names) == ["film 3", "film 5"]
    assert len(alone.names) == 12
    assert [panel.name for panel in shown.panels][::2] == [
        "your model",
        "prediction cosine",
    ]
