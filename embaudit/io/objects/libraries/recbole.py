"""RecBole: general recommenders that multiply two tables."""

from __future__ import annotations

from typing import Any

from embaudit.io.arrays import as_array
from embaudit.io.objects.helpers import has, required_parameters
from embaudit.io.objects.libraries.library import Computed, Library, Query, attribute
from embaudit.io.options import Request
from embaudit.model import FactorModel


def _user_table(source: Any) -> Any:
    tables = _tables_of_forward(source)
    if tables is None:
        return attribute(source, "user_embedding.weight")
    return tables[0]


def _item_table(source: Any) -> Any:
    tables = _tables_of_forward(source)
    if tables is None:
        return attribute(source, "item_embedding.weight")
    return tables[1]


def _tables_of_forward(source: Any) -> tuple[Any, Any] | None:
    """Return the tables of users and items that `forward` of a graph model computes.

    None is returned for models whose `forward` takes inputs or returns something else.
    """
    if not has(source, "forward") or required_parameters(source.forward):
        return None
    if has(source, "eval"):
        # Dropout would compute other tables each time.
        source.eval()
    tables = source.forward()
    if isinstance(tables, tuple) and len(tables) == 2:
        return tables
    return None


def _build(source: Any, fields: dict[str, Any], _request: Request) -> FactorModel:
    is_pairwise = attribute(source, "input_type.name") == "PAIRWISE"
    # Row 0 of every table is padding.
    return FactorModel.from_arrays(
        fields["left"][1:],
        fields["right"][1:],
        link="ranking" if is_pairwise else "identity",
    )


def _full_sort_predict(query: Query) -> Any:
    # Row 0 of every table is padding, so numbers of rows are higher by 1. A tensor that
    # is derived from the table lies on its device; integers keep large row numbers.
    table = _user_table(query.source)
    user = table.reshape(-1)[:0].long().new_tensor([query.left + 1])
    scores = query.source.full_sort_predict({query.source.USER_ID: user})
    return as_array(scores).reshape(-1)[query.right + 1]


RECBOLE = Library(
    packages=("recbole",),
    classes=("AbstractRecommender",),
    tables=(
        (
            Computed("forward() or user_embedding", _user_table),
            Computed("forward() or item_embedding", _item_table),
        ),
    ),
    build=_build,
    predicts={"full_sort_predict": _full_sort_predict},
)
