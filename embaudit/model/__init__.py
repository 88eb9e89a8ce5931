"""Factor models: two sides, a link, and when two models predict the same."""

from embaudit.model.equivalence import Equivalence
from embaudit.model.factor_model import FactorModel
from embaudit.model.links import (
    Comparison,
    Cosine,
    Identity,
    Link,
    Ranking,
    Sigmoid,
    Softmax,
)
from embaudit.model.one_table import comparing, require_two_sides, with_objective
from embaudit.model.pairs import Pairs, Role
from embaudit.model.side import OPPOSITE, Side, SideName

__all__ = [
    "OPPOSITE",
    "Comparison",
    "Cosine",
    "Equivalence",
    "FactorModel",
    "Identity",
    "Link",
    "Pairs",
    "Ranking",
    "Role",
    "Side",
    "SideName",
    "Sigmoid",
    "Softmax",
    "comparing",
    "require_two_sides",
    "with_objective",
]
