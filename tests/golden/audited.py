"""Audits of six real models, and what commit 54a366e said of them; `python tests/golden/audited.py FOLDER` writes them.

The models lie in ../shared/data, beside the checkout; only numbers and texts of audits are kept here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import embaudit as ea
from embaudit.io import load, read_interactions

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"
COMMIT = Path(__file__).with_name("commit-54a366e")
RANK = 50


def movielens(objective: str) -> ea.FactorModel:
    """Fit one objective of the Netflix paper to the ratings."""
    table = read_interactions(SHARED_DATA / "ml-latest-small" / "ratings.csv")
    estimator = {"product": ea.ProductPenaltyMF, "factors": ea.FactorPenaltyMF}[objective]
    fitted = estimator(RANK, alpha=1.0).fit(table.matrix)
    model = fitted.model(table.matrix, user_ids=table.user_ids, item_ids=table.item_ids)
    return model.replace(left_counts=table.counts("left"), right_counts=table.counts("right"))


def unnamed(writer: str) -> ea.FactorModel:
    """Read a head of characters by the numbers of its rows, as commit 54a366e did: names beside it were not read."""
    return load(SHARED_DATA / "heads-charrnn" / writer / "head.npz").replace(right_names=None)


MARKS = ("gauge", "role", "name", "subject", "objective", "max_condition", "max_shift")
"""Keys that tell the records of a list apart; findings are told apart by their code."""
MODELS = {
    "movielens-product": lambda: movielens("product"),
    "movielens-factors": lambda: movielens("factors"),
    "lm-stories260K": lambda: SHARED_DATA / "lm-stories260K",
    "charrnn-shakespeare": lambda: unnamed("shakespeare"),
    "charrnn-charlotte-bronte": lambda: unnamed("charlotte_bronte"),
    "doodlenet": lambda: SHARED_DATA / "head-doodlenet-345" / "head.npz",
}


def audited(name: str) -> dict[str, Any]:
    """Return the JSON of an audit with every option at its default, without where the model lay."""
    document = json.loads(json.dumps(ea.audit(MODELS[name]()).to_dict()))
    return document | {"input": {}}


def kept(name: str) -> dict[str, Any]:
    """Return what commit 54a366e said."""
    return json.loads((COMMIT / f"{name}.json").read_text(encoding="utf-8"))


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield `(path, value)` of every plain value; a record is named by its gauge, role, code or name."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            marks = ("code",) if isinstance(value, dict) and "code" in value else MARKS
            named = isinstance(value, dict) and [str(value[mark]) for mark in marks if mark in value]
            yield from leaves(value, f"{path}[{'|'.join(named) if named else number}]")
    else:
        yield path, node


if __name__ == "__main__":
    for name in MODELS:
        written = json.dumps(audited(name), separators=(",", ":"), sort_keys=True)
        Path(sys.argv[1], f"{name}.json").write_text(written + "\n", encoding="utf-8")
