"""Models and files of gensim: vectors of words, contexts and documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from peers.trained import installed

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import load, save, with_titles

if TYPE_CHECKING:
    from peers.films import Films

pytestmark = pytest.mark.skipif(installed("gensim") is None, reason="not installed")
SIZES = {"vector_size": 8, "epochs": 2, "seed": 0, "workers": 1, "min_count": 1}
MODELS = {
    "Word2Vec skip-gram": ("Word2Vec", {"sg": 1}),
    "Word2Vec CBOW": ("Word2Vec", {"sg": 0}),
    "FastText": ("FastText", {"sg": 1, "bucket": 100}),
}


@pytest.fixture(scope="module")
def sentences(films: Films) -> list[list[str]]:
    """Return what each person rated, in order of time."""
    rated = films.frame.sort_values("timestamp").groupby("userId")["movieId"]
    return [[str(film) for film in several] for _, several in rated]


@pytest.fixture(scope="module")
def trained(sentences: list[list[str]]) -> Any:
    import gensim.models

    models = {
        name: getattr(gensim.models, kind)(sentences, **SIZES, **more)
        for name, (kind, more) in MODELS.items()
    }
    return models.__getitem__


def of(model: str, column: str) -> Any:
    return pytest.param(
        model, marks=pytest.mark.holds(column, library="gensim", model=model)
    )


@pytest.mark.parametrize("name", [of(name, "scores") for name in MODELS])
def test_contexts_are_the_other_side(name: str, trained: Any) -> None:
    made = trained(name)
    model = load(made)
    assert (model.link.name, model.roles) == ("sigmoid", ("context", "word"))
    for word in made.wv.index_to_key[:5]:
        # A softmax over contexts tells their scores up to a constant.
        theirs = {
            context: np.log(p)
            for context, p in made.predict_output_word([word], topn=len(made.wv))
        }
        column = model.scores()[:, model.right_ids.tolist().index(word)]
        gaps = column - [theirs[context] for context in model.left_ids.tolist()]
        assert np.ptp(column) > 1e-3
        assert np.ptp(gaps) < 1e-5 * max(1.0, np.abs(column).max())
        np.testing.assert_allclose(
            made.wv[word], model.right[made.wv.key_to_index[word]], atol=1e-6
        )


@pytest.mark.parametrize("name", [of(name, "titles") for name in MODELS])
def test_words_that_are_ids_lead_to_titles(
    name: str, trained: Any, films: Films
) -> None:
    model = load(trained(name))
    named, _ = with_titles(model, films.titles, id="movieId", title="title")
    known = pd.read_csv(films.titles, dtype=str).set_index("movieId")["title"]
    assert named.right_names.tolist() == known.loc[model.right_ids].tolist()


@pytest.mark.parametrize("name", [of(name, "file") for name in MODELS])
@pytest.mark.parametrize(("file", "binary"), [("v.txt", False), ("v.bin", True)])
def test_vectors_that_it_wrote(
    name: str, file: str, binary: bool, trained: Any, tmp_path: Path
) -> None:
    vectors = trained(name).wv
    vectors.save_word2vec_format(tmp_path / file, binary=binary)
    require_same(load(tmp_path / file), vectors)
    vectors.save(str(tmp_path / "v.kv"))
    with pytest.raises(InputError, match="save_word2vec_format"):
        load(tmp_path / "v.kv")


def require_same(model: FactorModel, vectors: Any) -> None:
    assert model.right_ids.tolist() == vectors.index_to_key
    np.testing.assert_allclose(model.right, vectors.vectors, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [of(name, "written") for name in MODELS])
def test_vectors_that_we_wrote(name: str, trained: Any, tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    model = load(trained(name), kind="vectors")
    save(model, tmp_path / "v.txt")
    require_same(model, KeyedVectors.load_word2vec_format(tmp_path / "v.txt"))


@pytest.mark.holds("scores", library="gensim", model="KeyedVectors")
def test_nearest_words_are_its_own(trained: Any) -> None:
    from embaudit import neighbours

    vectors = trained("Word2Vec CBOW").wv
    model = load(vectors)
    require_same(model, vectors)
    lists = neighbours(model.right, 3).indices
    for row, word in enumerate(vectors.index_to_key[:20]):
        ours = model.cosines("right", [[row, other] for other in lists[row]])
        np.testing.assert_allclose(
            ours, [near for _, near in vectors.most_similar(word, topn=3)], atol=1e-5
        )


@pytest.mark.holds("scores", library="gensim", model="Doc2Vec")
def test_documents_and_words_are_two_tables(
    sentences: list[list[str]], record_property: Any
) -> None:
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    made = Doc2Vec(
        [TaggedDocument(words, [f"u{i}"]) for i, words in enumerate(sentences)], **SIZES
    )
    with pytest.raises(
        InputError, match=r"documents in dv and words in wv; pass model.dv, or model.wv"
    ):
        load(made)
    require_same(load(made.dv), made.dv)
    assert load(made.dv).right_ids[3] == "u3"
    require_same(load(made.wv), made.wv)
    record_property("held", "asked which: dv or wv")
