"""Factor models: two sides, a link, and when two models predict the same."""

from embaudit.model.equivalence import Equivalence
from embaudit.model.factor_model import FactorModel, Link, Role, Side

__all__ = ["Equivalence", "FactorModel", "Link", "Role", "Side"]
