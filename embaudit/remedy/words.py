"""A remedy in plain words: what the vectors are, and what to do with them."""

from __future__ import annotations

from embaudit.core.words import counted, drawn_of
from embaudit.model import OPPOSITE, FactorModel, SideName
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy.vectors import Remedy
from embaudit.softmax.folding import Convention

_CONVENTIONS = {
    "balanced": "each direction is shared out equally between the two sides",
    "left-whitened": "the {left}s are whitened and the {right}s' cosines are prediction cosines",
    "right-whitened": "the {right}s are whitened and the {left}s' cosines are prediction cosines",
}


def explain(remedy: Remedy) -> str:
    """Describe the vectors of a remedy, and their use.

    Examples
    --------
    >>> from embaudit.remedy import fix
    >>> print(fix(FactorModel.from_user_item([[2.0]], [[1.0], [3.0]])).explain())
    item vectors of 1 dimension, whose plain cosine is the cosine of the items' scores over the one user. Every ...
    """
    titles = dict(zip(("left", "right"), remedy.model.roles, strict=True))
    sides = " and ".join(map(remedy.model.title, remedy.roles))
    size = counted(remedy.columns, "dimension")
    parts = [f"{sides} vectors of {size}, {_kind(remedy, titles)}", _reduction(remedy), _use(remedy)]
    return " ".join(text for text in parts if text)


def _kind(remedy: Remedy, roles: dict[str, str]) -> str:
    """Describe the convention of the vectors in a clause."""
    if remedy.description:
        return remedy.description
    if remedy.kind == "prediction":
        is_ = "is" if remedy.reduction is None else "comes near"
        return (
            f"whose plain cosine {is_} {_prediction_cosine(remedy.model, *remedy.roles)}. Every model that predicts "
            "the same gives the same."
        )
    if remedy.kind == "centred":
        return (
            "with a mean of 0. What a shift of all rows can do to their cosines is gone; what stretching the "
            "directions can do is not."
        )
    convention = _CONVENTIONS[remedy.kind].format(**roles)
    same = "The predictions stay the same and do not ask"
    if remedy.reduction is not None:
        same = "The predictions change by what is dropped, and do not ask"
    return (
        f"in the {remedy.kind} gauge: {convention}. {same} for this gauge, so name it where you report cosines, and "
        f"use it for every model you compare."
    )


def _prediction_cosine(model: FactorModel, role: SideName) -> str:
    """Name the cosine: of which numbers, over whom, centred how."""
    users, items = model.roles
    own, other = (items, users) if role == "right" else (users, items)
    count = len(model.factors(OPPOSITE[role]))
    numbers, sees_biases = model.link.noun, model.link.sees_biases
    over = f"all {count:,} {other}s" if count > 1 else f"the one {other}"
    sides = model.link.centred(model)
    centred = [f"each {items}'s centred over the {users}s"] if "left" in sides else []
    centred += [f"each {users}'s centred over the {items}s"] if "right" in sides else []
    how = f", {' and '.join(centred)}" if centred else ""
    if sees_biases and (model.left_bias is not None or model.right_bias is not None):
        how += ", so that no bias enters"
    elif not centred and model.offset and sees_biases:
        how = ", without the offset"
    return f"the cosine of the {own}s' {numbers} over {over}{how}"


def _reduction(remedy: Remedy) -> str:
    cost = remedy.reduction
    if cost is None:
        return ""
    pairs = drawn_of(cost.n_pairs, cost.n_all_pairs, "pair")
    return (
        f"Keeping {cost.dimensions} of {cost.rank} directions drops {cost.energy_lost:.2%} of the scores' sum of "
        f"squares. Over {pairs}, cosines move by {cost.mean_cosine_error:.3f} on average and by at most "
        f"{cost.max_cosine_error:.3f}."
    )


def _use(remedy: Remedy) -> str:
    if len(remedy.roles) > 1:
        return ""
    measure = "dot product or cosine, which are the same for them" if remedy.unit else "cosine"
    return f"Index them by {measure}."


def folded_words(form: Convention, norm: FinalNorm) -> str:
    """Describe the factors multiplied in and the vectors taken away.

    Examples
    --------
    >>> import numpy as np
    >>> norm = FinalNorm("rms", [1.0, 4.0])
    >>> print(folded_words(Convention("folded", norm.gain), norm))
    with the gains of the final RMSNorm (κ = 4) multiplied in. On states normalised without gains they predict ...
    """
    parts = ["what no state behind a LayerNorm sees"] if form.level else []
    parts += ["their mean row"] if form.centre is not None else []
    less = f", less {' and '.join(parts)}" if parts else ""
    return (
        f"with the gains of the final {norm.title} (κ = {norm.condition_number:.3g}) multiplied in{less}. On states "
        "normalised without gains they predict what the stored head predicts behind its norm. The axes stay a "
        "convention."
    )
