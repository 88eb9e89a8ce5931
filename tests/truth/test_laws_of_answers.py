"""Laws: storage changes no answer, and a gauge changes no statement of what predictions fix.

They hold for every model of the truth table. Whether the answer is NO or AS A CONVENTION may differ between equivalent
models, because it speaks of the rows as stored.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from truth.table import TABLE
from truth.test_table import GAUGES

from embaudit import audit, load, save
from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.auditing.equivalents import equivalent_models

pytestmark = pytest.mark.slow

LARGEST_CONDITION = 1e6
"""The numerical contract holds up to this condition number."""


def sides(model, change):
    """Change the rows of both sides alike."""
    return model.replace(**{side: change(model.factors(side)) for side in model.sides})


def in_float64(x):
    return np.asarray(x, dtype=np.float64)


def turned(model):
    square = np.random.default_rng(0).standard_normal((model.rank, model.rank))
    rotation = np.linalg.qr(square)[0]
    return sides(model, lambda x: in_float64(x) @ rotation)


def with_zero_columns(model):
    return sides(model, lambda x: np.pad(x, ((0, 0), (0, 2))))


def scaled(model):
    """Scale by powers of two, of two sides such that their products stay."""
    right = 2 * in_float64(model.right)
    if model.left is None:
        return model.replace(right=right)
    return model.replace(left=in_float64(model.left) / 2, right=right)


def reordered(model):
    draw = np.random.default_rng(1)
    order = {side: draw.permutation(len(model.side(side))) for side in model.sides}
    return model.take(**order)


def saved(model, folder):
    save(model, folder / "model.npz")
    return load(folder / "model.npz")


STORAGE = {
    "turned": turned,
    "with zero columns": with_zero_columns,
    "scaled": scaled,
    "reordered": reordered,
    "read again": saved,
}


def decides(name, how):
    """Return True if the way of storing is itself a fact about the model, which may change the answer."""
    row = TABLE[name]
    return (
        # The mean square of a row behind a final norm is over all columns.
        (how == "with zero columns" and "final_norm" in row.options)
        # The Poincaré ball has radius 1.
        or (how == "scaled" and row.model.compared == "hyperbolic")
        # Parts of a table are looked for in the order of its rows.
        or (how == "reordered" and "two spaces" in name)
    )


@cache
def answer_as_stored(name):
    row = TABLE[name]
    return audit(row.model, n_starts=0, **GAUGES, **row.options).answer


@pytest.mark.parametrize("how", STORAGE)
@pytest.mark.parametrize("name", TABLE)
def test_storage_changes_no_answer(name, how, tmp_path):
    if decides(name, how):
        return
    row = TABLE[name]
    where = (tmp_path,) if how == "read again" else ()
    again = STORAGE[how](row.model, *where)
    after = audit(again, n_starts=0, **GAUGES, **row.options).answer
    assert after.word == answer_as_stored(name).word, (answer_as_stored(name), after)


@pytest.mark.parametrize("name", TABLE)
def test_cosines_are_free_pinned_or_undecided_in_all_equivalent_models_alike(name):
    """Of as many columns: canonical models leave out what no prediction sees, and with it the room it gave."""
    model, roles = TABLE[name].model, [*TABLE[name].truth]

    def freedom(one):
        found = equivalence_class_of(one, roles)
        return {role: found.moves(role) for role in roles}

    expected = freedom(model)
    for one in equivalent_models(model, n_gauges=1, rng=np.random.default_rng(0)):
        twin = one.of(model)
        if twin.rank == model.rank and one.amplification <= LARGEST_CONDITION:
            assert freedom(twin) == expected, one.name
