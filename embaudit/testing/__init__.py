"""Tools for other people's tests: strategies for models and gauges, the laws of gauge groups, an adversary.

Strategies and laws need hypothesis, which embaudit itself does not install; the adversary does not.
"""

import lazy_loader as lazy

# Names and their homes are listed in __init__.pyi; each is imported when first used.
__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
