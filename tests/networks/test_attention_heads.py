"""Attention heads: which cosines the outputs of a head fix, tested with a network in
NumPy.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import attention_files as files
import numpy as np
import pytest
from attention_files import (
    ALL,
    BERT,
    COHERE,
    GPT2,
    LLAMA,
    QWEN3,
    STABLELM,
    Network,
    folder_of,
    forward,
    stored_in,
    tensors_of,
)
from safetensors.numpy import save_file

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io.attention import read_head
from embaudit.networks.attention import _score_change
from embaudit.networks.head_gauges import HeadFreedom, draw_gauge
from embaudit.networks.head_inputs import draw_inputs
from embaudit.networks.head_rows import HeadRows, project_inputs
from embaudit.networks.prediction_rows import prediction_rows

TEXT = np.array([3, 1, 4, 1, 5, 9])
HEADS = [(0, 0), (1, 1)]


@pytest.fixture(params=ALL, ids=str)
def network(request):
    return request.param


@pytest.mark.parametrize(("layer", "head"), HEADS)
def test_an_equivalent_head_changes_no_logit(tmp_path, network, layer, head):
    folder = folder_of(tmp_path, network)
    before = stored_in(folder)
    changed = ea.equivalent_attention(folder, layer, head, max_condition=5.0, rng=1)
    after = before | changed
    logits = forward(network, before, TEXT)
    error = np.abs(forward(network, after, TEXT) - logits).max()
    assert error < 1e-12 * np.abs(logits).max()
    # Every tensor of the head has other numbers.
    for name, tensor in changed.items():
        assert np.abs(tensor - before[name]).max() > 0.01, name


@pytest.mark.parametrize("tensor", ["q_proj", "k_proj", "v_proj", "o_proj"])
def test_logits_depend_on_every_projection(tmp_path, tensor):
    """The check above could see a projection that was not undone."""
    before = tensors_of(LLAMA)
    name = f"model.layers.1.self_attn.{tensor}.weight"
    changed = ea.equivalent_attention(folder_of(tmp_path, LLAMA), 1, 1)
    logits = forward(LLAMA, before, TEXT)
    wrong = forward(LLAMA, before | {name: changed[name]}, TEXT)
    assert np.abs(wrong - logits).max() > 1e-3 * np.abs(logits).max()


def test_a_bias_of_the_output_alone_is_not_changed(tmp_path):
    """Values without a bias cannot be shifted, and the text says so."""
    bias = {"model.layers.0.self_attn.o_proj.bias": np.ones(files.WIDTH)}
    folder = folder_of(tmp_path, LLAMA, tensors_of(LLAMA) | bias)
    assert not bias.keys() & ea.equivalent_attention(folder, 0, 0).keys()
    text = ea.audit_attention(folder, 0, 0).explain()
    assert "a head with shifted values would need one" in text


def test_a_scale_of_one_column_changes_logits_under_a_rotary_embedding():
    before = tensors_of(LLAMA)
    after = dict(before)
    for part, scale in (("q_proj", 2.0), ("k_proj", 0.5)):
        name = f"model.layers.0.self_attn.{part}.weight"
        after[name] = before[name].copy()
        # Column 0 of each head, whose partner in the plane is column 2.
        after[name][:: LLAMA.width] *= scale
    change = forward(LLAMA, after, TEXT) - forward(LLAMA, before, TEXT)
    assert np.abs(change).max() > 1e-3


def test_a_shift_of_keys_is_free_and_a_shift_of_queries_is_not():
    before = tensors_of(GPT2)
    name = "transformer.h.0.attn.c_attn.bias"
    size = GPT2.heads * GPT2.width
    logits = forward(GPT2, before, TEXT)
    for start, is_free in ((0, False), (size, True), (2 * size, False)):
        bias = before[name].copy()
        bias[start : start + size] += 1
        change = np.abs(forward(GPT2, before | {name: bias}, TEXT) - logits).max()
        assert bool(change < 1e-12) is is_free


def test_rows_are_those_of_the_network(tmp_path, network):
    folder = folder_of(tmp_path, network)
    tensors = stored_in(folder)
    found = ea.audit_attention(folder, 0, 1)
    for token in (0, 7):
        states = files.embedded(network, tensors, np.array([token]))
        inputs = files.layer_inputs(network, tensors, 0, states)
        queries, keys, values = files.projections(network, tensors, 0, inputs)
        key_head = network.key_heads // network.heads
        np.testing.assert_allclose(found.rows.queries[token], queries[0, 1])
        np.testing.assert_allclose(found.rows.keys[token], keys[0, key_head])
        np.testing.assert_allclose(found.rows.values[token], values[0, key_head])


def test_a_live_network_is_read_as_its_folder(tmp_path, network):
    stored = ea.audit_attention(folder_of(tmp_path, network), 0, 0)
    live = ea.audit_attention(files.Live(network), 0, 0)
    assert live.to_dict() == stored.to_dict()


def test_states_pass_the_norm_and_inputs_do_not(tmp_path):
    folder = folder_of(tmp_path, LLAMA)
    tensors = stored_in(folder)
    states = np.random.default_rng(5).standard_normal((20, files.WIDTH))
    np.save(tmp_path / "states.npy", states)
    inputs = files.layer_inputs(LLAMA, tensors, 1, states)
    by_states = ea.audit_attention(folder, 1, 0, states=tmp_path / "states.npy")
    by_inputs = ea.audit_attention(folder, 1, 0, inputs=inputs)
    np.testing.assert_allclose(by_states.rows.keys, by_inputs.rows.keys, rtol=1e-12)
    tokens = tensors["model.embed_tokens.weight"]
    first = ea.audit_attention(folder, 0, 0)
    again = ea.audit_attention(folder, 0, 0, states=tokens)
    np.testing.assert_allclose(first.rows.keys, again.rows.keys)


# What is fixed, for and against


def random_rows(width, n=40, n_outputs=9, seed=0):
    draw = np.random.default_rng(seed)
    queries, keys, values = draw.standard_normal((3, n, width)) + 0.5
    return HeadRows(
        queries=queries,
        group_queries=np.concatenate([queries, draw.standard_normal((n, width))]),
        keys=keys,
        values=values,
        outputs=draw.standard_normal((n_outputs, width)),
        labels=np.arange(n),
        description="drawn rows",
    )


PLANES = {
    "no plane": (4, []),
    "planes": (4, [[0, 2], [1, 3]]),
    "some planes": (5, [[0, 1]]),
}


@pytest.mark.parametrize("has_norms", [False, True])
@pytest.mark.parametrize("planes", PLANES)
def test_no_gauge_moves_prediction_cosines(planes, has_norms):
    width, columns = PLANES[planes]
    freedom = HeadFreedom(
        width,
        np.array(columns, dtype=int).reshape(-1, 2),
        has_row_norms=has_norms,
        has_output_bias=True,
    )
    rows = random_rows(width)
    gauge = draw_gauge(
        freedom, max_condition=9.0, key_shift=2.0, value_shift=2.0, rng=1
    )
    other = rows.gauged(gauge)
    after = HeadRows(
        queries=other["queries"],
        group_queries=rows.group_queries @ gauge.queries,
        keys=other["keys"],
        values=other["values"],
        outputs=rows.outputs @ gauge.outputs,
        labels=rows.labels,
        description="",
    )
    before, moved = prediction_rows(freedom, rows), prediction_rows(freedom, after)
    for name in ("keys", "queries", "values"):
        np.testing.assert_allclose(
            cosines(moved[name]), cosines(before[name]), atol=1e-12
        )
        assert np.abs(cosines(other[name]) - cosines(rows.table(name))).max() > 0.1


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize("has_norms", [False, True])
def test_prediction_cosines_are_those_of_scores_at_all_rotations(has_norms):
    """Four angles per plane average a quadratic form as all angles do."""
    freedom = HeadFreedom(6, np.array([[0, 3], [1, 2]]), has_row_norms=has_norms)
    rows = random_rows(6)
    scores = []
    for angles in itertools.product(np.arange(4) * np.pi / 2, repeat=2):
        turned = np.array(rows.keys)
        for (first, second), angle in zip(freedom.planes, angles, strict=True):
            cosine, sine = np.cos(angle), np.sin(angle)
            x, y = rows.keys[:, first], rows.keys[:, second]
            turned[:, first], turned[:, second] = (
                cosine * x - sine * y,
                sine * x + cosine * y,
            )
        scores.append(rows.group_queries @ turned.T)
    stacked = np.stack(scores)
    # Each query's constant is the mean over all keys at all rotations.
    stacked -= stacked.mean(axis=(0, 2), keepdims=True)
    columns = np.moveaxis(stacked, 2, 0).reshape(len(rows.keys), -1)
    found = prediction_rows(freedom, rows)
    np.testing.assert_allclose(cosines(found["keys"]), cosines(columns), atol=1e-12)
    own = stacked[:, : len(rows.queries)]
    by_query = np.moveaxis(own, 1, 0).reshape(len(rows.queries), -1)
    np.testing.assert_allclose(cosines(found["queries"]), cosines(by_query), atol=1e-12)


def test_prediction_cosines_without_planes_are_those_of_the_scores(tmp_path):
    """A free bias of each query absorbs what the softmax ignores."""
    found = ea.audit_attention(folder_of(tmp_path, GPT2), 0, 2)
    rows = found.rows
    scores = ea.FactorModel.from_user_item(
        rows.group_queries,
        rows.keys,
        user_bias=np.zeros(len(rows.group_queries)),
        link="identity",
    )
    pairs = [[0, 1], [3, 9], [5, 6]]
    for name, role, model in (
        ("keys", "right", scores),
        ("queries", "left", scores),
        ("values", "right", found.values_model),
    ):
        ours = cosines(found.prediction_rows(name))
        theirs = ea.identified_cosines(model, role=role, pairs=pairs)
        np.testing.assert_allclose(
            [ours[i, j] for i, j in pairs], theirs, atol=1e-9, err_msg=name
        )


def answers(found):
    return {table.name: str(table.answer) for table in found.tables}


@pytest.mark.parametrize(
    "network", [LLAMA, QWEN3, COHERE, STABLELM, GPT2, BERT], ids=str
)
def test_cosines_are_not_fixed(tmp_path, network):
    found = ea.audit_attention(folder_of(tmp_path, network), 0, 0)
    assert answers(found) == dict.fromkeys(("keys", "queries", "values"), "NO")
    assert found.predictions_hold
    assert found.explain().startswith(
        "NO: what head 0 of layer 0 computes does not fix the cosines of its keys, "
        "queries and values."
    )


def test_a_single_plane_fixes_cosines_of_queries_and_keys(tmp_path):
    """One scale for all columns, and a turn, change no cosine."""
    network = Network("llama", width=2, rotated=2)
    found = ea.audit_attention(folder_of(tmp_path, network), 0, 0)
    assert answers(found) == {"keys": "YES", "queries": "YES", "values": "NO"}
    assert found.table("keys").shown.max_abs < 1e-9
    assert found.table("keys").range_width < 1e-9
    assert "YES: what head 0 of layer 0 computes fixes the cosines of its keys" in (
        found.explain()
    )


def test_one_column_without_a_rotation_leaves_only_a_shift_of_keys(tmp_path):
    network = Network("gpt2", heads=3, key_heads=3, width=1, has_bias=True)
    found = ea.audit_attention(folder_of(tmp_path, network), 0, 0)
    assert answers(found) == {"keys": "NO", "queries": "YES", "values": "NO"}


def test_rows_that_agree_with_predictions_are_a_convention(tmp_path):
    folder = folder_of(tmp_path, LLAMA)
    first = ea.audit_attention(folder, 0, 0)
    # Scales that give all planes the same length of queries.
    planes = first.freedom.planes
    lengths = [np.sqrt(np.square(first.rows.group_queries[:, p]).sum()) for p in planes]
    tensors = stored_in(folder)
    for part, power, n_heads in (("q_proj", -1, 2), ("k_proj", 1, 1)):
        name = f"model.layers.0.self_attn.{part}.weight"
        for head, (plane, length) in itertools.product(
            range(n_heads), zip(planes, lengths, strict=True)
        ):
            tensors[name][head * LLAMA.width + plane] *= length**power
    found = ea.audit_attention(folder_of(tmp_path / "b", LLAMA, tensors), 0, 0)
    assert answers(found)["keys"] == "BY CONVENTION"
    assert answers(found)["queries"] == "NO"


def test_the_gains_of_norms_are_scaled_and_the_text_says_so(tmp_path):
    folder = folder_of(tmp_path, QWEN3)
    changed = ea.equivalent_attention(folder, 0, 0)
    assert "model.layers.0.self_attn.q_norm.weight" in changed
    assert "model.layers.0.self_attn.q_proj.weight" not in changed
    text = ea.audit_attention(folder, 0, 0).explain()
    assert "of the gains of both norms" in text
    assert "Before the gains, their cosines are fixed" in text


def test_the_model_is_audited_as_a_softmax_model(tmp_path):
    found = ea.audit_attention(folder_of(tmp_path, GPT2), 0, 0)
    audited = ea.audit(found.model, quick=True, n_starts=0)
    assert str(audited.answer.word) == "NO"
    assert ea.audit_attention(folder_of(tmp_path, LLAMA), 0, 0).model is None


# Numbers and samples


def test_rows_are_sampled_and_the_size_is_printed(tmp_path):
    folder = folder_of(tmp_path, LLAMA)
    found = ea.audit_attention(folder, 0, 0, n_rows=9)
    assert len(found.rows.keys) == 9
    assert "Measured on 9 of 17 tokens of the vocabulary." in found.explain()
    again = ea.audit_attention(folder, 0, 0, n_rows=9)
    assert json.dumps(found.to_dict()) == json.dumps(again.to_dict())


def test_query_heads_share_the_keys_of_their_group(tmp_path):
    head = read_head(folder_of(tmp_path, LLAMA), 1, 3)
    assert head.group == (2, 3)
    assert (head.key.weight.start, head.key.weight.stop) == (4, 8)
    assert [block.start for block in head.outputs] == [8, 12]
    assert [query.weight.start for query in head.queries] == [8, 12]


class Counted:
    """Arrays that count the numbers that are read of each tensor."""

    def __init__(self, arrays):
        self.arrays = arrays
        self.tensors = arrays.tensors
        self.counts = dict.fromkeys(arrays.tensors, 0)

    def open(self, name):
        read = self.arrays.open(name)

        def counted(start, stop):
            self.counts[name] += stop - start
            return read(start, stop)

        return counted


def test_no_more_than_the_head_and_the_tokens_are_read(tmp_path):
    head = read_head(folder_of(tmp_path, LLAMA), 0, 0)
    counted = Counted(head.arrays)
    draw = np.random.default_rng(0)
    head = replace(head, arrays=counted)
    project_inputs(head, draw_inputs(head, n_rows=5, rng=draw))
    layer = "model.layers.0"
    part = LLAMA.width * files.WIDTH
    # Queries of two heads share the keys. Rows of the output projection hold columns
    # of all heads.
    assert {name: count for name, count in counted.counts.items() if count} == {
        "model.embed_tokens.weight": 5 * files.WIDTH,
        f"{layer}.input_layernorm.weight": files.WIDTH,
        f"{layer}.self_attn.q_proj.weight": 2 * part,
        f"{layer}.self_attn.k_proj.weight": part,
        f"{layer}.self_attn.v_proj.weight": part,
        f"{layer}.self_attn.o_proj.weight": 2 * LLAMA.heads * part,
    }


def test_stored_halves_are_read(tmp_path):
    tensors = {
        name: tensor.astype(np.float16) for name, tensor in tensors_of(LLAMA).items()
    }
    found = ea.audit_attention(folder_of(tmp_path, LLAMA, tensors), 0, 0)
    exact = ea.audit_attention(folder_of(tmp_path / "b", LLAMA), 0, 0)
    np.testing.assert_allclose(found.rows.keys, exact.rows.keys, atol=0.02)
    changed = ea.equivalent_attention(tmp_path, 0, 0)
    assert {str(tensor.dtype) for tensor in changed.values()} == {"float32"}


# Refusals


def refused(sentence, *arguments, **options):
    with pytest.raises(InputError) as error:
        ea.audit_attention(*arguments, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((2, 0), {}, "layer must be from 0 to 1; got 2."),
        ((0, 4), {}, "head must be from 0 to 3; got 4."),
        ((-1, 0), {}, "layer must be an integer from 0; got -1."),
        ((0, True), {}, "head must be an integer from 0; got True."),
        ((1, 0), {}, "states must be given for layer 1; got None; only layer 0"),
        ((0, 0), {"states": np.ones((3, 5))}, "states must be of 12 columns"),
        (
            (0, 0),
            {"states": np.ones((3, 12)), "inputs": np.ones((3, 12))},
            "states must be omitted if inputs is given.",
        ),
        (
            (0, 0),
            {"states": np.zeros((3, 12))},
            "the queries must be at least two nonzero rows",
        ),
        ((0, 0), {"n_rows": 1}, "n_rows must be"),
        ((0, 0), {"max_condition": 0.5}, "max_condition must be"),
    ],
)
def test_arguments_are_refused(tmp_path, arguments, options, sentence):
    refused(sentence, folder_of(tmp_path, LLAMA), *arguments, **options)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            {"model_type": "martian"},
            "a model type whose attention is known (bert, bloom",
        ),
        ({"model_type": None}, "got none."),
        ({"kv_lora_rank": 8}, "compresses the keys and values of all heads together"),
        (
            {"quantization_config": {"bits": 4}},
            "the weights must be floating-point numbers; got quantised weights",
        ),
        ({"num_attention_heads": "four"}, "must be a positive integer; got 'four'."),
        ({"num_attention_heads": 3}, "num_key_value_heads of config.json must be"),
        ({"num_attention_heads": True}, "must be a positive integer; got True."),
        (
            {"num_attention_heads": None},
            "a file with the entry num_attention_heads; got no such entry.",
        ),
        ({"head_dim": 5}, "as wide as the 16 inputs of the output projection"),
        ({"num_key_value_heads": 1}, "a matrix with 4 outputs for the heads"),
        ({"rope_scaling": {"rope_type": "spiral"}}, "rope_type of config.json must"),
        ({"model_type": "smollm3"}, "no_rope_layers of config.json must be a number"),
        ({"rope_theta": 1.0}, "rope_theta of config.json must be a number above 1"),
        (
            {"model_type": "granite", "embedding_multiplier": "12"},
            "embedding_multiplier of config.json must be a finite number; got '12'.",
        ),
        ({"partial_rotary_factor": 2}, "a number from 0 to 1; got 2."),
        ({"partial_rotary_factor": 0.25}, "an even number up to 4; got 1."),
    ],
)
def test_configurations_are_refused(tmp_path, config, sentence):
    network = Network("llama", heads=4, key_heads=2, rotated=4, config=config)
    refused(sentence, folder_of(tmp_path, network, tensors_of(LLAMA)), 0, 0)


def without(name):
    return {key: x for key, x in tensors_of(LLAMA).items() if key != name}


KEYS = "model.layers.0.self_attn.k_proj"


@pytest.mark.parametrize(
    ("tensors", "sentence"),
    [
        (without(f"{KEYS}.weight"), f"{KEYS}.weight must be in the checkpoint"),
        (
            without(f"{KEYS}.weight") | {f"{KEYS}.qweight": np.ones((2, 2), np.int32)},
            "as in quantised networks and adapters",
        ),
        (
            tensors_of(LLAMA) | {f"{KEYS}.weight": np.ones((8, 12), np.int8)},
            "of floating-point numbers; got int8",
        ),
        (tensors_of(LLAMA) | {f"{KEYS}.weight": np.ones(8)}, "must be a matrix"),
        (
            tensors_of(LLAMA) | {f"{KEYS}.weight": np.full((8, 12), np.nan)},
            "finite numbers; got nan or infinity.",
        ),
        (
            tensors_of(LLAMA) | {"model.layers.0.self_attn.sinks": np.ones(4)},
            "attention heads with this tensor are not supported",
        ),
        (
            tensors_of(LLAMA)
            | {"model.layers.0.self_attn.kv_a_proj.weight": np.ones(4)},
            "(MLA)",
        ),
        (
            tensors_of(LLAMA) | {f"{KEYS}.weight": np.ones((8, 11))},
            "a matrix for 12 inputs, like the weights of the queries; got a "
            "matrix for 11",
        ),
        (
            tensors_of(LLAMA) | {f"{KEYS}.weight": np.full((8, 12), 1e40)},
            "numbers of at most 1e+30; got 1e+40.",
        ),
        (
            tensors_of(LLAMA) | {f"{KEYS}.bias": np.ones(3)},
            "a vector of 8 numbers; got 3 numbers.",
        ),
        (
            tensors_of(LLAMA) | {"model.layers.0.input_layernorm.weight": np.ones(3)},
            "a vector of 12 numbers; got 3 numbers.",
        ),
        (
            tensors_of(LLAMA) | {"model.layers.0.self_attn.o_proj.bias": np.ones(3)},
            "a vector of 12 numbers; got 3 numbers.",
        ),
        (
            without("model.embed_tokens.weight"),
            "the tensor model.embed_tokens.weight, the token embeddings",
        ),
        (
            tensors_of(LLAMA) | {"model.embed_tokens.weight": np.ones((9, 5))},
            "the token embeddings have 5 columns and the layer 12; pass the states",
        ),
        (
            {"x": np.ones((3, 3))},
            "a checkpoint with attention layers, which have tensors such as "
            "model.layers.0.",
        ),
    ],
)
def test_checkpoints_are_refused(tmp_path, tensors, sentence):
    refused(sentence, folder_of(tmp_path, LLAMA, tensors), 0, 0)


@pytest.mark.parametrize(
    ("config", "n_planes"),
    [({"rotary_dim": 8}, 4), ({"rotary_dim": None}, 48), ({}, 32)],
    ids=["a number", "null", "missing"],
)
def test_gpt_j_rotates_64_columns_unless_its_configuration_says_otherwise(
    tmp_path, config, n_planes
):
    """The default of GPTJConfig in transformers is 64; null stands for all columns."""
    width = 96
    tensors = {"transformer.wte.weight": np.ones((5, width))}
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        tensors[f"transformer.h.0.attn.{part}.weight"] = np.eye(width)
    tensors["transformer.h.0.ln_1.weight"] = np.ones(width)
    tensors["transformer.h.0.ln_1.bias"] = np.zeros(width)
    save_file(tensors, tmp_path / "model.safetensors")
    settings = {"model_type": "gptj", "n_head": 1, **config}
    (tmp_path / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert len(read_head(tmp_path, 0, 0).planes) == n_planes


def test_a_missing_shard_is_named(tmp_path):
    folder_of(tmp_path, LLAMA)
    tensors = stored_in(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    homes = {
        name: f"model-0000{1 + ('k_proj' in name)}-of-00002.safetensors"
        for name in tensors
    }
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": homes}), encoding="utf-8"
    )
    first = "model-00001-of-00002.safetensors"
    save_file(
        {name: x for name, x in tensors.items() if homes[name] == first},
        tmp_path / first,
    )
    refused("no file model-00002-of-00002.safetensors", tmp_path, 0, 0)
    second = "model-00002-of-00002.safetensors"
    save_file(
        {name: x for name, x in tensors.items() if homes[name] == second},
        tmp_path / second,
    )
    assert ea.audit_attention(tmp_path, 0, 0).layer == 0


def test_a_score_that_is_not_a_number_is_no_score_that_stays():
    draw = np.random.default_rng(0)
    freedom = HeadFreedom(4, np.array([[0, 2], [1, 3]]))
    gauge = draw_gauge(freedom)
    rows = draw.normal(size=(9, 4))
    keys = rows.copy()
    keys[0] = np.nan
    outputs = draw.normal(size=(5, 4))
    sound = HeadRows(rows, rows, rows, rows, outputs, np.arange(9), "9 rows")
    assert _score_change(freedom, sound, gauge, draw) < 1e-12
    damaged = replace(sound, keys=keys)
    assert np.isnan(_score_change(freedom, damaged, gauge, draw))


def test_a_folder_without_a_checkpoint_and_other_objects_are_refused(tmp_path):
    refused("a folder with model.safetensors or", tmp_path, 0, 0)
    refused("or a network of transformers; got dict.", {}, 0, 0)
    refused("a file that exists; got", tmp_path / "none", 0, 0)
