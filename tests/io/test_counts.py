"""Counts beside a model: read from arrays and tables, matched by ids, refused where they do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import load, save

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    model = FactorModel.from_user_item(
        draw.normal(size=(2, 2)), draw.normal(size=(3, 2)), item_ids=["a", "b", "c"], user_ids=[10, 20]
    )
    save(model, tmp_path / "m.npz")
    return tmp_path / "m.npz"


def read(stored: Path, name: str, content: str) -> Any:
    path = stored.with_name(name)
    path.write_text(content)
    counts = load(stored, right_counts=path).right_counts
    assert counts is not None
    return counts.tolist()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("c.csv", "4\n0\n", "a file of 3 item counts, one a row; got 2"),
        ("c.csv", "a,4\nb,0\n", "those of all 3 items; got 2 of them; c, for instance, is not there; write 0"),
        ("c.csv", "x,4\ny,0\nz,1\n", "got 0 of them; a, for instance, is not there; check its column of ids"),
        ("c.csv", "a,4\nb,0\nc,1\na,2\n", "column 1 of .*one for each id; got 4.0 and 2.0 for a"),
        ("c.csv", "a,4\nb,x\nc,1\n", "numbers; got 'x' in line 2"),
        ("c.csv", "title,year,pages\nA,1,2\n", "called id and count; got title, year, pages"),
    ],
)
def test_counts_that_do_not_fit_are_refused(stored: Path, name: str, content: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read(stored, name, content)
