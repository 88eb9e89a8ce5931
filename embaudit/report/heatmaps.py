"""Heatmaps of models: the one at hand, equal ones beside it, and what the predictions alone say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.alone import said_of
from embaudit.auditing.equivalents import equivalent_models
from embaudit.auditing.evidence import with_probes
from embaudit.canonical import canonical_form, in_span
from embaudit.canonical.equivalents import PREDICTS, EquivalentModel, equivalent_at
from embaudit.canonical.identified import prediction_view
from embaudit.core.checked import RNG, as_generator, as_list
from embaudit.core.words import nearest_to
from embaudit.errors import InputError, must_be
from embaudit.linalg.pairs import cosine_matrix
from embaudit.model import Pairs, with_objective
from embaudit.model.drift import Sample
from embaudit.model.sizes import require_ordinary_size
from embaudit.report.audit_tables import shown_side
from embaudit.report.explorer.chosen import names_of
from embaudit.report.heatmap_display import HeatmapDisplay, Panel
from embaudit.report.heatmap_rows import taken_rows
from embaudit.report.prediction_display import form_of_audit, predicted_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embaudit.auditing import Audit
    from embaudit.canonical import CanonicalForm
    from embaudit.core.checked import Floats, Indices
    from embaudit.linalg.seen import Rows
    from embaudit.model import FactorModel, Role, SideName

FURTHEST = "furthest"
"""Of the equal models, the one whose cosines of the rows shown are furthest from those at hand."""
FEW = 60
"""Rows of a side up to which a page shows the cosines of all pairs."""
N_GAUGES, BUDGET = 2, 2.0
"""Draws from each group of gauges, and their κ at most, where there is no audit that made some."""


def heatmap(
    model: FactorModel,
    *,
    role: Role | str = "right",
    groups: str | Iterable[Any] | None = None,
    show: Sequence[str] = (),
    n_rows: int = 400,
    beside: Sequence[str] | None = None,
    equals: Sequence[EquivalentModel] | None = None,
    form: CanonicalForm | None = None,
    rng: RNG = 0,
) -> HeatmapDisplay:
    """Compute the cosines of some rows in a model, in equal models, and those of their predictions.

    Parameters
    ----------
    model : FactorModel
    role, groups, show, n_rows, beside, rng
        See `plot_heatmap`.
    equals : sequence of EquivalentModel, optional
        The equal models to choose from; canonical ones and a few drawn ones by default.
    form : CanonicalForm, optional
        Of the model, where it is at hand already.

    Raises
    ------
    InputError
        For rows, groups or models that there are not.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item([[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]])
    >>> [panel.name for panel in heatmap(model, beside=["exponent 0.5 (balanced)", "prediction cosine"]).panels]
    ['model at hand', 'exponent 0.5 (balanced), κ = 1.41', 'prediction cosine']
    """
    side, draw = model.side_name(role), as_generator(rng)
    require_ordinary_size(model)
    model = in_span(with_objective(model))
    taken = taken_rows(model, side, groups=groups, show=show, n_rows=n_rows, rng=draw)
    names = None if beside is None else [*map(str, as_list(beside, "beside", '["furthest", "prediction cosine"]'))]
    if equals is None:
        equals = [] if names == [] else equivalent_models(model, n_gauges=N_GAUGES, max_condition=BUDGET, rng=draw)
    chooser = _Chooser(model, side, taken.rows, tuple(equals), form)
    others = _usual(chooser, draw) if names is None else _chosen(chooser, names, draw)
    panels = (Panel("model at hand", "", chooser.at_hand), *others)
    return HeatmapDisplay(panels, tuple(names_of(model, side, taken.rows)), taken, Pairs(side).titled(model))


def heatmap_of_audit(audit: Audit, *, role: Role | str | None = None, **options: Any) -> HeatmapDisplay:
    """Compute the heatmap of the model audited, beside the equal models that the audit visited and found.

    Parameters
    ----------
    audit : Audit
    role : str, optional
        The side that the answer speaks of by default.
    **options
        Of `heatmap`.
    """
    evidence, form = audit.evidence, form_of_audit(audit)
    about = "right" if evidence.role == "cross" else evidence.role
    side = audit.model.side_name(about if role is None else role)
    return heatmap(audit.model, role=side, equals=_visited(audit), form=form, rng=evidence.seed, **options)


def heatmap_of_page(audit: Audit) -> HeatmapDisplay | None:
    """Compute the heatmap of all rows of a small side, or of the rows asked for and those near them.

    None where no row has a name, or nothing can be shown beside the cosines at hand.
    """
    model, side = audit.model, shown_side(audit)
    show, few = _asked(audit, side), len(model.side(side)) <= FEW
    named = model.side(side).names is not None or model.side(side).ids is not None
    if not (named and audit.predictions_hold and (few or len(show) > 1)):
        return None
    beside = FURTHEST if model.left is None else predicted_word(model, side)
    with suppress(InputError):  # fewer than two rows with a direction, or scores that are all the same
        return heatmap_of_audit(audit, role=side, show=() if few else show, beside=[beside])
    return None


def _asked(audit: Audit, side: SideName) -> list[str]:
    """Name the rows asked for and those near them in either model, as far as a name is that of one row."""
    if not audit.evidence.chosen:
        return []
    met = [(one.name, *dict((*one.before, *one.after))) for one in audit.evidence.examples]
    labels, counts = np.unique(audit.model.names(side).astype(str), return_counts=True)
    alone = set(labels[counts == 1].tolist())
    return [name for name in dict.fromkeys(chain.from_iterable(met)) if name in alone][:FEW]


def _visited(audit: Audit) -> list[EquivalentModel]:
    """Collect the equal models of an audit, for all rows of its model."""
    evidence, model = audit.evidence, in_span(audit.model)
    found = list(evidence.equivalents)
    if evidence.model.n_right != model.n_right and model.left is not None:
        # Those were made for the labels looked at.
        form = canonical_form(model)
        found = [one if one.exponent is None else equivalent_at(form, one.exponent, one.name) for one in found]
    return found


class _Chooser:
    """The cosines of some rows of a side in one model or another."""

    def __init__(
        self,
        model: FactorModel,
        side: SideName,
        rows: Indices,
        equals: tuple[EquivalentModel, ...],
        form: CanonicalForm | None,
    ) -> None:
        self.model, self.side, self.rows, self.form = model, side, rows, form
        self.equals = {one.name: one for one in equals}
        self.word = predicted_word(model, side)
        self.at_hand = self.cosines(model.factors(side))

    def cosines(self, rows: Rows) -> Floats:
        """Compute those of the rows chosen."""
        return cosine_matrix(np.asarray(rows[self.rows], dtype=np.float64))

    def moved(self, name: str) -> float:
        """Mean |Δcos| of the rows chosen in an equal model."""
        moved = np.abs(self.cosines(self.equals[name].rows(self.model, self.side)) - self.at_hand)
        return float(np.nan_to_num(moved).mean())

    @property
    def others(self) -> list[str]:
        """Name the equal models without the one of prediction cosines, which have a panel of their own."""
        return [name for name, one in self.equals.items() if one.exponent != PREDICTS.get(self.side, np.nan)]

    def furthest(self, draw: np.random.Generator) -> Panel:
        """Make the panel of the equal model whose cosines moved most."""
        if not self.others:
            raise must_be("beside", f'"{self.word}" alone', f'"{FURTHEST}"', "there is no other equal model")
        found = self.equal(max(self.others, key=self.moved), draw)
        return replace(found, note=f"{found.note}, furthest of {len(self.others)}")

    def equal(self, name: str, draw: np.random.Generator) -> Panel:
        """Make the panel of an equal model, with what became of its predictions."""
        one, some = self.equals[name], Sample.of(with_probes(self.model, draw), draw)
        same = some.drift(one.of(some.model), one.amplification).ok
        note = said_of(self.model, "same predictions" if same else "predictions differ by more than rounding")
        kappa = "" if np.isnan(one.condition_number) else f", κ = {one.condition_number:.3g}"
        return Panel(f"{name}{kappa}", note, self.cosines(one.rows(self.model, self.side)))

    def predicted(self) -> Panel:
        """Make the panel of what the predictions alone say."""
        if self.model.left is None:
            users, items = self.model.roles
            raise must_be("beside", f"of equal models where {items}s alone are at hand", f'"{self.word}"',
                          f"load the {users}s beside them")  # fmt: skip
        form = canonical_form(self.model) if self.form is None else self.form
        view = prediction_view(self.model, form, self.side)
        return Panel(self.word, "of the same model", self.cosines(view))


def _usual(chooser: _Chooser, draw: np.random.Generator) -> Iterator[Panel]:
    """Take the furthest of the equal models, and the predictions where both sides are at hand and predict anything."""
    if chooser.others:
        yield chooser.furthest(draw)
    if chooser.model.left is not None:
        with suppress(InputError):  # scores that are all the same have no cosines
            yield chooser.predicted()


def _chosen(chooser: _Chooser, names: Sequence[str], draw: np.random.Generator) -> Iterator[Panel]:
    for name in names:
        if name == FURTHEST:
            yield chooser.furthest(draw)
        elif name == chooser.word:
            yield chooser.predicted()
        elif name in chooser.equals:
            yield chooser.equal(name, draw)
        else:
            remedy = nearest_to(str(name), [FURTHEST, chooser.word, *chooser.equals])
            raise must_be("beside", f'names such as "{FURTHEST}", "{chooser.word}"', repr(name), remedy)
