"""A report in numbers and words, and the kinds of groupings on both sides of their bounds."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import embaudit as ea
from embaudit.reversals import Association, Grouping, Kind


def grouping(pooled, within, r=(-0.5, -0.5), n=(10.0, 10.0), p=(0.01, 0.01), **options):
    moments = SimpleNamespace(r=np.array(r), n=np.array(n))
    nothing = np.full(len(r), math.nan)
    pooled, within = (Association(20, one, 1.0, p=level) for one, level in zip((pooled, within), p, strict=True))
    levels = tuple("abcd"[: len(r)])
    return Grouping(("g",), levels, moments, pooled, within, nothing, nothing, 0.5, **options)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"pooled": 0.5, "within": -0.5}, Kind.REVERSAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5)}, Kind.PARTIAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5), "n": (9.0, 11.0)}, Kind.NONE),
        # Signs that agree, or of which one is none, are not opposed.
        ({"pooled": 0.5, "within": 0.5}, Kind.NONE),
        ({"pooled": 0.8, "within": 0.2}, Kind.VANISHING),
        ({"pooled": 0.8, "within": 0.2001}, Kind.NONE),
        ({"pooled": 0.8, "within": 0.2, "p": (0.05, 1.0)}, Kind.VANISHING),
        ({"pooled": 0.8, "within": 0.2, "p": (0.0501, 0.0)}, Kind.NONE),
        ({"pooled": 0.8, "within": 0.2, "p": (math.nan, 1.0)}, Kind.VANISHING),
        ({"pooled": 0.8, "within": 0.0}, Kind.VANISHING),
        ({"pooled": 0.2, "within": 0.8}, Kind.MASKED),
        ({"pooled": 0.2001, "within": 0.8}, Kind.NONE),
        ({"pooled": 0.2, "within": 0.8, "p": (1.0, 0.05)}, Kind.MASKED),
        ({"pooled": 0.2, "within": 0.8, "p": (0.0, 0.0501)}, Kind.NONE),
        ({"pooled": 0.5, "within": math.nan}, Kind.UNDECIDED),
        ({"pooled": 0.5, "within": -0.5, "n": (4.0, 10.0), "min_size": 5}, Kind.UNDECIDED),
        ({"pooled": 0.5, "within": -0.5, "n": (5.0, 10.0), "min_size": 5}, Kind.REVERSAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, math.nan)}, Kind.UNDECIDED),
    ],
)  # fmt: skip
def test_a_kind_is_told_by_signs_shares_and_sizes(given, kind):
    found = grouping(**given)
    assert found.kind is kind
    assert found.is_finding is (kind not in (Kind.NONE, Kind.UNDECIDED))


def found(frame):
    return ea.simpson(frame, x="x", y="y", groups=["g"], min_size=3, n_permutations=0).groupings[0]
