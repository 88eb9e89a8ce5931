"""What a head is whose final norm was folded in, in words."""

from __future__ import annotations

from embaudit.model.final_norm import FinalNorm
from embaudit.softmax.folding import Convention


def folded_words(form: Convention, norm: FinalNorm) -> str:
    """Say what was multiplied in and what was taken away.

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
