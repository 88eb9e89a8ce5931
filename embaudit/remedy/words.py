"""A remedy in plain words: what the vectors are, and what to do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embaudit.remedy.vectors import Remedy

_CONVENTIONS = {
    "balanced": "each direction is shared out equally between the two sides",
    "left-whitened": "the {left}s are whitened and the {right}s' cosines are prediction cosines",
    "right-whitened": "the {right}s are whitened and the {left}s' cosines are prediction cosines",
}


def explain(remedy: Remedy) -> str:
    """Say what the vectors of a remedy are, and what to do with them.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.remedy import fix
    >>> print(fix(FactorModel.from_user_item([[2.0]], [[1.0], [3.0]])).explain())
    item vectors of 1 dimension, whose plain cosine is the cosine of the items' scores over all 1 users. Every ...
    """
    roles = dict(zip(("left", "right"), remedy.model.roles, strict=True))
    sides = " and ".join(roles[role] for role in remedy.roles)
    size = f"{remedy.columns} dimension{'' if remedy.columns == 1 else 's'}"
    parts = [f"{sides} vectors of {size}, {_kind(remedy, roles)}", _reduction(remedy), _use(remedy)]
    return " ".join(part for part in parts if part)


def _kind(remedy: Remedy, roles: dict[str, str]) -> str:
    if remedy.kind == "prediction":
        role = remedy.roles[0]
        other = "left" if role == "right" else "right"
        count = len(remedy.model.factors(other))  # type: ignore[arg-type]
        return (
            f"whose plain cosine is the cosine of the {roles[role]}s' scores over all {count:,} {roles[other]}s. "
            f"Every model that predicts the same gives the same."
        )
    if remedy.kind == "centred":
        return (
            "with a mean of 0. What a shift of all rows can do to their cosines is gone; what stretching the "
            "directions can do is not."
        )
    convention = _CONVENTIONS[remedy.kind].format(**roles)
    return (
        f"in the {remedy.kind} gauge: {convention}. The predictions stay the same and do not ask for this gauge, so "
        f"name it where you report cosines, and use it for every model you compare."
    )


def _reduction(remedy: Remedy) -> str:
    cost = remedy.reduction
    if cost is None:
        return ""
    return (
        f"Keeping {cost.dimensions} of {cost.rank} directions drops {cost.energy_lost:.2%} of the scores' sum of "
        f"squares; over sampled pairs, cosines move by {cost.mean_cosine_error:.3f} on average and by at most "
        f"{cost.max_cosine_error:.3f}."
    )


def _use(remedy: Remedy) -> str:
    if len(remedy.roles) > 1:
        return ""
    measure = "dot product or cosine, which are the same for them" if remedy.unit else "cosine"
    return f"Index them by {measure}."
