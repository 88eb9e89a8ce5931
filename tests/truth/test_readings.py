"""The description of each file in the table of readings is true and complete, and every
screen and file of an audit shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import ARRAY_FIELDS
from readings import NEVER, READINGS, REFUSED

from embaudit import audit
from embaudit.errors import InputError
from embaudit.io import Reading, inspect, read
from embaudit.model import as_link

FILES = [name for name, expected in READINGS.items() if expected.arrays]

COLUMNS_OF_PARTS = {"columns x to y": ["x", "y"], "column vector": ["vector"]}
"""The columns of a file that one part of a reading covers."""
OUTSIDE_THE_FILE = ("its name", "vocab.json", "id2label of config.json")
"""Parts of a reading that are no arrays of the file itself."""


def read_example(name: str, folder: Path) -> Reading:
    example = READINGS[name]
    return read(example.make(folder), **example.options)


def one_line(screen: str) -> str:
    return " ".join(screen.split())


def assert_same_array(actual: np.ndarray, expected: Any, field: str) -> None:
    """Check ids and names as lists, and numbers in the precision of the model."""
    if "ids" in field or "names" in field:
        assert actual.tolist() == np.asarray(expected).tolist(), field
    else:
        stored = np.asarray(expected, dtype=actual.dtype)
        np.testing.assert_array_equal(actual, stored, field)


@pytest.mark.parametrize("name", READINGS)
def test_a_model_holds_the_arrays_of_its_file_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    expected = READINGS[name].fields
    model = read_example(name, tmp_path).model
    for field in ARRAY_FIELDS:
        actual = getattr(model, field)
        if field in expected:
            assert_same_array(actual, expected[field], field)
        else:
            assert actual is None, field
    assert model.link == as_link(expected.get("link", "identity"))
    assert model.offset == expected.get("offset", 0.0)
    assert model.objective == expected.get("objective")


@pytest.mark.parametrize("name", READINGS)
def test_the_report_of_a_reading_is_true(name: str, tmp_path: Path) -> None:
    expected = READINGS[name]
    intake = read_example(name, tmp_path).intake
    explanation = intake.explain().replace(str(tmp_path), "FOLDER")
    line = intake.line().replace(str(tmp_path), "FOLDER")
    assert explanation == expected.explanation
    assert line == expected.line
    for phrase in (*NEVER, *expected.never):
        assert phrase not in explanation


@pytest.mark.parametrize("name", READINGS)
def test_the_parts_of_a_reading_are_the_fields_of_the_model(
    name: str, tmp_path: Path
) -> None:
    intake = read_example(name, tmp_path).intake
    roles = {part.became for part in intake.parts}
    # A link can be assumed, so that no part of the file says it.
    assert roles - {"link"} == set(READINGS[name].fields) - {"link"}


@pytest.mark.parametrize("name", FILES)
def test_every_array_is_either_used_or_reported_as_left_over(
    name: str, tmp_path: Path
) -> None:
    intake = read_example(name, tmp_path).intake
    reported: list[str] = []
    for part in (*intake.parts, *intake.left_over):
        if part.name not in OUTSIDE_THE_FILE:
            reported += COLUMNS_OF_PARTS.get(part.name, [part.name])
    assert sorted(reported) == sorted(READINGS[name].arrays)


@pytest.mark.parametrize("name", FILES)
def test_inspection_reports_what_reading_reports_without_the_values(
    name: str, tmp_path: Path
) -> None:
    example = READINGS[name]
    path = example.make(tmp_path)
    inspected = inspect(path, **example.options)
    intake = read(path, **example.options).intake

    sizes = {size for part in inspected.left_over for size in part.shape}
    if None not in sizes:  # The header of the file gives all shapes.
        assert inspected.left_over == intake.left_over
    assert [(part.name, part.became) for part in inspected.parts] == [
        (part.name, part.became) for part in intake.parts
    ]
    # Only a reading decides which link to assume.
    assumed = {text for text in intake.assumed if not text.endswith(" link")}
    assert set(inspected.assumed) == assumed


SHOWN = ["a pair with biases, ids and names", "classes with names", "a column of lists"]


@pytest.mark.parametrize("name", SHOWN)
def test_the_report_of_a_reading_is_in_the_json_and_on_the_page(
    name: str, tmp_path: Path
) -> None:
    example = READINGS[name]
    path = example.make(tmp_path)
    result = audit(path, n_gauges=1, n_pairs=20, n_starts=0)
    intake = result.to_dict()["input"]["intake"]
    assert intake["explanation"] == example.explanation
    assert example.explanation in result.report()


@pytest.mark.parametrize("name", SHOWN)
def test_the_report_of_a_reading_is_on_the_screens(
    name: str, tmp_path: Path, embaudit: Any
) -> None:
    example = READINGS[name]
    path = example.make(tmp_path)
    small = ("--n-gauges", 1, "--n-starts", 0, "--n-pairs", 20)
    full_screen = one_line(embaudit("audit", path, "--full", *small).out)
    first_screen = one_line(embaudit("audit", path, *small).out)
    formats_screen = one_line(embaudit("formats", path).out)

    used, _, _ = example.line.partition(";")
    assert example.explanation in full_screen
    assert used in first_screen
    assert f"Read as {example.source}: {example.parts[0]}" in formats_screen


@pytest.mark.parametrize("reader", [read, inspect])
@pytest.mark.parametrize("name", REFUSED)
def test_an_ambiguous_file_is_refused(name: str, reader: Any, tmp_path: Path) -> None:
    case = REFUSED[name]
    path = case.make(tmp_path)
    with pytest.raises(InputError) as caught:
        reader(path, **case.options)
    message = str(caught.value)
    assert str(path) in message
    for phrase in case.phrases:
        assert phrase in message


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_settles_how_an_ambiguous_file_is_read(
    name: str, tmp_path: Path
) -> None:
    case = REFUSED[name]
    model = read(case.make(tmp_path), **case.options, **case.settled).model
    for field, expected in case.fields.items():
        assert_same_array(getattr(model, field), expected, field)
