"""Factor models: two sides, a link, and when two models predict the same."""

from embaudit.model.equivalence import Equivalence
from embaudit.model.factor_model import FactorModel
from embaudit.model.links import (
    LINK_NAMES,
    LINKS,
    Comparison,
    Link,
    as_link,
    comparison_link,
    softmax_link,
)
from embaudit.model.one_table import (
    require_link_or_comparison,
    require_two_sides,
    with_comparison,
    with_objective,
)
from embaudit.model.pairs import Pairs, Role
from embaudit.model.side import OPPOSITE, ROW_FIELDS, Side, SideName

__all__ = [
    "LINKS",
    "LINK_NAMES",
    "OPPOSITE",
    "ROW_FIELDS",
    "Comparison",
    "Equivalence",
    "FactorModel",
    "Link",
    "Pairs",
    "Role",
    "Side",
    "SideName",
    "as_link",
    "comparison_link",
    "require_link_or_comparison",
    "require_two_sides",
    "softmax_link",
    "with_comparison",
    "with_objective",
]
