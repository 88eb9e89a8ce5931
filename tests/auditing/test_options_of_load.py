"""An audit of a file takes every option of `load`, and reads what `load` reads."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit.io import OPTIONS

if TYPE_CHECKING:
    from pathlib import Path

A, B, C = (
    np.random.default_rng(k).normal(size=(n, 4)) for k, n in enumerate((30, 40, 20))
)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("m.npz", {"weight": "b", "kind": "vectors"}),
        ("m.npz", {"weight": "b", "kind": "head"}),
        ("m.npz", {"left": "a", "weight": "b", "ignore": "c", "link": "sigmoid"}),
        ("m.npz", {"weight": "c", "kind": "vectors", "ids": np.arange(20)}),
        ("m.npz", {"weight": "c", "kind": "vectors", "right_name": "film"}),
        ("v.npy", {"transpose": "right"}),
        ("v.npy", {"format": "npy", "kind": "vectors"}),
        ("v.csv", {"vector": "e", "vector_id": "code"}),
        ("v.csv", {"vector": "f0:f3", "vector_id": "code"}),
    ],
)
def test_an_audit_reads_what_load_reads(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    np.savez(tmp_path / "m.npz", a=A, b=B, c=C)
    np.save(tmp_path / "v.npy", C)
    table = pd.concat(
        [pd.DataFrame(A).add_prefix("e"), pd.DataFrame(A[::-1]).add_prefix("f")], axis=1
    )
    table.assign(code=range(100, 130)).to_csv(tmp_path / "v.csv", index=False)
    settings = {"n_gauges": 1, "n_starts": 1, "n_steps": 1}
    model = ea.load(tmp_path / name, **options)
    audited = ea.audit(tmp_path / name, **settings, **options)
    expected = ea.audit(model, source=str(tmp_path / name), **settings).to_dict()
    found = audited.to_dict()
    for part in ("model", "drift", "answer"):
        assert found[part] == expected[part]
    assert audited.fingerprint == expected["input"]["fingerprint"]


def test_every_option_of_load_is_a_keyword_of_audit() -> None:
    assert set(OPTIONS) <= set(signature(ea.audit).parameters)
