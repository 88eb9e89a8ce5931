"""What solvers and figures of papers make of small data: `calls.txt` has expressions, and below each what is made."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from expressions import assert_expressions, error_of, shown
from snapshots import as_locked

import embaudit as ea
from embaudit.solvers import svd

MODULES = ("reproduce.nielsen", "reproduce.simpson", "reproduce.netflix", "reproduce.netflix_setting",
           "reproduce.netflix_models", "solvers.linear_embedding", "solvers.factor_penalty", "solvers.product_penalty",
           "solvers.svd")  # fmt: skip


def patched(call, **sizes):
    """Call with other sizes from which on a route is taken."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in sizes.items():
            patch.setattr(svd, name, size)
        return call()


def described(value):
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("list")
    if isinstance(value, svd.TruncatedSVD):
        value = [value.solver, value.singular_values, np.abs(value.right), value.residual < 1e-9]
    return shown(value.toarray() if sp.issparse(value) else value)


@as_locked
def test_calls():
    names = {name: value for each in MODULES for name, value in vars(import_module(f"embaudit.{each}")).items()}
    helpers = {"ea": ea, "np": np, "pd": pd, "sp": sp, "patched": patched, "error_of": error_of, "described": described}
    assert_expressions(Path(__file__).with_name("calls.txt"), names | helpers, described)
