"""The audit of a low-rank adapter (LoRA): does training fix cosines of its factors?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from embaudit.auditing.finding import Finding
from embaudit.auditing.findings import adapter_factors
from embaudit.core.checked import RNG, as_count, named_keywords
from embaudit.core.plain import frame_of, plain_dict
from embaudit.core.results import Result
from embaudit.core.ties import largest_first
from embaudit.core.words import counted, listed, percent
from embaudit.errors import must_be
from embaudit.io.adapters import Adapter, AdapterSource, adapter_of
from embaudit.networks.lora import (
    CONDITION,
    N_LISTS,
    ModuleMeasure,
    mean_share,
    measure_modules,
)

if TYPE_CHECKING:
    import pandas as pd

NAMED = 3
"""Number of arrays or modules that a sentence names."""


@dataclass(frozen=True, eq=False)
class LoraAudit(Result):
    """Audit of the updates of a low-rank adapter and of the cosines of its factors.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> audited = audit_lora(draw.normal(size=(200, 4)), draw.normal(size=(4, 100)))
    >>> [finding.code for finding in audited.findings]
    ['EMB601']
    >>> audited.modules[0].shape, audited.kept_by_pair < 0.6
    ((200, 100), True)
    """

    modules: tuple[ModuleMeasure, ...] = field(repr=False)
    """The modules, sorted so that another pair changes the neighbours of the first one
    most.
    """
    findings: tuple[Finding, ...]
    """EMB601 if the factors have it; otherwise empty."""
    adapter: Adapter = field(repr=False)
    """The adapter."""

    @property
    def norm(self) -> float:
        """Frobenius norm of all updates together."""
        return math.hypot(*(module.norm for module in self.modules))

    @property
    def kept_by_pair(self) -> float:
        """Share of the neighbours of rows of B and columns of A that other pairs keep.

        It is a mean over all lists; NaN if no module has lists.
        """
        return self._mean_share("kept_by_pair")

    @property
    def kept_by_update(self) -> float:
        """Share of these neighbours that are neighbours in the update, too."""
        return self._mean_share("kept_by_update")

    def _mean_share(self, name: str) -> float:
        """Return the mean of a share over the lists of all modules."""
        sides = [side for module in self.modules for side in module.sides]
        return mean_share(sides, name)

    @property
    def zero_modules(self) -> tuple[str, ...]:
        """Modules with an update of zero, as before training."""
        return tuple(module.name for module in self.modules if not module.norm > 0)

    @property
    def conclusion(self) -> str:
        """The answer, with its figures."""
        if self.findings:
            return (
                "No: cosines of rows of B, or of columns of A, say nothing. "
                f"{self.findings[0].text}"
            )
        if len(self.zero_modules) == len(self.modules):
            return "The updates of all modules are zero, so the adapter does nothing."
        if all(module.rank == 1 for module in self.modules):
            return (
                "The factors have one dimension, so all cosines of their rows are 1 or "
                "-1 in every pair of factors with the same update."
            )
        if math.isnan(self.kept_by_pair):
            return (
                "It is not decided whether cosines of the factors say anything: the "
                "modules have too few rows for lists of neighbours, or the factors are "
                "so large that their product is rounding."
            )
        return (
            "It is not shown that cosines of the factors say nothing: another pair of "
            f"factors with the same update keeps {percent(self.kept_by_pair)} of the "
            "nearest rows of B and columns of A."
        )

    @property
    def details(self) -> list[str]:
        """Sentences with further figures."""
        return [text for text in (self._on_updates, *self.notes) if text]

    @property
    def _on_updates(self) -> str:
        """Describe the updates, which no pair of factors changes."""
        trained = [module for module in self.modules if module.norm > 0]
        if not trained:
            return ""
        ranks = sorted({module.rank for module in trained})
        effective = np.median([module.effective_rank for module in trained])
        dimensions = f"{ranks[0]}"
        if len(ranks) > 1:
            dimensions = f"{ranks[0]} to {ranks[-1]}"
        return (
            f"What the network computes depends on the updates alone: "
            f"{counted(len(trained), 'update')} of rank {dimensions}, of length "
            f"{self.norm:.3g} together. Their median effective rank is "
            f"{effective:.1f}. For rows of the update whose cosines no pair changes: "
            "ea.identified_factors(ea.FactorModel.from_user_item(B, A.T), 'left')."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on zero updates, other arrays, the scale and the initialisation."""
        adapter = self.adapter
        texts = []
        zeros = self.zero_modules
        if zeros and len(zeros) < len(self.modules):
            texts.append(f"The update is zero in {listed(zeros, NAMED)}.")
        if adapter.left_over:
            texts.append(
                f"The file holds {counted(len(adapter.left_over), 'other array')}, "
                f"such as {listed(adapter.left_over, NAMED)}, which can change the "
                "network, too."
            )
        if not adapter.scale_is_known:
            texts.append(
                "No adapter_config.json states lora_alpha, so a scale of 1 was taken. "
                "Lengths depend on it, and cosines do not."
            )
        if adapter.start:
            texts.append(
                "Training began with factors whose product is part of the weights "
                f"(init_lora_weights: {adapter.start}), so the product of the factors "
                "is not what training changed."
            )
        return tuple(texts)

    def explain(self) -> str:
        """Say if cosines of the factors are fixed, and which cosines updates fix."""
        return "\n".join([self.conclusion, *self.details])

    def __repr__(self) -> str:
        codes = ", ".join(finding.code for finding in self.findings) or "no finding"
        return f"LoraAudit({counted(len(self.modules), 'module')}, {codes})"

    def records(self) -> list[dict[str, Any]]:
        """Return one record per module, the most changed one first.

        Columns
        -------
        module : str
            Name of the module.
        outputs, inputs : int
            Shape of the update.
        rank : int
            Number r of dimensions of the factors.
        scale : float
            Factor of the product.
        norm : float
            Frobenius norm of the update.
        effective_rank : float
            `(Σ σ²)² / Σ σ⁴` of the singular values of the update.
        difference : float
            Relative distance between the updates of both pairs, which rounding causes.
        output_n_lists, input_n_lists : int
            Number of rows of B, and of columns of A, with compared neighbours.
        output_kept_by_pair, input_kept_by_pair : float
            Share of the neighbours that the other pair keeps.
        output_kept_by_update, input_kept_by_update : float
            Share of the neighbours that are neighbours in the update, too.
        output_kept_by_chance, input_kept_by_chance : float
            Share that random lists keep.
        output_mean_change, input_mean_change : float
            Mean ``|Δcos|`` from the stored pair to the other one.
        """
        return [plain_dict(module.to_dict()) for module in self.modules]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per module; see `records`."""
        return frame_of(self.records())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "source": self.adapter.source,
                "norm": self.norm,
                "kept_by_pair": self.kept_by_pair,
                "kept_by_update": self.kept_by_update,
                "findings": self.findings,
                "modules": self.records(),
                "left_over": self.adapter.left_over,
                "scale_is_known": self.adapter.scale_is_known,
                "explanation": self.explain(),
            }
        )


@named_keywords
def audit_lora(
    source: AdapterSource | ArrayLike,
    a: ArrayLike | None = None,
    *,
    scale: float | None = None,
    n_neighbours: int | None = None,
    max_condition: float = CONDITION,
    n_lists: int = N_LISTS,
    rng: RNG = 0,
) -> LoraAudit:
    """Audit a low-rank adapter (LoRA): does training fix cosines of its factors?

    For each module, another pair of factors with the same update is drawn. The nearest
    rows of B and columns of A of the stored pair are compared with the nearest ones of
    the drawn pair, and with the nearest rows and columns of the update.

    Parameters
    ----------
    source : path, Adapter, or array of shape (out, r)
        A file or folder as PEFT writes it, or the factor B of one module.
    a : array of shape (r, in), optional
        The factor A, if `source` is B.
    scale : float, optional
        Factor of `B A`, 1 by default. A file states its own.
    n_neighbours : int, optional
        Length of the neighbour lists; by default 10, or a third of the rows.
    max_condition : float
        Condition number of the gauges that make other pairs.
    n_lists : int
        Largest number of rows per side of a module for which neighbours are compared.
    rng : numpy Generator or int
        Draws gauges, pairs and rows.

    Returns
    -------
    LoraAudit
        One record per module, the findings, and the norm of all updates.

    Raises
    ------
    InputError
        If the adapter cannot be read, or the factors do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> draw = np.random.default_rng(0)
    >>> b, a = draw.normal(size=(200, 4)), draw.normal(size=(4, 100))
    >>> found = ea.audit_lora(b, a)
    >>> found.modules[0].shape, found.kept_by_pair < 0.6
    ((200, 100), True)
    """
    given: Any = source
    if a is not None:
        given = (source, a)
    elif hasattr(source, "shape"):
        raise must_be(
            "a", "the factor A, because the first argument is the factor B", "None"
        )
    if n_neighbours is not None:
        as_count(n_neighbours, "n_neighbours")
    as_count(n_lists, "n_lists")
    adapter = adapter_of(given, scale=scale)
    found = list(
        measure_modules(
            adapter,
            n_neighbours=n_neighbours,
            max_condition=max_condition,
            n_lists=n_lists,
            rng=rng,
        )
    )
    order = largest_first([-module.kept_by_pair for module in found])
    modules = tuple(found[place] for place in order)
    return LoraAudit(modules, tuple(adapter_factors.check(modules)), adapter)
