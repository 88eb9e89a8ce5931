"""FinalNorm: the norm that the states of a network pass before its head."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import Floats, Vector, as_vector, is_number
from embaudit.errors import must_be
from embaudit.linalg.rows import row_norms
from embaudit.model.links import Link

NormKind: TypeAlias = Literal["rms", "layer"]
TITLES: dict[str, str] = {"rms": "RMSNorm", "layer": "LayerNorm"}


@dataclass(frozen=True, eq=False)
class FinalNorm:
    """A norm that makes inputs `γ ⊙ x̂ + β` of a head, with `x̂ = x/√(x̄² + ε)`.

    x is a state of the network. A LayerNorm subtracts the mean of its entries first.

    Parameters
    ----------
    kind : {"rms", "layer"}
        An RMSNorm divides states by their root mean square. A LayerNorm subtracts the
        mean before.
    gain : array of shape (k,)
        γ, as it multiplies, with a scale of the logits included. A stored weight w that
        counts as 1 + w is given as 1 + w.
    shift : array of shape (k,), optional
        β.
    epsilon : float
        ε, added to the mean square x̄² of a state. With 0, x̂ has a mean square of 1.

    Raises
    ------
    InputError
        For another kind, numbers that are not finite, a shift of another length, gains
        that are all 0, or an epsilon below 0.

    Examples
    --------
    >>> norm = FinalNorm("layer", [1.0, -4.0])
    >>> norm, norm.condition_number
    (FinalNorm(LayerNorm, width 2, κ = 4), 4.0)
    >>> norm.applied([[5.0, 3.0]])
    array([[1., 4.]])
    >>> FinalNorm("rms", [3.0, 4.0], shift=[0.0, 1.0], epsilon=0.0)
    FinalNorm(RMSNorm, width 2, κ = 1.33, with a shift)
    >>> FinalNorm("batch", [1.0])
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the kind of a norm must be rms or layer; got 'batch'.
    >>> FinalNorm("rms", [1.0], epsilon=-1.0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the epsilon of a norm must be a number >= 0; got -1.0.
    """

    kind: NormKind
    """Kind of the norm, RMSNorm or LayerNorm."""
    gain: Vector
    """(k,) γ."""
    shift: Vector | None = field(default=None)
    """(k,) β; None for a norm without a shift."""
    epsilon: float = 0.0
    """ε, which keeps small states small."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(NormKind):
            raise must_be("the kind of a norm", "rms or layer", repr(self.kind))
        gain = as_vector(self.gain, "gain", np.size(self.gain))
        if not gain.any():
            raise must_be("gain", "numbers that are not all 0", "zeros")
        object.__setattr__(self, "gain", gain)
        if not is_number(self.epsilon) or self.epsilon < 0:
            raise must_be("the epsilon of a norm", "a number >= 0", self.epsilon)
        if self.shift is not None:
            object.__setattr__(self, "shift", as_vector(self.shift, "shift", len(gain)))

    def __repr__(self) -> str:
        shift = ", with a shift" if self.shift is not None else ""
        size = f"width {self.width}, κ = {self.condition_number:.3g}"
        return f"FinalNorm({self.title}, {size}{shift})"

    @property
    def title(self) -> str:
        """Name of the kind, as people write it."""
        return TITLES[self.kind]

    @property
    def width(self) -> int:
        """Dimensions k."""
        return len(self.gain)

    @property
    def condition_number(self) -> float:
        """κ of the gauge that folds the norm into a head, `max|γ| / min|γ|`.

        Infinite if a gain is 0.
        """
        # The gauge diag(γ) stretches axis l by |γ_l|, see docs/theory.md, "A final norm
        # is a gauge".
        sizes = np.abs(self.gain)
        if sizes.min() == 0:
            return float("inf")
        return float(sizes.max() / sizes.min())

    @property
    def sums_to_zero(self) -> bool:
        """True if x̂ has no part along the ones vector."""
        return self.kind == "layer"

    def fits(self, link: Link, width: int) -> bool:
        """Return True if the norm can precede a softmax head of this width."""
        # Unit rows would lose the gain again, so γ cannot be folded into them.
        has_lengths = link.name == "softmax" and not link.unit_sides
        return has_lengths and width == self.width

    def normalised(self, states: ArrayLike) -> Floats:
        """Return x̂ for each state."""
        # x̂ = x/√(x̄² + ε). `hypot` of the root mean square and √ε takes no square that
        # could overflow.
        x = np.asarray(states, dtype=np.float64)
        if self.sums_to_zero:
            # If entries are nearly equal, rounding leaves a mean that is not small next
            # to the centred entries. The second pass removes it.
            for _ in range(2):
                x = x - x.mean(axis=1, keepdims=True)
        root = row_norms(x)[:, None] / np.sqrt(self.width)
        # A state of zeros without ε is 0/0: it has no direction, and stays NaN.
        with np.errstate(invalid="ignore"):
            return np.asarray(x / np.hypot(root, np.sqrt(self.epsilon)))

    def applied(self, states: ArrayLike) -> Floats:
        """Return the input of the head for each state, `γ ⊙ x̂ + β`."""
        return self.scaled(self.normalised(states))

    def scaled(self, normalised: Floats) -> Floats:
        """Return `γ ⊙ x̂ + β` for states x̂ that are normalised already."""
        inputs: Floats = self.gain * normalised
        if self.shift is not None:
            inputs = inputs + self.shift
        return inputs


def require_fit(norm: FinalNorm, link: Link, width: int) -> None:
    """Raise InputError unless `norm` is a FinalNorm that can precede the head."""
    if not isinstance(norm, FinalNorm):
        raise must_be("final_norm", "a FinalNorm", repr(norm))
    if not norm.fits(link, width):
        raise must_be(
            "final_norm",
            f"given with a softmax head of {norm.width} dimensions that keeps the "
            "lengths of its rows",
            f"a model with {link.name} link and {width} dimensions",
        )
