"""What the first screen says beside the numbers: which lists, whose names, what is marked and what it is worth."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit import audit
from embaudit.report.next_steps import Asked
from embaudit.report.terminal import first_screen

PAIR = random_model(2, n=30, p=20, k=4)
ALONE = random_model(2, n=None, p=20, k=4)


def screen(model, path="m.npz", **options):
    return first_screen(audit(model, n_gauges=1, **options), Asked(path))


@pytest.mark.usefixtures("without_attacks")
def test_columns_stand_under_what_they_were_seen_or_proven_in():
    above, headings = screen(PAIR).split("\n\n")[1].splitlines()[:2]
    assert above.strip() == "most seen in equal models    proven while axes stretch up to κ = 1.5"
    assert above.index("most") == headings.index("mean move")
    assert above.index("proven") == headings.index("width of range")


@pytest.mark.usefixtures("without_attacks")
def test_what_the_right_list_is_worth_is_said_of_models_that_are_merely_equal():
    valid = "The list on the right is as valid as the left one, no better."
    chosen = "Training chose the left list, among those of equal models."
    alone, declared = (screen(model, max_condition=20.0) for model in (ALONE, ALONE.replace(objective="factors")))
    pair = screen(PAIR)
    assert f"\n* one list only. {valid}\n" in alone
    assert f"\n* one list only. {chosen}\n" in declared
    assert (valid in declared, valid in pair, chosen in pair) == (False, False, False)
    assert "by what is predicted (* one list only)\n" in pair
    for text in (alone, pair):
        lists = text.split("nearest to ")[1].splitlines()[1:6]
        one, other = ([line[:40] for line in lists], [line[42:] for line in lists])
        names = [{" ".join(cell.split()[:2]) for cell in cells} for cells in (one, other)]
        for cells, others in ((one, names[1]), (other, names[0])):
            assert [cell.rstrip().endswith("*") for cell in cells] == [
                " ".join(cell.split()[:2]) not in others for cell in cells
            ]


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
