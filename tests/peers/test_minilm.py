"""all-MiniLM-L6-v2, a real sentence encoder: search, thresholds, maps, heads, adapters.

A small grammar writes sentences about 24 topics. Numbers of embaudit are compared with
those that NumPy and SciPy compute directly from the vectors of all sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from peers.sentences import (
    FOREIGN,
    SHARED,
    UNASKED,
    document_sentences,
    query_sentences,
    ten_sentences,
)
from peers.small_networks import ENCODER, unpack_encoder
from peers.trained import installed
from scipy.linalg import orthogonal_procrustes

import embaudit as ea
from embaudit.core.tolerances import FLOAT32_TIE, TIE
from embaudit.linalg.nearest import neighbours
from embaudit.networks.lora_comparison import Likeness
from embaudit.serving.copy_formats import format_named
from embaudit.serving.copy_proofs import (
    Lists,
    measure_changes,
    stays_for_queries,
    stays_for_stored_rows,
)
from embaudit.serving.space_map import Advice

pytestmark = pytest.mark.skipif(
    installed(ENCODER) is None or installed("transformers") is None,
    reason="not installed",
)
N = 10
"""Length of the lists."""


@dataclass(frozen=True)
class Texts:
    """Vectors of sentences, and the topic of each."""

    rows: np.ndarray
    topics: np.ndarray

    def about(self, topics: tuple[str, ...]) -> Texts:
        """Return the sentences of some topics."""
        is_about = np.isin(self.topics, topics)
        return Texts(self.rows[is_about], self.topics[is_about])


@dataclass(frozen=True)
class Encoder:
    """The network, and ways to encode sentences."""

    folder: Path
    tokenizer: Any
    network: Any

    def tokens(self, sentences: list[str]) -> Any:
        return self.tokenizer(sentences, padding=True, return_tensors="pt")

    def encode(self, sentences: list[str], pooling: str = "mean") -> np.ndarray:
        """Return unit rows in float32: the mean over tokens, or the first token."""
        import torch

        rows = []
        for start in range(0, len(sentences), 64):
            tokens = self.tokens(sentences[start : start + 64])
            with torch.no_grad():
                states = self.network(**tokens).last_hidden_state
            if pooling == "mean":
                mask = tokens["attention_mask"][:, :, None]
                pooled = (states * mask).sum(dim=1) / mask.sum(dim=1)
            else:
                pooled = states[:, 0]
            rows.append(torch.nn.functional.normalize(pooled, dim=1).numpy())
        return np.concatenate(rows)


def load_encoder(folder: Path) -> Encoder:
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    network = AutoModel.from_pretrained(
        folder, local_files_only=True, use_safetensors=True
    )
    return Encoder(folder, tokenizer, network.eval())


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("minilm")
    unpack_encoder(folder)
    return load_encoder(folder)


@pytest.fixture(scope="module")
def all_documents(encoder: Encoder) -> Texts:
    sentences, topics = document_sentences()
    return Texts(encoder.encode(sentences), np.array(topics))


@pytest.fixture(scope="module")
def documents(all_documents: Texts) -> Texts:
    """Documents that queries are about."""
    return all_documents.about(SHARED)


@pytest.fixture(scope="module")
def queries(encoder: Encoder) -> Texts:
    sentences, topics = query_sentences()
    return Texts(encoder.encode(sentences), np.array(topics))


@pytest.fixture(scope="module")
def every_row(all_documents: Texts, queries: Texts) -> np.ndarray:
    """Half of these vectors are more than a vector has columns, and fix a rotation."""
    return np.concatenate([all_documents.rows, queries.rows])


def unit(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their lengths."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cosines_of(rows: np.ndarray) -> np.ndarray:
    """Return all cosines of rows, -inf of a row with itself."""
    cosines = unit(rows) @ unit(rows).T
    np.fill_diagonal(cosines, -np.inf)
    return cosines


def first_columns(values: np.ndarray, n: int) -> np.ndarray:
    """Return the columns of the n largest values of each row."""
    return np.argsort(-values, axis=1, kind="stable")[:, :n]


def shares_common(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the share of the entries of each list that are in the other list."""
    return (one[:, :, None] == other[:, None, :]).any(axis=2).mean(axis=1)


def test_sentences_are_encoded_as_by_sentence_transformers(encoder: Encoder) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    sentences = ten_sentences()
    peer = sentence_transformers.SentenceTransformer(
        str(encoder.folder), device="cpu", local_files_only=True
    )
    expected = peer.encode(sentences, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(sentences), expected, atol=1e-5)
    assert expected.shape == (10, 384)


# Copies


def int8_by_row(rows: np.ndarray) -> np.ndarray:
    scales = np.abs(rows).max(axis=1, keepdims=True).astype(np.float64) / 127
    return np.rint(rows / scales) * scales


COPIES = {
    "int8": int8_by_row,
    "float16": lambda rows: rows.astype(np.float16),
    "binary": lambda rows: np.where(rows > 0, 1.0, -1.0),
    "first:128": lambda rows: rows[:, :128],
}


def expected_shares(before: np.ndarray, after: np.ndarray, n: int) -> np.ndarray:
    """Return the expected share of each list that a copy keeps if its ties are drawn.

    Rows above the n-th largest value of the copy are listed, and rows level with it
    fill the places that these leave, each with the same probability.
    """
    belongs = before >= np.sort(before, axis=1)[:, -n, None] - FLOAT32_TIE
    last = np.sort(after, axis=1)[:, -n, None]
    is_above = after > last + TIE
    is_level = np.abs(after - last) <= TIE
    chance = (n - is_above.sum(axis=1)) / is_level.sum(axis=1)
    kept = (belongs & is_above).sum(axis=1) + chance * (belongs & is_level).sum(axis=1)
    return np.minimum(kept, n) / n


def test_copies_keep_the_lists_that_brute_force_counts(documents: Texts) -> None:
    found = ea.compare_copies(documents.rows, list(COPIES), n_lists=None)
    before = cosines_of(documents.rows)
    for copy, copy_by_hand in zip(found.copies, COPIES.values(), strict=True):
        after = cosines_of(copy_by_hand(documents.rows))
        expected = expected_shares(before, after, N)
        np.testing.assert_allclose(copy.kept_by_list, expected, atol=1e-9)
    int8, float16, binary, first = found.copies
    assert float16.kept > int8.kept > first.kept > 0.5
    assert int8.kept > binary.kept > 0.3
    assert [copy.bytes_per_vector for copy in found.copies] == [388, 768, 48, 512]
    assert float16.proven > int8.proven > binary.proven == 0


@pytest.mark.parametrize("name", COPIES)
def test_proven_entries_are_kept(name: str, documents: Texts) -> None:
    rows = documents.rows
    found = ea.compare_copies(rows, name, n_lists=None).copies[0]
    # The flags of all entries, of which a comparison gives the share.
    nearest = neighbours(rows, 60)
    lists = Lists(nearest.indices, nearest.cosines, nearest.runner_up, nearest.rows)
    copied = format_named(name).copy(rows)
    changes = measure_changes(rows, copied)
    proven = stays_for_stored_rows(lists, N, rows, changes)
    assert proven.mean() == found.proven
    for_queries = stays_for_queries(lists, N, rows, rows, copied, changes)
    assert for_queries.mean() == found.proven_for_queries
    by_hand = unit(COPIES[name](rows))
    n_columns = by_hand.shape[1]
    uncopied = unit(rows)[:, :n_columns] @ by_hand.T
    np.fill_diagonal(uncopied, -np.inf)
    entries = lists.indices[:, :N]
    for after, flags in ((cosines_of(by_hand), proven), (uncopied, for_queries)):
        # Every row outside of the list stays behind a proven entry.
        outside = np.array(after)
        np.put_along_axis(outside, entries, -np.inf, axis=1)
        rival = outside.max(axis=1, keepdims=True)
        is_kept = np.take_along_axis(after, entries, axis=1) > rival
        assert is_kept[flags].all()
        # Small turns prove most entries, and large ones prove none.
        if name in ("float16", "int8"):
            assert flags.mean() > 0.8
        else:
            assert not flags.any()
            assert not is_kept.all()


# Thresholds


def labelled(texts: Texts, rows: np.ndarray, seed: int) -> pd.DataFrame:
    """Pair some rows with four others of their topic, and eight of other topics."""
    draw = np.random.default_rng(seed)
    records = []
    for row in rows:
        is_same = texts.topics == texts.topics[row]
        others = np.setdiff1d(np.flatnonzero(is_same), [row])
        foreign = np.flatnonzero(~is_same)
        records += [(row, other, 1) for other in draw.choice(others, 4, replace=False)]
        records += [(row, other, 0) for other in draw.choice(foreign, 8, replace=False)]
    pairs = pd.DataFrame(records, columns=["a", "b", "label"])
    # A pair can be drawn for both of its rows.
    ends = np.sort(pairs[["a", "b"]], axis=1)
    return pairs[~pd.DataFrame(ends).duplicated()]


def true_errors(
    texts: Texts, rows: np.ndarray, cut: float
) -> tuple[float, float, float]:
    """Return precision, recall and false positives of all pairs of some rows.

    Pairs count as in `labelled`: two unrelated ones for each related one.
    """
    cosines = cosines_of(texts.rows)[rows]
    is_same = texts.topics[rows, None] == texts.topics
    is_same[np.arange(len(rows)), rows] = False
    is_other = texts.topics[rows, None] != texts.topics
    recall = float((cosines[is_same] >= cut).mean())
    false_positives = float((cosines[is_other] >= cut).mean())
    return recall / (recall + 2 * false_positives), recall, false_positives


def test_a_threshold_has_its_errors_on_fresh_pairs(documents: Texts) -> None:
    n_within, n_values = 0, 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(documents.rows))
        labelled_rows, fresh = order[:200], order[200:]
        found = ea.threshold(
            documents.rows, pairs=labelled(documents, labelled_rows, seed), rng=seed
        )
        assert found.threshold is not None
        assert found.labelled is not None
        judged = found.labelled.judged
        assert judged is not None
        errors = true_errors(documents, fresh, found.threshold)
        stated = (judged.precision, judged.recall, judged.false_positive_rate)
        for value, estimate in zip(errors, stated, strict=True):
            n_within += estimate.low <= value <= estimate.high
            n_values += 1
        assert 0.5 < judged.recall.value < 1
        assert judged.false_positive_rate.value < 0.2
    # The three values of a draw depend on each other. Even if all of them missed
    # together, each in 5 % of the draws, more than 3 of 20 would miss in 2 % of cases.
    assert n_values == 60
    assert n_within >= 51


def test_permuted_labels_have_no_threshold(documents: Texts) -> None:
    for seed in range(10):
        draw = np.random.default_rng(seed)
        rows = draw.permutation(len(documents.rows))[:200]
        pairs = labelled(documents, rows, seed)
        pairs["label"] = draw.permutation(pairs["label"])
        found = ea.threshold(documents.rows, pairs=pairs, rng=seed)
        assert found.threshold is None
        assert "No threshold separates these pairs" in found.conclusion


# Queries


def test_documents_that_no_query_finds_are_found(
    all_documents: Texts, documents: Texts, queries: Texts
) -> None:
    asked = queries.about(SHARED).rows
    items = all_documents.about((*SHARED, *UNASKED))
    found = ea.query_reach(items.rows, asked)
    listed = first_columns(unit(asked) @ unit(items.rows).T, N)
    expected = np.bincount(listed.ravel(), minlength=len(items.rows))
    np.testing.assert_array_equal(found.counts, expected)
    assert found.has_unreached
    planted = np.flatnonzero(np.isin(items.topics, UNASKED))
    np.testing.assert_array_equal(found.unreached, planted)
    assert not found.has_far
    # Documents that queries are about are not reported.
    without = ea.query_reach(documents.rows, asked)
    assert not without.has_unreached
    assert not without.has_far


def test_queries_about_other_topics_are_far(documents: Texts, queries: Texts) -> None:
    asked = queries.about((*SHARED, *FOREIGN))
    found = ea.query_reach(documents.rows, asked.rows)
    assert found.nearness is not None
    best = (unit(asked.rows) @ unit(documents.rows).T).max(axis=1)
    np.testing.assert_allclose(found.nearness.closeness.values, best, atol=1e-6)
    assert found.has_far
    is_foreign = np.isin(asked.topics, FOREIGN)
    is_far = found.nearness.is_far
    assert not is_far[~is_foreign].any()
    assert is_far[is_foreign].mean() > 0.9


# Re-embed or map


def test_a_rotated_copy_needs_a_rotation_only(every_row: np.ndarray) -> None:
    draw = np.random.default_rng(0)
    turn = np.linalg.qr(draw.standard_normal((384, 384)))[0]
    found = ea.space_map(every_row, every_row.astype(np.float64) @ turn)
    assert found.advice is Advice.ROTATION
    assert found.conclusion.startswith("A rotation is enough: it keeps 100 %")
    assert found.rotation.mapped_rows.min() == 1
    assert found.rotation.mapped_queries.min() == 1
    assert found.rotation.angles.max() < 0.1


def test_another_pooling_is_judged_as_rows_that_took_no_part_in_the_fit(
    encoder: Encoder, every_row: np.ndarray
) -> None:
    sentences = document_sentences()[0] + query_sentences()[0]
    old, new = encoder.encode(sentences, "first token"), every_row
    # A third of the rows is withheld from embaudit: as many as it judges maps by.
    order = np.random.default_rng(0).permutation(len(new))
    withheld, given = np.split(order, [len(new) // 3])
    found = ea.space_map(old[given], new[given], n_neighbours=N)
    assert found.n_judged == pytest.approx(len(withheld), abs=10)
    x, y = unit(old[given]), unit(new[given])
    best_sum = np.sum((x @ orthogonal_procrustes(x, y)[0]) * y)
    turned = x @ found.final["rotation"].forward
    assert np.sum(turned * y) == pytest.approx(best_sum, rel=1e-9)

    wanted = first_columns(cosines_of(new[withheld]), N)

    def shares_found(forward: np.ndarray) -> np.ndarray:
        """Return the recall of each new query among mapped old rows."""
        cosines = unit(new[withheld]) @ unit(old[withheld] @ forward).T
        np.fill_diagonal(cosines, -np.inf)
        return shares_common(wanted, first_columns(cosines, N))

    recalls = {}
    for judged in (found.rotation, found.linear):
        kept = shares_found(judged.fitted.forward)
        stated = judged.mapped_rows
        error = np.hypot(
            kept.std(ddof=1) / np.sqrt(len(kept)),
            stated.std(ddof=1) / np.sqrt(len(stated)),
        )
        assert abs(kept.mean() - stated.mean()) < 3 * error
        # The map to apply was fitted to the judged rows, too, and keeps no less.
        applied = shares_found(found.final[judged.kind].forward)
        assert applied.mean() > stated.mean() - 3 * error
        recalls[judged.kind] = float(kept.mean())
    assert recalls["rotation"] < recalls["linear"] - 0.01
    assert 0.8 < recalls["linear"] < 0.95
    assert found.advice is Advice.LOSSY
    assert found.best is found.linear


# Networks


LAYER, HEAD = 2, 5
"""Layer and head that are changed."""


def head_rows(network: Any, tokens: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the output of the network, and queries, keys or values of the head."""
    import torch

    projection = getattr(network.encoder.layer[LAYER].attention.self, name)
    outputs: list[Any] = []
    hook = projection.register_forward_hook(lambda *call: outputs.append(call[2]))
    with torch.no_grad():
        result = network(**tokens).last_hidden_state.numpy()
    hook.remove()
    is_text = tokens["attention_mask"].bool()
    rows = outputs[0][is_text].reshape(-1, 12, 32)[:, HEAD].numpy()
    return result[is_text.numpy()], rows


def test_an_equivalent_head_changes_cosines_and_no_output(encoder: Encoder) -> None:
    import torch

    network = load_encoder(encoder.folder).network.double()
    tokens = encoder.tokens(ten_sentences())
    with torch.no_grad():
        hidden = network(**tokens, output_hidden_states=True).hidden_states
    states = hidden[LAYER][tokens["attention_mask"].bool()].numpy()
    found = ea.audit_attention(encoder.folder, LAYER, HEAD, states=states)
    assert found.predictions_hold
    assert str(found.answer) == "NO"
    before = {}
    for name, rows in (
        ("query", found.rows.queries),
        ("key", found.rows.keys),
        ("value", found.rows.values),
    ):
        output, before[name] = head_rows(network, tokens, name)
        np.testing.assert_allclose(rows, before[name], atol=1e-9)
    changed = ea.equivalent_attention(network, LAYER, HEAD, max_condition=4.0, rng=1)
    tensors = {name: torch.as_tensor(value) for name, value in changed.items()}
    stored = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(stored | tensors)
    changed_rows = {}
    for name, rows in before.items():
        after, moved = head_rows(network, tokens, name)
        assert np.abs(after - output).max() < 1e-6
        pairs = ~np.eye(len(rows), dtype=bool)
        change = np.abs(cosines_of(moved)[pairs] - cosines_of(rows)[pairs])
        assert change.mean() > 0.01, name
        changed_rows[name] = moved
    # Cosines of centred scores are those that the audit names, in both networks.
    predicted = cosines_of(found.prediction_rows("keys"))
    for rows in (before, changed_rows):
        scores = rows["key"] @ rows["query"].T
        scores -= scores.mean(axis=0)
        np.testing.assert_allclose(cosines_of(scores), predicted, atol=1e-6)
    # Keys without their queries compute other outputs.
    alone = {name: value for name, value in tensors.items() if "key" in name}
    assert len(alone) == 2
    network.load_state_dict(stored | alone)
    assert np.abs(head_rows(network, tokens, "key")[0] - output).max() > 1e-3


def low_rank_change(matrix: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return B and A of rank 8: the leading part of a random change of a matrix."""
    change = np.random.default_rng(seed).standard_normal(matrix.shape)
    u, sizes, v = np.linalg.svd(change)
    scale = 0.3 * np.linalg.norm(matrix) / np.linalg.norm(sizes[:8])
    roots = np.sqrt(scale * sizes[:8])
    return u[:, :8] * roots, roots[:, None] * v[:8]


def test_a_low_rank_change_is_compared_by_its_update(encoder: Encoder) -> None:
    import torch

    network = load_encoder(encoder.folder).network.double()
    weight = network.encoder.layer[LAYER].attention.self.query.weight
    stored = weight.detach().clone()
    tokens = encoder.tokens(ten_sentences())
    b, a = low_rank_change(stored.numpy(), 0)
    gauge = np.random.default_rng(1).standard_normal((8, 8))
    other_b, other_a = b @ gauge, np.linalg.solve(gauge, a)

    def output(update: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            weight.copy_(stored + torch.as_tensor(update))
            return network(**tokens).last_hidden_state.numpy()

    one, other = output(b @ a), output(other_b @ other_a)
    np.testing.assert_allclose(one, other, atol=1e-9)
    assert np.abs(one - output(0 * (b @ a))).max() > 0.1

    audited = ea.audit_lora(b, a)
    assert [finding.code for finding in audited.findings] == ["EMB601"]
    assert audited.norm == pytest.approx(np.linalg.norm(b @ a))
    found = ea.compare_lora((b, a), (other_b, other_a))
    assert found.likeness is Likeness.SAME_UPDATE
    assert found.cosine == pytest.approx(1)
    assert found.distance < 1e-9
    factors, others = np.vstack([b, a.T]), np.vstack([other_b, other_a.T])
    by_hand = np.sum(factors * others) / np.linalg.norm(factors)
    by_hand /= np.linalg.norm(others)
    assert found.factor_cosine == pytest.approx(by_hand)
    assert found.factor_cosine < 0.9
    # Another random change is not like this one.
    c, d = low_rank_change(stored.numpy(), 2)
    unlike = ea.compare_lora((b, a), (c, d))
    assert unlike.likeness is Likeness.UNRELATED
    cosine = np.sum((b @ a) * (c @ d)) / np.linalg.norm(b @ a) / np.linalg.norm(c @ d)
    assert unlike.cosine == pytest.approx(cosine)
