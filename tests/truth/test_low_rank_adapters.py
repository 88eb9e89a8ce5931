"""Adapters with known properties: for and against EMB601 and each answer of a
comparison.
"""

from __future__ import annotations

import numpy as np
import pytest
from networks.adapters import dense, pair, regauged, write_adapter

import embaudit as ea
from embaudit.networks.lora_comparison import Likeness

DRAW = np.random.default_rng(0)


def as_adapter(tmp_path, name, modules, **config):
    return write_adapter(tmp_path / name, modules, dtype=np.float64, **config)


def orthonormal(n_rows, rank):
    return np.linalg.qr(DRAW.normal(size=(n_rows, rank)))[0]


# Cosines of factors

BIG = pair(0, 300, 200, 8)
FREE = {
    "drawn at random": BIG,
    "trained a little": (1e-3 * BIG[0], BIG[1]),
    "balanced, as after a singular value decomposition": (
        orthonormal(300, 6) * np.arange(1, 7),
        (orthonormal(200, 6) * np.arange(1, 7)).T,
    ),
    "two dimensions": pair(0, 300, 200, 2),
}
NOT_FREE = {
    "one dimension: all cosines are 1 or -1": pair(0, 300, 200, 1),
    "before training, with B = 0": (np.zeros((300, 8)), BIG[1]),
    "outputs and inputs along the axes": (
        np.repeat(np.eye(2), 100, axis=0),
        np.repeat(np.eye(2), 100, axis=1),
    ),
    "too few rows for lists": pair(0, 3, 3, 2),
    "a product that is only rounding": (
        np.hstack([1e13 * BIG[0], BIG[0]]),
        np.vstack([BIG[1], -1e13 * BIG[1]]) + np.vstack([BIG[1] * 0, BIG[1]]),
    ),
}


@pytest.mark.parametrize("factors", FREE.values(), ids=FREE)
def test_factors_whose_cosines_are_free(factors):
    audited = ea.audit_lora(*factors)
    assert [finding.code for finding in audited.findings] == ["EMB601"]
    assert audited.conclusion.startswith("No: ")


@pytest.mark.parametrize("factors", NOT_FREE.values(), ids=NOT_FREE)
def test_factors_for_which_nothing_is_shown(factors):
    audited = ea.audit_lora(*factors)
    assert audited.findings == ()
    assert not audited.conclusion.startswith("No: ")


# Two adapters

ONE = {f"layers.{i}": pair(i, 64, 48, 4) for i in range(3)}
OTHER = {f"layers.{i}": pair(100 + i, 64, 48, 4) for i in range(3)}
ZERO = {name: (0 * b, a) for name, (b, a) in ONE.items()}
SAME_INPUTS = {name: (OTHER[name][0], a) for name, (_, a) in ONE.items()}
SAME_OUTPUTS = {name: (b, OTHER[name][1]) for name, (b, _) in ONE.items()}


def scaled(modules, factor):
    return {name: (factor * b, a) for name, (b, a) in modules.items()}


def added(first, second, size):
    """Add a second update, of a relative length, to each update."""
    result = {}
    for name, (b, a) in first.items():
        c, d = second[name]
        factor = size * np.linalg.norm(dense((b, a))) / np.linalg.norm(dense((c, d)))
        result[name] = np.hstack([b, factor * c]), np.vstack([a, d])
    return result


def turned(modules):
    return {
        name: regauged(one, seed) for seed, (name, one) in enumerate(modules.items())
    }


SOME = {"layers.0": ONE["layers.0"]}
ANSWERS = {
    "the same file": (ONE, Likeness.SAME_FACTORS),
    "other factors": (turned(ONE), Likeness.SAME_UPDATE),
    "more dimensions than needed": (added(ONE, OTHER, 0.0), Likeness.SAME_UPDATE),
    "twice as strong": (scaled(ONE, 2.0), Likeness.ALIKE),
    "trained a little further": (turned(added(ONE, OTHER, 0.3)), Likeness.ALIKE),
    "undone": (scaled(turned(ONE), -1.0), Likeness.OPPOSITE),
    "as much in common as not, and more": (added(ONE, OTHER, 2.0), Likeness.RELATED),
    "one module of three": (
        SOME | {n: OTHER[n] for n in ("layers.1", "layers.2")},
        Likeness.RELATED,
    ),
    "one module, and no other": (SOME, Likeness.RELATED),
    "drawn at random": (OTHER, Likeness.UNRELATED),
    "the same random A": (SAME_INPUTS, Likeness.UNRELATED),
    "the same B": (SAME_OUTPUTS, Likeness.UNRELATED),
    "rows in another order": (
        {
            n: (b[np.random.default_rng(5).permutation(64)], a)
            for n, (b, a) in ONE.items()
        },
        Likeness.UNRELATED,
    ),
    "before training": (ZERO, Likeness.UNDECIDED),
}


@pytest.mark.parametrize(("modules", "likeness"), ANSWERS.values(), ids=ANSWERS)
def test_two_adapters(tmp_path, modules, likeness):
    # The scale of a file depends on its rank, so alpha is chosen such that it is 2.
    rank = next(iter(modules.values()))[0].shape[1]
    one = as_adapter(tmp_path, "one", ONE)
    other = as_adapter(tmp_path, "other", modules, lora_alpha=2 * rank)
    assert ea.compare_lora(one, other).likeness is likeness


@pytest.mark.parametrize("sign", [1, -1])
def test_one_long_update_does_not_make_adapters_alike(tmp_path, sign):
    """The cosine of all updates is near 1 or -1, and two of three are unrelated."""
    long = {"layers.0": ONE["layers.0"]}
    short = [f"layers.{i}" for i in (1, 2)]
    first, second = (
        scaled({name: modules[name] for name in short}, 0.01)
        for modules in (ONE, OTHER)
    )
    found = ea.compare_lora(
        as_adapter(tmp_path, "one", long | first),
        as_adapter(tmp_path, "other", scaled(long, sign) | second),
    )
    assert sign * found.cosine > 0.99
    assert found.likeness is Likeness.RELATED


def test_every_answer_has_an_adapter():
    assert {likeness for _, likeness in ANSWERS.values()} == set(Likeness)


@pytest.mark.parametrize(
    "start", ["pissa", "pissa_niter_4", "olora", "loftq", "corda", False]
)
def test_factors_that_begin_at_the_weights_are_never_called_alike(tmp_path, start):
    """Two such adapters share the largest part of the weights, trained or not."""
    config = {"init_lora_weights": start}
    for other in (ONE, added(ONE, OTHER, 0.1)):
        found = ea.compare_lora(
            as_adapter(tmp_path, "one", ONE, **config),
            as_adapter(tmp_path, "other", other, **config),
        )
        assert found.likeness is Likeness.UNDECIDED


@pytest.mark.parametrize("rank", [1, 2, 8])
def test_random_adapters_are_never_called_alike_and_rarely_related(tmp_path, rank):
    """At five standard deviations, hardly any of 200 pairs is called related."""
    answers = []
    for seed in range(200):
        first = pair(seed, 16, 12, rank)
        b, a = pair(10_000 + seed, 16, 12, rank)
        answers.append(ea.compare_lora(first, (b, a)).likeness)
    assert not {Likeness.ALIKE, Likeness.OPPOSITE, Likeness.SAME_UPDATE} & set(answers)
    assert answers.count(Likeness.RELATED) <= 2
