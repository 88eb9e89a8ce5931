"""Every link with every pattern of biases, in one dimension and in two.

In one dimension a cosine is a sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    CONVENTION,
    Case,
)
from truth.table.rows import centred, drawn

from embaudit.model import FactorModel, as_link, softmax_link

if TYPE_CHECKING:
    from collections.abc import Iterator

LINKS = {
    "identity": "identity",
    "sigmoid": "sigmoid",
    "softmax": "softmax",
    "capped": softmax_link(soft_cap=3.0),
    "unit labels": softmax_link(unit_rows=True),
    "unit labels, capped": softmax_link(soft_cap=3.0, unit_rows=True),
    "cosine": "cosine",
    "ranking": "ranking",
}
BIASES = {
    "none": (),
    "left": ("left_bias",),
    "right": ("right_bias",),
    "both": ("left_bias", "right_bias"),
}
LINE = {
    # A cosine is a sign, and only a shift can turn it.
    "identity": ("PP", "FP", "PF", "FF"),
    "sigmoid": ("PP", "FP", "PF", "FF"),
    # A softmax does not see a number that is added to all scores of an input.
    "softmax": ("FP", "FP", "FF", "FF"),
    # Equal probabilities do not imply equal scores.
    "capped": ("UU", "FU", "UF", "FF"),
    # Labels of length 1 keep their signs. A label bias allows a shift of the inputs.
    "unit labels": ("PP", "PP", "PF", "PF"),
    "unit labels, capped": ("UU", "UU", "UF", "UF"),
    "cosine": ("PP", "PP", "PP", "PP"),
    "ranking": ("FU", "FU", "FF", "FF"),
}
"""The truth about right and left cosines in one dimension, for each link: without a
bias, with a left bias, with a right bias, and with both.
"""
PLANE = {
    "identity": ("FF", "FF", "FF", "FF"),
    "sigmoid": ("FF", "FF", "FF", "FF"),
    "softmax": ("FF", "FF", "FF", "FF"),
    "capped": ("FF", "FF", "FF", "FF"),
    "unit labels": ("PP", "PP", "PF", "PF"),
    "unit labels, capped": ("UU", "UU", "UF", "UF"),
    "cosine": ("PP", "PP", "PP", "PP"),
    "ranking": ("FF", "FF", "FF", "FF"),
}
"""The same in two dimensions."""
FINDINGS = {"F": {"EMB102": "tip"}, "U": {"EMB105": "tip"}, "P": {}}
N_LEFT, N_RIGHT = 7, 6


def cases() -> Iterator[Case]:
    """Yield one case for each dimension, link and pattern of biases."""
    for rank, table in ((1, LINE), (2, PLANE)):
        for link, truths in table.items():
            for pattern, truth in zip(BIASES, truths, strict=True):
                yield _case(rank, link, pattern, truth)


def _case(rank: int, link: str, pattern: str, truth: str) -> Case:
    """Return the case of one link and one pattern of biases."""
    right_truth, left_truth = truth
    right = drawn(N_RIGHT, rank, 1)
    if as_link(LINKS[link]).name == "softmax":
        right = centred(N_RIGHT, rank, 1)
    sizes = {"left_bias": N_LEFT, "right_bias": N_RIGHT}
    biases = {name: np.linspace(-1, 1, sizes[name]) for name in BIASES[pattern]}

    findings = dict(FINDINGS[right_truth])
    if "right_bias" in biases and link != "cosine":
        findings["EMB202"] = "tip"
    never = ()
    if link == "ranking":
        never = ("every equivalent model",)
    answer = ""
    if rank == 1 and right_truth == "F":
        # The signs of the stored rows are those of the centred scores.
        answer = CONVENTION
    return Case(
        f"rank {rank}, {link}, bias {pattern}",
        FactorModel.from_arrays(drawn(N_LEFT, rank), right, link=LINKS[link], **biases),
        truth={"right": right_truth, "left": left_truth},
        findings=findings,
        never=never,
        about_all_models=link not in ("capped", "ranking"),
        answer=answer,
    )
