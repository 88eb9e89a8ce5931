"""Heatmaps of cosines and scatters of cosine against prediction cosine."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from models import random_model

import embaudit as ea
from embaudit.report.figures import PredictionDisplay
from embaudit.report.pictures import heatmap

mpl.use("agg")

MODEL = random_model(
    1, n=25, p=20, k=4, scales=([3.0, 1.0, 1.0, 0.3], 1.0), means=(0.5, 0.3)
)
LETTERS = ["b", "a", None, "b"] * 5


def cosine(x, y):
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def between_columns(scores):
    """Cosines of all pairs of columns, one at a time."""
    return [
        cosine(scores[:, i], scores[:, j])
        for i, j in combinations(range(scores.shape[1]), 2)
    ]


def centred(scores, *axes):
    for axis in axes:
        scores = scores - scores.mean(axis=axis, keepdims=True)
    return scores


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


BY_DEFINITION = {
    "scores as they are": (MODEL, MODEL.left @ MODEL.right.T),
    "a free item bias takes the mean over users": (
        MODEL.replace(right_bias=np.ones(20)),
        centred(MODEL.left @ MODEL.right.T, 0),
    ),
    "a free user bias takes the mean over items": (
        MODEL.replace(left_bias=np.ones(25)),
        centred(MODEL.left @ MODEL.right.T, 1),
    ),
    "logits of a head with bias are centred twice": (
        ea.FactorModel.from_softmax(
            MODEL.right, np.arange(20.0), embeddings=MODEL.left
        ),
        centred(MODEL.left @ MODEL.right.T, 0, 1),
    ),
    "a softmax over items of two towers hides what all items share": (
        MODEL.replace(link="softmax", right_bias=np.arange(20.0)),
        centred(MODEL.left @ MODEL.right.T, 0, 1),
    ),
    "a model that predicts cosines": (
        MODEL.replace(link="cosine"),
        unit(MODEL.left) @ unit(MODEL.right).T,
    ),
}


@pytest.mark.parametrize("name", BY_DEFINITION)
def test_a_scatter_holds_both_cosines_of_every_pair(name):
    model, scores = BY_DEFINITION[name]
    shown = PredictionDisplay.from_model(model)
    frame = shown.frame()
    assert frame[["first", "second"]].to_numpy().tolist() == [
        list(pair) for pair in combinations(range(20), 2)
    ]
    np.testing.assert_allclose(
        frame["cosine"], between_columns(model.right.T), atol=1e-12
    )
    np.testing.assert_allclose(frame.iloc[:, 3], between_columns(scores), atol=1e-9)
    word = "logit cosine" if name.startswith("logits") else "prediction cosine"
    assert (shown.word, frame.columns[3]) == (word, word.replace(" ", "_"))
    assert shown.correlation == pytest.approx(
        np.corrcoef(between_columns(model.right.T), between_columns(scores))[0, 1]
    )


def test_a_scatter_needs_two_sides_and_two_rows_with_a_direction():
    with pytest.raises(
        ea.InputError,
        match=r"^the prediction cosine must be computed from the factors of both",
    ):
        ea.plot_prediction_cosines(ea.FactorModel.from_vectors(MODEL.right))
    with pytest.raises(
        ea.InputError,
        match=r'^role must be one of "left" \(user\), "right" \(item\); got \'cross',
    ):
        ea.plot_prediction_cosines(MODEL, role="cross")
    with pytest.raises(
        ea.InputError,
        match=r"^item factors must be two or more nonzero rows; got 1 nonzero row\.$",
    ):
        PredictionDisplay.from_model(
            ea.FactorModel.from_user_item([[1.0]], [[1.0], [0.0]])
        )


def by_loops(x, rows):
    return [cosine(x[i], x[j]) for i, j in combinations(rows, 2)]


def test_each_panel_of_a_heatmap_holds_the_cosines_of_its_model():
    equivalents = ea.audit(MODEL, n_gauges=1).evidence.equivalents
    by_name = {one.name: one for one in equivalents}
    wanted = ["exponent 0.5 (balanced)", "linear 1", "prediction cosine"]
    shown = heatmap(MODEL, groups=LETTERS, beside=wanted, equals=equivalents)
    rows, frame = shown.selection.rows, shown.frame()
    assert frame[["first", "second"]].to_numpy().tolist() == [
        list(pair) for pair in combinations(rows.tolist(), 2)
    ]
    columns = [
        name for name in frame if name not in ("first", "second") and "_" not in name
    ]
    kappas = [
        f"{name}, κ = {by_name[name].condition_number:.3g}" for name in wanted[:2]
    ]
    assert columns == ["your model", *kappas, "prediction cosine"]
    np.testing.assert_allclose(
        frame["your model"], by_loops(MODEL.right, rows), atol=1e-12
    )
    for name, column in zip(wanted, kappas, strict=False):
        equal = by_name[name].apply(MODEL)
        np.testing.assert_allclose(equal.scores(), MODEL.scores(), atol=1e-9)
        np.testing.assert_allclose(
            frame[column], by_loops(equal.right, rows), atol=1e-9
        )
        assert np.abs(frame[column] - frame["your model"]).max() > 0.05
    np.testing.assert_allclose(
        frame["prediction cosine"], by_loops(MODEL.scores().T, rows), atol=1e-9
    )
    assert [panel.note for panel in shown.panels] == [
        "",
        "same predictions",
        "same predictions",
        "of the same model",
    ]


@pytest.mark.parametrize("name", BY_DEFINITION)
def test_the_panel_of_predictions_holds_cosines_between_columns_of_scores(name):
    model, scores = BY_DEFINITION[name]
    shown = heatmap(
        model,
        beside=["logit cosine" if name.startswith("logits") else "prediction cosine"],
    )
    expected = np.eye(20)
    expected[np.triu_indices(20, 1)] = between_columns(scores)
    expected = np.triu(expected) + np.triu(expected, 1).T
    rows = shown.selection.rows
    np.testing.assert_allclose(
        shown.panels[1].cosines, expected[np.ix_(rows, rows)], atol=1e-9
    )


def test_a_heatmap_of_one_side_has_an_equivalent_model_but_no_predictions():
    alone = ea.FactorModel.from_vectors(MODEL.right)
    usual = heatmap(alone)
    assert [panel.note for panel in usual.panels] == ["", "same scores, furthest of 5"]
    rule = "^beside must be of equivalent models where items alone were loaded"
    with pytest.raises(ea.InputError, match=f'{rule}; got "prediction cosine"'):
        heatmap(alone, beside=["prediction cosine"])


def test_the_caption_of_a_heatmap_names_its_rows_their_order_and_its_panels():
    grouped = heatmap(MODEL, groups=LETTERS, beside=["prediction cosine"])
    # 5 of the 20 items have no group.
    assert grouped.caption == (
        "Item-item cosines of all 15 items with a direction and a group, by group, "
        "then by length. Panels: your model; prediction cosine (of the same model)."
    )
    ungrouped = heatmap(MODEL, beside=["prediction cosine"])
    assert "all 20 items with a direction, like beside like" in ungrouped.caption


def test_a_scatter_gives_the_number_of_pairs_and_their_correlation():
    shown = PredictionDisplay.from_model(MODEL)
    pearson = np.corrcoef(
        between_columns(MODEL.right.T), between_columns(MODEL.scores())
    )[0, 1]
    ax = shown.plot(Figure().add_subplot()).ax_
    assert ax.get_title() == (
        f"all 190 item-item pairs\nPearson's r of these {pearson:.2f}"
    )
    assert shown.caption == (
        "Your cosine against prediction cosine: all 190 item-item pairs. "
        f"Pearson's r of these is {pearson:.2f}."
    )


def test_an_unknown_panel_is_refused_with_the_nearest_name():
    with pytest.raises(ea.InputError) as refused:
        heatmap(MODEL, beside=["predicted cosine"])
    assert str(refused.value) == (
        'beside must be names such as "furthest", "prediction cosine"; '
        "got 'predicted cosine'; the nearest one is prediction cosine."
    )
    with pytest.raises(
        ea.InputError,
        match=r'^beside must be "prediction cosine" alone; got "furthest"; there is no',
    ):
        heatmap(MODEL, beside=["furthest"], equals=[])


def test_means_within_and_between_groups_are_those_of_the_pairs():
    shown = heatmap(MODEL, groups=LETTERS, beside=["prediction cosine"])
    frame = shown.frame()
    same = frame["first_group"] == frame["second_group"]
    for panel in shown.panels:
        means = shown.means(panel)
        assert means["within"] == pytest.approx(frame.loc[same, panel.name].mean())
        assert means["between"] == pytest.approx(frame.loc[~same, panel.name].mean())
    assert means["moved"] == pytest.approx(
        (frame["prediction cosine"] - frame["your model"]).abs().mean()
    )
    odd = replace(
        shown, selection=replace(shown.selection, groups=("a", "a", *[""] * 13))
    )
    assert odd.means(odd.panels[0]) == {"within": pytest.approx(frame["your model"][0])}


def test_all_panels_of_a_heatmap_have_one_scale_groups_and_their_means():
    shown = ea.plot_heatmap(MODEL, Figure(figsize=(9, 4)).add_subplot(), groups=LETTERS)
    place, words, *panels, bar = shown.figure_.axes
    assert shown.ax_ is place
    assert not place.axison
    assert not words.axison
    assert words.texts[0].get_text().replace("\n", " ") == shown.title
    assert len(panels) == len(shown.panels) == 3
    for ax, panel in zip(panels, shown.panels, strict=True):
        (image,) = ax.images
        assert (image.get_clim(), image.get_cmap().name) == ((-1.0, 1.0), "RdBu_r")
        assert image.get_cmap()(np.nan) == mpl.colors.to_rgba("#9a9a9a")
        assert image.get_cmap()(0.5)[:3] == pytest.approx((0.97, 0.97, 0.97), abs=0.01)
        np.testing.assert_array_equal(image.get_array(), panel.cosines)
        assert ax.get_title() == f"{panel.name}\n{panel.note}"
        assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == [4.5]
    means = [shown.means(panel) for panel in shown.panels]
    texts = [
        f"mean within {m['within']:.2f}, between {m['between']:.2f}".replace(
            "-0.00", "0.00"
        )
        for m in means
    ]
    texts[1:] = [
        f"{text}\nmean |Δcos| {m['moved']:.2f}"
        for text, m in zip(texts[1:], means[1:], strict=True)
    ]
    assert [ax.get_xlabel() for ax in panels] == texts
    assert [label.get_text() for label in panels[0].get_yticklabels(minor=True)] == [
        "a",
        "b",
    ]
    assert panels[0].get_yticks(minor=True).tolist() == [2, 9.5]
    assert bar.get_ylabel() == "cosine"


@pytest.fixture(scope="module")
def audit():
    return ea.audit(MODEL, n_gauges=2, n_pairs=100, n_neighbours=3)


def test_the_certified_curve_of_an_audit_shows_one_side_with_its_attacks(audit):
    shown = audit.plot_certified_curve(Figure().add_subplot())
    limits = audit.evidence.limits
    (found,) = [one.certified for one in limits.certificates if one.role == "right"]
    frame = shown.frame()
    certain = frame[frame["kind"] == "certified"]
    np.testing.assert_array_equal(certain["share"], found.curve(certain["kappa"]))
    attacks = [
        a.achieved
        for a in limits.attacks
        if a.role == "right" and a.objective == "neighbours"
    ]
    assert frame.loc[frame["kind"] == "left by an attack", "share"].tolist() == [
        1 - share for share in attacks
    ]
    assert shown.title == "top 3 lists of 20 items"
    assert (
        audit.plot_certified_curve(Figure().add_subplot(), role="left").title
        == "top 3 lists of 25 users"
    )
    with pytest.raises(
        ea.InputError,
        match=r"^role must be a role with certified lists: right, left; got 'cross'\.$",
    ):
        audit.plot_certified_curve(role="cross")


def with_points(count):
    draw = np.random.default_rng(0)
    cosines = np.clip(draw.normal(size=(2, count)), -1, 1)
    columns = dict.fromkeys(("first", "second"), np.zeros(count, int))
    return PredictionDisplay(
        {**columns, **dict(zip(("cosine", "prediction_cosine"), cosines, strict=True))}
    )


def test_a_scatter_draws_each_pair_and_many_pairs_as_faint_pixels():
    for count, opacity in ((900, 0.5), (20_000, 0.1)):
        shown = with_points(count).plot(Figure().add_subplot())
        (points,) = shown.ax_.collections
        assert (
            len(points.get_offsets()),
            points.get_alpha(),
            points.get_rasterized(),
        ) == (count, opacity, count > 900)
        assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == (
            "prediction cosine",
            "your cosine",
        )
        assert shown.ax_.get_xlim() == shown.ax_.get_ylim() == (-1.03, 1.03)
