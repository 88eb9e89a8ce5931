"""Two adapters: their updates against dense matrices, answers, remarks and refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from networks.adapters import dense, pair, regauged, write_adapter

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io.adapters import SPACINGS, Adapter, AdapterPair
from embaudit.networks.lora_comparison import ALIKE, Likeness

MODULES = {f"layers.{i}.{name}": pair(10 * i) for i, name in enumerate("qkv")}


def turned(modules=MODULES, condition=10.0):
    return {
        name: regauged(factors, seed, condition)
        for seed, (name, factors) in enumerate(modules.items())
    }


def near(size, modules=MODULES):
    """Change each update by a random one of `size` times its length."""
    changed = {}
    for seed, (name, factors) in enumerate(modules.items()):
        b, a = pair(500 + seed)
        scale = size * np.linalg.norm(dense(factors)) / np.linalg.norm(dense((b, a)))
        changed[name] = np.hstack([factors[0], scale * b]), np.vstack([factors[1], a])
    return changed


@pytest.fixture
def written(tmp_path):
    def write(name, modules=MODULES, **options):
        return write_adapter(tmp_path / name, modules, **options)

    return write


OTHERS = {**near(0.8), "layers.9.o": pair(99)}
del OTHERS["layers.0.q"]
FIRST_UPDATES = {name: dense(factors, 6 / 4) for name, factors in MODULES.items()}
"""Updates as dense matrices, with lora_alpha 6 and rank 4."""
SECOND_UPDATES = {
    name: dense(factors, 2 / factors[0].shape[1]) for name, factors in OTHERS.items()
}
"""Updates with lora_alpha 2 and the rank of each module."""
COMMON = sorted(FIRST_UPDATES.keys() & SECOND_UPDATES.keys())


def length(updates):
    """Return the Euclidean length of several matrices."""
    return np.sqrt(sum((update**2).sum() for update in updates))


FIRST_LENGTH = length(FIRST_UPDATES.values())
SECOND_LENGTH = length(SECOND_UPDATES.values())


@pytest.fixture
def comparison(written):
    first = written("one", dtype=np.float64, lora_alpha=6)
    second = written("two", OTHERS, dtype=np.float64, lora_alpha=2, r=8)
    return ea.compare_lora(first, second)


def test_norms_are_the_lengths_of_all_updates(comparison):
    assert comparison.norms == pytest.approx([FIRST_LENGTH, SECOND_LENGTH])


def test_modules_of_one_adapter_alone_are_named_with_their_lengths(comparison):
    of_query = length([FIRST_UPDATES["layers.0.q"]])
    of_output = length([SECOND_UPDATES["layers.9.o"]])
    assert comparison.first_only == pytest.approx({"layers.0.q": of_query})
    assert comparison.second_only == pytest.approx({"layers.9.o": of_output})


def test_the_cosine_of_two_adapters_is_that_of_their_updates(comparison):
    product = sum(np.vdot(FIRST_UPDATES[n], SECOND_UPDATES[n]) for n in COMMON)
    expected = product / (FIRST_LENGTH * SECOND_LENGTH)
    assert comparison.cosine == pytest.approx(expected)


def test_the_cosine_of_a_module_is_that_of_its_updates(comparison):
    for module in comparison.modules:
        first, second = FIRST_UPDATES[module.name], SECOND_UPDATES[module.name]
        expected = np.vdot(first, second) / length([first]) / length([second])
        assert module.cosine == pytest.approx(expected)


def test_the_distance_of_two_adapters_is_relative_to_the_longer_one(comparison):
    """A module that an adapter lacks has an update of zero."""
    differences = [FIRST_UPDATES[name] - SECOND_UPDATES[name] for name in COMMON]
    alone = [FIRST_UPDATES["layers.0.q"], SECOND_UPDATES["layers.9.o"]]
    expected = length([*differences, *alone]) / max(FIRST_LENGTH, SECOND_LENGTH)
    assert comparison.distance == pytest.approx(expected)


def test_the_deviation_of_two_random_adapters_is_a_bound_by_both_sides(comparison):
    """A random rotation of the 60 rows or of the 40 columns makes the cosine random."""
    deviations = []
    for name in COMMON:
        first, second = FIRST_UPDATES[name], SECOND_UPDATES[name]
        by_rows = np.linalg.norm(second @ first.T) / np.sqrt(60)
        by_columns = np.linalg.norm(second.T @ first) / np.sqrt(40)
        deviations.append(max(by_rows, by_columns))
    expected = np.linalg.norm(deviations) / (FIRST_LENGTH * SECOND_LENGTH)
    assert comparison.deviation == pytest.approx(expected)


def test_rotations_move_the_cosine_of_stored_factors_and_no_update(written):
    """Rotations of the dimensions reach both ends, and they change no update."""
    b, a = pair(0)
    others = pair(1)
    found = ea.compare_lora((b, a), others)
    factors = np.vstack([b, a.T]), np.vstack([others[0], others[1].T])
    lengths = np.prod([np.linalg.norm(x) for x in factors])
    assert found.factor_cosine == pytest.approx(
        (factors[0] * factors[1]).sum() / lengths
    )
    u, _, vt = np.linalg.svd(factors[0].T @ factors[1])
    for sign in (1, -1):
        rotation = sign * (u @ vt)
        again = ea.compare_lora((b @ rotation, rotation.T @ a), others)
        assert again.factor_cosine == pytest.approx(sign * found.most_by_rotation)
        assert again.cosine == pytest.approx(found.cosine)
        assert again.most_by_rotation == pytest.approx(found.most_by_rotation)


@pytest.mark.parametrize("condition", [1.0, 10.0, 1e3, 1e6])
def test_a_gauge_of_one_adapter_changes_no_figure_of_updates(written, condition):
    first, second = written("a", near(0.7), dtype=np.float64), written("b", near(1.5))
    changed = written("c", turned(near(0.7), condition), dtype=np.float64)
    before, after = (ea.compare_lora(path, second) for path in (first, changed))
    assert before.likeness is after.likeness
    names = [
        name for name in before.records()[0] if name not in ("module", "factor_cosine")
    ]
    for one, other in zip(before.records(), after.records(), strict=True):
        assert one["module"] == other["module"]
        for name in names:
            assert other[name] == pytest.approx(one[name], rel=1e-8, abs=1e-8), name
    for name in ("cosine", "deviation", "distance", "norms"):
        assert getattr(after, name) == pytest.approx(getattr(before, name), rel=1e-8)


def test_the_order_of_two_adapters_changes_no_cosine(written):
    one, other = written("one"), written("other", near(0.5))
    there, back = ea.compare_lora(one, other), ea.compare_lora(other, one)
    assert there.cosine == pytest.approx(back.cosine)
    assert there.deviation == pytest.approx(back.deviation)
    assert there.norms == back.norms[::-1]
    assert there.likeness is back.likeness


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_same_update_is_found_in_each_type_of_numbers(written, dtype):
    found = ea.compare_lora(
        written("one", dtype=dtype), written("two", turned(), dtype=dtype)
    )
    assert found.likeness is Likeness.SAME_UPDATE
    assert "which rounding of the factors can explain" in found.conclusion
    same = ea.compare_lora(written("one", dtype=dtype), written("three", dtype=dtype))
    assert same.likeness is Likeness.SAME_FACTORS


def test_short_factors_are_compared_apart_from_long_ones():
    """A rounding of a long A is longer than any change of a short B."""
    b, a = pair(0)
    short = (1e-3 * b).astype(np.float32)
    long = a.astype(np.float32)

    def adapter(b):
        stored = AdapterPair("m", b, long, 1.0, spacing=SPACINGS["bfloat16"])
        return Adapter({"m": stored})

    by_rounding = np.float32(1 + 2.0**-9) * short
    same = ea.compare_lora(adapter(short), adapter(by_rounding))
    assert same.likeness is Likeness.SAME_FACTORS
    other = ea.compare_lora(adapter(short), adapter(np.float32(1.02) * short))
    assert other.likeness is Likeness.SAME_UPDATE
    assert other.distance == pytest.approx(1 - 1 / 1.02, rel=1e-4)


def test_a_difference_above_rounding_is_no_same_update(written):
    found = ea.compare_lora(
        written("one", dtype=np.float64),
        written("two", near(1e-6), dtype=np.float64),
    )
    assert found.likeness is Likeness.ALIKE
    assert 1 - found.cosine < 1e-11


@pytest.mark.parametrize(
    ("size", "likeness"),
    [(0.5, Likeness.ALIKE), (0.95, Likeness.ALIKE), (1.1, Likeness.RELATED)],
)
def test_alike_means_that_half_of_the_squared_length_is_shared(written, size, likeness):
    """A random change of relative size s leaves a cosine near 1 / sqrt(1 + s²)."""
    found = ea.compare_lora(written("one"), written("two", near(size)))
    assert found.cosine == pytest.approx((1 + size**2) ** -0.5, abs=0.03)
    assert (found.cosine >= ALIKE) == (likeness is Likeness.ALIKE)
    assert found.likeness is likeness


REMARKS = {
    "other arrays": (
        {"other": {"base_model.model.score.weight": np.eye(3)}},
        "other array, such as base_model",
    ),
    "other modules": (
        {"modules": MODULES | {"x": pair(3)}},
        "Only the second adapter changes x",
    ),
}


@pytest.mark.parametrize(("options", "text"), REMARKS.values(), ids=REMARKS)
def test_remarks_name_what_is_not_compared(written, options, text):
    one = written("one", base_model_name_or_path="a")
    options = {"base_model_name_or_path": "a"} | options
    found = ea.compare_lora(one, written("two", **options))
    assert any(text in note for note in found.notes), found.notes
    assert ea.compare_lora(one, one).notes == ()


def test_adapters_of_bases_with_other_names_are_undecided_until_the_user_decides(
    written,
):
    one = written("one", base_model_name_or_path="a")
    other = written("two", near(0.5), base_model_name_or_path="b")
    found = ea.compare_lora(one, other)
    assert found.cosine > ALIKE
    assert found.likeness is Likeness.UNDECIDED
    assert "name the base models a and b" in found.conclusion
    assert "add `--same-base`" in found.conclusion
    assert "base models" not in " ".join(found.details)
    said = ea.compare_lora(one, other, same_base=True)
    assert said.likeness is Likeness.ALIKE
    assert "base models" not in said.explain()


@pytest.mark.parametrize("base", ["a", None])
def test_bases_with_one_name_or_without_a_name_are_compared(written, base):
    one = written("one", base_model_name_or_path="a")
    other = written("two", near(0.5), base_model_name_or_path=base)
    assert ea.compare_lora(one, other).likeness is Likeness.ALIKE


def test_equal_updates_of_bases_with_other_names_get_a_remark(written):
    one = written("one", base_model_name_or_path="a")
    other = written("two", turned(), base_model_name_or_path="b")
    found = ea.compare_lora(one, other)
    assert found.likeness is Likeness.SAME_UPDATE
    assert any("base models a and b" in note for note in found.notes)


def test_without_scales_the_answer_is_conditional(written):
    one, two = written("one"), written("two", turned())
    for folder in (one, two):
        (folder / "adapter_config.json").unlink()
    found = ea.compare_lora(one, two)
    assert found.likeness is Likeness.SAME_UPDATE
    assert "if both have the same lora_alpha" in found.conclusion
    assert any("a scale of 1 was taken" in note for note in found.notes)


def test_a_record_is_plain_and_complete(written):
    found = ea.compare_lora(written("one"), written("two", near(1.0)))
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["likeness"] == found.likeness.value
    assert [one["module"] for one in record["modules"]] == list(
        found.to_frame()["module"]
    )
    cosines = found.to_frame()["cosine"].tolist()
    assert cosines == sorted(cosines)
    assert "Are these two adapters alike?" in found.report()
    assert "factor" in found._repr_html_()
    assert repr(found) == f"LoraComparison({found.likeness.value}, 3 common modules)"


def test_adapters_of_different_base_models_are_refused(written):
    one = written("one")
    with pytest.raises(
        InputError, match=r"of one shape in both adapters.*\(60, 40\) and \(60, 41\)"
    ):
        ea.compare_lora(one, written("two", {"layers.0.q": pair(0, 60, 41)}))
    with pytest.raises(
        InputError, match=r"with modules in common; got layers\.0\.q, .* and x;"
    ):
        ea.compare_lora(one, written("three", {"x": pair(0)}))
    with pytest.raises(InputError, match="a path, or two matrices B and A; got int"):
        ea.compare_lora(one, 3)
