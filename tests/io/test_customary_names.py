"""Arrays and columns with a customary name are recognised."""

from __future__ import annotations

import json
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
USERS, ITEMS, OTHER = (DRAW.normal(size=(n, 4)).astype(np.float32) for n in (6, 8, 5))
SQUARE, BIAS = (
    DRAW.normal(size=(4, 4)).astype(np.float32),
    DRAW.normal(size=8).astype(np.float32),
)
GAIN, SHIFT = np.float32([0.5, -1, 2, 1]), np.float32([0.25, 0, -1, 3])

PAIRS = """user_factors item_factors, user_embedding.weight item_embedding.weight, user_emb.weight item_emb.weight,
 user_embeddings item_embeddings, embed_user.weight embed_item.weight, embedding_user.weight embedding_item.weight,
 user_embed item_embed, user_vectors item_vectors, users items, U_factors I_factors, u_embeddings i_embeddings,
 left right, pu qi, u v, P Q, queries documents, query_embeddings document_embeddings,
 query_embedding.weight document_embedding.weight, query document, queries passages, queries candidates,
 query_embeddings passage_embeddings, query_embeddings corpus_embeddings, query_embeddings candidate_embeddings,
 query_tower candidate_tower, query_tower item_tower, user_tower item_tower"""
BY_COLUMN = "W H, U Vt, U Vh"
HEADS = """score classifier classifier.out_proj classification_head.out_proj fc head logits_proj lm_head embed_out
 output lm_head.decoder cls.predictions.decoder predictions.decoder vocab_projector generator_lm_head linear unembed"""
OTHER_HEADS = "weight bias, weights bias, W b, softmax_w softmax_b, coef_ intercept_, unembeddings bias"
TIED = """model.embed_tokens model.language_model.embed_tokens model.decoder.embed_tokens wte transformer.wte shared
 language_model.model.embed_tokens backbone.embeddings transformer.word_embeddings model.tok_embeddings token_embd
 biogpt.embed_tokens tok_embeddings"""
APART = """cls.predictions.bias predictions.bias lm_head.bias lm_head.decoder.bias cls.predictions.decoder.bias
 predictions.decoder.bias vocab_projector.bias generator_lm_head.bias embed_out.bias decoder.bias final_logits_bias"""
BESIDE = {
    "left_bias": "user_bias user_biases left_bias bu u_biases",
    "right_bias": "item_bias item_biases right_bias bi i_biases",
    "offset": "offset global_bias global_mean mu mean mean_rating rating_mean average_rating",
    "left_ids": "user_ids left_ids",
    "left_names": "user_names left_names",
    "left_counts": "user_counts left_counts",
    "right_ids": "item_ids right_ids ids words index_to_key tokens",
    "right_counts": "item_counts right_counts",
    "right_names": "item_names item_titles right_names labels classes class_names class_list",
}


def listed(text: str) -> list[Any]:
    return [pair.split() for pair in text.split(",")] if "," in text else text.split()


@pytest.mark.parametrize(("left", "right"), listed(PAIRS))
def test_two_tables_are_users_and_items(left: str, right: str) -> None:
    model = load({left: USERS, right: SQUARE, "other": OTHER[:2, :3]})
    np.testing.assert_array_equal(model.left, USERS)
    np.testing.assert_array_equal(model.right, SQUARE)


@pytest.mark.parametrize(("left", "right"), listed(BY_COLUMN))
def test_sides_that_lie_by_columns(left: str, right: str) -> None:
    np.testing.assert_array_equal(load({left: USERS, right: SQUARE}).right, SQUARE.T)
    for name in ("components", "kernel", "dense/kernel"):
        np.testing.assert_array_equal(
            load({name: SQUARE}, kind="vectors").right, SQUARE.T
        )
    for name in ("s", "sigma", "singular_values"):
        with pytest.raises(InputError, match="belongs decides the cosines"):
            load({left: USERS, right: SQUARE, name: np.ones(4)})


@pytest.mark.parametrize(
    ("field", "name"),
    [(field, name) for field in BESIDE for name in BESIDE[field].split()],
)
def test_arrays_beside_a_pair(field: str, name: str) -> None:
    n_rows = 6 if field.startswith("left") else 8
    values = {
        "bias": BIAS[:n_rows],
        "offset": np.array([2.5]),
        "ids": np.arange(n_rows) + 70,
        "names": np.array(list("abcdefgh"))[:n_rows],
        "counts": np.arange(n_rows) + 1,
    }
    value = values[field.rpartition("_")[2]]
    model = load({"user_factors": USERS, "item_factors": ITEMS, name: value})
    np.testing.assert_array_equal(
        getattr(model, field), value if len(value) > 1 else 2.5
    )
    if field in ("right_ids", "right_names", "right_counts"):
        np.testing.assert_array_equal(
            getattr(load({"E": ITEMS, name: value}), field), value
        )


@pytest.mark.parametrize(
    ("weight", "bias"),
    [*((f"{x}.weight", f"{x}.bias") for x in listed(HEADS)), *listed(OTHER_HEADS)],
)
def test_a_weight_and_its_bias_are_a_head(weight: str, bias: str) -> None:
    for before in ("", "model.") if "." in weight else ("",):
        for added in ({}, {before + bias: BIAS}):
            if weight == "weight" and not added:
                continue
            head = load({before + weight: ITEMS, "other": OTHER, **added})
            np.testing.assert_array_equal(head.right, ITEMS)
            assert (head.link.name, head.roles, head.right_bias is None) == (
                "softmax",
                ("input", "label"),
                not added,
            )
            for name in ("inputs", "hidden_states"):
                left = load({before + weight: ITEMS, name: USERS, **added}).left
                np.testing.assert_array_equal(left, USERS)


def test_heads_that_lie_by_columns() -> None:
    for weight, bias in (
        ("kernel", "bias"),
        ("dense.kernel", "dense.bias"),
        ("unembed.W_U", "unembed.b_U"),
    ):
        head = load(
            {weight: SQUARE, "other": OTHER, bias: BIAS[:4]}, weight=weight, kind="head"
        )
        np.testing.assert_array_equal(head.right, SQUARE.T)
        np.testing.assert_array_equal(head.right_bias, BIAS[:4])
    assert load({"unembed.W_U": ITEMS.T, "other": OTHER}).n_right == 8


@pytest.mark.parametrize("name", [f"{x}.weight" for x in listed(TIED)])
def test_input_embeddings_that_are_the_head(name: str) -> None:
    np.testing.assert_array_equal(load({name: ITEMS, "places": OTHER}).right, ITEMS)
    assert load({name: ITEMS, "other_emb": ITEMS + 1}).n_right == 8
    with pytest.raises(InputError, match="only matrix of its shape"):
        load({name: ITEMS, "another": ITEMS + 1})


@pytest.mark.parametrize(
    "words",
    ["transformer.wte", "embeddings.word_embeddings", "embeddings.tok_embeddings"],
)
@pytest.mark.parametrize("bias", listed(APART))
def test_the_bias_of_a_head_tied_to_its_inputs(words: str, bias: str) -> None:
    for before in ("", "bert."):
        head = load(
            {f"{before}{words}.weight": ITEMS, "places.weight": OTHER, bias: BIAS[None]}
        )
        np.testing.assert_array_equal(head.right, ITEMS)
        np.testing.assert_array_equal(head.right_bias, BIAS)


NORMS = """
 llama: model.norm rms 1 | gemma: model.norm rms+ 1 | nemotron: model.norm layer+ 1 | cohere: model.norm layer 0.25
 granite: model.norm rms 0.125 | gpt2: transformer.ln_f layer 1 | phi: model.final_layernorm layer 1
 mamba: backbone.norm_f rms 1 | t5: decoder.final_layer_norm rms 0.5 | mt5: decoder.final_layer_norm rms 1
 mbart: model.decoder.layer_norm layer 1 | bart: model.decoder.layers.11.final_layer_norm layer 1
 bert: cls.predictions.transform.LayerNorm layer 1 | roberta: lm_head.layer_norm layer 1
 albert: predictions.LayerNorm layer 1 | biogpt: biogpt.layer_norm layer 1 | mpt: transformer.norm_f layer 1
 distilbert: vocab_layer_norm layer 1 | electra: generator_predictions.LayerNorm layer 1
 exaone: transformer.ln_f rms 1 | gpt_neox: gpt_neox.final_layer_norm layer 1 | zamba: model.final_layernorm rms 1
 led: led.decoder.layers.11.final_layer_norm layer 1 | modernbert: head.norm layer 1 | olmo: model.norm layer 1
 opt: model.decoder.final_layer_norm layer 1 | stablelm: model.norm layer 1 | rwkv: rwkv.ln_out layer 1
 recurrent_gemma: model.final_norm rms+ 1 | xglm: model.layer_norm layer 1
"""
"""One architecture of each family: its final norm, `+` where one is added to gains, and
what multiplies its logits.
"""


@pytest.mark.parametrize(
    "line",
    [line.strip() for line in NORMS.replace("\n", "|").split("|") if line.strip()],
)
def test_the_final_norm_of_each_architecture(tmp_path: Path, line: str) -> None:
    name, norm, kind, scale = line.replace(":", "").split()
    tensors = {
        "lm_head.weight": ITEMS,
        f"{norm}.weight": GAIN,
        f"{norm.replace('11', '9')}.weight": GAIN,
    }
    tensors |= {f"{norm}.bias": SHIFT} if kind.startswith("layer") else {}
    save_file(tensors, tmp_path / "model.safetensors")
    said = {"model_type": name, "logit_scale": 0.25, "logits_scaling": 8, "d_model": 4}
    for config in (said, {"model_type": "x", "text_config": said}):
        (tmp_path / "config.json").write_text(json.dumps(config))
        found = read(tmp_path).norm
        assert found is not None
        assert (found.norm.kind, found.name) == (kind.rstrip("+"), f"{norm}.weight")
        assert found.because == f"the model_type {name} of config.json"
        np.testing.assert_array_equal(
            found.norm.gain, float(scale) * (GAIN + kind.endswith("+"))
        )
        if kind.startswith("layer"):
            np.testing.assert_array_equal(found.norm.shift, float(scale) * SHIFT)
    # Where no architecture is named, a layer of that name is found, too, unless it is
    # the last of many.
    (tmp_path / "config.json").unlink()
    assert (read(tmp_path).norm is None) == ("11" in norm)


EPSILONS = """rms_norm_eps layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_epsilon norm_eps rms_norm_epsilon
 ln_eps"""


@pytest.mark.parametrize("key", listed(EPSILONS))
def test_the_epsilon_of_a_norm_is_in_the_configuration(
    tmp_path: Path, key: str
) -> None:
    save_file(
        {"lm_head.weight": ITEMS, "model.norm.weight": GAIN},
        tmp_path / "model.safetensors",
    )
    for part in ("", "text_config", "llm_config", "language_config"):
        said = {key: 0.125, "final_logit_softcapping": 5.0}
        (tmp_path / "config.json").write_text(
            json.dumps({part: said} if part else said)
        )
        found = read(tmp_path)
        assert found.norm is not None
        assert (found.norm.norm.epsilon, found.model.link) == (
            0.125,
            softmax_link(soft_cap=5.0),
        )
        assert found.norm.norm.kind == (
            "layer" if key.startswith("layer_norm") else "rms"
        )


def test_architectures_of_llama_cpp(tmp_path: Path) -> None:
    tensors = {"token_embd.weight": ITEMS, "output_norm.weight": GAIN}

    def norm_of(name: str, **said: Any) -> Any:
        return read(
            gguf_file(
                tmp_path / "m.gguf", tensors, architecture=name, **{**RMS, **said}
            )
        )

    scales = {
        **dict.fromkeys(["granite", "granitehybrid", "granitemoe", "minicpm"], 0.5),
        "command-r": 2,
    }
    for name, scale in scales.items():
        np.testing.assert_array_equal(
            norm_of(name, logit_scale=2.0).norm.norm.gain, scale * GAIN
        )
    np.testing.assert_allclose(
        norm_of("grok").norm.norm.gain, GAIN / np.sqrt(3), rtol=1e-12
    )
    assert norm_of("gemma2").model.link == softmax_link(soft_cap=30.0)
    assert norm_of("gemma2", final_logit_softcapping=5.0).model.link == softmax_link(
        soft_cap=5.0
    )
    for said, kind in ((RMS, "rms"), (LAYER, "layer")):
        found = read(gguf_file(tmp_path / "m.gguf", tensors, **said)).norm
        assert (found.norm.kind, np.float32(found.norm.epsilon)) == (
            kind,
            np.float32(1e-5),
        )
    encoders = """t5encoder bert modern-bert neo-bert nomic-bert nomic-bert-moe jina-bert-v2 clip eurobert
     gemma-embedding"""
    for name in listed(encoders):
        with pytest.raises(InputError, match="for it is an encoder"):
            norm_of(name)


# Columns of tables, in any order

USER_COLUMNS = listed(
    """
    user user_id uid u customer customer_id visitor visitorId reviewer reviewerID member
    member_id
    """
)
ITEM_COLUMNS = listed(
    """
    item item_id iid i movie movieId product productId article article_id artist
    artistID track trackId song songId book bookId ISBN asin news newsId
    """
)
RATING_COLUMNS = listed(
    """
    rating ratings Book-Rating score stars count counts weight value plays playcount
    listens quantity overall
    """
)
TITLE_COLUMNS = listed(
    """
    title name label movieTitle Book-Title productName item_name artistName trackName
    headline
    """
)
COUNT_COLUMNS = listed(
    """
    count counts interactions ratings n_ratings n_interactions n size frequency plays
    playcount listens
    """
)
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
