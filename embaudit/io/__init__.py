"""Reading and writing of models, interactions and titles; nothing is unpickled.

`loading` has the five steps from a file, an address or an object to a model:

1. locate it (`files`, `remote`);
2. detect its format (`formats`), its store (`stores`) or its library (`objects.live`);
3. read names and shapes of its arrays, with the reader of that format or library;
4. assign their roles: arrays become fields of a model by their names (`layouts`), and
   columns of tables by names and types (`formats.tables`). The result is `Contents`;
5. combine the fields with other files and options, and build the `FactorModel`
   (`combining`).

To add

- a file format: write a module of `formats` whose reader is registered there;
- the names that a library gives to its arrays: add a recipe to `layouts.recipes`;
- a trained model of a library in memory: if it holds one or two tables of factors,
  describe it in a module of `objects.libraries`; otherwise write a reader in `objects`
  and add it to `objects.live.KINDS`;
- a store of vectors: write a module of `stores`; see its docstring.

`tables` reads what can lie next to a model: interactions, titles, ids and counts.
"""

import lazy_loader

# `__init__.pyi` lists the public names. Each is imported when it is first used, because
# the help of the command line reads `embaudit.io.options` and nothing else.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
