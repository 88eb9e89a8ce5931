"""Softmax heads: properties that no gauge changes, and meanings of label cosines."""

from embaudit.heads.argmaxable import (
    Argmaxable,
    SharedHalves,
    argmaxable,
    shared_halves,
)
from embaudit.heads.label_cosines import (
    ProjectorCosines,
    logit_cosines,
    projector_cosines,
)
from embaudit.heads.label_sample import probe_inputs
from embaudit.heads.separation import excludes_minimum
from embaudit.heads.sigmoid import LabelCombinations, label_combinations

__all__ = [
    "Argmaxable",
    "LabelCombinations",
    "ProjectorCosines",
    "SharedHalves",
    "argmaxable",
    "excludes_minimum",
    "label_combinations",
    "logit_cosines",
    "probe_inputs",
    "projector_cosines",
    "shared_halves",
]
