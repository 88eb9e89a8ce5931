"""The known layouts: the names that each library gives to the arrays of a model.

`RECIPES` is one list in the order in which it is tried:

1. Two tables, and heads. If a file holds both, or two pairs, or two heads, the names
   do not tell which of them is meant, so the caller is asked.
2. Input embeddings that are also the head, if the file holds no other head.
3. Vectors: one table.

The names of two tables and of vectors fit whatever their case and punctuation are, with
or without `.weight` at the end and wrappers such as `module.` before them. The
names of outputs of two networks do not fit with `.weight`, because an array with this
ending is a layer.

The name of a head fits as it is written, or behind a prefix such as `model.`; among
heads a name without a prefix comes first.

To add the layout of a library: add one `Recipe` here and its names to the test in
`tests/io/test_customary_names.py`, and write the table of `docs/reading.md` with
`python docs/generate.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from embaudit.io.layouts.names import is_kernel, plain

Kind: TypeAlias = Literal["factors", "head", "tied head", "vectors"]


@dataclass(frozen=True)
class Recipe:
    """Names under which one library or convention stores a model.

    Examples
    --------
    >>> recipe = Recipe("head", "scikit-learn", right="coef_", bias="intercept_")
    >>> recipe.title
    'coef_ of scikit-learn'
    """

    kind: Kind
    """What the arrays are: two factor matrices; the weights of a softmax head; input
    embeddings that are also the head, if no other head is stored; or one table of
    vectors.
    """
    source: str
    """The library or convention, as reports name it."""
    right: str
    """Name of the item factors, of the weights of the head, or of the vectors."""
    left: str = ""
    """Name of the user factors."""
    bias: str = ""
    """Name of the bias of a head, behind the same prefix as the weights."""
    transposed: bool = False
    """True if the right array has one column per entity by convention. The convention
    decides if the shapes do not.
    """
    rows: Literal["", "tokens", "classes"] = ""
    """What the rows of a head are, so that their names can be found; empty if that is
    not known.
    """
    needs_bias: bool = False
    """True if the array is a head only with its bias, because other networks use the
    name for something else.
    """
    is_common: bool = False
    """True if other layers of networks have the name, too. Then `checks.last_layer`
    compares the shapes of the layers.
    """
    is_output: bool = False
    """True if the outputs of two networks have these names. Arrays with these names and
    `.weight`, such as `query_tower.weight`, are then layers and do not fit.
    """

    @property
    def title(self) -> str:
        """The names and their source, for the report of what was read."""
        names = f"{self.left}/{self.right}" if self.left else self.right
        title = f"{names} of {self.source}"
        if self.kind == "tied head":
            title += ", input embeddings that are also the head"
        return title

    @property
    def biases_elsewhere(self) -> tuple[str, ...]:
        """Names of biases that are stored apart from the weights of a head."""
        if self.kind == "tied head":
            return BIASES_OF_TIED_HEADS
        return ADDED_TO_LOGITS


def _factors(left: str, right: str, source: str, *, transposed: bool = False) -> Recipe:
    return Recipe("factors", source, right, left, transposed=transposed)


def _outputs(left: str, right: str, source: str) -> Recipe:
    """Return the recipe of the outputs of two networks."""
    return Recipe("factors", source, right, left, is_output=True)


def _language_model(layer: str, source: str) -> Recipe:
    """Return the recipe of a last layer whose rows are tokens."""
    return Recipe(
        "head", source, f"{layer}.weight", bias=f"{layer}.bias", rows="tokens"
    )


def _classifier(layer: str, source: str, *, is_common: bool = False) -> Recipe:
    """Return the recipe of a last layer whose rows are classes."""
    return Recipe(
        "head",
        source,
        f"{layer}.weight",
        bias=f"{layer}.bias",
        rows="classes",
        is_common=is_common,
    )


def _head(
    right: str,
    bias: str,
    source: str,
    *,
    transposed: bool = False,
    needs_bias: bool = False,
    is_common: bool = False,
) -> Recipe:
    return Recipe(
        "head",
        source,
        right,
        bias=bias,
        transposed=transposed,
        needs_bias=needs_bias,
        is_common=is_common,
    )


def _tied(right: str, source: str, *, needs_bias: bool = False) -> Recipe:
    return Recipe("tied head", source, right, needs_bias=needs_bias)


RECIPES: tuple[Recipe, ...] = (
    # Two tables: a score is the product of a row of the left one with a row of the
    # right one.
    _factors("user_factors", "item_factors", "implicit"),
    _factors("user_embedding", "item_embedding", "RecBole"),
    _factors("user_embeddings", "item_embeddings", "LightFM, Spotlight, LensKit"),
    _factors("u_factors", "i_factors", "Cornac"),
    _factors("pu", "qi", "Surprise"),
    _factors("embedding_user", "embedding_item", "LightGCN-PyTorch"),
    _factors("embed_user", "embed_item", "BPR-pytorch"),
    _factors("u_embeddings", "i_embeddings", "ReChorus"),
    _factors("user_emb", "item_emb", "torch modules"),
    _factors("user_embed", "item_embed", "torch modules"),
    _factors("user_vectors", "item_vectors", "common usage"),
    _factors("users", "items", "common usage"),
    _factors("queries", "documents", "retrieval"),
    _factors("query_embeddings", "document_embeddings", "retrieval"),
    _factors("query_embedding", "document_embedding", "retrieval"),
    _outputs("query", "document", "retrieval"),
    _outputs("queries", "passages", "retrieval"),
    _factors("query_embeddings", "passage_embeddings", "retrieval"),
    # `sentence_transformers.util.semantic_search`
    _factors("query_embeddings", "corpus_embeddings", "sentence-transformers"),
    # Two towers: the tower of queries serves users, the tower of candidates items.
    # `tensorflow_recommenders.tasks.Retrieval` and `layers.factorized_top_k`
    _factors("query_embeddings", "candidate_embeddings", "TensorFlow Recommenders"),
    _outputs("queries", "candidates", "TensorFlow Recommenders"),
    # `merlin.models.tf.TwoTowerModelV2` and `TwoTowerModel`
    _outputs("query_tower", "candidate_tower", "Merlin Models"),
    _outputs("query_tower", "item_tower", "Merlin Models"),
    _outputs("user_tower", "item_tower", "common usage"),
    _factors("left", "right", "embaudit"),
    # Koren, Bell and Volinsky (2009) write q and p; Dive into Deep Learning, chapter
    # 21.3, writes P and Q.
    _factors("P", "Q", "textbooks on matrix factorisation"),
    _factors("U", "V", "Cornac and textbooks on matrix factorisation"),
    # X ≈ W H: H is components_ of sklearn.decomposition.NMF, one column per item.
    _factors("W", "H", "non-negative matrix factorisation", transposed=True),
    # scipy.linalg.svd calls the third factor Vh, older examples call it Vt.
    _factors("U", "Vt", "singular value decompositions", transposed=True),
    _factors("U", "Vh", "singular value decompositions", transposed=True),
    # Softmax heads: one row of weights per label or token, with its bias. Language
    # models of transformers: `get_output_embeddings()` of the architectures named.
    _language_model("lm_head", "causal language models of transformers"),
    _language_model("lm_head.decoder", "RoBERTa"),
    _language_model("cls.predictions.decoder", "BERT"),
    _language_model("predictions.decoder", "ALBERT"),
    _language_model("vocab_projector", "DistilBERT"),
    _language_model("generator_lm_head", "ELECTRA"),
    _language_model("embed_out", "GPT-NeoX"),
    _head("unembed.W_U", "unembed.b_U", "TransformerLens", transposed=True),
    _head("unembed.weight", "unembed.bias", "torch modules"),
    _head("unembeddings", "bias", "papers on label representations"),
    # The head of llama.cpp, of Meta's files of Llama and of InternLM2.
    _head("output.weight", "output.bias", "llama.cpp", is_common=True),
    # Classifiers: `…ForSequenceClassification` of transformers, and images.
    _classifier("score", "sequence classifiers such as Llama"),
    _classifier("classifier", "sequence classifiers such as BERT"),
    _classifier("classifier.out_proj", "RoBERTa"),
    _classifier("classification_head.out_proj", "BART"),
    _classifier("logits_proj", "XLNet"),
    _classifier("head", "timm", is_common=True),
    _classifier("fc", "ResNet of torchvision", is_common=True),
    _head("linear.weight", "linear.bias", "torch modules", is_common=True),
    # One layer that was stored alone, or arrays of an archive.
    _head("coef_", "intercept_", "scikit-learn"),
    _head("kernel", "bias", "Keras, Flax", transposed=True),
    _head("weight", "bias", "torch.nn.Linear", needs_bias=True),
    _head("weights", "bias", "common usage"),
    _head("W", "b", "textbooks on softmax regression"),
    # tutorials/rnn/ptb/ptb_word_lm.py of TensorFlow 1.
    _head("softmax_w", "softmax_b", "TensorFlow 1"),
    # Input embeddings that are also the head, if the file holds no other head. The
    # names are those of transformers unless another source is given.
    _tied("language_model.model.embed_tokens.weight", "LLaVA"),
    _tied("model.embed_tokens.weight", "Llama and others"),
    _tied("model.language_model.embed_tokens.weight", "vision-language models"),
    _tied("model.decoder.embed_tokens.weight", "OPT, BART"),
    _tied("biogpt.embed_tokens.weight", "BioGPT"),
    _tied("transformer.wte.weight", "GPT-2"),
    _tied("wte.weight", "GPT-2"),
    _tied("transformer.word_embeddings.weight", "BLOOM, Falcon"),
    _tied("backbone.embeddings.weight", "Mamba"),
    _tied("shared.weight", "T5"),
    _tied("token_embd.weight", "llama.cpp"),
    # Every encoder has them: only the bias of a head says that there is one.
    _tied("embeddings.word_embeddings.weight", "BERT", needs_bias=True),
    _tied("embeddings.tok_embeddings.weight", "ModernBERT", needs_bias=True),
    _tied("model.tok_embeddings.weight", "InternLM2"),
    _tied("tok_embeddings.weight", "files of Llama by Meta"),
    # One table that has one column per entity.
    Recipe("vectors", "scikit-learn", right="components_", transposed=True),
)

ADDED_TO_LOGITS = ("final_logits_bias",)  # BART, Marian: one row that is added
"""Biases that are stored apart from the weights of any head."""
BIASES_OF_TIED_HEADS = (
    "cls.predictions.bias",  # BERT
    "predictions.bias",  # ALBERT
    "lm_head.bias",  # RoBERTa
    "lm_head.decoder.bias",  # RoBERTa
    "cls.predictions.decoder.bias",  # BERT
    "predictions.decoder.bias",  # ALBERT
    "vocab_projector.bias",  # DistilBERT
    "generator_lm_head.bias",  # ELECTRA
    "embed_out.bias",  # GPT-NeoX
    "decoder.bias",  # ModernBERT
    *ADDED_TO_LOGITS,
)
"""Biases of heads whose weights are the input embeddings."""


def of_kind(*kinds: Kind) -> Iterator[Recipe]:
    """Yield the recipes of these kinds in the order of `RECIPES`."""
    for recipe in RECIPES:
        if recipe.kind in kinds:
            yield recipe


HEADS = {recipe.right: recipe for recipe in of_kind("head", "tied head")}
"""Recipes of heads by the name of their weights."""


def head_recipe(name: str) -> Recipe | None:
    """Return the recipe of a head by the name of its weights, also behind a prefix.

    The recipe with the longest name that fits is returned. Names without a dot fit only
    without a prefix: `my.W` is not the W of a softmax regression. None is returned if
    no recipe fits.

    Examples
    --------
    >>> head_recipe("model.lm_head.weight").title
    'lm_head.weight of causal language models of transformers'
    >>> head_recipe("encoder.dense.weight") is None, head_recipe("my.W") is None
    (True, True)
    """
    if name in HEADS:
        return HEADS[name]
    while "." in name:
        name = name.partition(".")[2]
        if "." in name and name in HEADS:
            return HEADS[name]
    return None


def is_tied(name: str) -> bool:
    """Return True for the name of input embeddings that can also be the head.

    Examples
    --------
    >>> is_tied("model.embed_tokens.weight"), is_tied("lm_head.weight")
    (True, False)
    """
    recipe = head_recipe(name)
    return recipe is not None and recipe.kind == "tied head"


def is_factor(name: str) -> bool:
    """Return True for the name of one of two tables.

    Examples
    --------
    >>> is_factor("item_embedding.weight"), is_factor("W_Q")
    (True, False)
    """
    return any(
        plain(name) in (plain(recipe.left), plain(recipe.right))
        for recipe in of_kind("factors")
    )


def is_transposed_by_name(name: str) -> bool:
    """Return True if an array has one column per entity by convention.

    Examples
    --------
    >>> is_transposed_by_name("Vt"), is_transposed_by_name("dense/kernel")
    (True, True)
    """
    if is_kernel(name):
        return True
    recipe = head_recipe(name)
    if recipe is not None:
        return recipe.transposed
    return any(
        recipe.transposed and plain(name) == plain(recipe.right) for recipe in RECIPES
    )
