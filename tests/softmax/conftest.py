"""What tests of heads have in common."""

from __future__ import annotations

import pytest

from embaudit.core.progress import reporting


@pytest.fixture
def announced():
    """Descriptions and totals of all steps that are told of."""
    told = []

    def reporter(steps, description, total):
        told.append((description, total))
        yield from steps

    with reporting(reporter):
        yield told
