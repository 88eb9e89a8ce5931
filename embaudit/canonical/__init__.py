"""The canonical form of a model, where the model sits among its equivalents, and what its predictions pin down."""

from embaudit.canonical.form import EXPONENTS, CanonicalForm, at_exponent, canonical_form
from embaudit.canonical.identified import identified_cosines, identified_factors
from embaudit.canonical.pinned import pinned_test
from embaudit.canonical.pinning import Flip, Moved, Pinning
from embaudit.canonical.position import FactorScaling, HiddenBias, Position, hidden_biases, position
from embaudit.canonical.reduction import Reduction, reduced
from embaudit.canonical.row_span import in_span

__all__ = [
    "EXPONENTS",
    "CanonicalForm",
    "FactorScaling",
    "Flip",
    "HiddenBias",
    "Moved",
    "Pinning",
    "Position",
    "Reduction",
    "at_exponent",
    "canonical_form",
    "hidden_biases",
    "identified_cosines",
    "identified_factors",
    "in_span",
    "pinned_test",
    "position",
    "reduced",
]
