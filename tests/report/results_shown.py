"""One result of each public type, with names that contain markup."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from attention_files import LLAMA, folder_of
from browsing import HOSTILE
from models import random_model

import embaudit as ea
from embaudit.gauges import Diagonal, GeneralLinear

if TYPE_CHECKING:
    from embaudit.core.results import Result

KINDS = ("compare", "evaluate", "blocks", "simpson")
"""Commands other than `audit` whose results have a page of their own."""
SCRIPT = "<script>alert(1)</script>"


def named(count):
    return np.array([*HOSTILE, *(f"row {i}" for i in range(count - len(HOSTILE)))])


def reversing(seed=0, rows=40):
    """x and y rise together over all rows and oppose within each of five groups."""
    draw = np.random.default_rng(seed)
    group = np.repeat(np.arange(5), rows)
    x = 2 * group + draw.standard_normal(len(group))
    y = 3 * group - 0.8 * (x - 2 * group) + draw.standard_normal(len(group)) / 2
    return pd.DataFrame(
        {
            HOSTILE[0]: x,
            "y": y,
            "ward": np.array(HOSTILE)[group],
            "coin": np.tile(["a", "b"], len(x) // 2),
        }
    )


@cache
def shown(kind):
    """Return the result of a command."""
    draw = np.random.default_rng(0)
    if kind == "compare":
        model = random_model(
            n=40, p=30, k=4, right_names=named(30), left_names=named(40)
        )
        other = GeneralLinear(4, max_condition=4.0).sample(rng=0).act(model)
        moved = other.replace(right=other.right + 0.3 * draw.standard_normal((30, 4)))
        return ea.compare(model, moved)
    if kind == "evaluate":
        return ea.evaluate_similarities(
            random_model(p=60, k=4), draw.integers(4, size=60), n_neighbours=5
        )
    if kind == "blocks":
        x, y = draw.standard_normal((2, 20, 9))
        return ea.block_cosines(
            *(
                dict(zip(named(20), rows, strict=True))
                for rows in (x, x + 2 * y * draw.random((20, 1)))
            )
        )
    return ea.simpson(reversing(), HOSTILE[0], "y", "ward", n_permutations=49)


def scripts(count):
    """Return names that a page would run unless they are escaped."""
    return [f"{SCRIPT} {i}" for i in range(count)]


def audited_head() -> ea.AttentionAudit:
    """Audit a head of a small network."""
    with TemporaryDirectory() as folder:
        return ea.audit_attention(folder_of(Path(folder), LLAMA), 0, 0)


@cache
def every_result() -> dict[str, Result]:
    """Return a small result of each public type, by the name of the type."""
    draw = np.random.default_rng(0)
    users = draw.standard_normal((40, 3)) * [3, 2, 1]
    items = draw.standard_normal((30, 3))
    model = ea.FactorModel.from_user_item(users, items, item_names=scripts(30))
    equivalent = Diagonal(3, max_condition=2.0).sample(rng=0).act(model)
    head = ea.FactorModel.from_softmax(
        draw.standard_normal((12, 3)), labels=scripts(12)
    )
    opposite_labels = ea.FactorModel.from_softmax([[1.0], [-1.0]], labels=scripts(2))
    group = GeneralLinear(3, max_condition=2.0)
    # Block norms (1, √2) and (√2, 0), and a cosine of 1/√2 in the first block.
    blocks = ea.block_cosines(
        {SCRIPT: [1.0, 0.0], "b": [1.0, 1.0]}, {SCRIPT: [1.0, 1.0], "b": [0.0, 0.0]}
    )
    level = draw.integers(3, size=90)
    table = pd.DataFrame(
        {
            "x": draw.standard_normal(90) + level,
            "y": draw.standard_normal(90) - level,
            SCRIPT: np.array(scripts(3))[level],
        }
    )
    pairs = [[0, 1], [2, 3]]
    results = [
        ea.audit(model, n_gauges=1),
        audited_head(),
        ea.compare(model, equivalent),
        ea.evaluate_similarities(model, [f"{SCRIPT}{i % 3}" for i in range(30)]),
        ea.audit_lora(users, items.T),
        ea.compare_lora((users, items.T), (users[:, :2], items.T[:2])),
        ea.compare_copies(model, ["int8", "first:1"]),
        ea.index_metric(model, "cosine"),
        ea.query_reach(model),
        ea.fix(model, align_to=equivalent).alignment,
        ea.space_map(model, equivalent),
        ea.position(model),
        ea.pinned_test(model.replace(link="cosine")),
        ea.head_report(head, n_gauges=1),
        ea.fix(model),
        blocks,
        ea.simpson(table, "x", "y", SCRIPT, n_permutations=9),
        ea.movement(model, equivalent),
        ea.levels(model),
        ea.nearly_equal(model, tolerance=0.05, noise=0.1),
        ea.stable_neighbours([model, equivalent, model]),
        ea.threshold(model),
        ea.twins(model),
        ea.drift(model, equivalent, condition_number=2.0),
        ea.cosine_range(model, group, pairs=pairs),
        ea.range_summary(model, budgets=[2.0], n_pairs=50, rng=0)[0],
        ea.certified_neighbours(model, n=3),
        ea.worst_gauge(model, group, n_pairs=20, n_starts=1, n_steps=2, rng=0),
        ea.heads.argmaxable(head),
        ea.heads.shared_halves(head, pairs),
        ea.heads.projector_cosines(head, pairs=pairs),
        ea.heads.label_combinations(opposite_labels.replace(link="sigmoid")),
    ]
    return {type(result).__name__: result for result in results}
