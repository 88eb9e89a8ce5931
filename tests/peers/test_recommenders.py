"""Recommenders trained by their own libraries: scores, files, ids, and files for other
readers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit import FactorModel
from embaudit.auditing.bias_columns import neighbours_with_bias
from embaudit.errors import InputError
from embaudit.io import load, read, save, with_titles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from peers.films import Films
    from peers.trained import Peer, Trained

LIBRARIES = (
    "cornac",
    "implicit",
    "lenskit",
    "lightfm",
    "pyspark",
    "recbole",
    "surprise",
)
MODULES = [import_module(f"peers.of_{name}") for name in LIBRARIES]
PEERS = [peer for module in MODULES for peer in module.PEERS]
REFUSED = [peer for module in MODULES for peer in getattr(module, "REFUSED", ())]
MOST = 1e-5
"""How far scores may lie apart, of the largest of them."""

each_peer = pytest.mark.parametrize("peer", PEERS, ids=str)


def some(ids: Any, count: int) -> list[Any]:
    return np.asarray(ids)[np.linspace(0, len(ids) - 1, count).astype(int)].tolist()


def rows_of(ids: Any, chosen: list[Any]) -> Any:
    """Find rows by ids, which some libraries keep as text."""
    found = pd.Index(np.asarray(ids).astype(str)).get_indexer(
        [str(one) for one in chosen]
    )
    assert (found >= 0).all()
    return found


def gap_of_scores(model: FactorModel, made: Trained, films: Films) -> float:
    """Return the largest error of some scores, relative to the largest score."""
    users, items = some(films.users, 7), some(films.items, 50)
    ours = model.scores(rows_of(model.left_ids, users))[
        :, rows_of(model.right_ids, items)
    ]
    theirs = np.asarray(made.predict(users, items), dtype=float)
    assert np.ptp(theirs) > 1e-3
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


@each_peer
@pytest.mark.holds("scores")
def test_scores_are_its_own(
    peer: Peer, trained: Callable[[Peer], Trained], films: Films
) -> None:
    made = trained(peer)
    assert gap_of_scores(load(made.live, **made.options), made, films) <= MOST


@pytest.mark.parametrize("peer", REFUSED, ids=str)
@pytest.mark.holds("scores")
def test_what_does_more_than_multiply_tables_is_refused(
    peer: Peer,
    trained: Callable[[Peer], Trained],
    record_property: Callable[[str, str], None],
) -> None:
    made = trained(peer)
    with pytest.raises(InputError, match=r"FactorModel\.from_user_item"):
        load(made.live, **made.options)
    record_property("held", "refused")


@each_peer
@pytest.mark.holds("file")
def test_its_own_file_says_the_same(
    peer: Peer, trained: Callable[[Peer], Trained], films: Films, tmp_path: Path
) -> None:
    made = trained(peer)
    if isinstance(made.store, str):
        pytest.skip(made.store)
    path, options = made.store(tmp_path)
    assert gap_of_scores(load(path, **options), made, films) <= MOST


@each_peer
@pytest.mark.holds("titles")
def test_ids_lead_to_titles(
    peer: Peer, trained: Callable[[Peer], Trained], films: Films
) -> None:
    made = trained(peer)
    model, said = with_titles(
        load(made.live, **made.options),
        films.titles,
        id="movieId",
        title="title",
    )
    known = pd.read_csv(films.titles).set_index("movieId")["title"]
    names = model.names("right")[rows_of(model.right_ids, some(films.items, 50))]
    assert names.tolist() == known.loc[some(films.items, 50)].tolist()
    assert said


@pytest.mark.parametrize(
    "peer", {peer.library: peer for peer in PEERS}.values(), ids=str
)
@pytest.mark.holds("audited")
def test_an_audit_says_what_it_read(
    peer: Peer, trained: Callable[[Peer], Trained]
) -> None:
    made = trained(peer)
    reading = read(made.live, **made.options)
    audit = ea.audit(reading, n_gauges=1, groups=["diagonal"], n_pairs=1000, n_starts=0)
    assert audit.intake == reading.intake
    assert {"left", "right", "left_ids", "right_ids", "link"} <= {
        part.became for part in reading.intake.parts
    }
    assert reading.intake.assumed == ()
    assert all(record["ok"] for record in audit.to_dict()["drift"])


@each_peer
@pytest.mark.holds("written")
def test_what_is_written_others_read(
    peer: Peer, trained: Callable[[Peer], Trained], tmp_path: Path
) -> None:
    made = trained(peer)
    model = load(made.live, kind="vectors", **made.options)
    save(model, tmp_path / "v.txt")
    save(model.replace(right_ids=None), tmp_path / "v.npy")
    save(model, tmp_path / "m.npz")
    require_read_by_gensim(model, tmp_path / "v.txt")
    stored = np.load(tmp_path / "v.npy")
    ours = ea.neighbours(model.right, TOP).indices
    for theirs in (nearest_of_faiss(stored), nearest_of_hnswlib(stored)):
        # Rows may be as near as single precision tells apart.
        np.testing.assert_allclose(
            cosines_of(model, theirs), cosines_of(model, ours), rtol=0, atol=1e-6
        )


@pytest.mark.parametrize(
    "peer", [peer for peer in PEERS if peer.library == "implicit"], ids=str
)
def test_neighbours_with_the_bias_are_those_of_similar_items(
    peer: Peer, trained: Callable[[Peer], Trained]
) -> None:
    made = trained(peer)
    model = load(made.live, **made.options)
    rows = np.array([3, 40])
    if model.right_bias is None:
        assert peer.model == "AlternatingLeastSquares"
        return
    for row, found in zip(
        rows,
        neighbours_with_bias(model, rows, TOP),
        strict=True,
    ):
        ids, cosines = made.live.similar_items(int(row), N=TOP + 1)
        assert [name for name, _ in found.after] == [
            str(made.options["ids"][i]) for i in ids[1:]
        ]
        np.testing.assert_allclose(
            [cosine for _, cosine in found.after], cosines[1:], rtol=0, atol=1e-5
        )
        assert found.before != found.after


TOP = 5


def require_read_by_gensim(model: FactorModel, path: Path) -> None:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors.load_word2vec_format(path)
    assert theirs.index_to_key == model.right_ids.astype(str).tolist()
    np.testing.assert_allclose(theirs.vectors, model.right, rtol=0, atol=1e-6)


def cosines_of(model: FactorModel, lists: Any) -> Any:
    pairs = np.column_stack([np.repeat(np.arange(len(lists)), TOP), lists.ravel()])
    return model.cosines("right", pairs).reshape(lists.shape)


def nearest_of_faiss(vectors: Any) -> Any:
    """Let FAISS find the nearest by the cosine."""
    import faiss

    units = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
        np.float32
    )
    index = faiss.IndexFlatIP(units.shape[1])
    index.add(units)
    return others(index.search(units, TOP + 1)[1])


def nearest_of_hnswlib(vectors: Any) -> Any:
    import hnswlib

    index = hnswlib.Index("cosine", vectors.shape[1])
    index.init_index(len(vectors), ef_construction=400, M=32, random_seed=0)
    index.add_items(vectors, num_threads=1)
    index.set_ef(len(vectors))
    return others(index.knn_query(vectors, TOP + 1, num_threads=1)[0].astype(np.int64))


def others(lists: Any) -> Any:
    """Drop each row from its own list."""
    return np.stack(
        [[j for j in found if j != i][:TOP] for i, found in enumerate(lists)]
    )
