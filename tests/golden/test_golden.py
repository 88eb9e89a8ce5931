"""Audits of real models say what they said at commit 54a366e, but for what is listed here with its reason."""

from __future__ import annotations

import math
import re

import pytest
from golden.audited import MODELS, SHARED_DATA, audited, kept, leaves

RENAMED: dict[str, str] = {}
"""Old beginnings of paths and what they are now."""
GONE = r"""embaudit_version|schema_version
plan.*
claims\[.*
statements.*
verdict
answer\.(text|reason|because|claims).*
findings\[.*\]\.(title|text|remedy|claim|evidence).*
.*\.(text|explanation)"""
"""Keys that went, or whose sentences are written anew (one golden text holds those); see docs/migration.md."""
NOISE = r"drift\[.*\]\.(max_abs|max_rel)|traits\[.*\]\.noise"
"""Rounding of predictions: only its tolerance, and whether it was within, are compared."""
SEARCHED = r"(movement|drift)\[worst found.*|attacks.*"
"""Results of a search, which may find other gauges: their movement may not fall below nine tenths."""
SAMPLED = r"(?!)"
"""Estimates from sampled pairs: old and new lie within the sum of their half-widths."""


def rule(path: str) -> str:
    """Return the name of the rule by which a value is compared."""
    rules = {"gone": "|".join(GONE.splitlines()), "noise": NOISE, "searched": SEARCHED, "sampled": SAMPLED}
    return next((name for name, pattern in rules.items() if re.fullmatch(pattern, path)), "exact")


def renamed(path: str) -> str:
    """Return the path under which a value is found today."""
    for old, new in RENAMED.items():
        if path.startswith(old):
            return new + path.removeprefix(old)
    return path


def agree(old, new) -> bool:
    """Compare two plain values: numbers to 1e-9, relative or absolute, all else exactly."""
    if isinstance(old, float) or isinstance(new, float):
        return None not in (old, new) and math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-9)
    return old == new


@pytest.fixture(scope="module", params=MODELS)
def pair(request):
    """Return one model's values of commit 54a366e and of today, by path."""
    name = request.param
    if not SHARED_DATA.exists():
        pytest.skip("the real inputs are not beside this checkout")
    return dict(leaves(kept(name))), dict(leaves(audited(name)))


def test_numbers_findings_and_answers_are_those_of_commit_54a366e(pair):
    old, new = pair
    compared = {path: value for path, value in old.items() if rule(path) == "exact"}
    assert len(compared) > len(old) / 3
    other = [
        f"{path}: {value!r} -> {new.get(renamed(path), 'missing')!r}"
        for path, value in compared.items()
        if renamed(path) not in new or not agree(value, new[renamed(path)])
    ]
    assert not other, "\n".join([f"{len(other)} of {len(compared)} differ:", *other[:60]])


def test_searches_find_at_least_nine_tenths_of_the_movement(pair):
    old, new = pair
    found = [path for path in old if rule(path) == "searched" and path.endswith((".mean_abs", ".rms"))]
    assert all(new[renamed(path)] >= 0.9 * old[path] for path in found), found
