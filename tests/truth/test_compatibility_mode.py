"""Law: a head and what TransformerLens makes of it get one answer, or the answer names the fact that decides.

In its compatibility mode TransformerLens multiplies the gains of the final norm into
the unembedding, subtracts the part of each label along the ones vector if the norm is a
LayerNorm, and subtracts the mean label. No probability changes.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from imitations import Tensor, imitation
from truth.table import CONVENTION, TABLE
from truth.test_table import GAUGES

from embaudit import audit
from embaudit.io import from_object

pytestmark = pytest.mark.slow

HEADS = [
    name
    for name, row in TABLE.items()
    if row.model.link.name == "softmax"
    and not row.model.link.guard
    and row.model.left_bias is None
]
FACTS = ("subtracting the average row", "folding in the norm")
"""What an answer says of the two steps of the mode, where one of them decides."""


def unembedding(model, norm):
    """Return W_U (one column per label) and b_U of a head in the compatibility mode."""
    rows = np.asarray(model.right, dtype=np.float64)
    if norm is not None:
        rows = rows * norm.gain
        if norm.sums_to_zero:
            rows = rows - rows.mean(axis=1, keepdims=True)
    bias = np.zeros(len(rows)) if model.right_bias is None else model.right_bias
    return (rows - rows.mean(axis=0)).T, bias - bias.mean()


def log_softmax(logits):
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


@pytest.mark.parametrize("name", HEADS)
def test_the_mode_changes_no_probability(name):
    """Check the construction itself, with the states that the norm gives."""
    model, norm = TABLE[name].model, TABLE[name].options.get("final_norm")
    states = np.random.default_rng(0).standard_normal((20, model.rank))
    gain = np.ones(model.rank)
    if norm is not None:
        gain = norm.gain
        if norm.sums_to_zero:
            states = states - states.mean(axis=1, keepdims=True)
    bias = 0 if model.right_bias is None else model.right_bias
    before = log_softmax(states * gain @ np.asarray(model.right, float).T + bias)
    columns, added = unembedding(model, norm)
    after = log_softmax(states @ columns + added)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_in_the_mode_has_the_same_answer_or_the_fact_is_named(name):
    model, options = TABLE[name].model, dict(TABLE[name].options)
    before = audit(model, n_starts=0, **GAUGES, **options).answer
    # The object that TransformerLens makes knows no gains any more.
    columns, bias = unembedding(model, options.pop("final_norm", None))
    network = imitation(
        "transformer_lens.HookedTransformer.HookedTransformer",
        "torch.nn.modules.module.Module",
        unembed=SimpleNamespace(W_U=Tensor(columns), b_U=Tensor(bias)),
        cfg=SimpleNamespace(output_logits_soft_cap=-1.0),
    )
    told = {} if model.objective is None else {"objective": model.objective}
    if model.left is not None:
        told["inputs"] = model.left
    head = from_object(network, **told)
    after = audit(head, n_starts=0, **GAUGES, **options).answer
    if after.word != before.word:
        assert (before.word, after.word) == ("NO", CONVENTION), (before, after)
        assert any(fact in before.because for fact in FACTS), (before, after)
