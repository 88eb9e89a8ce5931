"""Recommenders and word vectors as one table.

A row says where a library keeps its factors, and how its objects predict.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import InputError, must_be
from embaudit.io.arrays import as_array
from embaudit.io.contents import Contents, OwnScores
from embaudit.io.formats.implicit import objective_of, split_columns, trained_with
from embaudit.io.formats.spark import of_rows
from embaudit.io.objects.helpers import (
    comes_from,
    has,
    needed,
    require_fitted,
)
from embaudit.io.options import Request
from embaudit.model import FactorModel

Attribute: TypeAlias = "str | tuple[str, Callable[[Any], Any]]"
"""An attribute path, of which only the first that exists counts where `|` divides
several; or a name and a function.
"""
Predict: TypeAlias = Callable[[Any, FactorModel, Request, int, Indices], Any]
"""Scores as a library gives them: of the object, the model read, the request, one left
row and some right rows.
"""
_ADDED = ("global_mean", "u_biases", "i_biases")


@dataclass(frozen=True, kw_only=True)
class Library:
    """One library: the places of all fields of a model in its objects."""

    packages: tuple[str, ...]
    """First parts of the names of its modules."""
    classes: tuple[str, ...] = ()
    """Names of classes, any by default."""
    sides: tuple[tuple[Attribute, Attribute], ...]
    """Left and right factors; the first pair that exists counts."""
    fields: Mapping[str, Attribute] = field(default_factory=dict)
    """Biases, ids and offset."""
    build: Callable[[Any, dict[str, Any], Request], FactorModel]
    """Model of an object and the fields read of it, with its link and its training
    objective.
    """
    options: tuple[str, ...] = ()
    """Options of `load` that say what its objects do not."""
    predicts: Mapping[str, Predict] = field(default_factory=dict)
    """Scores by the method that gives them; the first that exists counts."""

    def sides_of(self, model: Any) -> dict[str, tuple[str, Any]]:
        """Return place and value of the factors; nothing where an object has none."""
        pairs = (
            {"left": left, "right": right} if left else {"right": right}
            for left, right in self.sides
        )
        return next(
            (
                values
                for pair in pairs
                if len(values := _resolved(model, pair)) == len(pair)
            ),
            {},
        )

    def read(self, model: Any, request: Request) -> Contents:
        """Read an object.

        Raises
        ------
        InputError
            If it has no factors: it is not fitted, or a model of another kind.
        """
        # Ids are compared with the factors in length, so that the factors come first.
        sides = self.sides_of(model)
        if not sides:
            got = f"{type(model).__name__} without them"
            remedy = (
                "fit it first, or pass the tables it multiplies to "
                "FactorModel.from_user_item"
            )
            raise must_be(
                f"a model of {self.packages[0]}",
                "fitted, with factors of users and items",
                got,
                remedy,
            )
        sources = sides | _resolved(model, self.fields)
        # Surprise and cornac keep biases of an earlier fit beside a flag that they do
        # not count.
        if not all(getattr(model, flag, True) for flag in ("biased", "use_bias")):
            sources = {
                name: source
                for name, source in sources.items()
                if not name.endswith(("_bias", "offset"))
            }
        made = self.build(
            model,
            _arrays({name: value for name, (_, value) in sources.items()}),
            request,
        )
        # Biases that no attribute holds are columns of the factors.
        places = {
            f"{side}_bias": f"a column of {where}" for side, (where, _) in sides.items()
        }
        places |= {name: where for name, (where, _) in sources.items()} | {
            "link": "its class"
        }
        method = next(
            (name for name in self.predicts if callable(getattr(model, name, None))),
            None,
        )
        if method is None or made.left_side is None:
            return Contents.from_model(made, places)
        predict = partial(self.predicts[method], model, made, request)

        def scores(left: Indices, right: Indices) -> Floats:
            return np.concatenate(
                [
                    as_array(predict(int(row), right[left == row]))
                    for row in np.unique(left)
                ]
            )

        return Contents.from_model(made, places, own=OwnScores(scores, method))


def _resolved(
    model: Any, sources: Mapping[str, Attribute]
) -> dict[str, tuple[str, Any]]:
    """Return place and value of each source that exists."""
    values: dict[str, tuple[str, Any]] = {}
    for name, source in sources.items():
        paths = (
            [(path, partial(_attribute, path)) for path in source.split(" | ")]
            if isinstance(source, str)
            else [source]
        )
        for path, read in paths:
            value = None if name in values else read(model)
            values |= {} if value is None else {name: (path, value)}
    return values


def _attribute(path: str, model: Any) -> Any:
    """Return the attribute of an object at a path.

    A method is called. None if the object has no such attribute.
    """
    try:
        value = attrgetter(path)(model)
    except AttributeError:
        return None
    return value() if callable(value) else value


def _arrays(values: dict[str, Any]) -> dict[str, Any]:
    """Bring factors, biases and ids into arrays.

    Ids of another number of rows belong to another data set, so they are left out.
    """
    arrays: dict[str, Any] = {"offset": 0.0}
    for name, value in values.items():
        if name.endswith("_ids"):
            # A map from ids to rows lists the ids in any order.
            ids = (
                np.array(sorted(value, key=value.__getitem__))
                if isinstance(value, Mapping)
                else as_array(value)
            )
            arrays |= (
                {name: ids}
                if len(ids) == len(arrays.get(name.partition("_")[0], ()))
                else {}
            )
        else:
            array = as_array(value)
            arrays[name] = (
                array.reshape(-1)
                if name.endswith("_bias")
                else float(array)
                if name == "offset"
                else array
            )
    return {"left": None, **arrays}


def _id(ids: Any, rows: Any) -> Any:
    return rows if ids is None else ids[rows]


def _implicit(model: Any, fields: dict[str, Any], _: Request) -> FactorModel:
    made = split_columns(fields["left"], fields["right"], int(model.factors))
    return made.replace(
        objective=trained_with(getattr(model, "regularization", None), made)
    )


def _recommended(
    model: Any, _: FactorModel, __: Request, user: int, items: Indices
) -> Floats:
    ranking, scores = model.recommend(
        user, None, N=len(items), filter_already_liked_items=False, items=items
    )
    # They come with the best item first.
    ordered = np.full(len(items), np.nan)
    ordered[np.searchsorted(items, np.asarray(ranking))] = scores
    return ordered


def _with_rated(model: Any) -> Floats | None:
    """Return `p_u + |N(u)|^-½ Σ y_j` over the items j that user u rated.

    There is one row per user. None if the model has no y.
    """
    if not has(model, "yj"):
        return None
    yj = np.asarray(model.yj, dtype=float)
    rated = [
        [item for item, _ in model.trainset.ur[user]] for user in range(len(model.pu))
    ]
    implied: Floats = np.stack(
        [yj[rows].sum(axis=0) / np.sqrt(max(len(rows), 1)) for rows in rated]
    )
    return np.asarray(model.pu, dtype=float) + implied


def _surprise(model: Any, fields: dict[str, Any], _: Request) -> FactorModel:
    # NMF has no learning rate and keeps its factors positive; in SVD++ the decay of y
    # has no law that is known.
    is_svd = has(model, "lr_pu", "reg_pu", "reg_qi") and not has(model, "yj")
    objective = (
        objective_of(model.reg_pu, model.reg_qi, decayed="factors-counted")
        if is_svd
        else None
    )
    return FactorModel.from_arrays(**fields, link="identity", objective=objective)


def _raw_ids(translate: str, factors: str) -> Callable[[Any], Any]:
    """Return the ids of Surprise, whose training set numbers them."""
    return lambda model: [
        getattr(model.trainset, translate)(row)
        for row in range(len(getattr(model, factors)))
    ]


def _estimated(
    model: Any, made: FactorModel, _: Request, user: int, items: Indices
) -> Floats:
    name = _id(made.left_ids, user)
    return np.array(
        [
            model.predict(name, _id(made.right_ids, item), clip=False).est
            for item in items
        ]
    )


def _cornac(model: Any, fields: dict[str, Any], _: Request) -> FactorModel:
    ranks = comes_from(model, ("cornac",), ("BPR", "WBPR", "MMMF", "IBPR"))
    # PMF rates by a sigmoid between the least and the largest rating.
    link = (
        "ranking"
        if ranks
        else "sigmoid"
        if getattr(model, "variant", None) == "non_linear"
        else "identity"
    )
    # NMF and HPF keep their factors positive; torch decays all rows of a batch, its own
    # SGD those of a sample.
    lawless = (
        comes_from(model, ("cornac",), ("NMF", "HPF"))
        or getattr(model, "backend", "cpu") != "cpu"
    )
    strength = None if lawless else getattr(model, "lambda_reg", None)
    # Models of rankings draw negative items at random, so their decay obeys no known
    # law.
    if not ranks:
        decayed = "factors-counted"
    elif comes_from(model, ("cornac",), ("BPR", "WBPR")):
        decayed = "bpr"
    else:
        decayed = None
    return FactorModel.from_arrays(
        **fields, link=link, objective=objective_of(strength, decayed=decayed)
    )


def _searched(name: str) -> Attribute:
    """Name the vectors that cornac would search by; those that it multiplies only."""
    return (
        name,
        lambda model: (
            getattr(model, name)()
            if has(model, name) and "dot" in str(model.get_vector_measure())
            else None
        ),
    )


def _layers(name: str) -> Attribute:
    """Name what FlexMF with layers scores by: the mean over them."""

    def mean(model: Any) -> Any:
        layers = _attribute(name, model)
        return None if layers is None else as_array(layers).mean(0)

    return f"the mean of {name}", mean


def _lenskit(model: Any, fields: dict[str, Any], _: Request) -> FactorModel:
    """Make a model of LensKit.

    Its link follows from the loss, its law from the kind of decay.
    """
    config = getattr(model, "config", None)
    if comes_from(model, ("lenskit",), ("BPR",)):
        # It keeps the columns of implicit: ones beside the items' bias.
        made = split_columns(
            fields["left"], fields["right"], fields["left"].shape[1] - 1
        )
        made = made.replace(
            **{name: ids for name, ids in fields.items() if name.endswith("_ids")}
        )
    else:
        losses = {"logistic": "sigmoid", "pairwise": "ranking", "warp": "ranking"}
        made = FactorModel.from_arrays(
            **fields, link=losses.get(getattr(config, "loss", ""), "identity")
        )
    laws = {"AdamW": "decoupled-decay", None: "none"}
    return made.replace(
        objective=laws.get(getattr(config, "reg_method", "unknown"), made.objective)
    )


def _scored_by_lenskit(
    model: Any, made: FactorModel, _: Request, user: int, items: Indices
) -> Any:
    # What a query is made of lies in its library, which is loaded with its models.
    data = sys.modules["lenskit.data"]
    query = data.RecQuery(user_id=_id(made.left_ids, user))
    return model(query, data.ItemList(item_ids=_id(made.right_ids, items))).scores()


def _table_of_recbole(side: int, model: Any) -> Any:
    """Return a table that RecBole scores with.

    Models of graphs make theirs in `forward`.
    """
    if has(model, "forward") and not needed(model.forward):
        # Dropout would make other tables each time.
        if has(model, "eval"):
            model.eval()
        made = model.forward()
        if isinstance(made, tuple) and len(made) == 2:
            return made[side]
    return _attribute(f"{('user', 'item')[side]}_embedding.weight", model)


def _recbole(model: Any, fields: dict[str, Any], _: Request) -> FactorModel:
    is_pairwise = getattr(getattr(model, "input_type", None), "name", "") == "PAIRWISE"
    # Row 0 of every table is padding.
    return FactorModel.from_arrays(
        fields["left"][1:],
        fields["right"][1:],
        link="ranking" if is_pairwise else "identity",
    )


def _sorted_by_recbole(
    model: Any, _: FactorModel, __: Request, user: int, items: Indices
) -> Any:
    # A tensor made of the table lies on the right device; one of whole numbers rounds
    # none.
    rows = _table_of_recbole(0, model).reshape(-1)[:0].long().new_tensor([user + 1])
    return as_array(model.full_sort_predict({model.USER_ID: rows})).reshape(-1)[
        items + 1
    ]


def _lightfm(model: Any, fields: dict[str, Any], request: Request) -> FactorModel:
    """Sum the rows of the features of each user and item.

    Nothing in the model tells whether it had features, so the caller has to say it.
    """
    for role, matrix in zip(
        ("left", "right"), _features(model, request).values(), strict=True
    ):
        if matrix is not None:
            fields |= {
                name: np.asarray(matrix @ fields[name])
                for name in (role, f"{role}_bias")
            }
    # Its decay shrinks every row at every sample, by a step that adapts to each
    # coordinate: no law is known.
    strengths = (getattr(model, f"{side}_alpha", None) for side in ("user", "item"))
    link = "identity" if getattr(model, "loss", None) == "logistic" else "ranking"
    return FactorModel.from_arrays(
        **fields, link=link, objective=objective_of(*strengths, decayed=None)
    )


def _predicted_by_lightfm(
    model: Any, _: FactorModel, request: Request, user: int, items: Indices
) -> Any:
    return model.predict(
        np.full(len(items), user, np.int32),
        items.astype(np.int32),
        **_features(model, request),
    )


def _features(model: Any, request: Request) -> dict[str, Any]:
    """Return the feature matrix of each side of LightFM.

    None if each row is its own feature.
    """
    sides = {
        "user": (request.user_features, request.left_ids),
        "item": (request.item_features, request.ids),
    }
    matrices: dict[str, Any] = {}
    for side, (features, ids) in sides.items():
        name, n_rows = (
            f"{side}_features",
            len(as_array(getattr(model, f"{side}_biases"))),
        )
        # Ids of as many rows say that each row is an entity.
        if features is None and (ids is None or np.shape(ids) != (n_rows,)):
            raise InputError(
                f"{name} must be the matrix LightFM was trained with, because its "
                f"{n_rows} {side} rows are features; got none; pass it, or "
                f'{name}="none" if each {side} was its own feature.'
            )
        if isinstance(features, str) and features != "none":
            raise InputError(f'{name} must be a matrix or "none"; got {features!r}.')
        matrices[name] = None if isinstance(features, str) else features
        if matrices[name] is not None and features.shape[1] != n_rows:
            remedy = "pass the matrix the model was trained with"
            raise must_be(
                name, f"one column a feature: {n_rows}", features.shape[1], remedy
            )
    return matrices


def _gensim(_: Any, fields: dict[str, Any], __: Request) -> FactorModel:
    if fields["left"] is None or fields["left"].shape != fields["right"].shape:
        return FactorModel.from_vectors(fields["right"], ids=fields["right_ids"])
    # A pair is real with probability σ(context · word), as training by negative samples
    # has it.
    return FactorModel.from_arrays(
        **{**fields, "left_ids": fields["right_ids"]},
        link="sigmoid",
        roles=("context", "word"),
    )


LIBRARIES = (
    Library(
        packages=("implicit",),
        classes=(
            "MatrixFactorizationBase",
            "AlternatingLeastSquares",
            "BayesianPersonalizedRanking",
            "LogisticMatrixFactorization",
        ),
        sides=(("user_factors", "item_factors"),),
        build=_implicit,
        predicts={"recommend": _recommended},
    ),
    Library(
        packages=("surprise",),
        classes=("SVDpp", "SVD", "NMF"),
        sides=(
            (("pu with yj of what each user rated", _with_rated), "qi"),
            ("pu", "qi"),
        ),
        fields={
            "left_bias": "bu",
            "right_bias": "bi",
            "offset": "trainset.global_mean",
            "left_ids": ("trainset", _raw_ids("to_raw_uid", "pu")),
            "right_ids": ("trainset", _raw_ids("to_raw_iid", "qi")),
        },
        build=_surprise,
        predicts={"predict": _estimated},
    ),
    Library(
        packages=("cornac",),
        classes=("Recommender",),
        sides=(
            ("u_factors", "i_factors"),
            ("U", "V"),
            (_searched("get_user_vectors"), _searched("get_item_vectors")),
        ),
        # Models without biases have the mean of the ratings, too, and do not add it.
        fields={
            "left_bias": "u_biases",
            "right_bias": "i_biases",
            "offset": (
                "global_mean",
                lambda model: model.global_mean if has(model, *_ADDED) else None,
            ),
            "left_ids": "uid_map | train_set.uid_map",
            "right_ids": "iid_map | train_set.iid_map",
        },
        build=_cornac,
        predicts={
            "score": lambda model, _, __, user, items: as_array(model.score(user))[
                items
            ]
        },
    ),
    Library(
        packages=("lenskit",),
        sides=(
            ("user_embeddings", "item_embeddings"),
            ("user_features_", "item_features_"),
            ("user_components", "item_components"),
            ("user_components_", "factorization_.components_.T"),
            (_layers("model.u_layers"), _layers("model.i_layers")),
            ("model.u_embed.weight", "model.i_embed.weight"),
        ),
        fields={
            "left_bias": "bias.user_biases | bias.user_offsets_ | bias_.user_biases | "
            "model.u_bias.weight",
            "right_bias": "bias.item_biases | bias.item_offsets_ | bias_.item_biases | "
            "model.i_bias.weight",
            "offset": "bias.global_bias | bias.mean_ | bias_.global_bias | global_bias",
            "left_ids": "users.ids | users | users_ | user_index_",
            "right_ids": "items.ids | items | items_ | item_index_",
        },
        build=_lenskit,
        predicts={
            "predict_for_user": lambda model, made, _, user, items: (
                model.predict_for_user(
                    _id(made.left_ids, user), _id(made.right_ids, items)
                )
            ),
            "__call__": _scored_by_lenskit,
        },
    ),
    Library(
        packages=("recbole",),
        classes=("AbstractRecommender",),
        sides=(
            (
                ("forward() or user_embedding", partial(_table_of_recbole, 0)),
                ("forward() or item_embedding", partial(_table_of_recbole, 1)),
            ),
        ),
        build=_recbole,
        predicts={"full_sort_predict": _sorted_by_recbole},
    ),
    Library(
        packages=("lightfm", "lightfm_next"),
        classes=("LightFM",),
        sides=(("user_embeddings", "item_embeddings"),),
        fields={"left_bias": "user_biases", "right_bias": "item_biases"},
        build=_lightfm,
        options=("user_features", "item_features"),
        predicts={"predict": _predicted_by_lightfm},
    ),
    Library(
        packages=("gensim",),
        classes=("KeyedVectors", "Word2Vec"),
        sides=(("syn1neg", "wv.vectors"), ("", "wv.vectors | vectors")),
        fields={
            "left_ids": "wv.index_to_key",
            "right_ids": "wv.index_to_key | index_to_key",
        },
        build=_gensim,
    ),
)
"""Libraries whose objects the fields of a row describe."""


def lenskit_pipeline(pipeline: Any, request: Request) -> Contents:
    """Read the scorer of a pipeline, or the one component that has factors.

    Raises
    ------
    InputError
        If none of its components has factors, or several have.
    """
    # Pipelines made by LensKit call the model that scores "scorer"; others may call it
    # anything.
    names = pipeline.component_names()
    parts = [
        pipeline.component(name)
        for name in (["scorer"] if "scorer" in names else names)
    ]
    library = next(row for row in LIBRARIES if "lenskit" in row.packages)
    entries = [component for component in parts if library.sides_of(component)]
    if len(entries) != 1:
        got = f"{len(entries)} among {', '.join(names)}"
        raise must_be(
            "a pipeline of LensKit",
            "trained, with one model that has factors",
            got,
            "pass that model",
        )
    return library.read(entries[0], request)


def spark(model: Any, request: Request) -> Contents:
    """Read both tables of factors of ALS, rows in the order of their ids.

    Raises
    ------
    InputError
        If a pipeline holds no ALS model, or several.
    """
    if comes_from(model, ("pyspark",), ("PipelineModel",)):
        entries = [
            stage
            for stage in model.stages
            if comes_from(stage, ("pyspark",), ("ALSModel",))
        ]
        if len(entries) != 1:
            raise must_be(
                "a pipeline of Spark",
                "one with one ALS model",
                f"{len(entries)} of them",
                "pass that stage",
            )
        return spark(entries[0], request)
    require_fitted(model, "userFactors", "itemFactors")
    made = of_rows(*_side(model.userFactors), *_side(model.itemFactors))
    user_ids, item_ids = np.asarray(made.left_ids), np.asarray(made.right_ids)

    def scores(left: Indices, right: Indices) -> Floats:
        pairs = [
            (int(user), int(item))
            for user, item in zip(user_ids[left], item_ids[right], strict=True)
        ]
        frame = model.userFactors.sparkSession.createDataFrame(
            pairs, [model.getUserCol(), model.getItemCol()]
        )
        predictions = {
            (row[0], row[1]): row["prediction"]
            for row in model.transform(frame).collect()
        }
        return np.array([predictions.get(pair, np.nan) for pair in pairs])

    places = {
        "left": "userFactors.features",
        "right": "itemFactors.features",
        "left_ids": "userFactors.id",
        "right_ids": "itemFactors.id",
        "link": "its class",
    }
    return Contents.from_model(made, places, own=OwnScores(scores, "transform"))


def _side(factors: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bring the columns id and features from wherever Spark keeps them."""
    frame = factors.toPandas()
    return frame["id"].to_numpy(), np.stack(frame["features"].tolist())
