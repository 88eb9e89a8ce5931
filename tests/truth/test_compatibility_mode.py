"""Law: TransformerLens in compatibility mode keeps the answer, or the answer says why.

In this mode TransformerLens multiplies the gains of the final norm into
the unembedding, subtracts the part of each label along the ones vector if the norm is a
LayerNorm, and subtracts the mean label. The probabilities stay the same.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from imitations import Tensor, imitation
from truth.audits import FEW_SAMPLES
from truth.table import CONVENTION, TABLE

from embaudit import audit
from embaudit.io import load

pytestmark = pytest.mark.slow

HEADS = [
    name
    for name, row in TABLE.items()
    if row.model.link.name == "softmax"
    and not row.model.link.guard
    and row.model.left_bias is None
]
STEPS = ("subtracting the mean row leaves", "folding in the norm keeps")
"""Phrases in which an answer names the step of the mode that changes the cosines."""


def unembedding(model, norm):
    """Return W_U (one column per label) and b_U of a head in the compatibility mode."""
    labels = np.asarray(model.right, dtype=np.float64)
    if norm is not None:
        labels = labels * norm.gain
        if norm.sums_to_zero:
            labels = labels - labels.mean(axis=1, keepdims=True)
    bias = np.zeros(len(labels)) if model.right_bias is None else model.right_bias
    centred_labels = labels - labels.mean(axis=0)
    centred_bias = bias - bias.mean()
    return centred_labels.T, centred_bias


def log_softmax(logits):
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


@pytest.mark.parametrize("name", HEADS)
def test_the_mode_changes_no_probability(name):
    """Check `unembedding` with random states, centred if the norm centres them."""
    model = TABLE[name].model
    norm = TABLE[name].options.get("final_norm")
    states = np.random.default_rng(0).standard_normal((20, model.rank))
    gain = np.ones(model.rank)
    if norm is not None:
        gain = norm.gain
        if norm.sums_to_zero:
            states = states - states.mean(axis=1, keepdims=True)
    labels = np.asarray(model.right, dtype=np.float64)
    bias = 0 if model.right_bias is None else model.right_bias
    before = log_softmax((states * gain) @ labels.T + bias)
    columns, column_bias = unembedding(model, norm)
    after = log_softmax(states @ columns + column_bias)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", HEADS)
def test_the_mode_keeps_the_answer_or_the_answer_names_the_step_that_decides(name):
    model = TABLE[name].model
    options = dict(TABLE[name].options)
    before = audit(model, n_starts=0, **FEW_SAMPLES, **options).answer
    # The gains are multiplied into the columns, so the network has no norm any more.
    norm = options.pop("final_norm", None)
    columns, bias = unembedding(model, norm)
    network = imitation(
        "transformer_lens.HookedTransformer.HookedTransformer",
        "torch.nn.modules.module.Module",
        unembed=SimpleNamespace(W_U=Tensor(columns), b_U=Tensor(bias)),
        cfg=SimpleNamespace(output_logits_soft_cap=-1.0),
    )
    reading = {}
    if model.objective is not None:
        reading["objective"] = model.objective
    if model.left is not None:
        reading["inputs"] = model.left
    head = load(network, **reading)
    after = audit(head, n_starts=0, **FEW_SAMPLES, **options).answer
    if after.word != before.word:
        assert (before.word, after.word) == ("NO", CONVENTION), (before, after)
        assert any(step in before.because for step in STEPS), (before, after)
