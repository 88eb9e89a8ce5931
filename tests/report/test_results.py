"""Every result says what it is in plain values, in a table, in words and on a page; some in a picture."""

from __future__ import annotations

import base64
import importlib
import json
import pkgutil
from functools import cache
from inspect import isfunction, signature
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from models import random_model
from report.results_shown import shown
from snapshots import as_locked, assert_snapshot, sketch

import embaudit as ea
from embaudit.canonical import pinned_test
from embaudit.core.results import Drawn, Result
from embaudit.model import Softmax
from embaudit.model.drift import drift
from embaudit.movements import movement
from embaudit.report.documents import document
from embaudit.report.explorer import explorer_parts
from embaudit.report.figures import SimpsonDisplay

mpl.use("agg")
HOSTILE = "<script>alert(1)</script>"
TOLD = Path(__file__).with_name("results.txt")
PARTS = {
    "Grouping": "part of a Simpson report, which knows what x and y are called",
    "Intake": "part of an audit",
    "Joined": "a sentence beside an evaluation",
    "RoleChange": "part of a comparison",
    "NetflixFigure": "a picture with its files",
    "NetflixSetting": "part of such a picture",
    "NielsenFigure": "a picture with its files",
    "SimpsonFigure": "a picture with its files",
    "Verification": "whether the recomputation of an audit agrees, in one sentence",
}
"""Public types with plain values or tables that are no results, and why."""


def names(n: int) -> list[str]:
    return [f"{HOSTILE} {i}" for i in range(n)]


@cache
def results() -> dict[str, Result]:
    draw = np.random.default_rng(0)
    users, items = (
        draw.standard_normal((40, 3)) * [3, 2, 1],
        draw.standard_normal((30, 3)),
    )
    model = ea.FactorModel.from_user_item(users, items, item_names=names(30))
    twin = ea.gauges.Diagonal(3, max_condition=2.0).sample(rng=0).act(model)
    head = ea.FactorModel.from_softmax(draw.standard_normal((12, 3)), labels=names(12))
    group = ea.gauges.GeneralLinear(3, max_condition=2.0)
    blocks = ea.block_cosines(
        {HOSTILE: [1.0, 0.0], "b": [1.0, 1.0]}, {HOSTILE: [1.0, 1.0], "b": [0.0, 0.0]}
    )
    levels = draw.integers(3, size=90)
    table = pd.DataFrame(
        {
            "x": draw.standard_normal(90) + levels,
            "y": -levels,
            HOSTILE: np.array(names(3))[levels],
        }
    )
    table["y"] = table["y"] + draw.standard_normal(90)
    made = [
        ea.audit(model, n_gauges=1),
        ea.compare(model, twin),
        ea.evaluate_similarities(model, [f"{HOSTILE}{i % 3}" for i in range(30)]),
        ea.position(model),
        pinned_test(model.replace(link="cosine")),
        ea.head_report(head, n_gauges=1),
        ea.fix(model),
        blocks,
        blocks.local_threshold(0.5),
        ea.simpson(table, x="x", y="y", n_permutations=9),
        movement(model, twin),
        ea.levels(model),
        ea.twins(model),
        drift(model, twin, condition_number=2.0),
        ea.cosine_range(model, group, pairs=[[0, 1], [2, 3]]),
        ea.range_summary(model, budgets=[2.0], n_pairs=50, rng=0)[0],
        ea.certified_neighbours(model, n=3),
        ea.worst_gauge(model, group, n_pairs=20, n_starts=1, n_steps=2, rng=0),
        ea.softmax.argmaxable(head),
        ea.softmax.shared_halves(head, [[0, 1], [2, 3]]),
        ea.softmax.projector_cosines(head, pairs=[[0, 1], [2, 3]]),
        ea.softmax.label_combinations(
            ea.FactorModel.from_softmax([[1.0], [-1.0]], labels=names(2)).replace(
                link="sigmoid"
            )
        ),
    ]
    return {type(one).__name__: one for one in made}


NAMES = (
    *(
        "Argmaxable",
        "Attack",
        "Audit",
        "BlockCosines",
        "CertifiedNeighbours",
        "Comparison",
        "CosineRange",
        "Drift",
    ),
    *(
        "Evaluation",
        "HeadReport",
        "LabelCombinations",
        "Levels",
        "LocalThreshold",
        "Movement",
    ),
    *(
        "Pinning",
        "Position",
        "ProjectorCosines",
        "RangeSummary",
        "Remedy",
        "SharedHalves",
    ),
    *("SimpsonReport", "Twins"),
)
DRAWN = {"Audit", "BlockCosines", "CertifiedNeighbours", "Movement", "SimpsonReport"}


def public_types() -> dict[str, type]:
    """Everything that a room, or the package, offers by name."""
    rooms = [importlib.import_module(f"embaudit.{found.name}") for found in pkgutil.iter_modules(ea.__path__)
             if found.ispkg]  # fmt: skip
    offered = [
        getattr(room, name)
        for room in (ea, *rooms)
        for name in getattr(room, "__all__", dir(room))
    ]
    return {kind.__name__: kind for kind in offered if isinstance(kind, type)}


def test_no_public_result_is_forgotten():
    speaking = ("to_dict", "to_frame", "explain")
    found = {
        name
        for name, kind in public_types().items()
        if any(hasattr(kind, method) for method in speaking)
    }
    assert set(PARTS) <= found
    assert found - set(PARTS) == set(NAMES)
    assert set(results()) == set(NAMES)
    assert {name for name, one in results().items() if isinstance(one, Drawn)} == DRAWN


@pytest.mark.parametrize("name", NAMES)
def test_a_result_has_plain_values_a_table_and_words(name):
    result = results()[name]
    assert isinstance(result, Result)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert isinstance(result.to_frame(), pd.DataFrame)
    assert len(result.to_frame())
    text = result.explain()
    assert text.strip() == text != ""
    assert "nan" not in text.replace("None", "").split()


def more() -> dict[str, Result]:
    """Return results of the same kinds that say something else."""
    draw = np.random.default_rng(1)
    head = ea.FactorModel.from_softmax(
        draw.standard_normal((9, 3)), labels=list("abcdefghi")
    )
    items = ea.FactorModel.from_vectors(
        draw.standard_normal((20, 3)), ids=list("abcdefghijklmnopqrst")
    )
    other = items.replace(right=draw.standard_normal((20, 3)))
    shifted = ea.gauges.Affine(3, max_condition=2.0, max_shift=0.5)
    return {
        "Attack with shifts": ea.worst_gauge(
            head, shifted, n_pairs=20, n_starts=1, n_steps=2, rng=0
        ),
        "Attack of lists": ea.worst_gauge(
            items,
            ea.gauges.Diagonal(3, max_condition=2.0),
            objective="neighbours",
            rng=0,
        ),
        "RangeSummary with shifts": ea.range_summary(
            head, budgets=[None], shifts=[0.5], n_pairs=9, rng=0
        )[-1],
        "CertifiedNeighbours with shifts": ea.certified_neighbours(
            head, n=2, group=shifted
        ),
        "CosineRange of differences": ea.cosine_range(
            head, shifted, pairs=[[0, 1, 2, 3]]
        ),
        "Comparison of unlike models": ea.compare(items, other),
        "Twins of copies": ea.twins(
            items.replace(right=np.repeat(items.right[:10], 2, axis=0))
        ),
        "Remedy of fewer dimensions": ea.fix(
            results()["Audit"].model, "balanced", dimensions=2
        ),
    }


def test_every_option_of_a_result_has_its_default():
    told = [
        f"{name}.{each}{signature(method)}\n"
        for name, one in sorted(results().items())
        for each, method in (
            (each, getattr(type(one), each))
            for each in dir(type(one))
            if not each.startswith("_")
        )
        if isfunction(method)
    ]
    assert_snapshot(TOLD, "".join(told))


@as_locked
def test_what_is_drawn_is_what_was_drawn():
    audit, model = results()["Audit"], results()["Audit"].model
    few, many = (
        random_model(n=30, p=count, k=4, means=(0.5, 0.3)) for count in (20, 200)
    )

    def place():
        return Figure(figsize=(9, 4)).add_subplot()

    pictures = {name: results()[name].plot(place()) for name in DRAWN}
    pictures |= {
        "Audit, certified curve": audit.plot_certified_curve(place()),
        "Audit, prediction cosines": audit.plot_prediction_cosines(place()),
        "Heatmap": ea.plot_heatmap(model, place(), groups=["b", "a", None] * 10),
        "Heatmap of many rows": ea.plot_heatmap(
            many, place(), beside=["prediction cosine"]
        ),
        "Prediction cosines in hexagons": ea.plot_prediction_cosines(many, place()),
        "Prediction cosines of few items": ea.plot_prediction_cosines(few, place()),
        "Simpson without rows": SimpsonDisplay(
            ("x", "y"), results()["SimpsonReport"].groupings[0]
        ).plot(place()),
    }
    for kind in ("compare", "evaluate", "simpson"):
        page = document(shown(kind))
        parts = [part for section in page.sections for part in section.parts]
        drawn = (*page.top, *(figure for part in parts for figure in part.figures))
        pictures |= {
            f"page of {kind}, {number}": figure.plot(place())
            for number, figure in enumerate(drawn)
        }
    sketches = [
        f"== {name}\n{one.caption}\nmade for {one.size[0]:g} x {one.size[1]:g}\n{sketch(one.figure_)}"
        for name, one in sorted(pictures.items())
    ]
    assert_snapshot(
        TOLD.with_name("drawn.txt"), "\n".join(sketches).replace(HOSTILE, "NAME")
    )


def test_an_explorer_says_and_holds_what_it_did():
    """Of numbers, how many there are, and their least, mean and largest."""
    draw = np.random.default_rng(0)
    biased = random_model(
        n=30,
        p=400,
        k=3,
        biases=["right_bias"],
        offset=2.0,
        right_counts=np.arange(400.0),
    )
    head = ea.FactorModel.from_softmax(
        draw.standard_normal((12, 3)) + 1, labels=names(12)
    )
    told = {
        "factors": results()["Audit"],
        "biases and counts": ea.audit(biased, n_gauges=1),
        "a head": ea.audit(head, n_gauges=1),
        "one side": ea.audit(
            ea.FactorModel.from_vectors(draw.standard_normal((400, 3))), n_gauges=1
        ),
        "labels of length 1": ea.audit(
            head.replace(link=Softmax(unit_rows=True)), quick=True
        ),
        **{
            link: ea.audit(random_model(p=p, k=3, link=link), quick=True)
            for link, p in (("cosine", 30), ("sigmoid", 30), ("ranking", 400))
        },
    }
    lines = []
    for name, audit in told.items():
        lines.append(f"== {name}")
        for part, value in (
            explorer_parts(audit) | {"explorer": None, "script": None, "allowed": None}
        ).items():
            lines += outline(json.loads(value) if part == "held" else value, part)
    assert_snapshot(
        TOLD.with_name("explored.txt"), "\n".join(lines).replace(HOSTILE, "NAME") + "\n"
    )


def outline(value: object, path: str) -> list[str]:
    """Write nested values a line each, numbers in one; of packed ones their sizes, as an axis may be turned."""
    if isinstance(value, dict) and value.keys() == {"type", "data"}:
        packed = np.abs(np.frombuffer(base64.b64decode(value["data"]), value["type"]))
        return [
            f"{path}: {value['type']} {packed.size}: {packed.min():.3f} {packed.mean():.3f} {packed.max():.3f}"
        ]
    if isinstance(value, dict):
        return [
            line
            for name, each in value.items()
            for line in outline(each, f"{path}.{name}")
        ]
    if isinstance(value, list | tuple) and value:
        flat = np.array(value, dtype=object).ravel()
        if all(isinstance(each, int | float) for each in flat):
            numbers = flat.astype(float)
            return [
                f"{path}: {numbers.size}: {numbers.min():.3f} {numbers.mean():.3f} {numbers.max():.3f}"
            ]
        if all(isinstance(each, str) for each in value):
            return [f"{path}: {' | '.join(value)}"]
        return [
            line
            for place, each in enumerate(value)
            for line in outline(each, f"{path}.{place}")
        ]
    return [f"{path}: {value!r}"]


@pytest.mark.parametrize("name", NAMES)
def test_a_result_shows_itself_with_every_name_escaped(name):
    result = results()[name]
    for html in (result._repr_html_(), result.report()):
        assert "<script>alert" not in html
        assert "<table>" in html
    assert result.report().startswith("<!doctype html>")


def test_a_picture_has_its_numbers_as_a_table():
    frames = {
        name: results()[name].plot(Figure().add_subplot()).frame() for name in DRAWN
    }
    assert {name: list(frame) for name, frame in frames.items()} == {
        "Audit": ["model", "mean", "q0.05", "q0.25", "q0.75", "q0.95"],
        "BlockCosines": ["name", "cosine", "weight"],
        "CertifiedNeighbours": ["kind", "kappa", "share"],
        "Movement": ["model", "mean", "q0.05", "q0.25", "q0.75", "q0.95"],
        "SimpsonReport": ["group", "n", "mean_x", "mean_y", "std_x", "slope"],
    }
    audit, moved = results()["Audit"], results()["Movement"]
    assert frames["Audit"]["model"].tolist() == [
        one.name for one in audit.evidence.equivalents
    ]
    one = frames["Movement"].iloc[0]
    assert one.tolist() == [
        "",
        moved.mean_abs,
        *(moved.quantiles[level] for level in (0.05, 0.25, 0.75, 0.95)),
    ]
    lists, found = frames["CertifiedNeighbours"], results()["CertifiedNeighbours"]
    assert lists["share"].tolist() == found.curve(lists["kappa"]).tolist()
    assert set(lists["kind"]) == {"certified"}
    blocks = frames["BlockCosines"]
    assert (blocks["cosine"] * blocks["weight"]).sum() == pytest.approx(
        results()["BlockCosines"].global_cosine
    )
    assert blocks["name"].tolist() == [HOSTILE]  # the other has no weight
    groups, moments = (
        frames["SimpsonReport"],
        results()["SimpsonReport"].groupings[0].moments,
    )
    np.testing.assert_array_equal(groups["n"], moments.n)
    np.testing.assert_array_equal(
        groups[["mean_x", "mean_y", "slope"]],
        np.c_[moments.mean_x, moments.mean_y, moments.slope],
    )
    np.testing.assert_allclose(groups["std_x"], np.sqrt(moments.sxx / moments.n))


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_nothing_is_cut_in_a_grid_of_four_pictures_and_letters_keep_their_size_in_one(
    name,
):
    figure, axes = plt.subplots(2, 2)
    for ax in axes.flat:
        results()[name].plot(ax)
    figure.canvas.draw()
    whole = figure.bbox.padded(1)
    for ax in axes.flat:
        box = ax.get_tightbbox()
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    alone = results()[name].plot()
    alone.figure_.canvas.draw()
    sizes = [ax.xaxis.label.get_fontsize() for ax in (axes[0, 0], alone.ax_)]
    assert sizes[0] < sizes[1] == mpl.rcParams["font.size"]
    plt.close("all")
