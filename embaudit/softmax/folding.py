"""The forms in which people read one head behind a final norm: as stored, folded, centred; all the same model.

With `logits = W(γ ⊙ x̂ + β) + b` the head `W diag(γ)` with bias `b + Wβ` gives the same logits on x̂ itself. Behind a
LayerNorm x̂ sums to 0, so that any number may be added along the ones vector to each row of it, another one to each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.core.checked import Floats, Vector, is_number
from embaudit.core.parallel import row_blocks
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.structured import StructuredLinearMap
from embaudit.linalg.transformed_rows import Mapped, Rows, TransformedRows
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.softmax.coordinates import require_softmax

if TYPE_CHECKING:
    from embaudit.core.checked import Matrix


@dataclass(frozen=True, eq=False)
class Convention:
    """One form of a head: `(W − centre) diag(γ)`, less its part along the ones vector where no state sees that.

    Examples
    --------
    >>> Convention("folded", gain=np.array([2.0, 1.0])).rows(np.array([[1.0, 3.0]]))
    array([[2., 3.]])
    >>> Convention("level", gain=np.array([2.0, 1.0]), level=True).rows(np.array([[1.0, 3.0]]))
    array([[-0.5,  0.5]])
    """

    name: str
    """Name of the form, such as "folded"."""
    gain: Vector | None = None
    """γ, where it is folded in."""
    level: bool = False
    """True if the part along the ones vector is removed."""
    centre: Vector | None = None
    """The mean row of W, where it is removed."""

    def rows(self, block: Floats) -> Floats:
        """Bring rows of W, in float64, to this form."""
        x = block if self.centre is None else block - self.centre
        x = x if self.gain is None else x * self.gain
        return x - x.mean(axis=1, keepdims=True) if self.level else x

    def of(self, rows: Matrix) -> Matrix:
        """Bring all rows to this form, in the precision they are stored in; rows as stored are not copied."""
        if self.gain is None and not self.level and self.centre is None:
            return rows
        result = np.empty_like(rows)
        for block in row_blocks(*rows.shape):
            result[block] = self.rows(np.asarray(rows[block], dtype=np.float64))
        return result

    def seen(self, rows: Matrix) -> Rows:
        """Bring rows to this form where they are asked for, so that no changed copy is kept.

        Examples
        --------
        >>> Convention("folded", gain=np.array([2.0, 1.0])).seen(np.array([[1.0, 3.0], [0.0, 1.0]]))[1:]
        array([[0., 1.]])
        """
        if self.gain is None and not self.level and self.centre is None:
            return rows
        if self.level:
            return Mapped(rows, self.rows, rows.shape[1])
        gain = np.ones(rows.shape[1]) if self.gain is None else np.asarray(self.gain, dtype=np.float64)
        return TransformedRows(
            rows, StructuredLinearMap(gain), 0 * gain if self.centre is None else -self.centre * gain
        )

    def bias(self, head: FactorModel, norm: FinalNorm) -> Vector | None:
        """Return what the head of this form adds to its logits: `b + (W − centre)β` where γ is folded in."""
        if self.gain is None or norm.shift is None:
            return head.right_bias
        centre = 0.0 if self.centre is None else self.centre @ norm.shift
        # `(W − c)(γ ⊙ x̂ + β) = (W − c) diag(γ) x̂ + (W − c) β`: the last term does not depend on the input.
        moved: Floats = np.asarray(head.right @ norm.shift, dtype=np.float64) - centre
        return moved if head.right_bias is None else head.right_bias + moved

    def model(self, head: FactorModel, norm: FinalNorm, states: Floats) -> FactorModel:
        """Return the head of this form with the inputs that it has for some states."""
        inputs = norm.applied(states) if self.gain is None else norm.normalised(states)
        without = head.replace(left=None, objective=None)
        return without.replace(left=inputs, right=self.of(head.right), right_bias=self.bias(head, norm))


def require_norm(head: FactorModel, norm: FinalNorm) -> None:
    """Refuse a norm before anything but a head of its width.

    Raises
    ------
    InputError
        If the model is no softmax head, or has another number of dimensions, or rows that are brought to length 1.

    Examples
    --------
    >>> require_norm(FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]]), FinalNorm("rms", [1.0, 1.0, 1.0]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a final norm must be as wide as the head, 2 dimensions; got 3.
    """
    require_softmax(head, "a final norm")
    if norm.width != head.rank:
        raise must_be("a final norm", f"as wide as the head, {head.rank} dimensions", norm.width)
    if head.link.unit_sides:
        raise must_be("a final norm", "given of a head that keeps the lengths of its rows", "one that divides by them")


def folding(norm: FinalNorm) -> Gauge | None:
    """Make the gauge `M = diag(1/γ)` that folds a norm into its head; None where a gain is 0.

    Examples
    --------
    >>> folding(FinalNorm("rms", [1.0, 4.0])).condition_number
    4.0
    """
    return Gauge.diagonal(1 / norm.gain) if norm.gain.all() else None


def conventions(head: FactorModel, norm: FinalNorm) -> tuple[Convention, ...]:
    """List the forms in use that give this head's predictions: as stored first, the one that is most reduced last.

    The mean row stays under a soft cap, which would show a shift of all logits.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]])
    >>> [form.name for form in conventions(head, FinalNorm("layer", [1.0, 2.0]))]
    ['as stored', 'folded', 'folded, less ones', 'folded and centred']
    """
    require_norm(head, norm)
    level = Convention("folded, less ones", norm.gain, level=True)
    forms = [Convention("as stored"), Convention("folded", norm.gain), *([level] if norm.sums_to_zero else [])]
    last = centred_form(head, norm)
    return (*forms, last) if last.centre is not None else tuple(forms)


def centred_form(head: FactorModel, norm: FinalNorm) -> Convention:
    """Return the head folded, without what no state sees, and without the mean row where no probability shows it."""
    centre = head.right_side.outline.mean if "right" in head.free_shifts else None
    return Convention("folded and centred", norm.gain, level=norm.sums_to_zero, centre=centre)


def ones_to_reach(cosine: float, target: float) -> float:
    """Return how much of the ones vector brings two rows from one cosine to another, behind a LayerNorm.

    Rows without a part along the ones vector, of cosine c, get τ times their own length of it each, of one sign or
    of opposite ones: their cosine becomes `(c ± τ²)/(1 + τ²)`, and no logit changes. So every cosine between −1 and 1
    can be made of any pair.

    Parameters
    ----------
    cosine : float
        c, from −1 to 1.
    target : float
        The cosine wanted, between −1 and 1.

    Returns
    -------
    float
        τ.

    Raises
    ------
    InputError
        If the target is no cosine between −1 and 1, which no finite τ makes, or c is no cosine.

    Examples
    --------
    >>> round(ones_to_reach(0.0, 0.9), 9), round(ones_to_reach(0.0, -0.9), 9)
    (3.0, 3.0)
    """
    if not is_number(cosine) or not -1 <= cosine <= 1:
        raise must_be("cosine", "a number from -1 to 1", cosine)
    if not is_number(target) or not -1 < target < 1:
        raise must_be("target", "a number between -1 and 1", target)
    # Solve `(c ± τ²)/(1 + τ²) = target` for τ: `τ² = |target − c| / (1 ∓ target)`.
    room = 1 - target if target >= cosine else 1 + target
    return float(np.sqrt(abs(target - cosine) / room))
