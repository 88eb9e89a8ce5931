"""Audit real models, and write what the audits say to docs/survey.json.

Run `python benchmarks/survey.py DATA`. DATA is a folder with the models and ratings
that docs/survey.md names; none of them is part of this project. Models that need a
library which is not installed are left out and named. `python docs/generate.py` makes
the page.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

import embaudit as ea

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).parents[1] / "docs" / "survey.json"
MIN_RATINGS = 10
"""Ratings that a film must have to take part: neighbours of a film rated once say
nothing in any model.
"""
SHARES = (0.5, 0.95, 0.99)
"""Shares of random pairs whose cosines are recorded."""


@dataclass(frozen=True)
class Ratings:
    """MovieLens ratings of films with enough of them, in the order of their time."""

    frame: pd.DataFrame
    films: pd.DataFrame

    @classmethod
    def from_folder(cls, folder: Path) -> Ratings:
        """Read both tables."""
        frame = pd.read_csv(folder / "ratings.csv").sort_values(
            "timestamp", kind="stable"
        )
        counts = frame.groupby("movieId")["rating"].transform("size")
        return cls(
            frame[counts >= MIN_RATINGS].reset_index(drop=True),
            pd.read_csv(folder / "movies.csv"),
        )

    @cached_property
    def users(self) -> Any:
        """Ids of users, one per row of `matrix`."""
        return np.unique(self.frame["userId"])

    @cached_property
    def items(self) -> Any:
        """Ids of films, one a column of `matrix`."""
        return np.unique(self.frame["movieId"])

    @cached_property
    def rows(self) -> Any:
        """Row of each rating in `matrix`."""
        return np.searchsorted(self.users, self.frame["userId"])

    @cached_property
    def columns(self) -> Any:
        """Column of each rating in `matrix`."""
        return np.searchsorted(self.items, self.frame["movieId"])

    @cached_property
    def matrix(self) -> csr_matrix:
        """Ratings as a sparse matrix."""
        values = self.frame["rating"].to_numpy(np.float32)
        return csr_matrix(
            (values, (self.rows, self.columns)),
            shape=(len(self.users), len(self.items)),
        )

    def read(self, live: Any) -> ea.FactorModel:
        """Read a fitted model of a library, with the ids of users and films."""
        return ea.load(live, left_ids=self.users, ids=self.items)

    def model(self, users: Any, items: Any, **options: Any) -> ea.FactorModel:
        """Return a model of these vectors, with the ids of users and films."""
        return ea.FactorModel.from_user_item(
            users, items, user_ids=self.users, item_ids=self.items, **options
        )


@dataclass(frozen=True)
class Subject:
    """One model of the survey."""

    name: str
    source: str
    """Where it comes from, with its licence."""
    compared: str
    """Products that its training compared, and how it was trained."""
    model: Callable[[Path], Any]
    """Return what `embaudit.audit` takes, from the folder of data."""
    options: dict[str, Any] = field(default_factory=dict)
    """Parameters of the audit."""
    library: str | None = None
    """Package that trains it; None for a file."""


def als(iterations: int) -> Callable[[Path], Any]:
    """Return what trains implicit's ALS for so many iterations."""

    def train(folder: Path) -> Any:
        from implicit.als import AlternatingLeastSquares

        ratings = Ratings.from_folder(folder / "ml-latest-small")
        live = AlternatingLeastSquares(
            iterations=iterations, random_state=0, num_threads=1
        )
        live.fit(ratings.matrix, show_progress=False)
        return ratings.read(live)

    return train


def implicit_bpr(folder: Path) -> Any:
    """Train implicit's BPR at its defaults."""
    from implicit.bpr import BayesianPersonalizedRanking

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    live = BayesianPersonalizedRanking(random_state=0, num_threads=1)
    live.fit(ratings.matrix, show_progress=False)
    return ratings.read(live)


def spark_als(folder: Path) -> Any:
    """Train Spark's ALS at its defaults."""
    from pyspark.ml.recommendation import ALS
    from pyspark.sql import SparkSession

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    frame = session.createDataFrame(ratings.frame[["userId", "movieId", "rating"]])
    live = ALS(userCol="userId", itemCol="movieId", ratingCol="rating", seed=0).fit(
        frame
    )
    return ea.load(live)


def surprise_svd(folder: Path) -> Any:
    """Train Surprise's SVD at its defaults."""
    import surprise

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    table = ratings.frame[["userId", "movieId", "rating"]]
    data = surprise.Dataset.load_from_df(
        table, surprise.Reader(rating_scale=(0.5, 5))
    ).build_full_trainset()
    return ea.load(surprise.SVD(random_state=0).fit(data))


def lightfm_warp(folder: Path) -> Any:
    """Train LightFM with the WARP loss, on films rated 4 and better."""
    from lightfm import LightFM

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    live = LightFM(loss="warp", random_state=0)
    live.fit((ratings.matrix >= 4).astype(np.float32), epochs=30)
    return ratings.read(live)


def nmf(folder: Path) -> Any:
    """Train scikit-learn's NMF with 50 components."""
    from sklearn.decomposition import NMF

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    live = NMF(n_components=50, random_state=0, max_iter=500)
    users = live.fit_transform(ratings.matrix)
    return ratings.model(users, live.components_.T, objective="nmf")


def truncated_svd(folder: Path) -> Any:
    """Train scikit-learn's TruncatedSVD with 50 components, as PureSVD does."""
    from sklearn.decomposition import TruncatedSVD

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    live = TruncatedSVD(n_components=50, random_state=0)
    users = live.fit_transform(ratings.matrix)
    return ratings.model(users, live.components_.T)


def logistic_regression(folder: Path) -> Any:
    """Train scikit-learn's LogisticRegression to tell the genre of a film by its title.

    Labels are the first genres, and features are the words of the titles.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    films = Ratings.from_folder(folder / "ml-latest-small").films
    genres = films["genres"].str.split("|").str[0]
    words = TfidfVectorizer(min_df=5).fit_transform(films["title"])
    return LogisticRegression(max_iter=1000).fit(words, genres)


def unit_towers(folder: Path) -> Any:
    """Train two tables of unit rows with PyTorch.

    Logits are cosines over a temperature, with a softmax over the films of a batch.
    """
    import torch

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    users, items = (
        torch.nn.Embedding(len(ids), 32) for ids in (ratings.users, ratings.items)
    )
    pairs = torch.tensor(np.column_stack([ratings.rows, ratings.columns]))
    adam = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=0.01)
    unit = torch.nn.functional.normalize
    for _ in range(10):
        for batch in torch.randperm(len(pairs)).split(1024):
            left, right = unit(users(pairs[batch, 0])), unit(items(pairs[batch, 1]))
            loss = torch.nn.functional.cross_entropy(
                left @ right.T / 0.1, torch.arange(len(batch))
            )
            adam.zero_grad()
            loss.backward()
            adam.step()
    left, right = (unit(table.weight.detach()).numpy() for table in (users, items))
    return ratings.model(left, right, link="cosine")


def word2vec(folder: Path) -> Any:
    """Train gensim's Word2Vec at its defaults.

    A user is a sentence, whose words are the films in the order of their ratings.
    """
    from gensim.models import Word2Vec

    ratings = Ratings.from_folder(folder / "ml-latest-small")
    sentences = ratings.frame.groupby("userId")["movieId"].agg(
        lambda films: [str(film) for film in films]
    )
    return Word2Vec(list(sentences), seed=0, workers=1)


def file(path: str) -> Callable[[Path], Any]:
    """Return what names a file in the folder of data."""
    return lambda folder: folder / path


ML5 = "ml5 data and models, MIT"
MOVIELENS = "MovieLens ml-latest-small (GroupLens, non-commercial)"
SUBJECTS = (
    Subject(
        name="stories260K",
        source="tinyllamas of llama2.c, MIT",
        compared=(
            "language model: softmax over tokens, tied embedding behind a norm; AdamW"
        ),
        model=file("lm-stories260K"),
        options={"objective": "adamw"},
    ),
    Subject(
        name="charRNN, Shakespeare",
        source=ML5,
        compared=(
            "language model: softmax over characters, with bias; training not declared"
        ),
        model=file("heads-charrnn/shakespeare/head.npz"),
    ),
    Subject(
        name="charRNN, Brontë",
        source=ML5,
        compared=(
            "language model: softmax over characters, with bias; training not declared"
        ),
        model=file("heads-charrnn/charlotte_bronte/head.npz"),
    ),
    Subject(
        name="DoodleNet",
        source=ML5,
        compared=(
            "image classifier: softmax over 345 classes, with bias; training not "
            "declared"
        ),
        model=lambda folder: ea.load(
            folder / "head-doodlenet-345/head.npz", kind="head"
        ),
    ),
    Subject(
        name="model2vec",
        source="MinishLab semhash, MIT",
        compared=(
            "token vectors distilled from a text encoder, averaged to texts; "
            "training of the tokens not declared"
        ),
        model=file("survey/model2vec"),
    ),
    Subject(
        name="node2vec, karate club",
        source="aditya-grover/node2vec, MIT",
        compared="input · context, one of two tables",
        model=file("survey/karate/karate.emb"),
        options={"objective": "node2vec"},
    ),
    Subject(
        name="CLIP class names",
        source="ibaiGorordo/ONNX-YOLO-World, MIT",
        compared="cosine of text with image, text side alone",
        model=file("survey/clip-classes/class_embeddings.npz"),
        options={"objective": "clip"},
    ),
    Subject(
        name="word vectors",
        source=ML5,
        compared="input · context, one of two tables, divided by their lengths",
        model=file("survey/wordvecs/wordvecs1000.json"),
        options={"objective": "word2vec"},
    ),
    Subject(
        name="implicit ALS, 15 iterations",
        source=MOVIELENS,
        compared="user · item, weighted squares, same decay on both sides",
        model=als(15),
        options={"objective": "implicit-als"},
        library="implicit",
    ),
    Subject(
        name="implicit ALS, 300 iterations",
        source=MOVIELENS,
        compared="user · item, weighted squares, same decay on both sides",
        model=als(300),
        options={"objective": "implicit-als"},
        library="implicit",
    ),
    Subject(
        name="implicit BPR",
        source=MOVIELENS,
        compared=(
            "user · item + item bias, order of the films of a user; SGD with decay"
        ),
        model=implicit_bpr,
        options={"objective": "bpr"},
        library="implicit",
    ),
    Subject(
        name="Spark ALS",
        source=MOVIELENS,
        compared="user · item, squares, decay counted by ratings",
        model=spark_als,
        options={"objective": "spark-als"},
        library="pyspark",
    ),
    Subject(
        name="Surprise SVD",
        source=MOVIELENS,
        compared="user · item + biases, squares; SGD with decay at every rating",
        model=surprise_svd,
        options={"objective": "surprise-svd"},
        library="scikit-surprise",
    ),
    Subject(
        name="LightFM WARP, 30 epochs",
        source=MOVIELENS,
        compared="user · item + biases, order of the films of a user",
        model=lightfm_warp,
        options={"objective": "warp"},
        library="lightfm-next",
    ),
    Subject(
        name="scikit-learn NMF, 50 components",
        source=MOVIELENS,
        compared="user · item, neither negative, squares",
        model=nmf,
        library="scikit-learn",
    ),
    Subject(
        name="scikit-learn TruncatedSVD, 50 components",
        source=MOVIELENS,
        compared="user · item, squares: users UΣ, films V",
        model=truncated_svd,
        library="scikit-learn",
    ),
    Subject(
        name="scikit-learn LogisticRegression",
        source=MOVIELENS,
        compared="softmax over genres of words in titles, L2",
        model=logistic_regression,
        library="scikit-learn",
    ),
    Subject(
        name="PyTorch towers of unit rows",
        source=MOVIELENS,
        compared=(
            "cosine of user with film over a "
            "temperature of 0.1, softmax over a batch; Adam"
        ),
        model=unit_towers,
        options={"objective": "fixed-temperature"},
        library="torch",
    ),
    Subject(
        name="gensim Word2Vec",
        source=MOVIELENS,
        compared="input · context, films rated by a user as a sentence",
        model=word2vec,
        options={"objective": "word2vec"},
        library="gensim",
    ),
)
"""Models of the survey, files before those that are trained here."""


def surveyed(subject: Subject, folder: Path) -> dict[str, Any]:
    """Audit one model, and return its row."""
    what = subject.model(folder)
    audit = ea.audit(what, **subject.options)
    role = audit.evidence.role
    moved = audit.to_frame().query("role == @role")
    model = audit.model
    levels = ea.levels(model, role=role)
    gap = audit.evidence.diagnosis.penalty_gap
    n_rows = getattr(model, f"n_{role}")
    return {
        "name": subject.name,
        "source": subject.source,
        "library": subject.library and f"{subject.library} {version(subject.library)}",
        "compared": subject.compared,
        "model": f"{n_rows:,} {model.title(role)}s × {model.rank:,}",
        "answer": str(audit.answer.word),
        "because": audit.answer.because,
        "lists": _share(1 - moved["top_n_overlap"].min()),
        "fix": _fixed(what, audit, role),
        "penalty": None if gap is None else _share(gap.share_changed),
        "served": _served(model),
        "levels": [_floor(np.quantile(levels.cosines, share)) for share in SHARES],
        "findings": sorted({finding.code for finding in audit.findings}),
    }


def _fixed(what: Any, audit: ea.Audit, role: str) -> dict[str, Any]:
    """Return the vectors that the audit suggests, and how many neighbours they change.

    Both are None for answers without such advice.
    """
    model, is_behind_norm = audit.model, audit.evidence.norm is not None
    if str(audit.answer.word) not in ("NO", "BY CONVENTION"):
        return {"kind": None, "lists": None}
    measured = (
        None if audit.evidence.predicted is None else audit.evidence.predicted.of(role)
    )
    if measured is not None:
        # The answer tells this number, too, from the same sample of lists.
        return {"kind": "prediction", "lists": _share(1 - measured.top_n_overlap)}
    if audit.evidence.head is None:
        return {"kind": None, "lists": None}
    kind = "folded-centred" if is_behind_norm else "centred"
    # The norm is beside the head in its folder.
    vectors = ea.fix(what if is_behind_norm else model, kind, role=role).vectors()
    before, after = (
        ea.FactorModel.from_vectors(rows) for rows in (model.side(role).rows, vectors)
    )
    return {"kind": kind, "lists": _share(1 - ea.movement(before, after).top_n_overlap)}


def _served(model: ea.FactorModel) -> dict[str, float | None] | None:
    """Return the share of each user's ten best items that other measures change.

    The measures are those of an index. The result is None for a model without users.
    """
    if model.left is None or model.title("left") != "user":
        return None
    changed = {}
    for measure in ("cosine", "l2"):
        for_users = ea.index_metric(model, measure).directions[0]
        changed[measure] = _share(1 - for_users.kept)
    return changed


def _floor(cosine: float) -> float:
    """Round down, so that no pair is said to have a higher cosine than it has."""
    return float(np.floor(1e4 * cosine) / 1e4)


def _share(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 5)


def main(folder: Path) -> None:
    """Survey all models whose library is installed."""
    rows, missing = [], []
    for subject in SUBJECTS:
        try:
            if subject.library:
                version(subject.library)
        except PackageNotFoundError:
            missing.append({"name": subject.name, "library": subject.library})
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.append(surveyed(subject, folder))
        print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    results = {"models": rows, "missing": missing}
    RESULTS.write_text(
        json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
