"""What JSON is given, and the words and files that a command keeps."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.core.checked import as_seed
from embaudit.core.words import percent


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"),
        (0.0001, "0.1 %"),
        (0.0099, "1.0 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
        (0.99, "99 %"),
        (0.9901, "99.0 %"),
        (0.99999, "99.9 %"),
        (1.0, "100 %"),
        (np.nan, "–"),
    ],
)
def test_shares_are_never_rounded_to_all_or_nothing(share, said):
    assert percent(share) == said


def test_seeds_are_kept_and_drawn_ones_can_be_given_again():
    assert as_seed(np.int64(7)) == 7
    assert 0 <= as_seed(None) < 2**31
    draw = np.random.default_rng(0)
    assert as_seed(draw) == np.random.default_rng(0).integers(2**31)
