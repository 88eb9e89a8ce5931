"""LensKit: matrix factorisation, FlexMF and BPR, alone or in a pipeline."""

from __future__ import annotations

import sys
from typing import Any

from embaudit.errors import must_be
from embaudit.io.arrays import as_array
from embaudit.io.contents import Contents
from embaudit.io.formats.implicit import split_columns
from embaudit.io.objects.helpers import comes_from
from embaudit.io.objects.libraries.library import Computed, Library, Query, attribute
from embaudit.io.options import Request
from embaudit.model import FactorModel

LINK_OF_LOSS = {"logistic": "sigmoid", "pairwise": "ranking", "warp": "ranking"}
"""Link of FlexMF by its loss; other losses predict the score itself."""
OBJECTIVE_OF_DECAY = {"AdamW": "decoupled-decay", None: "none"}
"""Objective of FlexMF by its kind of weight decay."""
IDS = ("left_ids", "right_ids")


def _mean_of_layers(path: str) -> Computed:
    """Return the place of a table that FlexMF with layers scores by: their mean."""

    def mean(source: Any) -> Any:
        layers = attribute(source, path)
        return None if layers is None else as_array(layers).mean(axis=0)

    return Computed(f"the mean of {path}", mean)


def _build(source: Any, fields: dict[str, Any], _request: Request) -> FactorModel:
    if comes_from(source, ("lenskit",), ("BPR",)):
        # Items end in their bias and users in a one, as in BPR of implicit.
        n_factors = fields["left"].shape[1] - 1
        model = split_columns(fields["left"], fields["right"], n_factors)
        model = model.replace(**{name: fields[name] for name in IDS if name in fields})
    else:
        loss = attribute(source, "config.loss")
        link = LINK_OF_LOSS.get(loss, "identity")
        model = FactorModel.from_arrays(**fields, link=link)
    # Only FlexMF says the kind of its decay, and None there means that it has none.
    config = getattr(source, "config", None)
    decay = getattr(config, "reg_method", "unknown")
    objective = OBJECTIVE_OF_DECAY.get(decay, model.objective)
    return model.replace(objective=objective)


def _predict_for_user(query: Query) -> Any:
    return query.source.predict_for_user(query.left_id, query.right_ids)


def _call(query: Query) -> Any:
    # The object comes from LensKit, so its module of queries can be imported already.
    data = sys.modules["lenskit.data"]
    user = data.RecQuery(user_id=query.left_id)
    items = data.ItemList(item_ids=query.right_ids)
    return query.source(user, items).scores()


LENSKIT = Library(
    packages=("lenskit",),
    tables=(
        ("user_embeddings", "item_embeddings"),
        ("user_features_", "item_features_"),
        ("user_components", "item_components"),
        ("user_components_", "factorization_.components_.T"),
        (_mean_of_layers("model.u_layers"), _mean_of_layers("model.i_layers")),
        ("model.u_embed.weight", "model.i_embed.weight"),
    ),
    fields={
        "left_bias": (
            "bias.user_biases",
            "bias.user_offsets_",
            "bias_.user_biases",
            "model.u_bias.weight",
        ),
        "right_bias": (
            "bias.item_biases",
            "bias.item_offsets_",
            "bias_.item_biases",
            "model.i_bias.weight",
        ),
        "offset": (
            "bias.global_bias",
            "bias.mean_",
            "bias_.global_bias",
            "global_bias",
        ),
        "left_ids": ("users.ids", "users", "users_", "user_index_"),
        "right_ids": ("items.ids", "items", "items_", "item_index_"),
    },
    build=_build,
    predicts={"predict_for_user": _predict_for_user, "__call__": _call},
)


def read_pipeline(pipeline: Any, request: Request) -> Contents:
    """Read the component of a pipeline that scores.

    Pipelines made by LensKit call it "scorer". In other pipelines it is the one
    component that has factors.

    Raises
    ------
    InputError
        If no component has factors, or several have.
    """
    names = list(pipeline.component_names())
    candidates = ["scorer"] if "scorer" in names else names
    components = [pipeline.component(name) for name in candidates]
    with_factors = [x for x in components if LENSKIT.find_tables(x)]
    if len(with_factors) != 1:
        raise must_be(
            "a pipeline of LensKit",
            "trained, with one model that has factors",
            f"{len(with_factors)} among {', '.join(names)}",
            "pass that model",
        )
    return LENSKIT.read(with_factors[0], request)
