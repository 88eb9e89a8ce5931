"""Bad input: one clear sentence, exit code 2, nothing written, never a traceback; more in transcripts/refusals.txt."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

import embaudit as ea


def assert_refused(result, *words):
    assert result.code == 2, result
    assert result.err.startswith("embaudit: ")
    assert result.err.count("\n") == 1, result.err
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err, result.err


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    ea.save(random_model(n=20, p=15, k=3), path)
    return path


def test_foreign_and_newer_model_files_are_refused(embaudit, model, tmp_path):
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, user_factors=np.array([{"a": 1}], dtype=object), item_factors=np.eye(2))
    assert_refused(embaudit("audit", pickled), "pickle")
    newer = tmp_path / "newer.npz"
    with np.load(model) as stored:
        np.savez(newer, **(dict(stored) | {"embaudit_format": np.int64(99)}))
    assert_refused(embaudit("audit", newer), "99", "upgrade")


def test_files_of_implicit_with_odd_hints(embaudit, tmp_path):
    factors = {"user_factors": np.eye(4, 3), "item_factors": np.ones((5, 3))}
    np.savez("odd.npz", **factors, factors="x", regularization=0.1)
    assert_refused(embaudit("audit", "odd.npz"), "factors in odd.npz", "whole number")
