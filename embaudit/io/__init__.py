"""Reading and writing: models in many formats, interactions, labels and titles; nothing is ever unpickled."""

import lazy_loader

# `__init__.pyi` lists the public names. Each is imported when it is first used, because
# the help of the command line reads `embaudit.io.options` and nothing else.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
