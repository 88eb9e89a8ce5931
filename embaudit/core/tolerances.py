"""Tolerances of all rooms, each with the reason for its value.

A tolerance decides from which difference on two computed numbers count as different.
"""

import numpy as np

EPS = float(np.finfo(np.float64).eps)
"""Spacing of float64 at 1, so one operation changes a number by half of it at most."""

TIE = 1e-9
"""Largest difference of equal numbers, relative to their size or to 1.

Rounding moves a computed cosine by about 1e-15 to 1e-12, depending on the number of
columns and on the condition number of a gauge. The numerical contract of the package is
1e-9, so a smaller difference says nothing.
"""
