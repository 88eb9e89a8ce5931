"""The canonical form of a model, where the model sits among its equivalents, and what its predictions pin down."""

from embaudit.canonical.form import (
    EXPONENTS,
    CanonicalForm,
    at_exponent,
    canonical_form,
)
from embaudit.canonical.identified import identified_cosines, identified_factors
from embaudit.canonical.pinned import Flip, Moved, Pinning, pinned_test
from embaudit.canonical.position import (
    FactorScaling,
    HiddenBias,
    Position,
    hidden_biases,
    position,
)
from embaudit.canonical.row_span import in_span, seen_directions
from embaudit.canonical.temperature import OtherTemperature, other_temperature

__all__ = [
    "EXPONENTS",
    "CanonicalForm",
    "FactorScaling",
    "Flip",
    "HiddenBias",
    "Moved",
    "OtherTemperature",
    "Pinning",
    "Position",
    "at_exponent",
    "canonical_form",
    "hidden_biases",
    "identified_cosines",
    "identified_factors",
    "in_span",
    "other_temperature",
    "pinned_test",
    "position",
    "seen_directions",
]
