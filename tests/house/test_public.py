"""What the public functions take: models, paths and objects; seeds and generators; names of sides; pairs."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import embaudit as ea

DRAW = np.random.default_rng(0)
LEFT, RIGHT = DRAW.standard_normal((30, 3)), DRAW.standard_normal((20, 3))
MODEL = ea.FactorModel.from_user_item(LEFT, RIGHT)
TAKERS = {
    "audit": lambda given: ea.audit(given, n_gauges=1, n_pairs=100).to_dict(),
    "compare": lambda given: ea.compare(given, given).to_dict(),
    "fix": lambda given: ea.fix(given).vectors().tolist(),
    "position": lambda given: ea.position(given).to_dict(),
}


@pytest.fixture
def path(tmp_path):
    ea.save(MODEL, tmp_path / "model.npz")
    return tmp_path / "model.npz"


def without_source(found):
    if isinstance(found, dict) and "input" in found:
        found["input"].pop("source")
    return found


@pytest.mark.parametrize("name", TAKERS)
def test_models_paths_and_objects_are_taken_alike(name, path):
    trained = SimpleNamespace(pu=LEFT, qi=RIGHT, trainset=SimpleNamespace(global_mean=0.0), biased=False)
    wanted, *others = (without_source(TAKERS[name](given)) for given in (MODEL, path, str(path), trained))
    assert all(other == wanted for other in others)


@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_model_is_refused_in_one_sentence(name, tmp_path):
    for given, words in (
        (tmp_path / "no.npz", "no.npz"),
        (RIGHT, "fitted model of a known library; got ndarray"),
        (3, "got int"),
    ):
        with pytest.raises(ea.InputError, match=words) as refused:
            TAKERS[name](given)
        assert "\n" not in str(refused.value)


def test_an_audit_names_the_path_it_was_given(path):
    options = {"n_gauges": 1, "n_pairs": 100}
    assert ea.audit(path, **options).source == str(path)
    assert ea.audit(str(path), source="mine", **options).source == "mine"
    assert ea.audit(MODEL, **options).source is None


def random_functions():
    names = [name for name in dir(ea) if inspect.isfunction(getattr(ea, name))]
    return [name for name in names if "rng" in inspect.signature(getattr(ea, name)).parameters]


def test_every_source_of_randomness_has_one_default():
    assert set(random_functions()) == set(RANDOM) | {"head_report", "simpson"}
    for name in random_functions():
        assert inspect.signature(getattr(ea, name)).parameters["rng"].default == 0, name


TRUTH = ["a", "b"] * 10
GROUP = ea.gauges.Diagonal(3, max_condition=2.0)
RANDOM = {
    "audit": lambda rng: ea.audit(MODEL, n_gauges=1, n_pairs=100, rng=rng).to_dict(),
    "compare": lambda rng: ea.compare(MODEL, MODEL, rng=rng).to_dict(),
    "drift": lambda rng: ea.drift(MODEL, MODEL, condition_number=1.0, rng=rng).to_dict(),
    "evaluate_similarities": lambda rng: ea.evaluate_similarities(MODEL, TRUTH, n=2, rng=rng).to_frame().to_numpy(),
    "fix": lambda rng: ea.fix(MODEL, dimensions=2, rng=rng).reduction,
    "movement": lambda rng: ea.movement(MODEL, MODEL, rng=rng).to_dict(),
    "probe_inputs": lambda rng: ea.probe_inputs(ea.FactorModel.from_softmax(RIGHT), 4, rng=rng).tolist(),
    "range_summary": lambda rng: ea.range_summary(MODEL, n_pairs=9, rng=rng),
    "simulate_interactions": lambda rng: ea.simulate_interactions(30, 20, 2, rng=rng).matrix.toarray().tolist(),
    "truncated_svd": lambda rng: ea.truncated_svd(RIGHT, 2, rng=rng).right.tolist(),
    "worst_gauge": lambda rng: ea.worst_gauge(MODEL, GROUP, n_pairs=20, n_steps=2, rng=rng).achieved,
}  # fmt: skip
SAMPLES = {"sample": lambda rng: GROUP.sample(rng=rng).left.tolist()}


@pytest.mark.parametrize("name", RANDOM | SAMPLES)
def test_a_seed_and_its_generator_give_the_same_and_bad_ones_a_sentence(name):
    run = (RANDOM | SAMPLES)[name]
    if name != "audit":
        assert str(run(3)) == str(run(np.random.default_rng(3))), "a generator starts where its seed does"
    assert str(run(np.random.default_rng(3))) == str(run(np.random.default_rng(3)))
    for bad in (-1, 0.5, "x", True):
        with pytest.raises(ea.InputError, match="rng must be a numpy Generator, an integer >= 0 or None; got"):
            run(bad)


def test_an_audit_by_a_generator_can_be_had_again_by_the_seed_it_notes():
    first = RANDOM["audit"](np.random.default_rng(5))
    assert first["seed"] == int(np.random.default_rng(5).integers(2**31))
    assert RANDOM["audit"](first["seed"]) == first
