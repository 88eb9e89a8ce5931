"""The registration of findings and notes, and their order in an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from embaudit.auditing.finding import Severity
from embaudit.auditing.findings import (
    adapter_factors,
    baseline_predictions,
    changed_predictions,
    collapsed_rows,
    common_direction,
    constant_vectors,
    contradicted_decay,
    contradicted_penalty,
    contradicted_source,
    cosines_by_convention,
    cosines_left_free,
    duplicate_rows,
    far_queries,
    few_labels,
    folded_norm,
    freedom_notes,
    head_notes,
    hidden_bias,
    hidden_labels,
    hub_rows,
    index_metric,
    item_bias,
    mean_row,
    movement_notes,
    near_duplicate_rows,
    nearly_equal_notes,
    orthogonal_rows,
    orthonormal_columns,
    prediction_notes,
    projector_cosines,
    query_hubs,
    rows_without_direction,
    separate_spaces,
    short_rows,
    tied_origin,
    training_notes,
    undecided_cosines,
    undeclared_training,
    unit_rows,
    unreached_rows,
    unseen_components,
)

if TYPE_CHECKING:
    from embaudit.auditing.entry import Entry
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.finding import Finding

    Check = Callable[[Evidence], Iterator[Finding]]

    class FindingModule(Protocol):
        """A module that holds one finding.

        Its function `check` draws the finding, from the evidence of an audit of a model
        or from what another audit measured.
        """

        ENTRY: Entry


MODULES: tuple[FindingModule, ...] = (
    changed_predictions,
    baseline_predictions,
    cosines_left_free,
    undeclared_training,
    cosines_by_convention,
    contradicted_penalty,
    undecided_cosines,
    contradicted_source,
    item_bias,
    unseen_components,
    hidden_bias,
    constant_vectors,
    rows_without_direction,
    short_rows,
    mean_row,
    few_labels,
    projector_cosines,
    hidden_labels,
    tied_origin,
    contradicted_decay,
    folded_norm,
    duplicate_rows,
    common_direction,
    hub_rows,
    unit_rows,
    orthonormal_columns,
    separate_spaces,
    orthogonal_rows,
    collapsed_rows,
    near_duplicate_rows,
    index_metric,
    query_hubs,
    unreached_rows,
    far_queries,
    adapter_factors,
)
"""The modules of findings, each with one code."""
NOTES = (
    *freedom_notes.NOTES,
    *training_notes.NOTES,
    *prediction_notes.NOTES,
    *movement_notes.NOTES,
    *head_notes.NOTES,
    *nearly_equal_notes.NOTES,
    *index_metric.NOTES,
    *unreached_rows.NOTES,
)
"""The words of notes that modules write."""
CHECKS: tuple[Check, ...] = (
    prediction_notes.predictions_stay,
    baseline_predictions.check,
    index_metric.check,
    contradicted_source.check,
    mean_row.check,
    head_notes.origin,
    few_labels.check,
    projector_cosines.check,
    hidden_labels.check,
    tied_origin.check,
    contradicted_decay.check,
    head_notes.shortest,
    head_notes.logits,
    folded_norm.check,
    head_notes.final_norm,
    head_notes.ones,
    head_notes.tied,
    orthogonal_rows.check,
    orthonormal_columns.check,
    rows_without_direction.check,
    short_rows.check,
    collapsed_rows.check,
    freedom_notes.freedom,
    freedom_notes.unit_sides,
    freedom_notes.what_would_decide,
    training_notes.made_of_predictions,
    training_notes.order,
    training_notes.no_minimum,
    training_notes.second_table,
    cosines_left_free.check,
    undeclared_training.check,
    cosines_by_convention.check,
    contradicted_penalty.check,
    undecided_cosines.check,
    unseen_components.check,
    hidden_bias.check,
    item_bias.check,
    prediction_notes.one_side,
    prediction_notes.given_inputs,
    prediction_notes.compared,
    prediction_notes.predicted,
    constant_vectors.check,
    movement_notes.moved,
    movement_notes.drawn,
    movement_notes.ranges,
    movement_notes.certificates,
    movement_notes.attacks,
    duplicate_rows.check,
    near_duplicate_rows.check,
    common_direction.check,
    hub_rows.check,
    unit_rows.check,
    separate_spaces.check,
    query_hubs.check,
    unreached_rows.check,
    far_queries.check,
    nearly_equal_notes.tolerance,
    nearly_equal_notes.noise,
)
"""The checks of an audit whose own check, that predictions stay, held."""


def conclusions(evidence: Evidence) -> tuple[Finding, ...]:
    """Return all findings, then all notes.

    Findings about the requested pairs come first. Within each group, the most severe
    come first. If the predictions of an equivalent model did not stay the same, only
    that is reported.
    """
    checks = CHECKS if evidence.predictions_hold else (changed_predictions.check,)
    drawn = [finding for check in checks for finding in check(evidence)]

    def rank(finding: Finding) -> tuple[bool, bool, int]:
        is_about_others = finding.role not in (None, evidence.role)
        return finding.severity is Severity.NOTE, is_about_others, -finding.severity

    # The sort is stable: findings of one rank stay in the order of `CHECKS`.
    return tuple(sorted(drawn, key=rank))
