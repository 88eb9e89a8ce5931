"""Reading and writing of models, interactions and titles; nothing is unpickled.

`loading` has the five steps from a file, an address or an object to a model: locate it,
detect its format, read its arrays, assign their roles, combine the fields.

To add

- a file format: write a module of `formats` whose reader is registered there;
- the names that a library gives to its arrays: add a recipe to `layouts.recipes`;
- a trained model of a library in memory: if it holds one or two tables of factors,
  describe it in a module of `objects.libraries`; otherwise write a reader in `objects`
  and add it to `objects.live.KINDS`;
- a store of vectors: write a module of `stores`; see `stores.base`.

`tables` reads what can lie next to a model: interactions, titles, ids and counts.
"""

import lazy_loader

# `__init__.pyi` lists the public names. Each is imported when it is first used, because
# the help of the command line reads `embaudit.io.options` and nothing else.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
