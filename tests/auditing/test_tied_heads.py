"""Heads that are also the input embeddings: which checkpoints have one, and how they
are audited.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from imitations import Tensor, imitation
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.model.tying import Tying

TABLE = np.random.default_rng(0).normal(size=(40, 8)).astype("f4") + 1
OTHER = np.random.default_rng(1).normal(size=(40, 8)).astype("f4") + 1
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
OWN_TABLE = "needs a separate table for the head"


@pytest.fixture
def checkpoint(tmp_path):
    """Return a function that writes a checkpoint and returns its folder."""

    def write(tensors, **config):
        save_file(tensors, tmp_path / "model.safetensors")
        content = {"model_type": "llama", **config}
        (tmp_path / "config.json").write_text(json.dumps(content))
        return tmp_path

    return write


def notes(audit):
    return {note.code: note.text for note in audit.notes}


def test_centring_keeps_the_predictions_of_a_separate_head_and_not_of_a_shared_table():
    """Two tokens with the embeddings 2 and 0: after token 0 the logits are 4 and 0.

    The mean row is 1. Without it the head is 1 and −1: with the old input 2 the logits
    are 2 and −2, again 4 apart. With the new input 1 they are 1 and −1, only 2 apart.
    """
    table = np.array([[2.0], [0.0]])
    head = ea.FactorModel.from_softmax(table)
    centred = ea.fix(head, "centred").vectors("right")
    np.testing.assert_allclose(centred, [[1.0], [-1.0]], rtol=1e-12)

    def gap(rows, embedding):
        logits = rows @ embedding
        return logits[0] - logits[1]

    assert gap(table, table[0]) == 4
    assert gap(centred, table[0]) == pytest.approx(4)
    assert gap(centred, centred[0]) == pytest.approx(2)


@pytest.mark.parametrize(
    ("tensors", "config", "because"),
    [
        (
            {EMBEDDING: TABLE},
            {"tie_word_embeddings": True},
            "tie_word_embeddings of config.json is true",
        ),
        ({EMBEDDING: TABLE}, {}, "the checkpoint holds no other head"),
        (
            {EMBEDDING: TABLE, HEAD: TABLE.copy()},
            {},
            f"its values are those of {EMBEDDING}",
        ),
        (
            {HEAD: TABLE},
            {"text_config": {"tie_word_embeddings": True}},
            "tie_word_embeddings of config.json is true",
        ),
    ],
)
def test_an_equivalent_head_is_said_to_need_a_separate_table(
    checkpoint, tensors, config, because
):
    found = ea.audit(checkpoint(tensors, **config), quick=True)
    assert f"also the input embeddings ({because})" in notes(found)["tied"]
    assert OWN_TABLE in found.verdict
    assert found.answer.because.endswith(
        "get another nearest label "
        "(if the head gets a table separate from the input embeddings)"
    )


@pytest.mark.parametrize(
    ("tensors", "config"),
    [
        ({EMBEDDING: OTHER, HEAD: TABLE}, {"tie_word_embeddings": False}),
        ({EMBEDDING: OTHER, HEAD: TABLE}, {}),
        ({HEAD: TABLE}, {"tie_word_embeddings": False}),
        # A classifier has the embeddings of its network beside it, and never ties them.
        (
            {"model.embed_tokens.weight": OTHER[:20], "classifier.weight": TABLE},
            {"tie_word_embeddings": True, "architectures": ["XForTokenClassification"]},
        ),
    ],
)
def test_nothing_is_said_of_tying_if_the_head_is_a_table_of_its_own(
    checkpoint, tensors, config
):
    found = ea.audit(checkpoint(tensors, **config), quick=True)
    assert not {"tied", "tying_unknown", "tying_contradicted"} & set(notes(found))
    assert "separate table" not in found.verdict
    assert found.answer.because.endswith("% of the labels get another nearest label")


def test_a_head_alone_without_the_key_is_not_guessed_to_be_tied(checkpoint):
    """Defaults of the key differ between versions and architectures."""
    found = ea.audit(checkpoint({HEAD: TABLE}), quick=True)
    assert "does not say if the head" in notes(found)["tying_unknown"]
    assert f"If it is, an equivalent model with another head {OWN_TABLE}" in (
        found.verdict
    )
    assert found.answer.because.endswith("get another nearest label")


def test_two_tables_that_differ_contradict_a_configuration_that_ties_them(checkpoint):
    tensors = {EMBEDDING: OTHER, HEAD: TABLE}
    folder = checkpoint(tensors, tie_word_embeddings=True)
    found = ea.audit(folder, quick=True)
    said = notes(found)["tying_contradicted"]
    assert "two tables that differ" in said
    assert f"--weight {EMBEDDING} --kind head" in said
    # The remedy that the sentence names reads the other table.
    again = ea.audit(folder, weight=EMBEDDING, kind="head", quick=True)
    np.testing.assert_array_equal(again.model.right, OTHER)


def test_a_head_that_was_made_in_memory_is_tied_to_nothing():
    found = ea.audit(ea.FactorModel.from_softmax(TABLE), quick=True)
    assert "separate table" not in found.verdict


def test_the_first_screen_and_fix_say_that_a_tied_head_needs_a_separate_table(
    checkpoint, embaudit
):
    folder = checkpoint({EMBEDDING: TABLE}, tie_word_embeddings=True)
    screen = embaudit("audit", folder, "--quick").out
    assert "(if the head gets a table separate from the input embeddings)" in " ".join(
        screen.split()
    )
    out = folder / "centred.npz"
    assert (
        "as a separate head"
        in embaudit("fix", folder, "--as", "centred", "--out", out).out
    )


@pytest.mark.parametrize("is_tied", [True, False])
def test_a_live_network_is_tied_if_both_layers_have_the_same_weights(is_tied):
    head, own = SimpleNamespace(weight=Tensor(TABLE), bias=None), Tensor(TABLE)
    embedding = SimpleNamespace(weight=head.weight if is_tied else own)
    network = imitation(
        "transformers.models.x.modeling_x.XForCausalLM",
        "transformers.modeling_utils.PreTrainedModel",
        config=SimpleNamespace(to_dict=dict),
        get_output_embeddings=lambda _: head,
        get_input_embeddings=lambda _: embedding,
        state_dict=lambda _: {HEAD: Tensor(TABLE)},
    )
    assert (OWN_TABLE in ea.audit(network, quick=True).verdict) is is_tied


def test_a_head_stays_tied_in_a_file_and_in_part_but_not_with_other_rows(
    checkpoint, tmp_path
):
    head = ea.load(checkpoint({EMBEDDING: TABLE}))
    ea.save(head, tmp_path / "head.npz")
    again = ea.load(tmp_path / "head.npz")
    assert again.tying == head.tying == head.take(right=np.arange(3)).tying
    assert again.tying.embedding == EMBEDDING
    assert head.replace(right=2 * TABLE).tying is None
    assert head.replace(link="identity").tying is None
    assert head.replace(left=TABLE).tying == head.tying
    assert ea.load(tmp_path, kind="vectors", weight=EMBEDDING).tying is None


@pytest.mark.parametrize(
    ("link", "tying", "part"),
    [
        ("identity", Tying("tied"), "omitted unless the link is softmax"),
        ("softmax", "tied", "a Tying; got 'tied'"),
    ],
)
def test_what_is_no_tied_head_is_refused(link, tying, part):
    with pytest.raises(ea.InputError, match=part):
        ea.FactorModel.from_arrays(None, TABLE, link=link, tying=tying)


def test_other_statuses_of_a_head_are_refused():
    with pytest.raises(ea.InputError, match="tied, unknown, contradicted; got 'half'"):
        Tying("half")
