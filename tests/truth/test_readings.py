"""The description of each file in the table of readings is true and complete, and every
screen and file of an audit shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from readings import NEVER, READINGS, REFUSED

from embaudit import audit
from embaudit.errors import InputError
from embaudit.io import Reading, inspect, read
from embaudit.model import as_link

FIELDS = (
    "left",
    "right",
    "left_bias",
    "right_bias",
    "left_ids",
    "right_ids",
    "left_names",
    "right_names",
    "left_counts",
    "right_counts",
)
FILES = [name for name, row in READINGS.items() if row.arrays]


def found(name: str, folder: Path) -> Reading:
    row = READINGS[name]
    given = row.made(folder)
    return read(given, **row.options)


@pytest.mark.parametrize("name", READINGS)
def test_a_model_holds_the_arrays_of_its_file_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    row, model = READINGS[name], found(name, tmp_path).model
    for field in FIELDS:
        held, true = getattr(model, field), row.fields.get(field)
        if true is None:
            assert held is None, field
        elif "ids" in field or "names" in field:
            assert held.tolist() == np.asarray(true).tolist(), field
        else:
            np.testing.assert_array_equal(
                held, np.asarray(true, dtype=held.dtype), field
            )
    assert model.link == as_link(row.fields.get("link", "identity"))
    assert model.offset == row.fields.get("offset", 0.0)
    assert model.objective == row.fields.get("objective")


@pytest.mark.parametrize("name", READINGS)
def test_the_report_of_a_reading_is_true(name: str, tmp_path: Path) -> None:
    row, intake = READINGS[name], found(name, tmp_path).intake
    said = intake.explain().replace(str(tmp_path), "FOLDER")
    assert said == row.says
    assert intake.line().replace(str(tmp_path), "FOLDER") == row.line
    for phrase in (*NEVER, *row.never):
        assert phrase not in said
    parts = {part.became for part in intake.parts} - {"link"}
    assert parts == set(row.fields) - {"link"}


@pytest.mark.parametrize("name", FILES)
def test_every_array_is_either_used_or_reported_as_left_over(
    name: str, tmp_path: Path
) -> None:
    row, intake = READINGS[name], found(name, tmp_path).intake
    taken, left = (
        [part.name for part in intake.parts],
        [part.name for part in intake.left_over],
    )
    spanned = {"columns x to y": ["x", "y"], "column vector": ["vector"]}
    files = ("its name", "vocab.json", "id2label of config.json")
    named = [
        each
        for part in (*taken, *left)
        for each in spanned.get(part, [part])
        if part not in files
    ]
    assert sorted(named) == sorted(row.arrays)


@pytest.mark.parametrize("name", FILES)
def test_a_look_says_the_same_but_for_what_only_numbers_tell(
    name: str, tmp_path: Path
) -> None:
    row = READINGS[name]
    path = row.made(tmp_path)
    looked, intake = inspect(path, **row.options), read(path, **row.options).intake
    assert looked.left_over == intake.left_over or None in {
        size for x in looked.left_over for size in x.shape
    }
    assert [(part.name, part.became) for part in looked.parts] == [
        (part.name, part.became) for part in intake.parts
    ]
    assert set(looked.assumed) <= set(intake.assumed)
    assert {said for said in intake.assumed if not said.endswith(" link")} == set(
        looked.assumed
    )


@pytest.mark.parametrize(
    "name",
    ["a pair with all that is known of it", "classes with names", "a column of lists"],
)
def test_the_report_of_a_reading_is_on_the_screen_the_page_and_in_the_json(
    name: str, tmp_path: Path, embaudit: Any
) -> None:
    row = READINGS[name]
    path = row.made(tmp_path)
    record = audit(path, n_gauges=1, n_pairs=20, n_starts=0)
    assert record.to_dict()["input"]["intake"]["explanation"] == row.says
    assert row.says in record.report()
    full = " ".join(
        embaudit(
            "audit", path, "--full", "--n-gauges", 1, "--n-starts", 0, "--n-pairs", 20
        ).out.split()
    )
    assert row.says in full
    first = " ".join(
        embaudit(
            "audit", path, "--n-gauges", 1, "--n-starts", 0, "--n-pairs", 20
        ).out.split()
    )
    assert row.line.split(";")[0] in first
    assert row.says[:33] in " ".join(embaudit("formats", path).out.split())


@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_file_is_refused_until_an_option_settles_it(
    name: str, tmp_path: Path
) -> None:
    row = REFUSED[name]
    path = row.made(tmp_path)
    for reading in (read, inspect):
        with pytest.raises(InputError) as caught:
            reading(path, **row.options)
        for phrase in row.says:
            assert phrase in str(caught.value)
        assert str(path) in str(caught.value)
    model = read(path, **row.options, **row.settled).model
    for field, true in row.fields.items():
        np.testing.assert_array_equal(
            getattr(model, field), np.asarray(true, dtype=getattr(model, field).dtype)
        )
