"""Every number and sentence of every result is that of the last time, but for rounding."""

from __future__ import annotations

import inspect
import json
import re
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pandas as pd
import pytest
from report.test_results import more, results
from report.test_told import CHANGES, MODELS, ROWS
from snapshots import ANEW, NUMBER

import embaudit as ea
from embaudit import softmax
from embaudit.auditing.equivalents import equivalent_models
from embaudit.canonical import at_exponent
from embaudit.core.results import Result
from embaudit.report.documents import document

KEPT = Path(__file__).with_name("kept")
TITLES = (
    "a pair", "at exponent 0.3", "with counts", "with biases", "with a constant mixture",
    "with a dimension that is not seen", "with a row of zeros", "cosines", "rankings", "probabilities", "a head",
    "a head of labels of length 1", "a head with a soft cap", "a head behind a norm", "a head with inputs", "vectors",
    "vectors compared by cosine",
)  # fmt: skip
"""Models without ties: where lists or axes tie, rounding decides which comes first."""
LARGE = {
    "WIDE": 3, "DEAR": 2, "LONG": 2, "LONG_ROWS": 2, "SPANNED_ROWS": 6, "AFFORDABLE": 0, "EXACT_CELLS": 10, "STRIP": 3,
    "MANY": 10, "TILE": 64, "FIRST": 4, "MAX_BLOCK": 16, "MAX_SINGLE_BLOCK": 16, "MIN_SINGLE_BLOCK": 8, "NUMBERS": 64,
    "ROWS": 20, "WHOLE": 20, "SUMMED": 24, "ASIDE": 10, "TABLE": 10, "QUERIES": 8, "ALL": 100, "SEARCHED": 200,
    "PANEL": 10, "MIN_PANEL": 8, "PANEL_CELLS": 1024, "ASKED": 12, "MAX_SCORES": 200, "COLUMNS": 10, "AT_ONCE": 0,
    "CACHE_BYTES": 256, "PASS_BYTES": 256, "WIDE_BYTES": 256, "LOOKED_UP": 256, "LOOKED_AT": 8, "MAX_ROWS": 20,
}  # fmt: skip
"""Sizes from which on work is sampled, cut into blocks or done another way, made so small that small models do."""
UNLIKE = ("embaudit_version", "fingerprint")
"""Keys that tell versions and the last digits of processors."""
PAIRS = np.array([[0, 1], [2, 9], [17, 4], [5, 28]])


def bounded(k):
    gauges = ea.gauges
    return {
        "axes": gauges.Diagonal(k, max_condition=2.0), "maps": gauges.GeneralLinear(k, max_condition=1.5),
        "shifts": gauges.Translation(k, max_shift=0.7), "both": gauges.Affine(k, max_condition=1.5, max_shift=0.4),
        "turns": gauges.Orthogonal(k),
    }  # fmt: skip


def ends(model):
    """Both ends of the range of a few cosines under each group that preserves what the model predicts."""
    found = {}
    for name, group in bounded(model.rank).items():
        for role in ["right"] if model.left is None else ["right", "left", "cross"]:
            try:
                range_ = ea.cosine_range(model, group, role=role, pairs=PAIRS)
            except ea.InputError:
                continue
            found[f"{name}, {role}"] = [range_.lower, range_.upper]
    return found


def fixed(model):
    """Cosines and lengths of what `fix` writes, whatever its axes."""
    x = ea.fix(model).vectors()
    return {
        "lengths": np.linalg.norm(x, axis=1),
        "products": np.einsum("ij,ij->i", x[PAIRS[:, 0]], x[PAIRS[:, 1]]),
    }


def equal(model):
    made = equivalent_models(model, n_gauges=2, rng=np.random.default_rng(4))
    return {
        one.name: [one.condition_number, one.of(model).cosines("right", PAIRS)]
        for one in made
    }


CALLS = {
    **{name: call for name, call in ROWS.items() if name != "attack"},
    "audit": partial(ea.audit, n_gauges=1, n_pairs=300),
    "ends": ends,
    "fixed": fixed,
    "equal": equal,
    "logits": partial(softmax.logit_cosines, pairs=PAIRS),
    "projected": partial(softmax.projector_cosines, pairs=PAIRS),
    "leads": softmax.argmaxable,
    "halves": partial(softmax.shared_halves, pairs=PAIRS),
    "identified": lambda model: ea.identified_cosines(model, role="right", pairs=PAIRS),
    "at exponents": lambda model: [
        at_exponent(model, t).cosines("right", PAIRS) for t in (0.2, 0.8)
    ],
    "pair": lambda model: ea.explain_pair(model, 0, 1),
    "ranges": lambda model: ea.range_summary(model, shifts=[0.3], n_pairs=50, rng=1),
    **{
        f"worst of {name}": lambda model, name=name: ea.worst_gauge(
            model, bounded(model.rank)[name], n_pairs=20, n_starts=2, n_steps=3, rng=2
        )
        for name in ("axes", "maps", "shifts", "both")
    },
    "head": partial(ea.head_report, n_gauges=1, n_pairs=200),
    "combinations": lambda model: softmax.label_combinations(
        model.take(right=np.arange(5))
    ),
    "moved": lambda model: ea.movement(
        model, at_exponent(model, 0.2), role="left", n_pairs=99
    ),
    "ranged": lambda model: ea.cosine_range(model, bounded(4)["axes"], pairs=PAIRS),
    "certified with shifts": lambda model: ea.certified_neighbours(
        model, n=3, group=bounded(4)["both"]
    ),
    "lists attacked": lambda model: ea.worst_gauge(
        model, bounded(4)["maps"], objective="neighbours", n_steps=3
    ),
}

DATA = ea.simulate_interactions(60, 25, 3, rng=0)
ROUTES = ("lapack", "gram", "krylov", "lanczos", "randomized")
X, Y = DATA.preferences[:30].ravel(), DATA.preferences[30:].ravel()
ALONE = {
    "simulated": lambda: [DATA.matrix.sum(axis=0), DATA.popularity, DATA.exponents, DATA.preferences],
    "fitted": lambda: [
        made.fit(DATA.matrix).model(DATA.matrix).scores()
        for made in (ea.ProductPenaltyMF(4, alpha=2.0, split=0.3), ea.FactorPenaltyMF(4, alpha=2.0))
    ],
    "spectra": lambda: {route: ea.truncated_svd(DATA.matrix, 4, solver=route).singular_values for route in ROUTES},
    "blocks": lambda: ea.block_cosines(X, Y, np.arange(90) // 30),
    "named blocks": lambda: ea.block_cosines(
        *({"a.x": x[:20], "a.y": x[20:30], "b": x[30:]} for x in (X, Y)), blocks=["a.*", "b"]
    ),
    "simpson": lambda: ea.simpson(
        pd.DataFrame({"x": X, "y": Y, "a": np.arange(90) % 3, "b": X > 0.2}), x="x", y="y", n_permutations=49
    ),
    "reversal": lambda: ea.similarity_reversal(DATA.preferences, DATA.preferences**3, np.arange(60) % 4),
}  # fmt: skip


def plain(value):
    """Return what a result holds: dictionaries, parts of long lists, numbers, names and sentences."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    elif hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    match value:
        case dict():
            return {
                str(key): plain(each)
                for key, each in value.items()
                if key not in UNLIKE
            }
        case frozenset():
            return plain(sorted(value))
        case list() | tuple() | np.ndarray():
            return [plain(each) for each in value[:: max(1, len(value) // 12)]]
        case float() | np.floating():
            return float(f"{value:.6g}")
        case np.integer() | np.bool_():
            return value.item()
        case str():
            value = re.sub(r"\b\d(\.\d+)?e-1\d", "0", value)
            return re.sub(r"\d\.\d{7,}(e[-+]\d+)?|\b[0-9a-f]{32}\b", "rounding", value)
    return value


def told(result):
    """Return the sentences of a result, and its numbers that are no part of its record."""
    properties = inspect.getmembers(
        type(result), lambda member: isinstance(member, property | cached_property)
    )
    values = {
        name: getattr(result, name)
        for name, _ in properties
        if not name.startswith("_")
    }
    said = {"repr": repr(result), "explain": result.explain()}
    return said | {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float | np.ndarray)
    }


def differences(kept, found, path=""):
    """List where two plain values differ: numbers by more than rounding, all else at all."""
    if (
        isinstance(kept, dict | list)
        and type(kept) is type(found)
        and len(kept) == len(found)
    ):
        places = kept if isinstance(kept, dict) else range(len(kept))
        if isinstance(kept, list) or kept.keys() == found.keys():
            return [
                line
                for key in places
                for line in differences(kept[key], found[key], f"{path}.{key}")
            ]
    if (
        isinstance(kept, str)
        and isinstance(found, str)
        and NUMBER.sub("#", kept) == NUMBER.sub("#", found)
    ):
        kept, found = (
            [float(x.replace(",", "")) for x in NUMBER.findall(text)]
            for text in (kept, found)
        )
        return (
            []
            if np.allclose(found, kept, rtol=0.002, atol=0.011)
            else [f"{path}: {kept} -> {found}"]
        )
    numbers = isinstance(kept, float) and isinstance(found, int | float)
    noise = 0.0 if path.endswith("tolerance") else 1e-6 if ".drift." in path else 1e-7
    # `np.isclose` takes a tenth of these tests.
    same = kept == found or (
        numbers
        and (abs(found - kept) <= noise + 2e-5 * abs(kept) or kept != kept != found)
    )
    return [] if same else [f"{path}: {kept} -> {found}"]


def assert_kept(path, title, found):
    """Compare plain values with those kept under a title."""
    found = json.loads(json.dumps(found))
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if ANEW:
        kept[title] = found
        lines = [
            f"{json.dumps(key)}: {json.dumps(kept[key], separators=(',', ':'))}"
            for key in sorted(kept)
        ]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    assert not differences(kept[title], found)


def assert_numbers(name, title, call):
    """Compare what a call returns, and the page of it, with what is kept of them."""
    try:
        values = plain(found := call())
        values = (
            values | {"told": plain(told(found))}
            if hasattr(found, "explain")
            else values
        )
    except (ea.InputError, ea.EquivalenceError) as error:
        values = found = str(error)
    assert_kept(KEPT / f"{name}.json", title, values)
    if isinstance(found, Result):
        page = {
            key: plain(value)
            for key, value in vars(document(found)).items()
            if key not in ("glossary", "words")
        }
        assert_kept(
            KEPT / "pages" / f"{name}.json", title, page | {"called": repr(found)}
        )


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("title", TITLES)
def test_results_of_models_have_the_numbers_of_the_last_time(name, title):
    assert_numbers(name, title, partial(CALLS[name], MODELS[title]))


@pytest.mark.parametrize("name", ["audit", "twins", "levels", "evaluate", "certified"])
@pytest.mark.parametrize(
    "title", ["with counts", "a head", "a head with inputs", "vectors"]
)
def test_results_of_large_models_have_the_numbers_of_the_last_time(
    name, title, monkeypatch
):
    modules = [
        import_module(each.name) for each in walk_packages(ea.__path__, "embaudit.")
    ]
    for module in modules:
        for size in LARGE.keys() & vars(module).keys():
            monkeypatch.setattr(module, size, LARGE[size])
    model = MODELS[title]
    rows = {side: model.factors(side).astype(np.float32) for side in model.sides}
    assert_numbers(
        f"{name} of many", title, partial(CALLS[name], model.replace(**rows))
    )


@pytest.mark.parametrize("title", CHANGES)
def test_changes_have_the_numbers_of_the_last_time(title):
    before, after = CHANGES[title]
    assert_numbers("compare", title, lambda: ea.compare(before, after))
    if title not in ("fewer rows", "rows in another order", "two rows"):
        assert_numbers(
            "drift",
            title,
            lambda: [
                ea.drift(before, after, condition_number=9.0),
                ea.movement(before, after),
            ],
        )


@pytest.mark.parametrize("name", ALONE)
def test_data_and_fits_have_the_numbers_of_the_last_time(name):
    assert_numbers("alone", name, ALONE[name])


def test_results_of_every_type_have_the_numbers_of_the_last_time():
    for title, found in (results() | more()).items():
        assert_numbers("results", title, lambda found=found: found)
