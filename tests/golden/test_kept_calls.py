"""What solvers, figures of papers, and rooms behind an audit make of small data.

`calls.txt` and `edges.txt` have expressions, and below each what is made.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from expressions import assert_expressions, error_of, shown
from models import random_model
from report.test_told import HEAD, MODELS, PAIR
from snapshots import as_locked

import embaudit as ea
from embaudit.solvers import svd

MODULES = ("reproduce.nielsen", "reproduce.simpson", "reproduce.netflix", "reproduce.netflix_setting",
           "reproduce.netflix_models", "solvers.linear_embedding", "solvers.factor_penalty", "solvers.product_penalty",
           "solvers.svd")  # fmt: skip


def room(name):
    """A module of embaudit by its dotted name."""
    return import_module(f"embaudit.{name}")


def patched(call, at="solvers.svd", **sizes):
    """Call with other sizes from which on a route is taken."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in sizes.items():
            patch.setattr(room(at), name, size)
        return call()


def numbers(found):
    """Return the fields of a record, and of records in it, but pairs and lists."""
    fields = vars(found).items() if hasattr(found, "__dataclass_fields__") else ()
    return (
        {name: numbers(each) for name, each in fields if name not in ("pairs", "lists")}
        if fields
        else found
    )


def described(value):
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("list")
    if isinstance(value, svd.TruncatedSVD):
        value = [
            value.solver,
            value.singular_values,
            np.abs(value.right),
            value.residual < 1e-9,
        ]
    return shown(value.toarray() if sp.issparse(value) else value)


@as_locked
@pytest.mark.parametrize("name", ["calls", "edges"])
def test_calls(name):
    names = {
        name: value for each in MODULES for name, value in vars(room(each)).items()
    }
    helpers = {
        "ea": ea,
        "np": np,
        "pd": pd,
        "sp": sp,
        "patched": patched,
        "error_of": error_of,
        "described": described,
        "shown": shown,
    }
    helpers |= {
        "room": room,
        "numbers": numbers,
        "random_model": random_model,
        "MODELS": MODELS,
        "PAIR": PAIR,
        "HEAD": HEAD,
    }
    assert_expressions(
        Path(__file__).with_name(f"{name}.txt"),
        names | helpers | {"draw": np.random.default_rng},
        described,
    )
