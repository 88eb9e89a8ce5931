"""Are two low-rank adapters alike? Their updates decide, and not their factors.

The update of a module is `D = s B A`. The similarity of two adapters is the cosine of
their updates, `tr(D₁ᵀ D₂) / (‖D₁‖ ‖D₂‖)`, with sums over all modules above and below. A
module that only one adapter changes has the update zero in the other one, so it counts
in the lengths below. The cosine of the stored factors says nothing: a rotation of the r
dimensions of one adapter changes it and keeps the update.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.core.checked import named_keywords
from embaudit.core.plain import frame_of, plain_dict
from embaudit.core.progress import track
from embaudit.core.results import Result
from embaudit.core.ties import exceeds, largest_first, reaches
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted, in_decimals, listed, percent, snapped
from embaudit.errors import must_be
from embaudit.io.adapters import Adapter, AdapterPair, AdapterSource, adapter_of
from embaudit.networks.low_rank import Update

if TYPE_CHECKING:
    import pandas as pd

ALIKE = math.sqrt(0.5)
"""Cosine of two updates from which they are alike.

The nearest multiple of one update then leaves at most half of the squared length of the
other one.
"""
MOST_MODULES = 0.5
"""Share of the changed modules whose updates must be alike if the adapters are."""
DEVIATIONS = 5.0
"""Standard deviations by chance that the cosine of related updates must exceed."""
MOST_ROUNDING = 0.05
"""Largest relative distance that counts as rounding, however the factors are stored."""
NAMED = 3
"""Number of modules that a sentence names."""


class Likeness(StrEnum):
    """How alike two adapters are."""

    SAME_FACTORS = "the same factors"
    """The factors are equal up to their rounding."""
    SAME_UPDATE = "the same update in other factors"
    """The updates of all modules are equal up to the rounding of the factors."""
    ALIKE = "alike"
    """The updates have a cosine of at least 0.71, together and in most modules, and
    more than by chance."""
    OPPOSITE = "opposite"
    """The updates have a cosine of at most -0.71, together and in most modules, and
    more than by chance: one adapter undoes the other."""
    RELATED = "related, but not alike"
    """The cosine is beyond chance, and below 0.71 together or in most modules."""
    UNRELATED = "unrelated"
    """True if unrelated updates have such a cosine by chance."""
    UNDECIDED = "undecided"
    """The product of the factors is not what training changed, or is zero, or the
    configurations name different base models."""


@dataclass(frozen=True, eq=False)
class ModuleSimilarity:
    """The updates of one module by two adapters."""

    name: str
    shape: tuple[int, int]
    """Numbers of outputs and of inputs."""
    ranks: tuple[int, int]
    """Numbers r of dimensions of both pairs."""
    norms: tuple[float, float]
    """Frobenius norms of both updates."""
    product: float
    """Inner product of both updates."""
    deviation: float
    """Standard deviation of the inner product by chance."""
    distance: float
    """Frobenius norm of the difference of both updates."""
    tolerance: float
    """Largest distance that rounding of the factors can explain, as a share of the
    larger norm."""
    output_overlap: float
    """Mean squared cosine of the principal angles between the column spaces of both
    updates; NaN if one is zero."""
    input_overlap: float
    """The same for the row spaces."""
    overlaps_by_chance: tuple[float, float]
    """Mean of both overlaps for random spaces."""
    factor_product: float
    """Inner product of the stored factors; NaN if they have different ranks."""
    factor_norms: tuple[float, float]
    """Frobenius norms of the stored factors, of B and A together."""
    most_by_rotation: float
    """Largest inner product of the stored factors after a rotation of one pair; NaN if
    they have different ranks."""
    has_same_factors: bool
    """True if the stored factors are equal up to their rounding."""

    @property
    def cosine(self) -> float:
        """Cosine of both updates; NaN if one is zero."""
        return _quotient(self.product, self.norms[0] * self.norms[1])

    @property
    def deviation_of_cosine(self) -> float:
        """Standard deviation of the cosine by chance."""
        return _quotient(self.deviation, self.norms[0] * self.norms[1])

    @property
    def is_same(self) -> bool:
        """True if rounding of the factors can explain the distance of both updates."""
        if not max(self.norms) > 0:
            return True
        return reaches(self.tolerance, self.distance / max(self.norms))

    @property
    def is_beyond_chance(self) -> bool:
        """True if the cosine exceeds five standard deviations by chance."""
        return exceeds(abs(self.cosine), DEVIATIONS * self.deviation_of_cosine)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "module": self.name,
                "outputs": self.shape[0],
                "inputs": self.shape[1],
                "first_rank": self.ranks[0],
                "second_rank": self.ranks[1],
                "first_norm": self.norms[0],
                "second_norm": self.norms[1],
                "cosine": self.cosine,
                "cosine_deviation_by_chance": self.deviation_of_cosine,
                "distance": self.distance,
                "is_same": self.is_same,
                "output_overlap": self.output_overlap,
                "output_overlap_by_chance": self.overlaps_by_chance[0],
                "input_overlap": self.input_overlap,
                "input_overlap_by_chance": self.overlaps_by_chance[1],
                "factor_cosine": _quotient(
                    self.factor_product, self.factor_norms[0] * self.factor_norms[1]
                ),
            }
        )


@dataclass(frozen=True, eq=False)
class LoraComparison(Result):
    """How alike the updates of two low-rank adapters are.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> b, a = draw.normal(size=(30, 2)), draw.normal(size=(2, 20))
    >>> turn = np.array([[0.0, -2.0], [1.0, 1.0]])
    >>> found = compare_lora((b, a), (b @ turn, np.linalg.solve(turn, a)))
    >>> found.likeness.value, round(found.cosine, 12)
    ('the same update in other factors', 1.0)
    """

    modules: tuple[ModuleSimilarity, ...] = field(repr=False)
    """The modules that both adapters change, the least alike first."""
    first_only: Mapping[str, float] = field(repr=False)
    """Norms of the updates of modules that only the first adapter changes."""
    second_only: Mapping[str, float] = field(repr=False)
    """The same for the second adapter."""
    adapters: tuple[Adapter, Adapter] = field(repr=False)
    """Both adapters."""
    same_base: bool = False
    """True if the caller says that both adapters change the same base model."""

    @property
    def norms(self) -> tuple[float, float]:
        """Frobenius norms of both adapters, over all of their modules."""
        first = [module.norms[0] for module in self.modules]
        second = [module.norms[1] for module in self.modules]
        return (
            math.hypot(*first, *self.first_only.values()),
            math.hypot(*second, *self.second_only.values()),
        )

    @property
    def cosine(self) -> float:
        """Cosine of all updates together; NaN if all updates of an adapter are zero."""
        product = math.fsum(module.product for module in self.modules)
        return _quotient(product, self.norms[0] * self.norms[1])

    @property
    def deviation(self) -> float:
        """Standard deviation of the cosine by chance, if modules are independent."""
        deviation = math.hypot(*(module.deviation for module in self.modules))
        return _quotient(deviation, self.norms[0] * self.norms[1])

    @property
    def distance(self) -> float:
        """Frobenius norm of the difference, as a share of the larger norm."""
        distances = [module.distance for module in self.modules]
        others = [*self.first_only.values(), *self.second_only.values()]
        return _quotient(math.hypot(*distances, *others), max(self.norms))

    @property
    def factor_cosine(self) -> float:
        """Cosine of all stored factors of the common modules; NaN if ranks differ."""
        return self._of_factors("factor_product")

    @property
    def most_by_rotation(self) -> float:
        """Largest cosine of the stored factors after rotations of one adapter.

        The smallest is minus this number. Rotations change no update.
        """
        return self._of_factors("most_by_rotation")

    def _of_factors(self, name: str) -> float:
        """Divide a sum of inner products of stored factors by the norms of both."""
        norms = [
            math.hypot(*(module.factor_norms[place] for module in self.modules))
            for place in (0, 1)
        ]
        total = math.fsum(getattr(module, name) for module in self.modules)
        return _quotient(total, norms[0] * norms[1])

    @property
    def starts(self) -> tuple[str, ...]:
        """Initialisations with which the product does not start at zero."""
        return tuple(filter(None, (adapter.start for adapter in self.adapters)))

    @property
    def other_bases(self) -> tuple[str, str] | None:
        """The base models that the configurations name, if they differ.

        None if the caller says that they are the same model, or if a name is missing.
        """
        first, second = (adapter.base for adapter in self.adapters)
        if self.same_base or not first or not second or first == second:
            return None
        return first, second

    @property
    def likeness(self) -> Likeness:
        """Decide whether the adapters are alike."""
        cosine = self.cosine
        if self.starts or math.isnan(cosine):
            return Likeness.UNDECIDED
        has_all = not self.first_only and not self.second_only
        if has_all and all(module.is_same for module in self.modules):
            if all(module.has_same_factors for module in self.modules):
                return Likeness.SAME_FACTORS
            return Likeness.SAME_UPDATE
        if self.other_bases is not None:
            return Likeness.UNDECIDED
        if not exceeds(abs(cosine), DEVIATIONS * self.deviation):
            return Likeness.UNRELATED
        if reaches(cosine, ALIKE) and self._share_of_modules(1) > MOST_MODULES:
            return Likeness.ALIKE
        if reaches(-cosine, ALIKE) and self._share_of_modules(-1) > MOST_MODULES:
            return Likeness.OPPOSITE
        return Likeness.RELATED

    def _share_of_modules(self, sign: int) -> float:
        """Return the share of all changed modules with a cosine of at least 0.71.

        The lengths of updates of different modules cannot be compared well: one long
        update, for example of an embedding, can hide that all others are unrelated.
        """
        changed = [module for module in self.modules if max(module.norms) > 0]
        n_alike = sum(reaches(sign * module.cosine, ALIKE) for module in changed)
        others = [*self.first_only.values(), *self.second_only.values()]
        return n_alike / (len(changed) + sum(norm > 0 for norm in others))

    # Sentences

    @property
    def conclusion(self) -> str:
        """The answer, with its figures."""
        cosine = in_decimals(self.cosine, 3)
        chance = f"{self.deviation:.2g} (one standard deviation)"
        likeness = self.likeness
        if likeness is Likeness.UNDECIDED:
            return self._undecided
        if likeness is Likeness.SAME_FACTORS:
            return f"The adapters have the same factors, up to rounding{self._scale}."
        if likeness is Likeness.SAME_UPDATE:
            distance = f"by {self.distance:.1e}"
            if self.distance < TIE:
                distance = f"by less than {TIE:.0e}"
            return (
                f"The adapters are the same update in other factors{self._scale}. "
                f"Their updates differ {distance} of their length, which rounding of "
                "the factors can explain."
            )
        by_chance = (
            f"The cosine of their updates is {cosine}, and by chance 0 ± {chance}."
        )
        if likeness is Likeness.UNRELATED:
            return (
                f"The adapters are unrelated: {_lower(by_chance)} So they are no more "
                "alike than random updates."
            )
        explained = percent(self.cosine**2)
        if likeness is Likeness.RELATED:
            return (
                f"The adapters are related, but not alike. {by_chance} A multiple of "
                f"one update explains {explained} of the squared length of the other."
            )
        word = "alike" if likeness is Likeness.ALIKE else "opposite"
        return (
            f"The adapters are {word}. {by_chance} A multiple of one update explains "
            f"{explained} of the squared length of the other."
        )

    @property
    def _scale(self) -> str:
        """Write the condition that both scales are equal; empty if files state them."""
        if all(adapter.scale_is_known for adapter in self.adapters):
            return ""
        return ", if both have the same lora_alpha"

    @property
    def _undecided(self) -> str:
        """Say why the updates cannot be compared."""
        if self.starts:
            return (
                "It is not decided whether the adapters are alike. Training began with "
                f"factors whose product is part of the weights (init_lora_weights: "
                f"{', '.join(self.starts)}), so the product is not what training "
                "changed. Convert both to ordinary adapters: save_pretrained of PEFT "
                "does it with path_initial_model_for_weight_conversion."
            )
        if not math.isnan(self.cosine) and self.other_bases is not None:
            first, second = self.other_bases
            return (
                "It is not decided whether the adapters are alike. Their "
                f"configurations name the base models {first} and {second}, and "
                "updates of different weights have nothing in common, even with a high "
                "cosine. If both are names of one model, add `--same-base`."
            )
        return (
            "It is not decided whether the adapters are alike: all updates of one of "
            "them are zero, as before training."
        )

    @property
    def details(self) -> list[str]:
        """Sentences with further figures."""
        texts = [self._on_factors, self._on_modules, self._on_spaces, self._on_norms]
        texts += self.notes
        return [text for text in texts if text]

    @property
    def _on_factors(self) -> str:
        """Say whether the cosine of the stored factors means anything."""
        if self.likeness is Likeness.SAME_FACTORS:
            return ""
        if math.isnan(self.factor_cosine):
            return (
                "The stored factors have no common cosine, because their numbers of "
                "dimensions r differ. Updates can be compared all the same."
            )
        most = self.most_by_rotation
        return (
            "The stored factors have a cosine of "
            f"{in_decimals(self.factor_cosine, 3)}, which says "
            "nothing: rotations of the r dimensions of one adapter change no update "
            f"and move this cosine from {-most:.2f} to {most:.2f}."
        )

    @property
    def _on_modules(self) -> str:
        """Say in how many modules the updates are alike."""
        n_alike = sum(reaches(module.cosine, ALIKE) for module in self.modules)
        n_beyond = sum(module.is_beyond_chance for module in self.modules)
        modules = counted(len(self.modules), "common module")
        return (
            f"Of {modules}, {n_beyond:,} have a cosine beyond chance, and {n_alike:,} "
            f"a cosine of at least {ALIKE:.2f}."
        )

    @property
    def _on_spaces(self) -> str:
        """Compare the spaces that the updates write to and read from, with chance."""
        shares = {
            name: self._mean_overlap(name)
            for name in ("output_overlap", "input_overlap")
        }
        is_same = self.likeness in (Likeness.SAME_FACTORS, Likeness.SAME_UPDATE)
        if is_same or any(math.isnan(share) for share in shares.values()):
            return ""
        # Rounding must not turn an overlap of 100 % into 99.9 %.
        outputs, inputs = (percent(snapped(share)) for share in shares.values())
        by_chance = [percent(share) for share in self._mean_overlaps_by_chance()]
        return (
            f"The updates write into outputs that overlap by {outputs} (by chance "
            f"{by_chance[0]}), and read inputs that overlap by {inputs} (by chance "
            f"{by_chance[1]}). Adapters that began with the same random A read the "
            "same inputs."
        )

    def _mean_overlap(self, name: str) -> float:
        """Return the mean of an overlap over the common modules."""
        overlaps = [getattr(module, name) for module in self.modules]
        known = [overlap for overlap in overlaps if not math.isnan(overlap)]
        if not known:
            return math.nan
        return float(np.mean(known))

    def _mean_overlaps_by_chance(self) -> tuple[float, float]:
        """Return the mean overlaps by chance, of outputs and of inputs."""
        known = [
            module.overlaps_by_chance
            for module in self.modules
            if not math.isnan(module.output_overlap)
        ]
        outputs, inputs = np.mean(known, axis=0)
        return float(outputs), float(inputs)

    @property
    def _on_norms(self) -> str:
        """State the lengths of both updates."""
        first, second = self.norms
        return f"The updates have lengths of {first:.3g} and {second:.3g}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on modules, arrays and settings that the cosine leaves out."""
        texts = []
        for place, names in (("first", self.first_only), ("second", self.second_only)):
            if names:
                texts.append(
                    f"Only the {place} adapter changes {listed(list(names), NAMED)}: "
                    "these modules count as an update of zero in the other one."
                )
        left_over = [name for one in self.adapters for name in one.left_over]
        if left_over:
            texts.append(
                f"The updates alone are compared. The files hold "
                f"{counted(len(left_over), 'other array')}, such as "
                f"{listed(left_over, NAMED)}, which can change the network, too."
            )
        if not all(adapter.scale_is_known for adapter in self.adapters):
            texts.append(
                "No adapter_config.json states lora_alpha for both adapters, so a "
                "scale of 1 was taken. Cosines of single modules do not depend on it."
            )
        # An undecided comparison names the base models in its conclusion.
        is_decided = self.likeness is not Likeness.UNDECIDED
        if self.other_bases is not None and is_decided:
            first, second = self.other_bases
            texts.append(
                f"The configurations name the base models {first} and {second}. "
                "If their weights differ, the updates have nothing in common, even "
                "with a high cosine."
            )
        return tuple(texts)

    def explain(self) -> str:
        """Say whether the adapters are alike, and by which figures."""
        return "\n".join([self.conclusion, *self.details])

    def __repr__(self) -> str:
        modules = counted(len(self.modules), "common module")
        return f"LoraComparison({self.likeness.value}, {modules})"

    def records(self) -> list[dict[str, Any]]:
        """Return one record per common module, the least alike first.

        Columns
        -------
        module : str
            Name of the module.
        outputs, inputs : int
            Shape of the update.
        first_rank, second_rank : int
            Numbers of dimensions r of the factors.
        first_norm, second_norm : float
            Frobenius norms of the updates.
        cosine : float
            Cosine of the updates.
        cosine_deviation_by_chance : float
            Standard deviation of this cosine by chance.
        distance : float
            Frobenius norm of the difference of the updates.
        is_same : bool
            True if rounding of the factors can explain the distance.
        output_overlap, input_overlap : float
            Mean squared cosine of the principal angles between the spaces of outputs,
            and of inputs; `…_by_chance` is their mean for random spaces.
        factor_cosine : float
            Cosine of the stored factors, which a gauge changes.
        """
        return [module.to_dict() for module in self.modules]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per common module; see `records`."""
        return frame_of(self.records())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        first, second = self.norms
        return plain_dict(
            {
                "likeness": self.likeness.value,
                "cosine": self.cosine,
                "cosine_deviation_by_chance": self.deviation,
                "distance": self.distance,
                "first_norm": first,
                "second_norm": second,
                "factor_cosine": self.factor_cosine,
                "factor_cosine_most_by_rotation": self.most_by_rotation,
                "modules": self.records(),
                "first_only": list(self.first_only),
                "second_only": list(self.second_only),
                "explanation": self.explain(),
            }
        )


def _quotient(value: float, divisor: float) -> float:
    """Divide; NaN if the divisor is 0."""
    if divisor > 0:
        return value / divisor
    return math.nan


def _lower(sentence: str) -> str:
    """Write a sentence as it follows a colon."""
    return sentence[0].lower() + sentence[1:]


@named_keywords
def compare_lora(
    first: AdapterSource, second: AdapterSource, *, same_base: bool = False
) -> LoraComparison:
    """Say whether two low-rank adapters (LoRA) are alike, by their updates.

    The cosine of the updates is compared with chance: the standard deviation of the
    cosine if the outputs, or the inputs, of one update are turned by a random rotation
    (see `Update.deviation_by_chance`). All numbers but those of the stored factors
    depend on the updates alone, and are computed from r × r matrices.

    Parameters
    ----------
    first, second : path, Adapter or pair of arrays
        A file or folder as PEFT writes it, or the factors (B, A) of one module, with B
        of shape (out, r) and A of shape (r, in). Ranks can differ.
    same_base : bool
        True if both adapters change the same base model, although their configurations
        name it differently. Otherwise adapters whose configurations name different base
        models are undecided, unless their updates are equal.

    Returns
    -------
    LoraComparison
        The cosine of the updates with its spread by chance, and the likeness it means.

    Raises
    ------
    InputError
        If an adapter cannot be read, the adapters have no module in common, or a module
        has another shape in the other adapter.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> draw = np.random.default_rng(0)
    >>> b, a = draw.normal(size=(30, 2)), draw.normal(size=(2, 20))
    >>> found = ea.compare_lora((b, a), (2 * b, a / 2))
    >>> round(found.cosine, 9), found.likeness.value
    (1.0, 'the same update in other factors')
    """
    adapters = adapter_of(first), adapter_of(second)
    one, other = (adapter.pairs for adapter in adapters)
    common = [name for name in one if name in other]
    if not common:
        raise must_be(
            "the adapters",
            "adapters of one base model, with modules in common",
            f"{listed(list(one), NAMED)} and {listed(list(other), NAMED)}",
            "save both adapters with the same tool, so that modules have the same "
            "names",
        )
    found = [
        _similarity(one[name], other[name])
        for name in track(common, "comparing modules", len(common))
    ]
    cosines = [module.cosine for module in found]
    # The least alike first. Modules without a cosine come last.
    order = largest_first([-cosine for cosine in cosines])
    return LoraComparison(
        modules=tuple(found[place] for place in order),
        first_only=_norms_of_others(one, other),
        second_only=_norms_of_others(other, one),
        adapters=adapters,
        same_base=same_base,
    )


def _norms_of_others(
    pairs: Mapping[str, AdapterPair], common: Mapping[str, AdapterPair]
) -> dict[str, float]:
    """Return the norms of the updates of modules that the other adapter lacks."""
    return {
        name: Update.from_pair(pair).norm
        for name, pair in pairs.items()
        if name not in common
    }


def _similarity(first: AdapterPair, second: AdapterPair) -> ModuleSimilarity:
    """Compare the updates of one module."""
    if first.shape != second.shape:
        raise must_be(
            f"the update of module {first.name}",
            "of one shape in both adapters, as for one base model",
            f"{first.shape} and {second.shape}",
        )
    one, other = Update.from_pair(first), Update.from_pair(second)
    norms = one.norm, other.norm
    product = math.nan
    most = math.nan
    factors = [_factors_of(pair) for pair in (first, second)]
    if first.rank == second.rank:
        product = float(np.sum(factors[0] * factors[1]))
        # The sum of the singular values is the largest trace after a rotation.
        products = factors[0].T @ factors[1]
        most = float(np.linalg.norm(products, "nuc"))
    factor_norms = [float(np.linalg.norm(matrix)) for matrix in factors]
    return ModuleSimilarity(
        name=first.name,
        shape=first.shape,
        ranks=(first.rank, second.rank),
        norms=norms,
        product=one.product(other),
        deviation=one.deviation_by_chance(other),
        distance=one.distance(other),
        tolerance=_tolerance(first, second, max(norms)),
        output_overlap=one.output_overlap(other),
        input_overlap=one.input_overlap(other),
        overlaps_by_chance=one.overlaps_by_chance(other),
        factor_product=product,
        factor_norms=(factor_norms[0], factor_norms[1]),
        most_by_rotation=most,
        has_same_factors=_are_same_factors(first, second),
    )


def _are_same_factors(first: AdapterPair, second: AdapterPair) -> bool:
    """Return True if B, A and the scale of two pairs are equal up to rounding.

    B and A are compared one by one, because B can be much shorter than A, so that a
    rounding of A is longer than any change of B.
    """
    if first.rank != second.rank:
        return False
    spacing = max(first.spacing, second.spacing)
    if abs(first.scale - second.scale) > spacing * abs(first.scale):
        return False
    for matrix, other in ((first.b, second.b), (first.a, second.a)):
        stored = matrix.astype(np.float64)
        compared = other.astype(np.float64)
        length = max(np.linalg.norm(stored), np.linalg.norm(compared))
        if np.linalg.norm(stored - compared) > spacing * length:
            return False
    return True


def _tolerance(first: AdapterPair, second: AdapterPair, norm: float) -> float:
    """Bound the relative distance of equal updates whose factors were rounded.

    Rounding moves a matrix by at most half a spacing of its norm. So the product of two
    rounded matrices moves by at most `spacing · ‖B‖ ‖A‖`, up to a product of spacings.
    """
    if not norm > 0:
        return 0.0
    bounds = [
        pair.spacing
        * abs(pair.scale)
        * float(np.linalg.norm(pair.b.astype(np.float64)))
        * float(np.linalg.norm(pair.a.astype(np.float64)))
        for pair in (first, second)
    ]
    return min(sum(bounds) / norm, MOST_ROUNDING)


def _factors_of(pair: AdapterPair) -> Any:
    """Return the rows of B above the columns of A, (out + in, r), in float64."""
    return np.vstack([pair.b, pair.a.T]).astype(np.float64)
