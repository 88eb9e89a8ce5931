"""Arrays and columns with a customary name are recognised."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from llama_files import LAYER, RMS, gguf_file
from safetensors.numpy import save_file

from embaudit.errors import InputError
from embaudit.io import load, read, read_interactions, read_titles
from embaudit.model import softmax_link

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(11)
USERS = DRAW.normal(size=(6, 4)).astype(np.float32)
ITEMS = DRAW.normal(size=(8, 4)).astype(np.float32)
OTHER = DRAW.normal(size=(5, 4)).astype(np.float32)
SQUARE = DRAW.normal(size=(4, 4)).astype(np.float32)
BIAS = DRAW.normal(size=8).astype(np.float32)
GAIN = np.float32([0.5, -1, 2, 1])
SHIFT = np.float32([0.25, 0, -1, 3])

# Arrays of pairs

PAIRS = [
    ("user_factors", "item_factors"),
    ("user_embedding.weight", "item_embedding.weight"),
    ("user_emb.weight", "item_emb.weight"),
    ("user_embeddings", "item_embeddings"),
    ("embed_user.weight", "embed_item.weight"),
    ("embedding_user.weight", "embedding_item.weight"),
    ("user_embed", "item_embed"),
    ("user_vectors", "item_vectors"),
    ("users", "items"),
    ("U_factors", "I_factors"),
    ("u_embeddings", "i_embeddings"),
    ("left", "right"),
    ("pu", "qi"),
    ("u", "v"),
    ("P", "Q"),
    ("queries", "documents"),
    ("query_embeddings", "document_embeddings"),
    ("query_embedding.weight", "document_embedding.weight"),
    ("query", "document"),
    ("queries", "passages"),
    ("queries", "candidates"),
    ("query_embeddings", "passage_embeddings"),
    ("query_embeddings", "corpus_embeddings"),
    ("query_embeddings", "candidate_embeddings"),
    ("query_tower", "candidate_tower"),
    ("query_tower", "item_tower"),
    ("user_tower", "item_tower"),
]
TRANSPOSED_PAIRS = [("W", "H"), ("U", "Vt"), ("U", "Vh")]
"""Pairs whose second array has one column per item."""


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_two_tables_are_users_and_items(left: str, right: str) -> None:
    model = load({left: USERS, right: SQUARE, "other": OTHER[:2, :3]})
    np.testing.assert_array_equal(model.left, USERS)
    np.testing.assert_array_equal(model.right, SQUARE)


@pytest.mark.parametrize(("left", "right"), TRANSPOSED_PAIRS)
def test_the_second_array_of_some_pairs_has_one_column_per_item(
    left: str, right: str
) -> None:
    model = load({left: USERS, right: SQUARE})
    np.testing.assert_array_equal(model.right, SQUARE.T)


@pytest.mark.parametrize("name", ["components", "kernel", "dense/kernel"])
def test_vectors_that_have_one_column_per_item(name: str) -> None:
    model = load({name: SQUARE}, kind="vectors")
    np.testing.assert_array_equal(model.right, SQUARE.T)


@pytest.mark.parametrize(("left", "right"), TRANSPOSED_PAIRS)
@pytest.mark.parametrize("name", ["s", "sigma", "singular_values"])
def test_singular_values_that_belong_to_either_side_are_refused(
    left: str, right: str, name: str
) -> None:
    with pytest.raises(InputError, match="the cosines depend on the side"):
        load({left: USERS, right: SQUARE, name: np.ones(4)})


BIAS_NAMES = [
    ("left_bias", "user_bias"),
    ("left_bias", "user_biases"),
    ("left_bias", "left_bias"),
    ("left_bias", "bu"),
    ("left_bias", "u_biases"),
    ("right_bias", "item_bias"),
    ("right_bias", "item_biases"),
    ("right_bias", "right_bias"),
    ("right_bias", "bi"),
    ("right_bias", "i_biases"),
]
OFFSET_NAMES = [
    "offset",
    "global_bias",
    "global_mean",
    "mu",
    "mean",
    "mean_rating",
    "rating_mean",
    "average_rating",
]
USER_DESCRIPTION_NAMES = [
    ("left_ids", "user_ids"),
    ("left_ids", "left_ids"),
    ("left_names", "user_names"),
    ("left_names", "left_names"),
    ("left_counts", "user_counts"),
    ("left_counts", "left_counts"),
]
ITEM_DESCRIPTION_NAMES = [
    ("right_ids", "item_ids"),
    ("right_ids", "right_ids"),
    ("right_ids", "ids"),
    ("right_ids", "words"),
    ("right_ids", "index_to_key"),
    ("right_ids", "tokens"),
    ("right_counts", "item_counts"),
    ("right_counts", "right_counts"),
    ("right_names", "item_names"),
    ("right_names", "item_titles"),
    ("right_names", "right_names"),
    ("right_names", "labels"),
    ("right_names", "classes"),
    ("right_names", "class_names"),
    ("right_names", "class_list"),
]


def description(field: str) -> np.ndarray:
    """Return ids, names or counts of all users, or of all items."""
    side, _, kind = field.partition("_")
    n_rows = len(USERS) if side == "left" else len(ITEMS)
    values = {
        "ids": np.arange(n_rows) + 70,
        "names": np.array(list("abcdefgh"))[:n_rows],
        "counts": np.arange(n_rows) + 1,
    }
    return values[kind]


@pytest.mark.parametrize(("field", "name"), BIAS_NAMES)
def test_biases_of_a_pair(field: str, name: str) -> None:
    bias = BIAS[: len(USERS)] if field == "left_bias" else BIAS
    model = load({"user_factors": USERS, "item_factors": ITEMS, name: bias})
    np.testing.assert_array_equal(getattr(model, field), bias)


@pytest.mark.parametrize("name", OFFSET_NAMES)
def test_the_offset_of_a_pair(name: str) -> None:
    offset = np.array([2.5])
    model = load({"user_factors": USERS, "item_factors": ITEMS, name: offset})
    assert model.offset == 2.5


@pytest.mark.parametrize(
    ("field", "name"), [*USER_DESCRIPTION_NAMES, *ITEM_DESCRIPTION_NAMES]
)
def test_ids_names_and_counts_of_a_pair(field: str, name: str) -> None:
    values = description(field)
    model = load({"user_factors": USERS, "item_factors": ITEMS, name: values})
    np.testing.assert_array_equal(getattr(model, field), values)


@pytest.mark.parametrize(("field", "name"), ITEM_DESCRIPTION_NAMES)
def test_ids_names_and_counts_of_vectors(field: str, name: str) -> None:
    values = description(field)
    model = load({"E": ITEMS, name: values})
    np.testing.assert_array_equal(getattr(model, field), values)


# Arrays of heads

HEAD_LAYERS = [
    "score",
    "classifier",
    "classifier.out_proj",
    "classification_head.out_proj",
    "fc",
    "head",
    "logits_proj",
    "lm_head",
    "embed_out",
    "output",
    "lm_head.decoder",
    "cls.predictions.decoder",
    "predictions.decoder",
    "vocab_projector",
    "generator_lm_head",
    "linear",
    "unembed",
]
"""Layers whose arrays end in `.weight` and `.bias`."""
OTHER_HEADS = [
    ("weight", "bias"),
    ("weights", "bias"),
    ("W", "b"),
    ("softmax_w", "softmax_b"),
    ("coef_", "intercept_"),
    ("unembeddings", "bias"),
]
"""A weight and the bias that goes with it."""
HEADS_WITH_BIAS = [
    *((f"{layer}.weight", f"{layer}.bias") for layer in HEAD_LAYERS),
    *((f"model.{layer}.weight", f"model.{layer}.bias") for layer in HEAD_LAYERS),
    *OTHER_HEADS,
]
HEADS_WITHOUT_BIAS = [
    weight
    for weight, _ in HEADS_WITH_BIAS
    if weight != "weight"  # This name alone does not say that the array is a head.
]


def assert_labels_are_scored_by_softmax(arrays: dict[str, np.ndarray]) -> None:
    model = load({**arrays, "other": OTHER})
    np.testing.assert_array_equal(model.right, ITEMS)
    assert model.link.name == "softmax"
    assert model.roles == ("input", "label")


@pytest.mark.parametrize(("weight", "bias"), HEADS_WITH_BIAS)
def test_a_weight_and_its_bias_are_a_head(weight: str, bias: str) -> None:
    arrays = {weight: ITEMS, bias: BIAS}
    assert_labels_are_scored_by_softmax(arrays)
    np.testing.assert_array_equal(load(arrays).right_bias, BIAS)


@pytest.mark.parametrize("weight", HEADS_WITHOUT_BIAS)
def test_a_weight_alone_is_a_head(weight: str) -> None:
    assert_labels_are_scored_by_softmax({weight: ITEMS})
    assert load({weight: ITEMS}).right_bias is None


@pytest.mark.parametrize(("weight", "bias"), HEADS_WITH_BIAS)
@pytest.mark.parametrize("name", ["inputs", "hidden_states"])
def test_inputs_of_a_head_with_a_bias(weight: str, bias: str, name: str) -> None:
    model = load({weight: ITEMS, bias: BIAS, name: USERS})
    np.testing.assert_array_equal(model.left, USERS)


@pytest.mark.parametrize("weight", HEADS_WITHOUT_BIAS)
@pytest.mark.parametrize("name", ["inputs", "hidden_states"])
def test_inputs_of_a_head_without_a_bias(weight: str, name: str) -> None:
    model = load({weight: ITEMS, name: USERS})
    np.testing.assert_array_equal(model.left, USERS)


@pytest.mark.parametrize(
    ("weight", "bias"),
    [
        ("kernel", "bias"),
        ("dense.kernel", "dense.bias"),
        ("unembed.W_U", "unembed.b_U"),
    ],
)
def test_heads_that_have_one_column_per_label(weight: str, bias: str) -> None:
    arrays = {weight: SQUARE, "other": OTHER, bias: BIAS[:4]}
    head = load(arrays, weight=weight, kind="head")
    np.testing.assert_array_equal(head.right, SQUARE.T)
    np.testing.assert_array_equal(head.right_bias, BIAS[:4])


def test_the_unembedding_of_transformer_lens_has_one_column_per_token() -> None:
    head = load({"unembed.W_U": ITEMS.T, "other": OTHER})
    np.testing.assert_array_equal(head.right, ITEMS)


INPUT_EMBEDDINGS = [
    "model.embed_tokens.weight",
    "model.language_model.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "wte.weight",
    "transformer.wte.weight",
    "shared.weight",
    "language_model.model.embed_tokens.weight",
    "backbone.embeddings.weight",
    "transformer.word_embeddings.weight",
    "model.tok_embeddings.weight",
    "token_embd.weight",
    "biogpt.embed_tokens.weight",
    "tok_embeddings.weight",
]


@pytest.mark.parametrize("name", INPUT_EMBEDDINGS)
def test_input_embeddings_that_are_the_head(name: str) -> None:
    model = load({name: ITEMS, "places": OTHER})
    np.testing.assert_array_equal(model.right, ITEMS)


@pytest.mark.parametrize("name", INPUT_EMBEDDINGS)
def test_other_embeddings_of_the_same_shape_are_no_head(name: str) -> None:
    model = load({name: ITEMS, "other_emb": ITEMS + 1})
    np.testing.assert_array_equal(model.right, ITEMS)


@pytest.mark.parametrize("name", INPUT_EMBEDDINGS)
def test_input_embeddings_are_refused_if_another_matrix_could_be_the_head(
    name: str,
) -> None:
    with pytest.raises(InputError, match="only matrix of its shape"):
        load({name: ITEMS, "another": ITEMS + 1})


@pytest.mark.parametrize("prefix", ["", "bert."])
@pytest.mark.parametrize(
    "words",
    ["transformer.wte", "embeddings.word_embeddings", "embeddings.tok_embeddings"],
)
@pytest.mark.parametrize(
    "bias",
    [
        "cls.predictions.bias",
        "predictions.bias",
        "lm_head.bias",
        "lm_head.decoder.bias",
        "cls.predictions.decoder.bias",
        "predictions.decoder.bias",
        "vocab_projector.bias",
        "generator_lm_head.bias",
        "embed_out.bias",
        "decoder.bias",
        "final_logits_bias",
    ],
)
def test_the_bias_of_a_head_tied_to_its_inputs(
    prefix: str, words: str, bias: str
) -> None:
    weight = f"{prefix}{words}.weight"
    head = load({weight: ITEMS, "places.weight": OTHER, bias: BIAS[None]})
    np.testing.assert_array_equal(head.right, ITEMS)
    np.testing.assert_array_equal(head.right_bias, BIAS)


# Final norms of checkpoints


@dataclass(frozen=True)
class Architecture:
    """The final norm of an architecture of transformers."""

    model_type: str
    norm: str
    """The layer of the norm."""
    kind: str
    """The kind of the norm: rms or layer."""
    logit_scale: float = 1.0
    """What the configuration of `write_checkpoint` multiplies the logits by."""
    gain_added: float = 0.0
    """What the architecture adds to the stored gains."""


ARCHITECTURES = [
    Architecture("llama", "model.norm", "rms"),
    Architecture("gemma", "model.norm", "rms", gain_added=1),
    Architecture("nemotron", "model.norm", "layer", gain_added=1),
    Architecture("cohere", "model.norm", "layer", logit_scale=0.25),
    Architecture("granite", "model.norm", "rms", logit_scale=1 / 8),
    Architecture("gpt2", "transformer.ln_f", "layer"),
    Architecture("phi", "model.final_layernorm", "layer"),
    Architecture("mamba", "backbone.norm_f", "rms"),
    Architecture("t5", "decoder.final_layer_norm", "rms", logit_scale=4**-0.5),
    Architecture("mt5", "decoder.final_layer_norm", "rms"),
    Architecture("mbart", "model.decoder.layer_norm", "layer"),
    Architecture("bart", "model.decoder.layers.11.final_layer_norm", "layer"),
    Architecture("bert", "cls.predictions.transform.LayerNorm", "layer"),
    Architecture("roberta", "lm_head.layer_norm", "layer"),
    Architecture("albert", "predictions.LayerNorm", "layer"),
    Architecture("biogpt", "biogpt.layer_norm", "layer"),
    Architecture("mpt", "transformer.norm_f", "layer"),
    Architecture("distilbert", "vocab_layer_norm", "layer"),
    Architecture("electra", "generator_predictions.LayerNorm", "layer"),
    Architecture("exaone", "transformer.ln_f", "rms"),
    Architecture("gpt_neox", "gpt_neox.final_layer_norm", "layer"),
    Architecture("zamba", "model.final_layernorm", "rms"),
    Architecture("led", "led.decoder.layers.11.final_layer_norm", "layer"),
    Architecture("modernbert", "head.norm", "layer"),
    Architecture("olmo", "model.norm", "layer"),
    Architecture("opt", "model.decoder.final_layer_norm", "layer"),
    Architecture("stablelm", "model.norm", "layer"),
    Architecture("rwkv", "rwkv.ln_out", "layer"),
    Architecture("recurrent_gemma", "model.final_norm", "rms", gain_added=1),
    Architecture("xglm", "model.layer_norm", "layer"),
]
"""One architecture of each family."""
NUMBERED_NORMS = ("bart", "led")
"""Architectures whose final norm is that of the last of many decoder layers."""

each_architecture = pytest.mark.parametrize(
    "architecture", ARCHITECTURES, ids=lambda architecture: architecture.model_type
)


def write_norm(folder: Path, architecture: Architecture) -> None:
    """Write a head and its final norm; a numbered norm stands after one of layer 9."""
    norm = architecture.norm
    tensors = {
        "lm_head.weight": ITEMS,
        f"{norm}.weight": GAIN,
        f"{norm.replace('11', '9')}.weight": GAIN,
    }
    if architecture.kind == "layer":
        tensors[f"{norm}.bias"] = SHIFT
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize("nested", [False, True])
@each_architecture
def test_the_final_norm_of_each_architecture(
    tmp_path: Path, architecture: Architecture, nested: bool
) -> None:
    write_norm(tmp_path, architecture)
    config: dict[str, Any] = {
        "model_type": architecture.model_type,
        "logit_scale": 0.25,
        "logits_scaling": 8,
        "d_model": 4,
    }
    if nested:
        config = {"model_type": "x", "text_config": config}
    (tmp_path / "config.json").write_text(json.dumps(config))

    found = read(tmp_path).norm

    assert found is not None
    assert found.name == f"{architecture.norm}.weight"
    assert found.because == f"the model_type {architecture.model_type} of config.json"
    assert found.norm.kind == architecture.kind
    gain = architecture.logit_scale * (GAIN + architecture.gain_added)
    np.testing.assert_array_equal(found.norm.gain, gain)
    if architecture.kind == "layer":
        shift = architecture.logit_scale * SHIFT
        np.testing.assert_array_equal(found.norm.shift, shift)


@each_architecture
def test_a_norm_is_found_by_its_name_alone_unless_it_is_numbered(
    tmp_path: Path, architecture: Architecture
) -> None:
    write_norm(tmp_path, architecture)
    found = read(tmp_path).norm
    if architecture.model_type in NUMBERED_NORMS:
        assert found is None
    else:
        assert found is not None


@pytest.mark.parametrize("part", [None, "text_config", "llm_config", "language_config"])
@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("rms_norm_eps", "rms"),
        ("layer_norm_eps", "layer"),
        ("layer_norm_epsilon", "layer"),
        ("layernorm_epsilon", "rms"),
        ("norm_epsilon", "rms"),
        ("norm_eps", "rms"),
        ("rms_norm_epsilon", "rms"),
        ("ln_eps", "rms"),
    ],
)
def test_the_configuration_gives_the_epsilon_of_a_norm_and_the_soft_cap_of_logits(
    tmp_path: Path, key: str, kind: str, part: str | None
) -> None:
    tensors = {"lm_head.weight": ITEMS, "model.norm.weight": GAIN}
    save_file(tensors, tmp_path / "model.safetensors")
    config: dict[str, Any] = {key: 0.125, "final_logit_softcapping": 5.0}
    if part is not None:
        config = {part: config}
    (tmp_path / "config.json").write_text(json.dumps(config))

    reading = read(tmp_path)

    assert reading.norm is not None
    assert reading.norm.norm.epsilon == 0.125
    assert reading.norm.norm.kind == kind
    assert reading.model.link == softmax_link(soft_cap=5.0)


# Architectures of llama.cpp

GGUF_TENSORS = {"token_embd.weight": ITEMS, "output_norm.weight": GAIN}


def read_gguf(folder: Path, architecture: str, **metadata: Any) -> Any:
    path = folder / "m.gguf"
    gguf_file(path, GGUF_TENSORS, architecture=architecture, **{**RMS, **metadata})
    return read(path)


@pytest.mark.parametrize(
    ("architecture", "factor"),
    [
        ("granite", 0.5),
        ("granitehybrid", 0.5),
        ("granitemoe", 0.5),
        ("minicpm", 0.5),
        ("command-r", 2),
    ],
)
def test_an_architecture_of_llama_cpp_divides_or_multiplies_by_its_logit_scale(
    tmp_path: Path, architecture: str, factor: float
) -> None:
    reading = read_gguf(tmp_path, architecture, logit_scale=2.0)
    np.testing.assert_array_equal(reading.norm.norm.gain, factor * GAIN)


def test_grok_divides_its_logits_by_the_root_of_three(tmp_path: Path) -> None:
    gain = read_gguf(tmp_path, "grok").norm.norm.gain
    np.testing.assert_allclose(gain, GAIN / np.sqrt(3), rtol=1e-12)


def test_gemma2_has_a_soft_cap_of_30_unless_its_metadata_gives_another(
    tmp_path: Path,
) -> None:
    by_default = read_gguf(tmp_path, "gemma2")
    given = read_gguf(tmp_path, "gemma2", final_logit_softcapping=5.0)
    assert by_default.model.link == softmax_link(soft_cap=30.0)
    assert given.model.link == softmax_link(soft_cap=5.0)


@pytest.mark.parametrize(("metadata", "kind"), [(RMS, "rms"), (LAYER, "layer")])
def test_the_epsilon_of_a_norm_of_llama_cpp_names_its_kind(
    tmp_path: Path, metadata: dict[str, Any], kind: str
) -> None:
    norm = read(gguf_file(tmp_path / "m.gguf", GGUF_TENSORS, **metadata)).norm.norm
    assert norm.kind == kind
    assert np.float32(norm.epsilon) == np.float32(1e-5)


@pytest.mark.parametrize(
    "architecture",
    [
        "t5encoder",
        "bert",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "jina-bert-v2",
        "clip",
        "eurobert",
        "gemma-embedding",
    ],
)
def test_encoders_of_llama_cpp_are_refused(tmp_path: Path, architecture: str) -> None:
    with pytest.raises(InputError, match="because it is an encoder"):
        read_gguf(tmp_path, architecture)


# Columns of tables, in any order

USER_COLUMNS = [
    "user",
    "user_id",
    "uid",
    "u",
    "customer",
    "customer_id",
    "visitor",
    "visitorId",
    "reviewer",
    "reviewerID",
    "member",
    "member_id",
]
ITEM_COLUMNS = [
    "item",
    "item_id",
    "iid",
    "i",
    "movie",
    "movieId",
    "product",
    "productId",
    "article",
    "article_id",
    "artist",
    "artistID",
    "track",
    "trackId",
    "song",
    "songId",
    "book",
    "bookId",
    "ISBN",
    "asin",
    "news",
    "newsId",
]
RATING_COLUMNS = [
    "rating",
    "ratings",
    "Book-Rating",
    "score",
    "stars",
    "count",
    "counts",
    "weight",
    "value",
    "plays",
    "playcount",
    "listens",
    "quantity",
    "overall",
]
TITLE_COLUMNS = [
    "title",
    "name",
    "label",
    "movieTitle",
    "Book-Title",
    "productName",
    "item_name",
    "artistName",
    "trackName",
    "headline",
]
COUNT_COLUMNS = [
    "count",
    "counts",
    "interactions",
    "ratings",
    "n_ratings",
    "n_interactions",
    "n",
    "size",
    "frequency",
    "plays",
    "playcount",
    "listens",
]
ID_COLUMNS = ["id", "user", "user_id", "token", "word", "name", "label", "key"]


def write_csv(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "a.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def assert_interactions(
    folder: Path,
    *,
    user: str = "user_id",
    item: str = "item_id",
    rating: str = "rating",
) -> None:
    """Read two ratings, of user 7 for item 30 and of user 8 for item 10."""
    path = write_csv(
        folder, {"other": [9, 9], rating: [4.0, 2.5], item: [30, 10], user: [7, 8]}
    )
    found = read_interactions(path)
    assert found.user_ids.tolist() == [7, 8]
    assert found.item_ids.tolist() == [10, 30]
    assert found.matrix.toarray().tolist() == [[0, 4], [2.5, 0]]


@pytest.mark.parametrize("name", USER_COLUMNS)
def test_columns_of_users_of_interactions(tmp_path: Path, name: str) -> None:
    assert_interactions(tmp_path, user=name)


@pytest.mark.parametrize("name", ITEM_COLUMNS)
def test_columns_of_items_of_interactions(tmp_path: Path, name: str) -> None:
    assert_interactions(tmp_path, item=name)


@pytest.mark.parametrize("name", RATING_COLUMNS)
def test_columns_of_ratings_of_interactions(tmp_path: Path, name: str) -> None:
    assert_interactions(tmp_path, rating=name)


@pytest.mark.parametrize("name", TITLE_COLUMNS)
@pytest.mark.parametrize("id_column", ["id", "movieId"])
@pytest.mark.parametrize("ids", [[7, 3], ["y", "x"]])
def test_columns_of_titles(
    tmp_path: Path, name: str, id_column: str, ids: list[Any]
) -> None:
    """Ids and titles come in the order of the ids."""
    path = write_csv(
        tmp_path, {"other": ["r", "q"], name: ["second", "first"], id_column: ids}
    )
    found_ids, titles = read_titles(path)
    assert found_ids.tolist() == [ids[1], ids[0]]
    assert titles.tolist() == ["first", "second"]


def counts_of_items(path: Path) -> list[int]:
    """Read the counts of a model whose items have the ids 3 and 7."""
    arrays = {"E": ITEMS[:2], "ids": np.array([3, 7])}
    counts = load(arrays, right_counts=path).right_counts
    return [int(count) for count in counts]


@pytest.mark.parametrize("name", COUNT_COLUMNS)
def test_columns_of_counts(tmp_path: Path, name: str) -> None:
    path = write_csv(tmp_path, {"year": [1, 2], name: [4, 2], "id": [7, 3]})
    assert counts_of_items(path) == [2, 4]


@pytest.mark.parametrize("id_column", USER_COLUMNS)
def test_columns_of_ids_of_counts(tmp_path: Path, id_column: str) -> None:
    path = write_csv(tmp_path, {"year": [1, 2], "n": [4, 2], id_column: [7, 3]})
    assert counts_of_items(path) == [2, 4]


@pytest.mark.parametrize("name", COUNT_COLUMNS)
def test_beside_a_column_of_counts_a_single_column_has_the_ids(
    tmp_path: Path, name: str
) -> None:
    path = write_csv(tmp_path, {name: [4, 2], "x": [7, 3]})
    assert counts_of_items(path) == [2, 4]


@pytest.mark.parametrize("id_column", USER_COLUMNS)
def test_beside_a_column_of_ids_a_single_column_has_the_counts(
    tmp_path: Path, id_column: str
) -> None:
    path = write_csv(tmp_path, {"x": [4, 2], id_column: [7, 3]})
    assert counts_of_items(path) == [2, 4]


@pytest.mark.parametrize("name", [*ITEM_COLUMNS, *ID_COLUMNS])
def test_columns_of_ids_beside_vectors(tmp_path: Path, name: str) -> None:
    table = pd.DataFrame(ITEMS).add_prefix("e")
    table["year"] = 3
    table[name] = list("abcdefgh")
    table.to_csv(tmp_path / "a.csv", index=False)
    model = load(tmp_path / "a.csv")
    np.testing.assert_allclose(model.right, ITEMS, rtol=1e-6)
    assert model.names("right").tolist() == list("abcdefgh")
