"""Arguments of public functions: models, paths, objects, seeds, generators, sides,
pairs.
"""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from attention_files import LLAMA, Live
from imitations import imitation
from matplotlib.figure import Figure

import embaudit as ea

DRAW = np.random.default_rng(0)
LEFT, RIGHT = DRAW.standard_normal((30, 3)), DRAW.standard_normal((20, 3))
MODEL = ea.FactorModel.from_user_item(LEFT, RIGHT)
TAKERS = {
    "audit": lambda given: ea.audit(given, n_gauges=1, n_pairs=100).to_dict(),
    "compare": lambda given: ea.compare(given, given, by_row=True).to_dict(),
    "compare_copies": lambda given: ea.compare_copies(given, "int8").to_dict(),
    "fix": lambda given: ea.fix(given).vectors().tolist(),
    "nearly_equal": lambda given: ea.nearly_equal(given, noise=0.1).to_dict(),
    "position": lambda given: ea.position(given).to_dict(),
    "stable_neighbours": lambda given: ea.stable_neighbours(
        [given, given], by_row=True
    ).to_dict(),
}


@pytest.fixture
def path(tmp_path):
    ea.save(MODEL, tmp_path / "model.npz")
    return tmp_path / "model.npz"


def without_source(found):
    if isinstance(found, dict) and "input" in found:
        found["input"].pop("source")
        found["input"].pop("intake")
    return found


@pytest.mark.parametrize("name", TAKERS)
def test_models_paths_and_objects_are_taken_alike(name, path):
    trained = imitation(
        "implicit.cpu.als.AlternatingLeastSquares",
        user_factors=LEFT,
        item_factors=RIGHT,
        factors=LEFT.shape[1],
    )
    wanted, *others = (
        without_source(TAKERS[name](given))
        for given in (MODEL, path, str(path), trained)
    )
    assert all(other == wanted for other in others)


def random_functions():
    names = [name for name in dir(ea) if inspect.isfunction(getattr(ea, name))]
    return [
        name
        for name in names
        if "rng" in inspect.signature(getattr(ea, name)).parameters
    ]


def test_every_source_of_randomness_has_one_default():
    assert set(random_functions()) == set(RANDOM)
    for name in random_functions():
        assert inspect.signature(getattr(ea, name)).parameters["rng"].default == 0, name


TRUTH = ["a", "b"] * 10
GROUP = ea.gauges.Diagonal(3, max_condition=2.0)
HEAD = ea.FactorModel.from_softmax(RIGHT)
FACTORS = LEFT, RIGHT.T
TABLE = pd.DataFrame({"x": RIGHT[:, 0], "y": RIGHT[:, 1], "group": TRUTH})


def axes():
    return Figure().add_subplot()


NETWORK = Live(LLAMA)
RANDOM = {
    "audit_attention": lambda rng: ea.audit_attention(
        NETWORK, 0, 0, n_rows=9, rng=rng
    ).to_dict(),
    "equivalent_attention": lambda rng: ea.equivalent_attention(NETWORK, 0, 0, rng=rng),
    "audit": lambda rng: ea.audit(MODEL, n_gauges=1, n_pairs=100, rng=rng).to_dict(),
    "audit_lora": lambda rng: ea.audit_lora(*FACTORS, rng=rng).to_dict(),
    "compare": lambda rng: ea.compare(MODEL, MODEL, rng=rng).to_dict(),
    "compare_copies": lambda rng: ea.compare_copies(
        MODEL, "binary", n_lists=9, rng=rng
    ).to_dict(),
    "drift": lambda rng: ea.drift(
        MODEL, MODEL, condition_number=1.0, rng=rng
    ).to_dict(),
    "evaluate_similarities": lambda rng: (
        ea.evaluate_similarities(MODEL, TRUTH, n_neighbours=2, rng=rng)
        .to_frame()
        .to_numpy()
    ),
    "fix": lambda rng: ea.fix(MODEL, dimensions=2, rng=rng).reduction,
    "head_report": lambda rng: ea.head_report(HEAD, n_gauges=1, rng=rng).to_dict(),
    "index_metric": lambda rng: ea.index_metric(
        MODEL, "cosine", n_lists=9, rng=rng
    ).to_dict(),
    "levels": lambda rng: ea.levels(MODEL, rng=rng).to_dict(),
    "movement": lambda rng: ea.movement(MODEL, MODEL, rng=rng).to_dict(),
    "nearly_equal": lambda rng: ea.nearly_equal(
        MODEL, noise=0.1, n_lists=9, rng=rng
    ).rows.tolist(),
    "pinned_test": lambda rng: (
        ea.pinned_test(
            HEAD.replace(link=ea.softmax_link(unit_rows=True)), rng=rng
        ).moved
    ),
    "plot_heatmap": lambda rng: (
        ea.plot_heatmap(MODEL, axes(), n_rows=9, rng=rng).frame().to_numpy()
    ),
    "plot_prediction_cosines": lambda rng: (
        ea.plot_prediction_cosines(MODEL, axes(), n_pairs=9, rng=rng).frame().values
    ),
    "probe_inputs": lambda rng: ea.probe_inputs(HEAD, 4, rng=rng).tolist(),
    "query_reach": lambda rng: ea.query_reach(
        MODEL, np.random.default_rng(1).normal(size=(40, 3)), rng=rng
    ).to_dict(),
    "range_summary": lambda rng: ea.range_summary(MODEL, n_pairs=9, rng=rng),
    "space_map": lambda rng: ea.space_map(MODEL, MODEL, rng=rng).to_dict(),
    "simpson": lambda rng: ea.simpson(
        TABLE, "x", "y", "group", n_permutations=9, rng=rng
    ).to_dict(),
    "simulate_interactions": lambda rng: (
        ea.simulate_interactions(30, 20, 2, rng=rng).matrix.toarray().tolist()
    ),
    "stable_neighbours": lambda rng: ea.stable_neighbours(
        [MODEL, MODEL], n_lists=9, rng=rng
    ).rows.tolist(),
    "threshold": lambda rng: ea.threshold(MODEL, rng=rng).to_dict(),
    "truncated_svd": lambda rng: ea.truncated_svd(RIGHT, 2, rng=rng).right.tolist(),
    "twins": lambda rng: ea.twins(MODEL, rng=rng).to_dict(),
    "worst_gauge": lambda rng: (
        ea.worst_gauge(MODEL, GROUP, n_pairs=20, n_steps=2, rng=rng).achieved
    ),
}


def drawn(group, rng):
    gauge = group.sample(rng=rng)
    return (
        gauge.matrix("left").tolist(),
        gauge.left_shift.tolist(),
        gauge.right_shift.tolist(),
    )


NOTE_THEIR_SEED = ("audit", "simpson")
"""Results that draw a seed from a generator, and hold it."""
SAMPLES = {group.__name__: partial(drawn, group(3)) for group in ea.gauges.GROUPS}


@pytest.mark.parametrize("name", RANDOM | SAMPLES)
def test_a_seed_and_its_generator_give_the_same_and_bad_ones_a_sentence(name):
    run = (RANDOM | SAMPLES)[name]
    if name not in NOTE_THEIR_SEED:
        assert str(run(3)) == str(run(np.random.default_rng(3))), (
            "a generator starts where its seed does"
        )
    assert str(run(np.random.default_rng(3))) == str(run(np.random.default_rng(3)))
    for bad in (-1, 0.5, "x", True):
        with pytest.raises(
            ea.InputError,
            match="rng must be a numpy Generator, an integer >= 0 or None; got",
        ):
            run(bad)


@pytest.mark.parametrize("name", NOTE_THEIR_SEED)
def test_a_result_by_a_generator_can_be_had_again_by_the_seed_it_notes(name):
    first = RANDOM[name](np.random.default_rng(5))
    assert first["seed"] == int(np.random.default_rng(5).integers(2**31))
    assert RANDOM[name](first["seed"]) == first


SIDES = {
    "audit": lambda role: ea.audit(
        MODEL, roles=[role], n_gauges=1, n_pairs=100
    ).to_dict()["movement"],
    "certified_neighbours": lambda role: (
        ea.certified_neighbours(MODEL, role=role).radii
    ),
    "compare": lambda role: ea.compare(MODEL, MODEL, roles=[role]).to_dict(),
    "evaluate_similarities": lambda role: (
        ea.evaluate_similarities(MODEL, TRUTH, role=role).to_frame().to_numpy()
    ),
    "fix": lambda role: ea.fix(MODEL, role=role).vectors(),
    "identified_cosines": lambda role: ea.identified_cosines(MODEL, role=role),
    "identified_factors": lambda role: ea.identified_factors(MODEL, role),
    "plot_heatmap": lambda role: (
        ea.plot_heatmap(MODEL, axes(), role=role).frame().to_numpy()
    ),
    "plot_prediction_cosines": lambda role: (
        ea.plot_prediction_cosines(MODEL, axes(), role=role).frame().to_numpy()
    ),
    "compare_copies": lambda role: ea.compare_copies(
        MODEL, "binary", role=role
    ).to_dict(),
    "nearly_equal": lambda role: ea.nearly_equal(MODEL, noise=0.1, role=role).cosines,
    "side": lambda role: MODEL.side(role).labels,
    "stable_neighbours": lambda role: (
        ea.stable_neighbours([MODEL, MODEL], role=role).indices
    ),
    "twins": lambda role: ea.twins(MODEL, role=role).to_dict(),
}
ONE_SIDE = ("audit", "compare", "evaluate_similarities", "fix", "plot_heatmap")
BOTH = ("plot_prediction_cosines", "identified_cosines", "identified_factors")
PAIRS = {
    "cosine_range": lambda role: ea.cosine_range(MODEL, GROUP, role=role).lower,
    "cosines": lambda role: MODEL.cosines(role),
    "levels": lambda role: ea.levels(MODEL, role=role).to_dict(),
    "movement": lambda role: ea.movement(MODEL, MODEL, role=role).to_dict(),
    "range_summary": lambda role: ea.range_summary(MODEL, role=role, n_pairs=9),
    "worst_gauge": lambda role: (
        ea.worst_gauge(MODEL, GROUP, role=role, n_pairs=20, n_steps=2).achieved
    ),
    "threshold": lambda role: ea.threshold(MODEL, role=role).to_dict(),
}


@pytest.mark.parametrize("name", ONE_SIDE + BOTH + ("head_report", "probe_inputs"))
@pytest.mark.parametrize("factor", [1e150, 1e-150])
def test_rows_whose_products_overflow_or_vanish_are_refused(name, factor, monkeypatch):
    long = RIGHT * factor
    for model in (
        MODEL.replace(left=LEFT * factor),
        *[ea.FactorModel.from_vectors(long)] * (name in ONE_SIDE),
    ):
        monkeypatch.setitem(globals(), "MODEL", model)
        monkeypatch.setitem(globals(), "HEAD", ea.FactorModel.from_softmax(long))
        with pytest.raises(
            ea.InputError,
            match=r"^the longest row of the \w+ factors must be between 1e-100 "
            r"and 1e\+100",
        ):
            SIDES[name]("right") if name in SIDES else RANDOM[name](3)


def shown(value):
    return repr(getattr(value, "tolist", lambda: value)())


@pytest.mark.parametrize("name", SIDES | PAIRS)
def test_a_side_may_be_called_what_people_call_it(name):
    run = (SIDES | PAIRS)[name]
    assert (
        shown(run("right"))
        == shown(run("item"))
        == shown(run("items"))
        == shown(run("item-item"))
    )
    for bad in ("movie", "item-user", 3 if name in ("fix", "threshold") else None, 7):
        with pytest.raises(
            ea.InputError,
            match=r"^role must be one of \"left\" \(user\), .*, \"cross\"",
        ):
            run(bad)


@pytest.mark.parametrize("name", [name for name in SIDES if name != "audit"])
def test_where_one_side_is_asked_for_pairs_of_both_are_refused(name):
    for role in ("cross", "user-item"):
        with pytest.raises(
            ea.InputError,
            match=rf"^role must be one of \"left\" \(.*\); got '{role}'\.$",
        ):
            SIDES[name](role)


OF_PAIRS = {
    "cosine_range": lambda role, pairs: (
        ea.cosine_range(MODEL, GROUP, role=role, pairs=pairs).upper
    ),
    "cosines": MODEL.cosines,
    "identified_cosines": lambda role, pairs: ea.identified_cosines(
        MODEL, role=role, pairs=pairs
    ),
}


@pytest.mark.parametrize("name", OF_PAIRS)
def test_all_pairs_of_one_side_are_the_default(name):
    run = OF_PAIRS[name]
    every_pair = [(i, j) for i in range(20) for j in range(i + 1, 20)]
    assert run("right", None).tolist() == run("right", every_pair).tolist()


@pytest.mark.parametrize("name", sorted(set(OF_PAIRS) - {"identified_cosines"}))
def test_all_pairs_of_two_sides_are_the_default(name):
    run = OF_PAIRS[name]
    every_pair = [(i, j) for i in range(30) for j in range(20)]
    assert run("cross", None).tolist() == run("cross", every_pair).tolist()


@pytest.mark.parametrize("name", OF_PAIRS)
def test_one_pair_needs_no_list(name):
    run = OF_PAIRS[name]
    assert run("right", (3, 4)).tolist() == run("right", [[3, 4]]).tolist()


@pytest.mark.parametrize("pairs", [3, (1, 2, 3), "ab", [[[1, 2]]], (0, 99)])
@pytest.mark.parametrize("name", OF_PAIRS)
def test_other_pairs_are_refused(name, pairs):
    with pytest.raises(ea.InputError, match=r"^pairs must be"):
        OF_PAIRS[name]("right", pairs)


def test_all_pairs_of_many_rows_are_refused():
    large = ea.FactorModel.from_user_item(np.ones((2, 1)), np.ones((3164, 1)))
    assert large.cosines("cross").shape == (6328,)
    with pytest.raises(
        ea.InputError,
        match=r"^pairs must be specified if .* 5,000,000; got None for 5,003,866; pass",
    ):
        large.cosines("right")
