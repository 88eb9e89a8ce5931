"""Claims of a proof made by hand: a few numbers, no audit, so that each check of the checker is tested in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import embaudit.io.proofs.verify as checker


def array(given: Any) -> Any:
    """Numbers as an array, row numbers as they are stored."""
    if given is None or isinstance(given, np.ndarray):
        return given
    found = np.array(given)
    return found.astype(np.int32) if found.dtype.kind == "i" else found


def fails(problem: str, call: Any, *given: Any) -> None:
    """Call what must find exactly this problem."""
    with pytest.raises(ArithmeticError) as failed:
        call(*given)
    assert str(failed.value) == problem


def link(name: str = "identity", soft_cap: float | None = None, unit_rows: bool = False) -> dict[str, Any]:
    """Describe a link as a record does."""
    return {"name": name, "soft_cap": soft_cap, "unit_rows": unit_rows}


def rows(given: Any) -> Any:
    """Rows of a side in double precision."""
    return given if given is None or isinstance(given, np.ndarray) else np.array(given, dtype=float)


def claim(name: str, right: Any, left: Any = None, *, bias: str = "", known: Any = None, **fields: Any) -> Any:
    """One claim about a model; fields that end with no name of the record are arrays."""
    model = {"left": rows(left), "right": rows(right), "left_bias": None, "right_bias": None}
    for side in bias.split():
        model[f"{side}_bias"] = np.zeros(len(model[side]) if model[side] is not None else 3)
    said = fields.pop("link", link())
    scope = {"max_condition": fields.pop("max_condition", None), "max_shift": fields.pop("max_shift", None)}
    record = {"name": name, "kind": fields.pop("kind", "proven"), "value": fields.pop("value", None), "scope": scope}
    numbers, facts = fields.pop("numbers", {}), fields.pop("facts", {})
    arrays = {key: array(value) for key, value in fields.items() if value is not None}
    proof = {"arrays": {key: f"stored {key}" for key in arrays}, "numbers": numbers, **facts}
    stored = {f"stored {key}": value for key, value in arrays.items()}
    return checker.Claim(record | {"proof": proof}, stored, said, model, {} if known is None else known)


def gauge(a: Any, b: Any = None, left: Any = None, right: Any = None, n: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """Arrays of a gauge: its matrices, its shifts, and the rows on which scores are compared."""
    a = np.array(a, dtype=float)
    b = np.linalg.inv(a).T if b is None else np.array(b, dtype=float)
    none = np.zeros(a.shape[1])
    return {
        "gauge_left": a, "gauge_right": b,
        "shift_left": none if left is None else np.array(left, dtype=float),
        "shift_right": none if right is None else np.array(right, dtype=float),
        "rows_left": list(range(n[0])), "rows_right": list(range(n[1])),
    }  # fmt: skip
