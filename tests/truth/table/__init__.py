"""The truth table: small models with known equivalent models, and the conclusions that
an audit must draw.

Each module has cases of one subject. Nothing here is computed by the package. F, P and
U stand for free, pinned and undecided cosines.
"""

from __future__ import annotations

from truth.table import (
    classifiers,
    compared_rows,
    corrected,
    distances,
    final_norms,
    indexes,
    links_and_biases,
    missing_directions,
    near_duplicates,
    noisy_scores,
    queries,
    small_models,
    temperatures,
    tied_heads,
    trainings,
    traits,
    ways_to_answer,
)
from truth.table.case import (
    CHECK,
    CONTRADICTIONS,
    CONVENTION,
    NEVER,
    NEVER_ALONE,
    Case,
)

__all__ = [
    "CHECK",
    "CONTRADICTIONS",
    "CONVENTION",
    "NEVER",
    "NEVER_ALONE",
    "TABLE",
    "Case",
]

SUBJECTS = (
    links_and_biases,
    missing_directions,
    small_models,
    trainings,
    temperatures,
    classifiers,
    corrected,
    compared_rows,
    distances,
    near_duplicates,
    ways_to_answer,
    traits,
    noisy_scores,
    final_norms,
    tied_heads,
    indexes,
    queries,
)
TABLE = {case.name: case for subject in SUBJECTS for case in subject.cases()}
"""All cases by name."""
