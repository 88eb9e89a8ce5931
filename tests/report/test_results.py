"""Every result has plain values, a table, words and a page."""

from __future__ import annotations

import importlib
import json
import pkgutil

import pandas as pd
import pytest
from report.results_shown import every_result

import embaudit as ea
from embaudit.core.results import Result

NAMES = (
    "Alignment",
    "Argmaxable",
    "Attack",
    "AttentionAudit",
    "Audit",
    "BlockCosines",
    "CertifiedNeighbours",
    "Comparison",
    "CopyComparison",
    "CosineRange",
    "Drift",
    "Evaluation",
    "HeadReport",
    "IndexMetric",
    "LabelCombinations",
    "Levels",
    "LoraAudit",
    "LoraComparison",
    "Movement",
    "NearlyEqual",
    "Pinning",
    "Position",
    "ProjectorCosines",
    "QueryReach",
    "RangeSummary",
    "Remedy",
    "SharedHalves",
    "SimpsonReport",
    "SpaceMap",
    "StableNeighbours",
    "Threshold",
    "Twins",
)


def public_results() -> set[str]:
    """Return the names of the result types that embaudit or a subpackage offers."""
    subpackages = [
        importlib.import_module(f"embaudit.{found.name}")
        for found in pkgutil.iter_modules(ea.__path__)
        if found.ispkg
    ]
    offered = [
        getattr(module, name)
        for module in (ea, *subpackages)
        for name in getattr(module, "__all__", dir(module))
    ]
    # Result is a protocol: only classes that inherit from it promise all its methods.
    return {
        kind.__name__
        for kind in offered
        if isinstance(kind, type) and Result in kind.__mro__
    }


def test_these_tests_cover_every_public_result():
    assert public_results() - {"Result"} == set(NAMES) == set(every_result())


@pytest.mark.parametrize("name", NAMES)
def test_a_result_converts_to_json_without_numbers_that_json_lacks(name):
    values = every_result()[name].to_dict()
    assert json.loads(json.dumps(values, allow_nan=False))


@pytest.mark.parametrize("name", NAMES)
def test_a_result_converts_to_a_table_with_rows(name):
    frame = every_result()[name].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_result_explains_itself_in_words_without_nan(name):
    result = every_result()[name]
    text = result.explain()
    assert text
    assert text == text.strip() == str(result)
    assert "nan" not in text.split()


@pytest.mark.parametrize("name", NAMES)
def test_a_result_shows_its_table_with_every_name_escaped(name):
    result = every_result()[name]
    page = result.report()
    assert page.startswith("<!doctype html>")
    for html in (result._repr_html_(), page):
        assert "<script>alert" not in html
        assert "<table>" in html
