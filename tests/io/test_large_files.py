"""Files above 64 MiB are read at their first use, so faults show only then."""

from __future__ import annotations

import inspect
import pickle
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from example_files import refusal
from pyarrow import parquet
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.io import load

if TYPE_CHECKING:
    from collections.abc import Callable

N_ROWS, N_COLUMNS = 2**19 + 1, 32
"""One row more than 64 MiB of numbers in float32."""
FAULT = "must be finite; got nan at row 5, column 1; repair or drop that row."
GROUP = ea.gauges.Diagonal(N_COLUMNS, max_condition=2.0)


@cache
def whole_pair() -> ea.FactorModel:
    """Return a model of as many rows, without a fault."""
    items = np.ones((N_ROWS, N_COLUMNS), dtype=np.float32)
    return ea.FactorModel.from_user_item(np.eye(9, N_COLUMNS), items)


def audit_of_small_pair() -> dict[str, Any]:
    small = ea.FactorModel.from_user_item(np.eye(9, 4), np.eye(8, 4))
    return ea.audit(small, n_gauges=1, n_pairs=9).to_dict()


ENTRIES: dict[str, Callable[[ea.FactorModel], Any]] = {
    "at_exponent": lambda model: ea.at_exponent(model, 0.5),
    "audit": ea.audit,
    "canonical_form": ea.canonical_form,
    "certified_neighbours": ea.certified_neighbours,
    "compare": lambda model: ea.compare(model, whole_pair(), by_row=True),
    "compare after": lambda model: ea.compare(whole_pair(), model, by_row=True),
    "cosine_range": lambda model: ea.cosine_range(model, GROUP, pairs=[(0, 1)]),
    "drift": lambda model: ea.drift(model, whole_pair(), condition_number=1.0),
    "drift after": lambda model: ea.drift(whole_pair(), model, condition_number=1.0),
    "evaluate_similarities": lambda model: ea.evaluate_similarities(
        model, np.arange(N_ROWS) % 2
    ),
    "fix": ea.fix,
    "fix as cosines": lambda model: ea.fix(model, "centred"),
    "identified_cosines": lambda model: ea.identified_cosines(
        model, role="right", pairs=[(0, 1)]
    ),
    "identified_factors": lambda model: ea.identified_factors(model, "right"),
    "levels": ea.levels,
    "movement": lambda model: ea.movement(model, whole_pair()),
    "movement after": lambda model: ea.movement(whole_pair(), model),
    "neighbours": lambda model: ea.neighbours(model.right),
    "pinned_test": lambda model: ea.pinned_test(model.replace(link="cosine")),
    "plot_heatmap": ea.plot_heatmap,
    "plot_prediction_cosines": ea.plot_prediction_cosines,
    "position": ea.position,
    "range_summary": ea.range_summary,
    "save": lambda model: ea.save(model, Path("never.npz")),
    "twins": ea.twins,
    "verify": lambda model: ea.verify(audit_of_small_pair(), model),
    "worst_gauge": lambda model: ea.worst_gauge(model, GROUP),
    "a gauge": lambda model: GROUP.sample(rng=0).act(model),
    "scores": lambda model: model.scores(),
    "predictions": lambda model: model.predictions([0]),
    "cosines": lambda model: model.cosines("right", [(0, 1)]),
    "cross cosines": lambda model: model.cosines("cross", [(0, 1)]),
    "factors": lambda model: model.factors("item"),
    "moments": lambda model: model.moments("right"),
    "zero rows": lambda model: model.zero_rows("right"),
    "take": lambda model: model.take(right=np.array([0, 1])),
    "a pickle": lambda model: pickle.loads(pickle.dumps(model)).right,
}
"""Every public function that takes a model."""
OF_HEADS: dict[str, Callable[[ea.FactorModel], Any]] = {
    "head_report": ea.head_report,
    "probe_inputs": ea.probe_inputs,
}


def damaged(n_rows: int = N_ROWS) -> np.ndarray:
    rows = np.ones((n_rows, N_COLUMNS), dtype=np.float32)
    rows[5, 1] = np.nan
    return rows


def write(path: Path, rows: np.ndarray, **columns: Any) -> Path:
    """Write rows as a file of the suffix's format."""
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".safetensors":
        save_file({"lm_head.weight": rows}, path)
    else:
        ids = np.arange(len(rows)) + 70
        vectors = pa.FixedSizeListArray.from_arrays(rows.ravel(), rows.shape[1])
        table = pa.table({"id": ids, "vector": vectors, **columns})
        parquet.write_table(table, path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """Return a folder with users and with items that have a fault."""
    made = tmp_path_factory.mktemp("large")
    write(made / "items.npy", damaged())
    write(made / "users.npy", np.eye(9, N_COLUMNS))
    return made


def test_every_function_of_models_is_tried() -> None:
    def takes_a_model(function: Any) -> bool:
        parameters = inspect.signature(function).parameters.values()
        return any("FactorModel" in str(given.annotation) for given in parameters)

    found = {
        name
        for name in dir(ea)
        if inspect.isfunction(getattr(ea, name)) and takes_a_model(getattr(ea, name))
    }
    assert found - {*ENTRIES, *OF_HEADS} == set()
    assert len(found) >= 24


@pytest.mark.parametrize("name", ENTRIES)
def test_no_function_computes_with_a_number_that_is_missing(
    name: str, folder: Path
) -> None:
    model = load(folder / "items.npy", left=str(folder / "users.npy"))
    sentence = refusal(ENTRIES[name], model)
    assert sentence == f"{folder / 'items.npy'}: item factors {FAULT}"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("v.npy", "item factors"),
        ("v.safetensors", "label factors (lm_head.weight)"),
        ("v.parquet", "item factors (vector)"),
    ],
)
def test_a_fault_is_told_when_a_small_file_opens_and_a_large_one_is_used(
    name: str, what: str, tmp_path: Path
) -> None:
    """The sentence names the file, the array and the row."""
    path = write(tmp_path / name, damaged(9))
    assert refusal(load, path) == f"{path}: {what} {FAULT}"
    model = load(write(path, damaged()))
    for _ in range(2):
        assert refusal(lambda: model.right) == f"{path}: {what} {FAULT}"


def test_a_large_table_keeps_its_ids_and_refuses_rows_that_changed(
    tmp_path: Path,
) -> None:
    """Rows are read at their first use, so the file must still be the same."""
    path = write(tmp_path / "v.parquet", np.ones((N_ROWS, N_COLUMNS), np.float32))
    model = load(path)
    write(path, np.ones((5, N_COLUMNS), dtype=np.float32))
    assert model.right_ids[:3].tolist() == [70, 71, 72]
    sentence = (
        f"{path} must be the file that was opened; got another since, or none; "
        "load it again."
    )
    assert refusal(lambda: model.right) == sentence
    path.unlink()
    assert refusal(lambda: model.right) == sentence


def test_a_large_folder_refuses_a_file_that_changed(tmp_path: Path) -> None:
    half = np.ones((N_ROWS // 2 + 1, N_COLUMNS), dtype=np.float32)
    (folder := tmp_path / "d").mkdir()
    for number in (0, 1):
        vectors = pa.FixedSizeListArray.from_arrays(half.ravel(), N_COLUMNS)
        ids = np.arange(len(half)) + number * len(half)
        table = pa.table({"id": ids, "vector": vectors})
        parquet.write_table(table, folder / f"part-{number}.parquet")
    model = load(folder)
    parquet.write_table(table.slice(0, 1), folder / "part-1.parquet")
    sentence = refusal(lambda: model.right)
    assert "part-1.parquet must be the file that was opened" in sentence
