"""Numbers and sentences of canonical forms and comparisons at edges: ranks, zeros, rounding, few rows, refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from golden.test_kept_numbers import KEPT, PAIRS, assert_kept, plain, told
from models import random_model
from report.test_told import MODELS, PAIR

import embaudit as ea
from embaudit.canonical import (
    at_exponent,
    canonical_form,
    pinned_test,
    quadratic_forms,
    seen_directions,
)
from embaudit.canonical.balance import balanced_maps
from embaudit.canonical.equivalents import canonical_models
from embaudit.canonical.row_span import outside_shares, rows_space, span_basis
from embaudit.comparison import fits
from embaudit.comparison.rounded import Rounded
from embaudit.gauges import Gauge
from embaudit.model import Softmax
from embaudit.model.final_norm import FinalNorm


def scaled(left=1, right=1, model=PAIR, **fields):
    sides = {"left": left, "right": right}
    return model.replace(
        **{side: model.factors(side) * sides[side] for side in model.sides}, **fields
    )


FIRST, ONES = np.eye(4)[0], np.ones(40)
FLOAT = {side: PAIR.factors(side).astype("f4") for side in PAIR.sides}
MEANS = {"means": (1, 2), "biases": ["right_bias"]}
EDGES = {
    **{title: MODELS[title] for title in MODELS if title.split()[0] in ("at", "fitted", "with", "nearly")},
    "single precision": PAIR.replace(**FLOAT), "one side in single precision": PAIR.replace(right=FLOAT["right"]),
    "a faint direction": scaled([1, 1e-9, 1, 1]), "nearly lost": scaled([1, 1e-16, 1, 1]), "cosines": MODELS["cosines"],
    "two faint ones": PAIR.replace(left=PAIR.left @ np.diag([1, 6e-9, 1, 5e-9]) @ PAIR.right[:4], left_bias=ONES),
    "small numbers": scaled(1e-3, 1e-4), "columns of other sizes": scaled([1e4, 1, 1, 1e-4], [1e-4, 1, 1, 1e4]),
    "a mean in one column": PAIR.replace(left=PAIR.left - PAIR.left.mean(axis=0) + FIRST, right_bias=ONES[:30]),
    "another mean": PAIR.replace(right=PAIR.right - PAIR.right.mean(axis=0) + FIRST, left_bias=ONES),
    "columns of one side": scaled([1, 1, 1e-3, 0], [1, 1, 0, 1]), "few rows": random_model(n=3, p=4, k=9),
    "no column of both": scaled([1, 1, 0, 0], [0, 0, 1, 1]), "rankings": MODELS["rankings"],
    "a head": ea.FactorModel.from_softmax(PAIR.right), "one column": random_model(n=5, p=3, k=1),
    "few and a bias": random_model(n=3, p=4, k=9, biases=["left_bias"]), "vectors": MODELS["vectors"],
    "biases and a mean": random_model(left_bias=ONES, objective="factors", **MEANS),
    "probabilities and a mean": random_model(link="softmax", objective="softmax-decay", **MEANS),
    "mostly zeros": scaled(1.0 * (np.arange(40) < 15)[:, None], right_bias=np.zeros(30)),
    "counts": PAIR.replace(left_counts=np.arange(40) % 9, right_counts=np.arange(30) % 4),
    "counts of a plane": PAIR.replace(left_counts=1.0 * (np.arange(40) < 2), right_counts=np.ones(30)),
    "a mean that a new bias takes": random_model(link="softmax", objective="softmax", means=(1, 1)),
    "one direction": MODELS["one direction"], "as many rows as columns": random_model(n=5, p=4, k=4, means=(0.3, 0.2)),
    "equal axes": ea.FactorModel.from_user_item(np.eye(4)[[0, 1, 2, 3, 0, 1, 2, 3]], 2 * np.eye(4)),
}  # fmt: skip


def tried(call, *given, **options):
    try:
        return plain(call(*given, **options))
    except (ea.InputError, ea.EquivalenceError) as refused:
        return str(refused)


def shape(x):
    """Lengths and products of some rows, whatever their axes."""
    x = np.asarray(x[:], dtype=np.float64)
    first, second = (PAIRS % len(x)).T
    return [
        x.shape,
        np.linalg.norm(x, axis=1),
        np.einsum("ij,ij->i", x[first], x[second]),
    ]


TOLD = (
    "rank",
    "n_seen",
    "firm",
    "shifts_left",
    "is_full_rank",
    "leaves_alone",
    "left_centre",
    "right_centre",
)
GIVEN = (
    "name",
    "kind",
    "title",
    "condition_number",
    "shift",
    "amplification",
    "map_condition",
    "rank",
    "exponent",
)


def formed(model):
    form, sides = (
        canonical_form(model),
        [(side, model.factors(side)) for side in model.sides],
    )
    parts = {
        "form": [
            repr(form),
            form.singular_values,
            *(getattr(form, name) for name in TOLD),
        ]
    }
    for e in (0.0, 0.3, 1.0):
        made, gauge = at_exponent(model, e, form=form), form.gauge(e)
        maps = [] if form.leaves_alone else [form.left_map(e), form.right_map(e).T]
        told = [
            made.objective,
            made.left_bias,
            made.right_bias,
            gauge and [gauge.condition_number, gauge.shifts],
        ]
        rows = [made.scores(), *maps, *(form.view(x, side, e) for side, x in sides)]
        parts[f"at {e}"] = [plain(told), *map(shape, rows)]
    return parts | {"tolerance": form.resolution}


def named(model):
    found = [
        [getattr(made, name) for name in GIVEN] for made in canonical_models(model)
    ]
    for row, made in zip(found, canonical_models(model), strict=True):
        row += [made.shift_in(model), *map(made.called, ("right", "left", "cross"))]
        row += [shape(made.rows(model, "left")), shape(made.of(model).right)]
    return found


def balanced(model):
    found = filter(
        None, [balanced_maps(model, counted=counted) for counted in (False, True)]
    )
    return [
        [
            x.condition_number,
            *(shape(model.factors(side) @ x.linear[side]) for side in model.sides),
        ]
        for x in found
    ]


def spanned(model):
    sides, seen, basis = (
        model.sides,
        seen_directions(model, model.free_shifts),
        span_basis(model, most=2),
    )
    spaces, x = (
        [rows_space(model, s, t) for s in sides for t in ((), (s,))],
        [1e3 * model.factors(s) for s in sides],
    )
    held = [outside_shares(rows, np.eye(model.rank)[:, :2]) for rows in x]
    projected = map(
        shape, [*(rows @ seen for rows in x), *(space @ space.T for space in spaces)]
    )
    return [*projected, held, basis is None or shape(x[-1] @ basis)]


FORMS = {"formed": formed, "named": named, "placed": lambda model: told(ea.position(model)), "balanced": balanced,
         "spanned": spanned, "same": partial(ea.identified_cosines, role="left", pairs=PAIRS % 3)}  # fmt: skip


@pytest.mark.parametrize("title", EDGES)
def test_canonical_forms_have_the_numbers_of_the_last_time(title, monkeypatch):
    found = {name: tried(call, EDGES[title]) for name, call in FORMS.items()}
    if "single precision" in title:
        monkeypatch.setattr(import_module("embaudit.linalg.moments"), "AFFORDABLE", 0)
        many = EDGES[title].replace(left=FLOAT["left"] * np.float32([1, 1, 1, 2e-7]))
        found["by Gram matrices"] = [tried(call, many) for call in (formed, spanned)]
    assert_kept(KEPT / "canonical.json", title, found)


def cosines(n, p, k, **fields):
    return random_model(n=n, p=p, k=k, **{"link": "cosine"} | fields)


AXES, LINK, PLANE = np.eye(3), Softmax(unit_rows=True), [1, 1, 0]
SMALL = random_model(n=24, p=20, k=3, means=(0.4, 0.2))
LEFT, RIGHT = SMALL.left, SMALL.right
CORNER, LABELS = ea.FactorModel(AXES, AXES, link="cosine"), np.vstack([AXES, -AXES])
UNIT = {
    **{f"{n} rows of {k}": cosines(None, n, k) for n, k in ((12, 4), (10, 4), (9, 4), (1, 4))}, "scores": PAIR,
    **{f"{n} and {p} of {k}": cosines(n, p, k) for n, p, k in ((3, 3, 3), (5, 9, 4), (6, 6, 3), (2, 2, 2), (4, 5, 1))},
    **{f"{n} labels of {k}": cosines(None, n, k, link=LINK) for n, k in ((5, 2), (2, 3), (1, 3), (9, 3), (14, 4))},
    **{f"{n} under a cap": cosines(None, n, 2, link=Softmax(unit_rows=True, soft_cap=9.0)) for n in (12, 2)},
    **{f"{n} vectors compared": ea.FactorModel.from_vectors(RIGHT[:n], compared="dot") for n in (3, 4, 5, 20)},
    "equal numbers": cosines(8, 8, 4), "half precision": cosines(9, 9, 4, dtype="f2"),
    "a row and many": cosines(1, 7, 3), "a plane": scaled(PLANE, model=cosines(5, 3, 3)),
    "labels in a plane": scaled(1, PLANE, random_model(n=None, p=9, k=3, link=LINK)),
    "axes with inputs": ea.FactorModel(AXES[[0, 1, 1, 0]], LABELS, link=LINK, right_bias=np.arange(6.0)),
    "labels of one direction": ea.FactorModel(None, np.outer([1, 2, 3], [1, 2.0]), link=LINK),
    "a label of zeros": ea.FactorModel(None, np.vstack([AXES[:2], RIGHT[:2], 0 * RIGHT[:1]]), link=LINK),
    "both in a plane": scaled(PLANE, PLANE, cosines(9, 8, 3)), "a corner twice": CORNER.replace(left=LABELS),
    "a plane and a bias": scaled(PLANE, 1, cosines(5, 3, 3), right_bias=[0, 1, 2.0]),
    "in a corner": CORNER.replace(left=AXES[:2], right=AXES[:2]),
    "a turned corner": CORNER.replace(right=np.linalg.qr(RIGHT[:3])[0]),
    "rows on a cone": ea.FactorModel(None, np.c_[np.cos(ONES.cumsum()), np.sin(ONES.cumsum()), ONES], link="cosine"),
    "nearly two labels": ea.FactorModel(None, np.eye(2)[np.arange(20) % 2] + 3e-6 * RIGHT[:, :2], link=LINK),
}  # fmt: skip


def pinning(model, **options):
    found = pinned_test(model, **options)
    numbers = [
        found.is_counted,
        found.largest,
        *map(found.moved_of, ("right", "cross")),
    ]
    return [
        found,
        found.explain(),
        repr(found),
        numbers,
        tried(lambda: shape(found.twin(model).right)),
    ]


def spans(model):
    """Dimensions of spans, what rounding adds to them, and what both sides hold or leave together."""
    found, axes, sides = (
        [],
        np.eye(model.rank),
        [model.factors(side) for side in model.sides],
    )
    both = [quadratic_forms.span_of(x, axes) for x in sides]
    for span in (
        *both,
        *(quadratic_forms.span_of(x, axes, affine=True) for x in sides),
    ):
        found += [
            [span.rank, span.needed, span.clear, span.is_full, span.is_nearly_full],
            {"tolerance": span.rounding},
        ]
    if len(sides) == 2:
        form = quadratic_forms.shared_form(*both, model.rank)
        found += [
            quadratic_forms.tangent(*both).shape,
            None if form is None else np.linalg.eigvalsh(form),
        ]
        surely = {"tolerance": quadratic_forms.certified_stretch(*both, model.rank)}
        found += [quadratic_forms.cone_stretch(*sides, axes), surely]
    return found


@pytest.mark.parametrize("title", UNIT)
def test_pinning_has_the_numbers_of_the_last_time(title, monkeypatch):
    model, modules = (
        UNIT[title],
        (quadratic_forms, import_module("embaudit.canonical.pinned")),
    )
    found = {
        str(most): tried(pinning, model, max_condition=most) for most in (1.0, 2.0)
    }
    found["spans"] = tried(spans, model)
    for largest, shown in ((6, 10), (3, 6)):
        for module in modules:
            monkeypatch.setattr(module, "LARGEST", largest)
            monkeypatch.setattr(module, "LARGEST_SHOWN", shown)
        found[f"many from {largest}"] = [tried(pinning, model), tried(spans, model)]
    assert_kept(KEPT / "pinning.json", title, found)


def pair(left=1, right=1, model=SMALL, **fields):
    return model, scaled(left, right, model, **fields)


def head(right=RIGHT, **fields):
    return ea.FactorModel.from_softmax(right).replace(**fields)


def ids(first=5, named=0):
    films = np.arange(20) + first
    return {
        "right_ids": films,
        "left_ids": np.arange(24),
        "right_names": [f"film {film + named}" for film in films],
    }


OTHER, SHEAR = random_model(1, n=24, p=20, k=3), Gauge.linear(AXES + np.eye(3, k=1))
VECTORS, TABLE = (
    ea.FactorModel.from_vectors(RIGHT, compared=by) for by in (None, "dot")
)
FLAT, WIDE, WIDER = (
    scaled(PLANE, model=SMALL),
    *(random_model(seed, n=10, p=12, k=9) for seed in (0, 1)),
)
NOISE, LAST, ROWS = 0.1 * OTHER.right, (np.arange(20) < 17)[:, None], np.arange(20)
HALF, THIRD = SMALL.replace(right=RIGHT.astype("f2")), (RIGHT / [1, 2, 3]).astype("f2")
NORMS = [
    FinalNorm("rms", [1.0, 1, 1]),
    FinalNorm("rms", [1.0, 2, 3]),
    FinalNorm("layer", [1.0, 2, 3], [0.5, 0, 1]),
]
BOOKS, SHIFTED = (
    {"roles": ("reader", "book")},
    SMALL.replace(right=RIGHT + 2, left_bias=LEFT @ [-2, -2, -2]),
)
LINKED = {link: SMALL.replace(link=link) for link in ("softmax", "ranking", "cosine")}
CUT = SMALL.replace(left=LEFT[:, :2], right=RIGHT[:, :2])
COMPARED = {
    "a shear and noise": (SMALL, SHEAR.act(SMALL.replace(right=RIGHT + NOISE))), "an offset": pair(offset=3.0),
    "a little gauge": (SMALL, Gauge.diagonal([1.003, 1, 1]).act(SMALL)), "larger": pair(1, 2), "others": (SMALL, OTHER),
    "a little larger": pair(1, 1.02), "biases": pair(left_bias=np.arange(24.0)), "few others": (WIDE, WIDER),
    "a small bias": pair(right_bias=1e-3 * np.arange(20.0)), "other items": (SMALL, SMALL.replace(right=OTHER.right)),
    "one side": (VECTORS, SMALL), "a softmax and scores": (LINKED["softmax"], SMALL), "more dimensions": (CUT, SMALL),
    "a bias takes a shift": (SMALL.replace(left_bias=0 * ONES[:24]), SHIFTED),
    "a shift of a softmax": (LINKED["softmax"], LINKED["softmax"].replace(right=RIGHT + 2 + NOISE / 9)),
    "rankings and cosines": (LINKED["ranking"], LINKED["cosine"]), "fewer": (SMALL, CUT), "zero rows": pair(1, LAST),
    "unseen, turned": (SHEAR.act(FLAT), scaled(1, [1, 1, -1], FLAT)), "too many zero rows": pair(1, ROWS[:, None] < 7),
    "seen and unseen": (FLAT, SHEAR.act(FLAT.replace(right=RIGHT + NOISE + [0, 0, 3]))), "both rounded": (HALF, HALF),
    "zero rows in both": tuple(scaled(1, zeros, SMALL) for zeros in (LAST, LAST[ROWS - 1])),
    "zero rows before": (scaled(1, LAST, SMALL), SMALL), "zero scores": (scaled([1, 0, 0], [0, 1, 1], SMALL), SMALL),
    "a row moved": pair(1, 2.0 * LAST - 1), "by ids": (SMALL.replace(**ids()), OTHER.replace(**ids(9), **BOOKS)),
    "duplicates": tuple(x.replace(right=x.right[ROWS // 2]) for x in (SMALL, OTHER)), "rounded others": (OTHER, HALF),
    "other titles": (SMALL.replace(**ids()), OTHER.replace(**ids(named=1), **BOOKS)),
    "by names": tuple(head(RIGHT[::by], right_names=[*ids()["right_names"][::by][:19], str(by)]) for by in (1, -1)),
    "of predictions": tuple(VECTORS.replace(right=x, objective="prediction") for x in (RIGHT, OTHER.right)),
    "few vectors": tuple(VECTORS.replace(right=x[:8]) for x in (RIGHT, OTHER.right)),
    "a table turned": (TABLE, TABLE.replace(right=-RIGHT)), "a table": (TABLE, TABLE.replace(right=OTHER.right)),
    "a table a little larger": (TABLE, TABLE.replace(right=1.02 * RIGHT)), "rounded": (HALF, scaled(1, 1.001, HALF)),
    "cosines of a table": tuple(ea.FactorModel.from_vectors(x * LAST, compared="cosine") for x in (RIGHT, OTHER.right)),
    "heads": (head(), head(OTHER.right)), "norms": tuple(head(final_norm=norm) for norm in NORMS[:2]),
    "other norms": tuple(head(final_norm=norm) for norm in NORMS[1:]),
    "a norm and none": (head(final_norm=NORMS[0]), head()), "close heads": (head(), head(RIGHT + NOISE / 50)),
    "norms and rounding": (head(final_norm=NORMS[0]), head(THIRD, final_norm=NORMS[1])),
    "layer norms": tuple(head(x, final_norm=NORMS[2]) for x in (RIGHT, RIGHT + NOISE)),
    "columns": tuple(random_model(seed, n=9, p=10, k=40) for seed in (0, 1)),
}  # fmt: skip
OPTIONS = {
    "items": {"roles": ["right"]}, "users first": {"roles": ["left", "right"]}, "twice": {"roles": ["left"] * 2},
    "none": {"roles": []}, "short lists": {"n_neighbours": 2}, "longest": {"n_neighbours": 23},
    "too long": {"n_neighbours": 24}, "by row": {"by_row": True}, "by names": {"by_row": False},
    "by ids": {"by_row": False}, "other titles": {"partial": True}, "another seed": {"rng": 1},
    "cross": {"roles": ["cross"]},
}  # fmt: skip
LIMITS = (
    {"kept": 1.0},
    {"kept": 0},
    {"kept": 1.1},
    {"scores": -1.1},
    {"predicted": 1},
    {"x": 1},
    [1],
    {"rows": 1},
)
SIZES = {
    "COLUMNS": 7,
    "ROWS": 11,
    "SEARCHED": 5,
    "PARTNERS": 3,
    "PAIRS": 60,
    "HALVED": 90,
}
SIZES |= {"HALVINGS": 2, "MIN_PAIRS": 3}


def compared(title, **options):
    found = ea.compare(*COMPARED[title], **options)
    names = "role", "match", "n_pairs", "cut_error"
    sides = [
        [getattr(x, name) for name in names] + [x.to_frame().to_dict("list")]
        for x in found.changes.values()
    ]
    frames = found.to_frame(), found.moved_most(next(iter(found.changes)), 3)
    tables = [found.kept_by_side, *(frame.to_dict("list") for frame in frames)]
    return [
        found,
        found.explain(),
        repr(found),
        *sides,
        *tables,
        *(tried(found.below, limits) for limits in LIMITS),
    ]


@pytest.mark.parametrize("title", COMPARED)
def test_comparisons_have_the_numbers_of_the_last_time(title):
    assert_kept(KEPT / "compared.json", title, tried(compared, title))


@pytest.mark.parametrize("title", OPTIONS)
def test_options_of_comparisons_have_the_numbers_of_the_last_time(title):
    found = tried(compared, title if title in COMPARED else "by ids", **OPTIONS[title])
    assert_kept(KEPT / "compared with.json", title, found)


@pytest.mark.parametrize(
    "title", ["others", "a table", "norms", "a shear and noise", "by ids"]
)
def test_comparisons_of_many_rows_have_the_numbers_of_the_last_time(title, monkeypatch):
    for name in ("agreement", "change", "compare", "rounded", "thresholds"):
        module = import_module(f"embaudit.comparison.{name}")
        for size in SIZES.keys() & vars(module).keys():
            monkeypatch.setattr(module, size, SIZES[size])
    assert_kept(
        KEPT / "compared with.json", f"{title}, many rows", tried(compared, title)
    )


def test_what_is_told_of_rounding_is_that_of_the_last_time():
    told, titles = [], ("norms and rounding", "close heads", "a table turned")
    founds = [ea.compare(*COMPARED[title]) for title in titles]
    for kinds in (("Q8_0", ""), ("", "Q8_0"), ("Q8_0", "Q6_K"), ("Q8_0", "Q8_0")):
        for far in ((0.0, 0.0, 1.0), (0.0, 0.9, 1.0), (0.0, 0.9, 3.0), (0.2, 1.9, 1.0)):
            told += [
                replace(found, rounded=Rounded(kinds, *far)).statements[1:4]
                for found in founds
            ]
    assert_kept(
        KEPT / "compared with.json",
        "rounding",
        plain({str(row): each for row, each in enumerate(told)}),
    )


FITTED = {
    **{f"{k} to {m}": tuple(random_model(j, k=j).take(right=ROWS) for j in (k, m)) for k, m in ((3, 2), (2, 3))},
    "others": (SMALL, OTHER), "a gauge": (SMALL, SHEAR.act(SMALL)), "shift": pair(right=RIGHT + PLANE),
    "a column of zeros": pair(model=FLAT), "against each other": pair([1, 1, 2], -1), "a side of zeros": pair(1, 0),
    "sizes": pair([1e7, 1, 1e-7], [1e-7, 1, 1e7]),
}  # fmt: skip


@pytest.mark.parametrize("title", FITTED)
@pytest.mark.parametrize(
    "sides", [("left",), ("right",), ("left", "right")], ids="-".join
)
def test_fits_have_the_numbers_of_the_last_time(title, sides):
    one, two = FITTED[title]
    rows = {side: (one.factors(side), two.factors(side)) for side in sides}
    groups = [
        group for group in fits.GROUPS if group != "diagonal" or one.rank == two.rank
    ]
    some = [
        {side: (x[:n], y[:n]) for side, (x, y) in rows.items()} for n in range(1, 14)
    ]
    folds = [
        fits.whole(rows, groups),
        *fits.folds(rows, {side: np.random.default_rng(0) for side in sides}, groups),
    ]
    found = {
        "open": [str([fits.is_open(x, y) for x in some]) for y in ((), sides)],
        "groups": [x.group for x in folds],
    }
    for group, shifts in (
        (group, shifts) for group in groups for shifts in ((), sides)
    ):
        fit = fits.fit_gauge(rows, group, shifts)
        left = [fits.unexplained(fit, side, rows) for side in sides]
        found[f"{group}, {shifts}"] = [*plain(fit).values(), fit.condition_number, left]
    assert_kept(KEPT / "fitted.json", f"{title}, {'-'.join(sides)}", plain(found))
