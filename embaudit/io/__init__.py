"""Reading and writing of models, interactions and titles; nothing is unpickled."""

import lazy_loader

# `__init__.pyi` lists the public names. Each is imported when it is first used, because
# the help of the command line reads `embaudit.io.options` and nothing else.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
