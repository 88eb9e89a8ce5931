"""Canonical forms, the place of a model among its equivalents, and pinned cosines."""

from embaudit.canonical.factor_scaling import FactorScaling
from embaudit.canonical.form import (
    EXPONENTS,
    CanonicalForm,
    at_exponent,
    canonical_form,
)
from embaudit.canonical.hidden_bias import HiddenBias, hidden_biases
from embaudit.canonical.identified import identified_cosines, identified_factors
from embaudit.canonical.moved import Moved
from embaudit.canonical.pinned import pinned_test
from embaudit.canonical.pinning import Flip, Models, Pinning, Reason, Status
from embaudit.canonical.position import Position, position
from embaudit.canonical.row_span import in_span, seen_directions
from embaudit.canonical.temperature import OtherTemperature, other_temperature

__all__ = [
    "EXPONENTS",
    "CanonicalForm",
    "FactorScaling",
    "Flip",
    "HiddenBias",
    "Models",
    "Moved",
    "OtherTemperature",
    "Pinning",
    "Position",
    "Reason",
    "Status",
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
