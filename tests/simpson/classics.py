"""Tables from the literature."""

from __future__ import annotations

import pandas as pd


def berkeley() -> pd.DataFrame:
    """Graduate admissions at Berkeley, autumn 1973, the six largest departments.

    Bickel, Hammel & O'Connell, "Sex bias in graduate admissions: data from Berkeley",
    Science 187 (1975) 398-404; counts as in Freedman, Pisani & Purves, "Statistics"
    (1978).
    """
    counts = {
        "A": (512, 313, 89, 19),
        "B": (353, 207, 17, 8),
        "C": (120, 205, 202, 391),
        "D": (138, 279, 131, 244),
        "E": (53, 138, 94, 299),
        "F": (22, 351, 24, 317),
    }
    rows = []
    for department, (men, men_refused, women, women_refused) in counts.items():
        rows.append((department, "man", 1, men))
        rows.append((department, "man", 0, men_refused))
        rows.append((department, "woman", 1, women))
        rows.append((department, "woman", 0, women_refused))
    return pd.DataFrame(rows, columns=["department", "sex", "admitted", "n"])


def kidney_stones() -> pd.DataFrame:
    """Success of open surgery and percutaneous nephrolithotomy, by size of the stone.

    Charig, Webb, Payne & Wickham, British Medical Journal 292 (1986) 879-882.
    """
    rows = [
        ("small", "open", 81, 87),
        ("large", "open", 192, 263),
        ("small", "percutaneous", 234, 270),
        ("large", "percutaneous", 55, 80),
    ]
    cells = []
    for size, treatment, n_good, n_all in rows:
        cells.append((size, treatment, 1, n_good))
        cells.append((size, treatment, 0, n_all - n_good))
    return pd.DataFrame(cells, columns=["size", "treatment", "success", "n"])
