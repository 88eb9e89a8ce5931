"""What each room settles is what it was; a change of one is meant, and seen in the kept file."""

from __future__ import annotations

import pytest
from settings import KEPT, require_settings_of

ROOMS = [
    "kernels", "model", "gauges", "movements", "solvers", "canonical", "ranges", "attacks", "softmax",
    "remedy", "comparison", "evaluation", "blocks", "reversals", "auditing",
]  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_settings_are_those_kept(room):
    require_settings_of(room)


def test_every_kept_file_is_of_a_room():
    assert sorted(path.stem for path in KEPT.iterdir()) == sorted(ROOMS)
