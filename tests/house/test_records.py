"""What holds of every record: nobody changes it, and none compares arrays by their truth."""

from __future__ import annotations

import pkgutil

import pytest
from records import open_records, records_of

import embaudit

ROOMS = sorted(found.name for found in pkgutil.iter_modules(embaudit.__path__) if found.ispkg)
OPEN = {"_Subspace", "_Work", "Reading", "Stream"}
"""Records that change while they are at work, and those of a file that is read, which nobody compares."""


@pytest.mark.parametrize("room", [room for room in ROOMS if records_of(room)])
def test_records_are_closed(room):
    assert open_records(room) <= OPEN
