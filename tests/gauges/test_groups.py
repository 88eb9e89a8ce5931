"""Every gauge group keeps the laws; a group that lies about itself is caught."""

from __future__ import annotations

from hypothesis import strategies as st

from embaudit.gauges import Diagonal, GeneralLinear, Orthogonal, Translation
from embaudit.testing import GaugeGroupContract, ranks

CONDITIONS = st.none() | st.sampled_from([1.0, 1.01, 2.0, 10.0])
SHIFTS = st.none() | st.sampled_from([0.5, 3.0])


class TestDiagonal(GaugeGroupContract):
    groups = st.builds(Diagonal, ranks(), max_condition=CONDITIONS)


class TestGeneralLinear(GaugeGroupContract):
    groups = st.builds(GeneralLinear, ranks(), max_condition=CONDITIONS)


class TestOrthogonal(GaugeGroupContract):
    groups = st.builds(Orthogonal, ranks())


class TestTranslation(GaugeGroupContract):
    groups = st.builds(Translation, ranks(), side=st.sampled_from(["left", "right"]), max_shift=SHIFTS)
