"""Files too large to be looked through when they are opened: what is wrong in them is told at their first use."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from models import random_model
from pyarrow import parquet

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import load, save
from embaudit.model import lazy_array

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = np.random.default_rng(0).standard_normal((9, 3)).astype(np.float32)
HARMED = np.where(np.arange(27).reshape(9, 3) == 16, np.float32(np.nan), ROWS)
"""With a NaN at row 5, column 1."""
SENTENCE = "{path}: {what} must be finite; got nan at row 5, column 1; repair or drop that row."
PAIR = ea.FactorModel.from_user_item(ROWS, ROWS)
GROUP = ea.gauges.Diagonal(3, max_condition=2.0)
ENTRIES: dict[str, Callable[[ea.FactorModel], Any]] = {
    "at_exponent": lambda model: ea.at_exponent(model, 0.5),
    "audit": ea.audit,
    "canonical_form": ea.canonical_form,
    "certified_neighbours": ea.certified_neighbours,
    "compare": lambda model: ea.compare(model, PAIR, by_row=True),
    "compare after": lambda model: ea.compare(PAIR, model, by_row=True),
    "cosine_range": lambda model: ea.cosine_range(model, GROUP, pairs=[(0, 1)]),
    "drift": lambda model: ea.drift(model, PAIR, condition_number=1.0),
    "drift after": lambda model: ea.drift(PAIR, model, condition_number=1.0),
    "evaluate_similarities": lambda model: ea.evaluate_similarities(
        model, [0, 1, 0] * 3
    ),
    "explain_pair": lambda model: ea.explain_pair(model, 0, 1),
    "fix": ea.fix,
    "fix as cosines": lambda model: ea.fix(model, "centred"),
    "identified_cosines": lambda model: ea.identified_cosines(
        model, role="right", pairs=[(0, 1)]
    ),
    "identified_factors": lambda model: ea.identified_factors(model, "right"),
    "levels": ea.levels,
    "movement": lambda model: ea.movement(model, PAIR),
    "movement after": lambda model: ea.movement(PAIR, model),
    "neighbours": lambda model: ea.neighbours(model.right),
    "pinned_test": lambda model: ea.pinned_test(model.replace(link="cosine")),
    "plot_heatmap": ea.plot_heatmap,
    "plot_prediction_cosines": ea.plot_prediction_cosines,
    "position": ea.position,
    "range_summary": ea.range_summary,
    "save": lambda model: ea.save(model, Path("never.npz")),
    "twins": ea.twins,
    "verify": lambda model: ea.verify(
        ea.audit(PAIR, n_gauges=1, n_pairs=9).to_dict(), model
    ),
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
"""What people call with a model."""
OF_HEADS: dict[str, Callable[[ea.FactorModel], Any]] = {
    "head_report": ea.head_report,
    "probe_inputs": ea.probe_inputs,
}


@pytest.fixture(autouse=True)
def _nothing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_array, "AT_ONCE", 0)


def stored(path: Path, rows: Any = HARMED) -> Path:
    """Write rows as a file of the suffix's format."""
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file({"lm_head.weight": rows}, path)
    else:
        table(path, rows)
    return path


def table(path: Path, rows: Any, *, ids: Any = None, **columns: Any) -> Path:
    ids = np.arange(len(rows)) + 70 if ids is None else ids
    parquet.write_table(pa.table({"id": ids, "vector": list(rows), **columns}), path)
    return path


def test_every_function_of_models_is_tried() -> None:
    def takes_a_model(function: Any) -> bool:
        kinds = [
            str(given.annotation)
            for given in inspect.signature(function).parameters.values()
        ]
        return any("FactorModel" in kind for kind in kinds)

    found = {
        name
        for name in dir(ea)
        if inspect.isfunction(getattr(ea, name)) and takes_a_model(getattr(ea, name))
    }
    assert found - {*ENTRIES, *OF_HEADS} == set()
    assert len(found) >= 25


@pytest.mark.parametrize("name", ENTRIES)
def test_nobody_sees_what_is_no_number(name: str, tmp_path: Path) -> None:
    items, users = stored(tmp_path / "q.npy"), stored(tmp_path / "p.npy", ROWS)
    model = load(items, left=str(users))
    with pytest.raises(InputError) as caught:
        ENTRIES[name](model)
    assert str(caught.value) == SENTENCE.format(path=items, what="item factors")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("v.npy", "item factors"),
        ("v.safetensors", "label factors (lm_head.weight)"),
        ("v.parquet", "item factors (vector)"),
    ],
)
def test_the_sentence_names_file_array_and_row(
    name: str, what: str, tmp_path: Path, monkeypatch: Any
) -> None:
    path = stored(tmp_path / name)
    model = load(path)
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            _ = model.right
        assert str(caught.value) == SENTENCE.format(path=path, what=what)
    monkeypatch.setattr(lazy_array, "AT_ONCE", HARMED.nbytes)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value) == SENTENCE.format(path=path, what=what)


def test_ids_titles_and_counts_of_a_table_wait_too(tmp_path: Path) -> None:
    model = random_model(n=None, p=9, k=3).replace(
        right_ids=np.arange(9) * 5,
        right_names=list("abcdefghi"),
        right_counts=np.arange(9.0),
    )
    save(model, tmp_path / "v.parquet")
    found = load(tmp_path / "v.parquet")
    assert set(found.right_side.unread) == {"rows", "ids", "names", "counts"}
    assert found.right_side.given == {"rows", "ids", "names", "counts"}
    other = found.replace(right=np.ones((9, 2)))
    assert set(other.right_side.unread) == {"ids", "names", "counts"}
    for here in (found, other):
        assert here.right_ids is not None
        assert here.right_names is not None
        assert here.right_counts is not None
        assert here.right_ids.tolist() == list(range(0, 45, 5))
        assert here.right_names.tolist() == list("abcdefghi")
        assert here.right_counts.tolist() == list(range(9))
    assert found.right.tolist() == model.right.tolist()
    assert other.right.tolist() == [[1.0, 1.0]] * 9
    assert load(tmp_path / "v.parquet").take(
        right=np.array([1, 2])
    ).right_ids.tolist() == [5, 10]  # type: ignore[union-attr]
    with pytest.raises(
        InputError, match="item ids must be a list of 4, one a row; got shape"
    ):
        _ = load(tmp_path / "v.parquet").replace(right=np.ones((4, 2))).right_ids


def test_a_table_that_changed_since_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "v.parquet", ROWS)
    model = load(path)
    stored(path, ROWS[:5])
    with pytest.raises(InputError) as caught:
        _ = model.right
    assert (
        str(caught.value)
        == f"{path} must be the file that was opened; got another since, or none; load it again."
    )
    path.unlink()
    with pytest.raises(InputError, match="must be the file that was opened"):
        model.names("right")
