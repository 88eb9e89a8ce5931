from . import gauges as gauges
from ._version import __version__ as __version__
from .equivalence import Equivalence as Equivalence
from .gauges import Gauge as Gauge
from .model import FactorModel as FactorModel
from .model import Link as Link
