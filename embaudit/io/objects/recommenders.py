"""Recommenders and word vectors as one table: where each library keeps its factors, and how it predicts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import as_array
from embaudit.io.objects.live_model import LiveModel, comes_from, has, needed, require_fitted
from embaudit.io.readers.faiss import vectors_of
from embaudit.io.readers.implicit import objective_of, split_columns, trained_with
from embaudit.io.readers.spark import of_rows
from embaudit.io.request import Request
from embaudit.model import FactorModel

Source: TypeAlias = "str | tuple[str, Callable[[Any], Any]]"
"""An attribute path, of which only the first that exists counts where `|` divides several; or a name and a function."""
Predict: TypeAlias = Callable[[Any, FactorModel, int, Indices, Request], Any]
"""Scores as a library gives them: of the object, the model read, one left row, some right rows and the request."""


@dataclass(frozen=True, kw_only=True)
class Library:
    """Row of the table of libraries: the places of all fields of a model in its objects."""

    packages: tuple[str, ...]
    """First parts of the names of its modules."""
    classes: tuple[str, ...] = ()
    """Names of classes, any by default."""
    sides: tuple[tuple[Source, Source], ...]
    """Left and right factors; the first pair that exists counts."""
    fields: Mapping[str, Source] = field(default_factory=dict)
    """Biases, ids and offset."""
    biased: str = ""
    """Attribute that says whether biases and offset count."""
    link: str | Callable[[Any], str] | None = None
    """How scores become predictions; None leaves it to `build`."""
    objective: Callable[[Any, FactorModel], str | None] = lambda *_: None
    """Training objective."""
    build: Callable[[Any, dict[str, Any], Request], FactorModel] = lambda _, fields, __: FactorModel(**fields)
    """Model of an object and the fields read of it."""
    predicts: Mapping[str, Predict] = field(default_factory=dict)
    """Scores by the method that gives them; the first that exists counts."""

    def sides_of(self, model: Any) -> dict[str, tuple[str, Any]]:
        """Return place and value of the factors; nothing where an object has none."""
        pairs = ({"left": left, "right": right} if left else {"right": right} for left, right in self.sides)
        return next((entries for pair in pairs if len(entries := _resolved(model, pair)) == len(pair)), {})

    def read(self, model: Any, request: Request) -> LiveModel:
        """Read an object.

        Raises
        ------
        InputError
            If it has no factors: it is not fitted, or a model of another kind.
        """
        sides = self.sides_of(model)
        if not sides:
            got = f"{type(model).__name__} without them"
            remedy = "fit it first, or pass the tables it multiplies to FactorModel.from_user_item"
            raise must_be(f"a model of {self.packages[0]}", "fitted, with factors of users and items", got, remedy)
        sources = sides | _resolved(model, self.fields)
        if self.biased and not getattr(model, self.biased, True):
            sources = {name: entries for name, entries in sources.items() if not name.endswith(("_bias", "offset"))}
        made = self.build(model, _arrays({name: value for name, (_, value) in sources.items()}), request)
        if made.left_side is not None and self.link is not None:
            made = made.replace(link=self.link(model) if callable(self.link) else self.link)
        made = made.replace(objective=self.objective(model, made))
        places = {name: where for name, (where, _) in sources.items()}
        # Biases that no attribute holds are columns of the factors.
        columns = {f"{side}_bias": f"a column of {places[side]}" for side in sides}
        places = {**{side: places[side] for side in sides}, **columns, **places, "link": "its class"}
        method = next((name for name in self.predicts if callable(getattr(model, name, None))), None)
        if method is None or made.left_side is None:
            return LiveModel.of(made, places)

        def scores(left: Indices, right: Indices) -> Floats:
            predict = self.predicts[method]
            return np.concatenate(
                [as_array(predict(model, made, int(row), right[left == row], request)) for row in np.unique(left)]
            )

        return LiveModel.of(made, places, scores, method)


def _resolved(model: Any, sources: Mapping[str, Source]) -> dict[str, tuple[str, Any]]:
    """Return place and value of each source that exists."""
    entries = {name: _value(model, source) for name, source in sources.items()}
    return {name: (where, value) for name, (where, value) in entries.items() if value is not None}


def _value(model: Any, source: Source) -> tuple[str, Any]:
    """Return the place and the value of a source; None for a value that an object lacks."""
    if not isinstance(source, str):
        return source[0], source[1](model)
    for path in filter(None, source.split(" | ")):
        try:
            value = attrgetter(path)(model)
        except AttributeError:
            continue
        if value is not None:
            return path, value() if callable(value) else value
    return source, None


def _arrays(values: dict[str, Any]) -> dict[str, Any]:
    """Bring factors, biases and ids into arrays; ids of another number of rows belong to another data set."""
    arrays = {name: _ids(value) if name.endswith("_ids") else as_array(value) for name, value in values.items()}
    for name, array in list(arrays.items()):
        side = name.partition("_")[0]
        if name.endswith("_bias"):
            arrays[name] = array.reshape(-1)
        elif name.endswith("_ids") and len(array) != len(arrays.get(side, ())):
            del arrays[name]
    return {"left": None, **arrays, "offset": float(arrays.get("offset", 0.0))}


def _ids(values: Any) -> NDArray[Any]:
    """Return ids in the order of rows, also of a map from ids to rows."""
    return np.array(sorted(values, key=lambda name: values[name])) if isinstance(values, Mapping) else as_array(values)


def _implicit(model: Any, fields: dict[str, Any], _: Request) -> FactorModel:
    return split_columns(fields["left"], fields["right"], int(model.factors))


def _recommended(model: Any, _: FactorModel, user: int, items: Indices, __: Request) -> Floats:
    ranking, scores = model.recommend(user, None, N=len(items), filter_already_liked_items=False, items=items)
    entries = np.full(len(items), np.nan)
    entries[np.searchsorted(items, np.asarray(ranking))] = scores
    return entries


def _raw_ids(translate: str, factors: str) -> Callable[[Any], Any]:
    """Return the ids of Surprise, whose training set numbers them."""
    return lambda model: [getattr(model.trainset, translate)(row) for row in range(len(getattr(model, factors)))]


def _estimates(model: Any, made: FactorModel, user: int, items: Indices, _: Request) -> Floats:
    name = _id(made.left_ids, user)
    return np.array([model.predict(name, _id(made.right_ids, item), clip=False).est for item in items])


def _id(ids: Any, rows: Any) -> Any:
    return rows if ids is None else ids[rows]


def _with_rated(model: Any) -> Floats:
    """Return `p_u + |N(u)|^-½ Σ y_j` over the items j that user u rated, one row a user."""
    yj = np.asarray(model.yj, dtype=float)
    rated = [[item for item, _ in model.trainset.ur[user]] for user in range(len(model.pu))]
    implied: Floats = np.stack([yj[rows].sum(axis=0) / np.sqrt(max(len(rows), 1)) for rows in rated])
    return np.asarray(model.pu, dtype=float) + implied


def _decay_of_surprise(model: Any, _: FactorModel) -> str | None:
    # NMF has no learning rate and keeps its factors positive.
    return objective_of(model.reg_pu, model.reg_qi, decayed="factors-counted") if has(model, *_STEPS) else None


_STEPS = ("lr_pu", "reg_pu", "reg_qi")
SURPRISE: dict[str, Any] = {
    "packages": ("surprise",),
    "fields": {"left_bias": "bu", "right_bias": "bi", "offset": "trainset.global_mean",
               "left_ids": ("trainset", _raw_ids("to_raw_uid", "pu")),
               "right_ids": ("trainset", _raw_ids("to_raw_iid", "qi"))},
    "biased": "biased",
    "link": "identity",
    "predicts": {"predict": _estimates},
}  # fmt: skip


def _link_of_cornac(model: Any) -> str:
    if comes_from(model, ("cornac",), ("BPR", "WBPR", "MMMF", "IBPR")):
        return "ranking"
    # PMF rates by a sigmoid between the least and the largest rating.
    return "sigmoid" if getattr(model, "variant", None) == "non_linear" else "identity"


def _decay_of_cornac(model: Any, _: FactorModel) -> str | None:
    # NMF and HPF keep their factors positive; torch decays all rows of a batch, its own SGD those of a sample.
    if comes_from(model, ("cornac",), ("NMF", "HPF")) or getattr(model, "backend", "cpu") != "cpu":
        return None
    return objective_of(getattr(model, "lambda_reg", None), decayed="factors-counted")


def _indexed(side: str) -> Source:
    """Name the vectors that cornac would search by; those that it multiplies only."""
    name = f"get_{side}_vectors"

    def vectors(model: Any) -> Any:
        return getattr(model, name)() if has(model, name) and "dot" in str(model.get_vector_measure()) else None

    return name, vectors


def _mean_of_cornac(model: Any) -> Any:
    return getattr(model, "global_mean", None) if has(model, "u_biases", "i_biases") else None


def _layers(name: str) -> Source:
    """Name what FlexMF with layers scores by: the mean over them."""

    def mean(model: Any) -> Any:
        layers = getattr(getattr(model, "model", None), name, None)
        return None if layers is None else as_array(layers).mean(0)

    return f"the mean of model.{name}", mean


def _build_lenskit(model: Any, fields: dict[str, Any], _: Request) -> FactorModel:
    if comes_from(model, ("lenskit",), ("BPR",)):
        # It keeps the columns of implicit: ones beside the items' bias.
        made = split_columns(fields["left"], fields["right"], fields["left"].shape[1] - 1)
        return made.replace(**{name: ids for name, ids in fields.items() if name.endswith("_ids")})
    config = getattr(model, "config", None)
    losses = {"logistic": "sigmoid", "pairwise": "ranking", "warp": "ranking"}
    return FactorModel(**fields, link=losses.get(getattr(config, "loss", ""), "identity"))


def _decay_of_lenskit(model: Any, made: FactorModel) -> str | None:
    laws = {"AdamW": "decoupled-decay", None: "none"}
    return laws.get(getattr(getattr(model, "config", None), "reg_method", "unknown"), made.objective)


def _scored_by_lenskit(model: Any, made: FactorModel, user: int, items: Indices, _: Request) -> Any:
    # What a query is made of lies in its library, which is loaded with its models.
    data = sys.modules["lenskit.data"]
    query = data.RecQuery(user_id=_id(made.left_ids, user))
    return model(query, data.ItemList(item_ids=_id(made.right_ids, items))).scores()


def _predicted_by_lenskit(model: Any, made: FactorModel, user: int, items: Indices, _: Request) -> Any:
    return model.predict_for_user(_id(made.left_ids, user), _id(made.right_ids, items))


def _table_of_recbole(model: Any, side: int) -> Any:
    """Return a table that RecBole scores with; graph models make theirs in `forward`."""
    if has(model, "forward") and not needed(model.forward):
        # Dropout would make other tables each time.
        if has(model, "eval"):
            model.eval()
        made = model.forward()
        if isinstance(made, tuple) and len(made) == 2:
            return made[side]
    return getattr(getattr(model, RECBOLE[side], None), "weight", None)


def _of_recbole(side: int) -> Source:
    def rows(model: Any) -> Any:
        # Row 0 of every table is padding.
        table = _table_of_recbole(model, side)
        return None if table is None else as_array(table)[1:]

    return f"forward() or {RECBOLE[side]}", rows


def _sorted_by_recbole(model: Any, _: FactorModel, user: int, items: Indices, __: Request) -> Any:
    # A tensor made of the table lies on the right device.
    rows = _table_of_recbole(model, 0).new_tensor([user + 1]).long()
    return as_array(model.full_sort_predict({model.USER_ID: rows})).reshape(-1)[items + 1]


RECBOLE = ("user_embedding", "item_embedding")


def _link_of_recbole(model: Any) -> str:
    return "ranking" if getattr(getattr(model, "input_type", None), "name", "") == "PAIRWISE" else "identity"


def _build_lightfm(model: Any, fields: dict[str, Any], request: Request) -> FactorModel:
    """Sum the rows of each entity's features; nothing in the model tells whether it had any, so that has to be said."""
    for role, matrix in zip(("left", "right"), _features(model, request), strict=True):
        if matrix is not None:
            fields |= {name: np.asarray(matrix @ fields[name]) for name in (role, f"{role}_bias")}
    return FactorModel(**fields)


def _predicted_by_lightfm(model: Any, _: FactorModel, user: int, items: Indices, request: Request) -> Any:
    beside = dict(zip(("user_features", "item_features"), _features(model, request), strict=True))
    return model.predict(np.full(len(items), user, np.int32), items.astype(np.int32), **beside)


def _build_gensim(_: Any, fields: dict[str, Any], __: Request) -> FactorModel:
    if fields["left"] is None or fields["left"].shape != fields["right"].shape:
        return FactorModel.from_vectors(fields["right"], ids=fields["right_ids"])
    # A pair is real with probability σ(context · word), as training by negative samples has it.
    return FactorModel(**{**fields, "left_ids": fields["right_ids"]}, link="sigmoid", roles=("context", "word"))


LIBRARIES = (
    Library(
        packages=("implicit",),
        classes=("MatrixFactorizationBase", "AlternatingLeastSquares", "BayesianPersonalizedRanking",
                 "LogisticMatrixFactorization"),
        sides=(("user_factors", "item_factors"),),
        build=_implicit,
        objective=lambda model, made: trained_with(getattr(model, "regularization", None), made),
        predicts={"recommend": _recommended},
    ),
    Library(classes=("SVDpp",), sides=((("pu with yj of what each user rated", _with_rated), "qi"),), **SURPRISE),
    Library(classes=("SVD", "NMF"), sides=(("pu", "qi"),), objective=_decay_of_surprise, **SURPRISE),
    Library(
        packages=("cornac",),
        classes=("Recommender",),
        sides=(("u_factors", "i_factors"), ("U", "V"), (_indexed("user"), _indexed("item"))),
        fields={"left_bias": "u_biases", "right_bias": "i_biases", "offset": ("global_mean", _mean_of_cornac),
                "left_ids": "uid_map | train_set.uid_map", "right_ids": "iid_map | train_set.iid_map"},
        biased="use_bias",
        link=_link_of_cornac,
        objective=_decay_of_cornac,
        predicts={"score": lambda model, _, user, items, __: as_array(model.score(user))[items]},
    ),
    Library(
        packages=("lenskit",),
        sides=(("user_embeddings", "item_embeddings"), ("user_features_", "item_features_"),
               ("user_components", "item_components"), ("user_components_", "factorization_.components_.T"),
               (_layers("u_layers"), _layers("i_layers")), ("model.u_embed.weight", "model.i_embed.weight")),
        fields={"left_bias": "bias.user_biases | bias.user_offsets_ | bias_.user_biases | model.u_bias.weight",
                "right_bias": "bias.item_biases | bias.item_offsets_ | bias_.item_biases | model.i_bias.weight",
                "offset": "bias.global_bias | bias.mean_ | bias_.global_bias | global_bias",
                "left_ids": "users.ids | users | users_ | user_index_",
                "right_ids": "items.ids | items | items_ | item_index_"},
        build=_build_lenskit,
        objective=_decay_of_lenskit,
        predicts={"predict_for_user": _predicted_by_lenskit, "__call__": _scored_by_lenskit},
    ),
    Library(
        packages=("recbole",),
        classes=("AbstractRecommender",),
        sides=((_of_recbole(0), _of_recbole(1)),),
        link=_link_of_recbole,
        predicts={"full_sort_predict": _sorted_by_recbole},
    ),
    Library(
        packages=("lightfm", "lightfm_next"),
        classes=("LightFM",),
        sides=(("user_embeddings", "item_embeddings"),),
        fields={"left_bias": "user_biases", "right_bias": "item_biases"},
        build=_build_lightfm,
        link=lambda model: "identity" if getattr(model, "loss", None) == "logistic" else "ranking",
        # Its decay shrinks every row at every sample, by a step that adapts to each coordinate: no law is known.
        objective=lambda model, _: objective_of(
            *(getattr(model, f"{side}_alpha", None) for side in ("user", "item")), decayed=None
        ),
        predicts={"predict": _predicted_by_lightfm},
    ),
    Library(
        packages=("gensim",),
        classes=("KeyedVectors", "Word2Vec"),
        sides=(("syn1neg", "wv.vectors"), ("", "wv.vectors | vectors")),
        fields={"left_ids": "wv.index_to_key", "right_ids": "wv.index_to_key | index_to_key"},
        build=_build_gensim,
    ),
)  # fmt: skip
"""Libraries whose objects the fields of a row describe."""


def faiss(index: Any, request: Request) -> LiveModel:  # noqa: ARG001
    """Read the vectors of an index that stores them as they were given, and their ids."""
    # What an index was put into by may be known as an index of any kind only.
    rows, ids = vectors_of(import_module("faiss").downcast_index(index), "an index of FAISS")
    places = {"right": "the vectors it keeps", "right_ids": "the ids it was given"}
    return LiveModel.of(FactorModel.from_vectors(rows, ids=ids), places)


def hnswlib(index: Any, request: Request) -> LiveModel:  # noqa: ARG001
    """Read the vectors in the order of their labels; labels that only count rows are no ids.

    Raises
    ------
    InputError
        If it is empty, or some of its vectors are marked as deleted.
    """
    labels = np.sort(np.asarray(index.get_ids_list(), dtype=np.int64))
    if not len(labels):
        raise must_be("an index of hnswlib", "one with vectors", "none")
    try:
        rows = np.asarray(index.get_items(labels), dtype=np.float32)
    except RuntimeError as error:
        remedy = "pass the rows that are left to FactorModel.from_vectors"
        raise must_be("an index of hnswlib", "one without deleted vectors", str(error), remedy) from error
    counting = np.array_equal(labels, np.arange(len(labels)))
    places = {"right": "the vectors it keeps", "right_ids": "their labels"}
    return LiveModel.of(FactorModel.from_vectors(rows, ids=None if counting else labels), places)


def lenskit_pipeline(pipeline: Any, request: Request) -> LiveModel:
    """Read the scorer of a pipeline, or the one component that has factors.

    Raises
    ------
    InputError
        If none of its components has factors, or several have.
    """
    names = pipeline.component_names()
    parts = [pipeline.component(name) for name in (["scorer"] if "scorer" in names else names)]
    library = next(row for row in LIBRARIES if "lenskit" in row.packages)
    entries = [component for component in parts if library.sides_of(component)]
    if len(entries) != 1:
        got = f"{len(entries)} among {', '.join(names)}"
        raise must_be("a pipeline of LensKit", "trained, with one model that has factors", got, "pass that model")
    return library.read(entries[0], request)


def spark(model: Any, request: Request) -> LiveModel:
    """Read both tables of factors of ALS, rows in the order of their ids.

    Raises
    ------
    InputError
        If a pipeline holds no ALS model, or several.
    """
    if comes_from(model, ("pyspark",), ("PipelineModel",)):
        entries = [stage for stage in model.stages if comes_from(stage, ("pyspark",), ("ALSModel",))]
        if len(entries) != 1:
            raise must_be("a pipeline of Spark", "one with one ALS model", f"{len(entries)} of them", "pass that stage")
        return spark(entries[0], request)
    require_fitted(model, "userFactors", "itemFactors")
    made = of_rows(*_side(model.userFactors), *_side(model.itemFactors))
    user_ids, item_ids = np.asarray(made.left_ids), np.asarray(made.right_ids)

    def scores(left: Indices, right: Indices) -> Floats:
        pairs = [(int(user), int(item)) for user, item in zip(user_ids[left], item_ids[right], strict=True)]
        frame = model.userFactors.sparkSession.createDataFrame(pairs, [model.getUserCol(), model.getItemCol()])
        predictions = {(row[0], row[1]): row["prediction"] for row in model.transform(frame).collect()}
        return np.array([predictions.get(pair, np.nan) for pair in pairs])

    places = {"left": "userFactors.features", "right": "itemFactors.features", "left_ids": "userFactors.id",
             "right_ids": "itemFactors.id", "link": "its class"}  # fmt: skip
    return LiveModel.of(made, places, scores, "transform")


def _side(factors: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bring the columns id and features from wherever Spark keeps them."""
    frame = factors.toPandas()
    return frame["id"].to_numpy(), np.stack(frame["features"].tolist())


NONE = "none"
"""Features of a side that was trained without them."""


def _features(model: Any, request: Request) -> list[Any]:
    """Return the feature matrix of each side of LightFM, None where each entity is its own feature."""
    return [
        _features_of(model, "user", request.user_features, request.left_ids),
        _features_of(model, "item", request.item_features, request.ids),
    ]


def _features_of(model: Any, side: str, features: Any, ids: Any) -> Any:
    """Return the feature matrix of a side, None where each entity is its own feature."""
    n_rows = len(as_array(getattr(model, f"{side}_biases")))
    if features is None:
        if ids is not None and np.shape(ids) == (n_rows,):
            return None
        raise InputError(
            f"{side}_features must be the matrix LightFM was trained with, because its {n_rows} {side} rows are "
            f'features; got none; pass it, or {side}_features="none" if each {side} was its own feature.'
        )
    if isinstance(features, str):
        if features != NONE:
            raise InputError(f'{side}_features must be a matrix or "none"; got {features!r}.')
        return None
    if features.shape[1] != n_rows:
        raise InputError(
            f"{side}_features must have one column a feature: {n_rows}; got {features.shape[1]}; "
            "pass the matrix the model was trained with."
        )
    return features
