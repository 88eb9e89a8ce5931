"""What a comparison of two heads must say, and must not: heads that were folded, rounded, both, or trained further."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from llama_files import LAYER, RMS, gguf_file

from embaudit.comparison import Match, compare
from embaudit.comparison.rounded import LoadedModel, rounded
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

if TYPE_CHECKING:
    from pathlib import Path

    from embaudit.comparison import Comparison

DRAW = np.random.default_rng(3)
W = DRAW.standard_normal((80, 32)) @ np.diag(np.linspace(0.5, 2, 32)) + 1
GAIN, SHIFT = np.geomspace(0.5, 4, 32), DRAW.standard_normal(32)
OTHER = W + 0.3 * DRAW.standard_normal(W.shape)
MEAN = W.mean(axis=0)


@dataclass(frozen=True)
class Head:
    """A head of a file, and the gains of the norm before it; no gains where it has none."""

    rows: np.ndarray
    gain: np.ndarray | None = None
    kind: str = "F32"
    shift: np.ndarray | None = None

    def written(self, path: Path) -> Path:
        tensors = {
            "output.weight": self.rows,
            "output_norm.weight": self.gain,
            "output_norm.bias": self.shift,
        }
        keys = RMS if self.shift is None else LAYER
        present = {name: array for name, array in tensors.items() if array is not None}
        return gguf_file(path, present, kinds=self.kind, **keys)


STORED, FOLDED = Head(W, GAIN), Head(W * GAIN, np.ones(32))
LEARNED = ("learned", "rounding does", "No gauge undoes rounding")
APART = "condition number 8"
"""κ of the gauge between the norms, max γ / min γ."""
ROWS: dict[str, tuple[Head, Head, tuple[str, ...], tuple[str, ...]]] = {
    "the same": (STORED, STORED, ("predict the same", "Nothing to do"), ("round", APART, *LEARNED)),
    "folded": (
        STORED, FOLDED,
        ("predict the same", f"is the work of one scale for each dimension ({APART})", "The models are the same up to",
         "`embaudit fix MODEL --as folded-centred`, which gives both the same cosines on the axes that both models "
         "share, which are a convention."),
        ("round", "no gauge moves", *LEARNED),
    ),
    "rounded to 8 bits": (
        STORED, Head(W, GAIN, "Q8_0"),
        ("The second model is rounded to Q8_0. No number is further than one step from its counterpart. So rounding",
         "No gauge undoes rounding: read cosines from a model that is not rounded."),
        ("predict the same", "is the work of", "learned", "folded in", "does not explain"),
    ),
    "rounded to 4 bits, the other way": (
        Head(W, GAIN, "Q4_0"), STORED,
        ("The first model is rounded to Q4_0. No number is further", "No gauge undoes rounding", "as rounding does"),
        ("predict the same", "is the work of", "learned", "folded in", "does not explain"),
    ),
    "folded and rounded": (
        STORED, Head(W * GAIN, np.ones(32), "Q8_0"),
        ("The second model is rounded to Q8_0. Once the final norms are folded in, no number is further than one step "
         "from its counterpart.", "is the work of", "because of the gauge", "No gauge undoes"),
        ("predict the same", "learned", "does not explain", "The models are the same up to"),
    ),
    "both rounded, one folded": (
        Head(W, GAIN, "Q8_0"), Head(W * GAIN, np.ones(32), "Q4_0"),
        ("The first model and the second model are rounded to Q8_0 and Q4_0. Once the final", "No gauge undoes"),
        ("predict the same", "learned", "does not explain"),
    ),
    "centred, folded and rounded": (
        STORED, Head((W - MEAN) * GAIN, np.ones(32), "Q8_0"),
        ("norms are folded in, no number is further than one step from its counterpart", "is the work of",
         "42 % because of the gauge, 1 % as rounding does"),
        ("predict the same", "learned", "does not explain"),
    ),
    "trained further": (
        STORED, Head(OTHER, GAIN), ("Compare heads with their norms folded in", "A change of the axes can still move"),
        ("predict the same", "is rounded", "No gauge undoes", "no gauge moves", "no matter of coordinates"),
    ),
    "trained further and rounded": (
        STORED, Head(OTHER, GAIN, "Q8_0"),
        ("The second model is rounded to Q8_0. ", " than one step from their counterparts. So rounding alone does not",
         "A change of the axes can still move those cosines."),
        ("predict the same", "rounding can explain", "as rounding does", "No gauge undoes"),
    ),
    "another norm, which no fold makes up for": (
        STORED, Head(W, np.ones(32), "Q8_0"),
        ("The second model is rounded to Q8_0. Once the final norms", "counterparts. So rounding alone does not"),
        ("predict the same", "rounding can explain", "as rounding does", "No gauge undoes"),
    ),
    "a LayerNorm folded": (
        Head(W, GAIN, shift=SHIFT), Head(W * GAIN, np.ones(32), shift=SHIFT / GAIN),
        ("predict the same", "is the work of"), ("round", "learned"),
    ),
    "norms of two kinds": (
        STORED, Head(W, GAIN, "Q8_0", shift=SHIFT),
        ("Only one side was loaded",), ("random states", "The two models predict", "rounded", "learned"),
    ),
    "no norms": (
        Head(W), Head(W, kind="Q8_0"),
        ("Only one side was loaded", "No number is further than one step", "No gauge undoes rounding"),
        ("random states", "predict the same", "is the work of", "learned", "norms"),
    ),
    "a norm on one side": (
        STORED, Head(W * GAIN, kind="Q8_0"),
        ("Only one side was loaded", "could be the work of"), ("random states", "rounded", "is the work of", "learned"),
    ),
    "whole numbers in F16": (
        Head(np.round(8 * W), GAIN), Head(np.round(8 * W), GAIN, "F16"),
        ("is rounded to F16, which moved none of the numbers.", "predict the same", "Nothing to do"),
        ("rounding can", "No gauge undoes", "further"),
    ),
}  # fmt: skip
"""By name: two heads, what is said and what is not."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Comparison]:
    folder = tmp_path_factory.mktemp("heads")
    heads = [head for one, two, *_ in ROWS.values() for head in (one, two)]
    paths = {
        id(head): head.written(folder / f"{number}.gguf")
        for number, head in enumerate(heads)
    }
    return {
        name: compare(paths[id(one)], paths[id(two)], by_row=True)
        for name, (one, two, *_) in ROWS.items()
    }


@pytest.mark.parametrize("name", ROWS)
def test_a_comparison_of_heads_says_what_is_true(
    found: dict[str, Comparison], name: str
) -> None:
    *_, says, never = ROWS[name]
    text = found[name].explain()
    assert [phrase for phrase in says if phrase not in text] == []
    assert [phrase for phrase in never if phrase in text] == []


def test_the_parts_of_a_comparison_have_the_numbers_of_their_construction(
    found: dict[str, Comparison],
) -> None:
    plain, folded = (
        found["rounded to 8 bits"].rounded,
        found["folded and rounded"].rounded,
    )
    assert plain is not None
    assert folded is not None
    assert (plain.kinds, plain.beyond, plain.condition_number) == (
        ("", "Q8_0"),
        0.0,
        1.0,
    )
    # Half a step, and what float16 leaves of the scale.
    assert 0.45 < plain.largest < 0.57
    assert 0.45 < folded.largest < 0.57
    assert folded.condition_number == pytest.approx(8)
    other = found["trained further and rounded"].rounded
    assert other is not None
    assert other.beyond > 0.5
    assert other.largest > 5
    assert found["folded"].rounded is None
    assert (
        found["norms of two kinds"].rounded
        is found["a norm on one side"].rounded
        is None
    )
    states = {name: one.n_states for name, one in found.items()}
    one_sided = {name for name, count in states.items() if count == 0}
    assert one_sided == {"norms of two kinds", "no norms", "a norm on one side"}
    assert states["folded"] == 1000 + 2 * 32
    assert all((one.agreement is None) == (one.n_states == 0) for one in found.values())
    assert list(found["folded"].changes) == ["right"]


def test_compare_and_fix_agree_that_the_axes_of_a_folded_head_are_a_convention(
    found: dict[str, Comparison], tmp_path: Path
) -> None:
    """The rows of both heads are equal once folded and centred, on the axes that both use."""
    paths = STORED.written(tmp_path / "a.gguf"), FOLDED.written(tmp_path / "b.gguf")
    first, second = (fix(path, "folded-centred") for path in paths)
    np.testing.assert_allclose(first.vectors(), second.vectors(), rtol=1e-5, atol=1e-5)
    assert "The axes stay a convention." in first.explain()
    assert "which are a convention" in found["folded"].explain()


def test_a_comparison_separates_the_gauge_from_rounding(
    found: dict[str, Comparison],
) -> None:
    """The gauge part of a folded head is that of the fold; the rest is what rounding moves without any gauge."""
    both, fold, eight = (
        found[name].changes["right"]
        for name in ("folded and rounded", "folded", "rounded to 8 bits")
    )
    assert both.mean_gauge == pytest.approx(fold.mean_gauge, rel=0.1)
    assert fold.mean_remainder < 1e-6
    assert 1e-4 < both.mean_remainder < 3e-3
    assert 1e-4 < eight.mean_total < 3e-3
    assert found["folded"].agreement.same
    distances = [
        found[name].agreement.difference_distance for name in ROWS if "bits" in name
    ]
    assert distances[0] < 0.01 < distances[1] < 0.2


def test_a_comparison_of_heads_has_a_json_record(found: dict[str, Comparison]) -> None:
    told = found["folded and rounded"].to_dict()
    assert told["n_states"] == 1064
    assert set(told["rounded"]) == {"kinds", "beyond", "largest", "condition_number"}
    assert told["rounded"]["kinds"] == ["", "Q8_0"]
    assert found["folded"].to_dict()["rounded"] is None


def test_rows_that_lie_apart_and_models_of_two_ranks(tmp_path: Path) -> None:
    path = Head(W, GAIN, "Q8_0").written(tmp_path / "m.gguf")
    one, two = LoadedModel.of(STORED.written(tmp_path / "n.gguf")), LoadedModel.of(path)
    steps = two.rounding.steps(slice(0, 80))
    for rows in (np.array([3, 70, 41]), np.arange(5, 12), np.array([9])):
        match = Match("right", rows, rows, rows, 0, 0, key="row numbers")
        found = rounded(one, two, match)
        far = np.abs(two.model.right[rows] - one.model.right[rows]) / steps[rows]
        assert found.largest == pytest.approx(far.max(), rel=1e-3)
    narrow = replace(one, model=one.model.replace(right=W[:, :16]))
    assert rounded(narrow, two, match) is None
    assert rounded(replace(one, norm=None), two, match) is None
    silent = FinalNorm("rms", np.where(np.arange(32) == 4, 0.0, GAIN))
    assert rounded(replace(one, norm=silent), two, match) is None
    assert rounded(one, replace(two, norm=silent), match) is None
