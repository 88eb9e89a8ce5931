"""Conclusions of a comparison of two heads, which were folded, rounded, both, or
trained further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from llama_files import LAYER, RMS, gguf_file

from embaudit.comparison import compare
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
    """A head of a file, and the gains of the norm before it; no gains where it has
    none.
    """

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
ROUNDING = ("rounded", "rounding explains", "rounding does", "rounding can")
"""Rounding of quantised files is not judged: their lists and cosines are compared."""
APART = "condition number 8"
"""κ of the gauge between the norms, max γ / min γ."""
ROWS: dict[str, tuple[Head, Head, tuple[str, ...], tuple[str, ...]]] = {
    "the same": (
        STORED,
        STORED,
        ("predict the same", "Nothing to do"),
        (*ROUNDING, APART),
    ),
    "folded": (
        STORED,
        FOLDED,
        (
            "predict the same",
            f"A change of axes (one scale for each dimension, {APART}) explains",
            "SAME: up to rounding, the models differ only by one scale",
            "`embaudit fix MODEL --as folded-centred`, which gives both the same "
            "cosines. Their axes stay a convention that both models share.",
        ),
        (*ROUNDING, "no gauge moves"),
    ),
    "rounded to 8 bits": (
        STORED,
        Head(W, GAIN, "Q8_0"),
        (),
        (*ROUNDING, "predict the same", "A change of axes ("),
    ),
    "folded and rounded": (
        STORED,
        Head(W * GAIN, np.ones(32), "Q8_0"),
        ("A change of axes (one", "lost to a change of axes"),
        (*ROUNDING, "predict the same", "SAME"),
    ),
    "centred, folded and rounded": (
        STORED,
        Head((W - MEAN) * GAIN, np.ones(32), "Q8_0"),
        (
            "A change of axes (",
            "42 % are lost to a change of axes and 1 % are lost to a real change",
        ),
        (*ROUNDING, "predict the same"),
    ),
    "trained further": (
        STORED,
        Head(OTHER, GAIN),
        ("Compare heads with their norms folded in", "A change of axes can still"),
        (*ROUNDING, "predict the same", "no gauge moves", "no matter of coordinates"),
    ),
    "another norm, which no fold makes up for": (
        STORED,
        Head(W, np.ones(32)),
        (),
        (*ROUNDING, "predict the same"),
    ),
    "a LayerNorm folded": (
        Head(W, GAIN, shift=SHIFT),
        Head(W * GAIN, np.ones(32), shift=SHIFT / GAIN),
        ("predict the same", "A change of axes ("),
        ROUNDING,
    ),
    "norms of two kinds": (
        STORED,
        Head(W, GAIN, shift=SHIFT),
        ("Only one side was loaded",),
        (*ROUNDING, "random states", "The two models predict"),
    ),
    "no norms": (
        Head(W),
        Head(W, kind="Q8_0"),
        ("Only one side was loaded",),
        (
            *ROUNDING,
            "random states",
            "two models predict the same",
            "A change of axes (",
        ),
    ),
    "a norm on one side": (
        STORED,
        Head(W * GAIN),
        ("Only one side was loaded", "could explain"),
        (*ROUNDING, "random states", "explains"),
    ),
    "whole numbers in F16": (
        Head(np.round(8 * W), GAIN),
        Head(np.round(8 * W), GAIN, "F16"),
        ("predict the same", "Nothing to do"),
        ROUNDING,
    ),
}
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


def test_random_states_stand_in_for_inputs_of_two_heads_behind_norms_of_one_kind(
    found: dict[str, Comparison],
) -> None:
    """1,000 states and two for each of the 32 dimensions; none for other heads."""
    states = {name: one.n_states for name, one in found.items()}
    one_sided = {name for name, count in states.items() if count == 0}
    assert one_sided == {"norms of two kinds", "no norms", "a norm on one side"}
    assert states["folded"] == 1000 + 2 * 32
    assert all((one.agreement is None) == (one.n_states == 0) for one in found.values())
    assert list(found["folded"].changes) == ["right"]


def test_compare_and_fix_agree_that_the_axes_of_a_folded_head_are_a_convention(
    found: dict[str, Comparison], tmp_path: Path
) -> None:
    """The rows of both heads are equal once folded and centred, on the axes that both
    use.
    """
    paths = STORED.written(tmp_path / "a.gguf"), FOLDED.written(tmp_path / "b.gguf")
    first, second = (fix(path, "folded-centred") for path in paths)
    np.testing.assert_allclose(first.vectors(), second.vectors(), rtol=1e-5, atol=1e-5)
    assert "The axes stay a convention." in first.explain()
    assert "Their axes stay a convention" in found["folded"].explain()


def test_a_comparison_separates_the_gauge_from_rounding(
    found: dict[str, Comparison],
) -> None:
    """The gauge part of a folded head is that of the fold; the rest is what rounding
    moves without any gauge.
    """
    both, fold, eight = (
        found[name].changes["right"]
        for name in ("folded and rounded", "folded", "rounded to 8 bits")
    )
    assert both.mean_gauge == pytest.approx(fold.mean_gauge, rel=0.1)
    assert fold.mean_remainder < 1e-6
    assert 1e-4 < both.mean_remainder < 3e-3
    assert 1e-4 < eight.mean_total < 3e-3
    assert found["folded"].agreement.same
    assert found["rounded to 8 bits"].agreement.difference_distance < 0.01


def test_a_comparison_of_heads_records_the_number_of_states(
    found: dict[str, Comparison],
) -> None:
    assert found["folded and rounded"].to_dict()["n_states"] == 1064
