"""What the first screen says beside the numbers: which lists, whose names, what is marked and what it is worth."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit import audit
from embaudit.report.next_steps import Asked
from embaudit.report.terminal import first_screen


def screen(model, path="m.npz", **options):
    return first_screen(audit(model, n_gauges=1, **options), Asked(path))


@pytest.mark.usefixtures("without_attacks")
def test_neighbours_make_room_for_an_issue_and_not_for_a_tip(monkeypatch):
    rows = random_model(2, n=30, p=40, k=4)

    def found(n_copies, height):
        monkeypatch.setattr("embaudit.report.terminal.HEIGHT", height)
        said = screen(rows.replace(right=np.vstack([rows.right, rows.right[:n_copies]]), objective="product"))
        _, *lists = said.partition("nearest to ")[2].partition("\nnext")[0].strip().splitlines()
        return [line[:12].rstrip(": ") for line in said.splitlines() if line.startswith("EMB")], len(lists)

    first, issue, tip = "EMB101 issue", "EMB401 issue", "EMB401 tip"
    assert [found(20, height) for height in (26, 25, 24, 23, 22)] == [
        ([first, issue], 5), ([first, issue], 4), ([first, issue], 3), ([first, issue], 2), ([first], 2),
    ]  # fmt: skip
    assert [found(4, height) for height in (26, 25, 24, 23)] == [
        ([first, tip], 5), ([first, tip], 4), ([first, tip], 3), ([first], 3),
    ]  # fmt: skip
