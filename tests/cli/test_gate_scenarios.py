"""Broken releases as they occur in practice, each judged by `embaudit audit` against
the baseline of a healthy release.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from embaudit import FactorModel
from embaudit.io import save

pytestmark = pytest.mark.slow

FEW = (
    "--n-gauges",
    1,
    "--n-pairs",
    500,
    "--n-lists",
    50,
    "--n-starts",
    1,
    "--n-steps",
    1,
)
N_USERS, N_ITEMS = 300, 900
DRAW = np.random.default_rng(3)
USERS, ITEMS = DRAW.standard_normal((N_USERS, 6)), DRAW.standard_normal((N_ITEMS, 6))
OTHER = np.random.default_rng(4)
BASELINE = []
"""That of the healthy model, once it is written."""


def write(path, users=USERS, items=ITEMS):
    ids = {
        "user_ids": np.arange(len(users)),
        "item_ids": np.array([f"item {i}" for i in range(len(items))]),
    }
    save(
        FactorModel.from_user_item(
            users.astype(np.float32), items.astype(np.float32), **ids
        ),
        path,
        force=True,
    )


@pytest.fixture
def gate(tmp_path, monkeypatch, embaudit):
    """Write the baseline of the healthy model, and return what judges another one."""
    monkeypatch.chdir(tmp_path)
    write("old.npz")
    if not BASELINE:
        made = embaudit(
            "audit",
            "old.npz",
            *FEW,
            "--fail-on",
            "tip",
            "--baseline",
            "base.json",
            "--json",
            "base.json",
        )
        assert made.code == 0, "what writes the baseline stops nothing"
        assert made.out.splitlines()[-1].startswith(
            "gate: passes; base.json is the baseline from now on, with "
        )
        BASELINE.append(Path("base.json").read_text(encoding="utf-8"))
    Path("base.json").write_text(BASELINE[0], encoding="utf-8")

    def judged(*options, **changed):
        write("new.npz", **changed)
        result = embaudit("audit", "new.npz", *FEW, "--baseline", "base.json", *options)
        return result.code, result.out.splitlines()[-1] if result.out else result.err

    return judged


def test_a_model_trained_anew_passes(gate):
    code, last = gate(users=USERS + 0.1 * OTHER.standard_normal(USERS.shape))
    assert (code, last[:12]) == (0, "gate: passes")
    assert "EMB002" not in last


def test_lost_rows_and_another_scale_of_all_scores_are_named(gate):
    some = gate(items=ITEMS[:855])
    assert (some[0], "; unlike the baseline: 855 items (baseline: 900)" in some[1]) == (
        0,
        True,
    )
    large = gate("--junit", "new.xml", items=3 * ITEMS)
    assert (
        large[0],
        "; unlike the baseline: scores are 3 times the baseline's" in large[1],
    ) == (
        0,
        True,
    )
    assert ET.parse("new.xml").findtext("system-out") == large[1]
    assert (
        "unlike the baseline"
        not in gate(items=1.05 * np.vstack([ITEMS, ITEMS[:9] + 0.1]))[1]
    )


def shuffled():
    return {"items": ITEMS[OTHER.permutation(N_ITEMS)]}


def tenth(n_rows):
    """Mix a tenth of the rows up."""
    rows, order = OTHER.permutation(n_rows)[: n_rows // 10], np.arange(n_rows)
    order[rows] = np.roll(rows, 1)
    return order


def zeroed():
    return {"items": np.where(np.arange(N_ITEMS)[:, None] % 15 == 0, 0, ITEMS)}


@pytest.mark.parametrize(
    ("broken", "stopped_by"),
    [
        (shuffled, "EMB002"),
        (
            lambda: {"users": OTHER.standard_normal(USERS.shape)},
            "EMB002",
        ),  # last month's
        (lambda: {"items": ITEMS[tenth(N_ITEMS)]}, "EMB002"),
        (lambda: {"users": USERS[tenth(N_USERS)]}, "EMB002"),
        (zeroed, "EMB201"),
        (lambda: {"items": ITEMS[np.arange(N_ITEMS) % 700]}, "EMB401"),
    ],
)
def test_a_broken_release_is_stopped(gate, broken, stopped_by):
    code, last = gate(**broken())
    assert code == 1
    assert last.startswith("gate: stops at ")
    assert stopped_by in last.partition("not counted")[0]
    assert (
        gate("--ignore-code", stopped_by, "--ignore-code", "EMB002", **broken())[0] == 0
    )


def test_a_gate_that_is_told_never_to_stop_names_what_is_new_and_stops_nothing(gate):
    code, last = gate("--fail-on", "never", **zeroed())
    assert (code, last.startswith("gate: passes"), "EMB201 items (" in last) == (
        0,
        True,
        True,
    )
    Path("embaudit.toml").write_text('fail-on = "never"\n')
    assert gate(**zeroed())[0] == 0
    assert gate("--fail-on", "issue", **zeroed())[0] == 1


def test_the_audit_of_a_stopped_release_verifies_without_the_baseline(gate, embaudit):
    users = OTHER.standard_normal(USERS.shape)
    assert gate("--json", "new.json", users=users)[0] == 1
    made = embaudit("verify", "new.json", "new.npz")
    assert (
        made.code,
        "EMB002 needs the baseline: not recomputed." in made.out,
    ) == (0, True)
    made = embaudit("verify", "new.json", "new.npz", "--baseline", "base.json")
    assert (made.code, "not recomputed" in made.out) == (0, False)
    # Vectors whose rows may be mixed up are no reason to write others of them.
    beside, alone = (
        embaudit("audit", "new.npz", *FEW, *options).out
        for options in (("--baseline", "base.json"), ("--json", "alone.json"))
    )
    assert (
        "CHECK FIRST: these predictions are not those" in beside,
        "embaudit fix" in beside,
    ) == (True, False)
    assert ("CHECK FIRST" in alone, "embaudit fix" in alone) == (False, True)
    assert "EMB002" not in embaudit("verify", "alone.json", "new.npz").out
    assert embaudit("verify", "new.json", "old.npz").code == 1
    assert (
        "EMB002 (issue, new: always"
        in embaudit("audit", "old.npz", *FEW, "--baseline", "new.json").out
    )


def test_an_overflow_of_float16_is_refused(gate, embaudit):
    with np.errstate(over="ignore"):
        items = (ITEMS * 40_000).astype(np.float16)
    np.savez("new.npz", user_factors=USERS.astype(np.float16), item_factors=items)
    result = embaudit("audit", "new.npz", *FEW, "--baseline", "base.json")
    assert result.code == 2
    assert "must be finite; got -inf" in result.err


def test_rows_compared_with_each_other_are_held_against_their_cosines(
    tmp_path, monkeypatch, embaudit
):
    monkeypatch.chdir(tmp_path)
    ids = np.array([f"item {i}" for i in range(N_ITEMS)])
    for name, rows in (
        ("old.npz", ITEMS),
        ("turned.npz", ITEMS[:, ::-1]),
        ("shuffled.npz", shuffled()["items"]),
        ("tenth.npz", ITEMS[tenth(N_ITEMS)]),
    ):
        save(FactorModel.from_vectors(rows, ids=ids, compared="cosine"), name)
    assert (
        embaudit(
            "audit",
            "old.npz",
            *FEW,
            "--baseline",
            "b.json",
            "--json",
            "b.json",
            "--quiet",
        ).code
        == 0
    )
    assert (
        embaudit("audit", "turned.npz", *FEW, "--baseline", "b.json", "--quiet").code
        == 0
    )
    for name in ("shuffled.npz", "tenth.npz"):
        assert (
            embaudit("audit", name, *FEW, "--baseline", "b.json", "--quiet").code == 1
        )


def test_models_that_predict_the_same_pass(gate, tmp_path, embaudit):
    """Rankings leave a scale of each user open, and one side alone predicts nothing:
    neither is a change.
    """
    ids = {"user_ids": np.arange(N_USERS), "item_ids": np.arange(N_ITEMS)}
    scales = np.exp(2 * OTHER.standard_normal((N_USERS, 1)))
    gauge = np.linalg.qr(OTHER.standard_normal((6, 6)))[0] * [1, 1, 1, 1, 1, 30]
    pairs = {
        "ranked": [
            FactorModel.from_user_item(x, ITEMS, link="ranking", **ids)
            for x in (USERS, USERS * scales)
        ],
        "head": [FactorModel.from_softmax(x) for x in (ITEMS, ITEMS @ gauge)],
    }
    for name, (before, after) in pairs.items():
        save(before, f"{name}.npz")
        save(after, f"{name}-2.npz")
        base = ("--baseline", f"{name}.json")
        assert (
            embaudit(
                "audit", f"{name}.npz", *FEW, *base, "--json", f"{name}.json", "--quiet"
            ).code
            == 0
        )
        assert "EMB002" not in embaudit("audit", f"{name}-2.npz", *FEW, *base).out
