"""The line of Python that converts a pickle into a file that embaudit reads.

`outline` reads the structure of the pickle without running it. The structure decides
which template of `foreign.toml` becomes the line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import Any

from embaudit.io.outline import Built, Outline, outline

TEMPLATES: dict[str, Any] = tomllib.loads(
    files("embaudit.io").joinpath("foreign.toml").read_text(encoding="utf-8")
)
KEYS_OF_WEIGHTS = (
    "state_dict",
    "model_state_dict",
    "model_state",
    "model",
    "net",
    "network",
)
"""Keys under which training loops keep the weights next to other entries."""
NO_WEIGHTS = re.compile(r"optim|sched|scaler|ema|callback|rng|random|buffer", re.I)
"""Pattern of the keys of entries with tensors that are no weights."""
SAFE = re.compile(
    r"(collections\.(OrderedDict|Counter)|(builtins|__builtin__)\.(set|bytearray|complex)"
    r"|_codecs\.encode|torch\._utils\._rebuild_\w+|torch\._tensor\._rebuild_from_type_v2"
    r"|torch(\.cuda|\.storage)?\.\w+Storage|torch\.(Size|device|Tensor)"
    r"|torch\.nn\.parameter\.Parameter|torch\.serialization\._get_layout"
    r"|torch\.(q?u?int|float|bfloat|complex|bits)\d\w*|torch\.bool)"
)
"""Pattern of the names that `torch.load` imports with `weights_only=True`."""
PLAIN_DATA = (
    "argparse.Namespace",
    "numpy._core.multiarray._reconstruct",
    "numpy._core.multiarray.scalar",
    "numpy.dtype",
    "numpy.ndarray",
    "pathlib.PosixPath",
    "pathlib.WindowsPath",
)
"""Classes that checkpoints hold next to weights. Creating one runs no other code."""
TENSOR_OF_PICKLE_DUMP = "torch.storage._load_from_bytes"
"""Name that a pickle imports for its tensors if `pickle.dump` wrote it, and not
`torch.save`.
"""
SUFFIXES_OF_TORCH = (".pt", ".pth", ".ckpt", ".bin")
"""Suffixes of files of PyTorch."""
MOST_KEYS = 20
"""Largest number of keys of a dictionary that a line lists."""
DEEPEST = 5
"""Levels of dictionaries in dictionaries that are searched for tensors."""
SHARD = re.compile(r"-\d{5}-of-(?P<last>\d{5})\.bin$")
"""Ending of the file name of one shard of a checkpoint."""


def conversion(path: Path, out: str) -> str:
    """Return the line that converts a pickle, as the end of "convert it …".

    Parameters
    ----------
    path : Path
        The pickle, or a file of PyTorch, which holds one.
    out : str
        The file of weights that the line writes.
    """
    name = str(path)
    shard = SHARD.search(path.name)
    if shard is not None:
        # All shards are converted into one file.
        pattern = f"{path.name[: shard.start()]}-*-of-{shard['last']}.bin"
        return _line("shards", parts=str(path.parent / pattern), out=out)
    found = outline(path)
    imports_torch = any(imported.startswith("torch.") for imported in found.imports)
    if imports_torch or path.suffix.lower() in SUFFIXES_OF_TORCH:
        return _line_of_torch(found, name, out)
    return _line_of_pickle(found, path, name)


def _line(template: str, **words: object) -> str:
    """Return the template of `foreign.toml` with its words filled in."""
    return str(TEMPLATES["pickle"][template]).format(**words)


def _listed(keys: list[Any], entries: str) -> str:
    """Write the keys as a list in Python; more than 20 as `list(entries)`."""
    return f"list({entries})" if len(keys) > MOST_KEYS else repr(keys)


def _line_of_torch(found: Outline, name: str, out: str) -> str:
    """Return the line for a file of `torch.save` or `torch.jit.save`."""
    if found.is_script:
        return _line("script", name=name, out=out)
    root = found.root
    words = {"out": out, **_words_of_loading(found.imports, name)}
    # NumPy has no bfloat16, so tensors are converted to float32 first.
    widened = ".float()" if "torch.BFloat16Storage" in found.imports else ""
    if _is_tensor(root):
        return _line("tensor", widened=widened, **words)
    if isinstance(root, Built):
        return _line_of_network(found, root, name, words)
    if isinstance(root, list | tuple):
        return _line("list", **words)
    keys, state = place_of_tensors(root)
    words["part"] = "".join(f"[{key!r}]" for key in keys)
    entries = state if isinstance(state, dict) else {}
    tensors = [key for key, value in entries.items() if _is_tensor(value)]
    parts = _parts(entries)
    if parts:
        return _line("nested", keys=_listed([*tensors, *parts], "state"), **words)
    if _are_rows_by_id(entries):
        return _line("rows_by_id", widened=widened, **words)
    tables = [key for key, value in entries.items() if _is_table(value)]
    columns = _columns_of_tables(entries)
    if columns or (tables and not tensors):
        keys_of_arrays = _listed([*tables, *columns], "data")
        return _line("columns", keys=keys_of_arrays, widened=widened, **words)
    if not tensors and not found.is_whole:
        # The tensors may stand behind the damage, so all entries are searched for them.
        return _line("nested", keys="list(state)", **words)
    are_texts = all(isinstance(key, str) for key in tensors)
    return _line("torch", key="k" if are_texts else "str(k)", **words)


def _line_of_network(
    found: Outline, root: Built, name: str, words: dict[str, str]
) -> str:
    """Return the line for an object with tensors, such as a network of PyTorch."""
    if TENSOR_OF_PICKLE_DUMP not in found.imports:
        return _line("network", **{**words, **_words_of_trust(name)})
    is_network = isinstance(root.state, dict) and "_modules" in root.state
    if is_network:
        return _line("network", **words)
    # A model of another library that holds tensors.
    return _line("live", name=name, trust=_line("trust"))


def _words_of_trust(name: str) -> dict[str, str]:
    """Return the words of a call of `torch.load` that runs the code in the file."""
    return {
        "load": f"torch.load({name!r}, map_location='cpu', weights_only=False)",
        "allow": "",
        "trust": _line("trust"),
    }


def _words_of_loading(imports: Collection[str], name: str) -> dict[str, str]:
    """Return the words of a template that load a file of PyTorch.

    `load` is the call, `allow` are the statements before it, and `trust` is a warning
    if the call can run code in the file. PyTorch refuses classes that it does not know,
    unless the caller allows them. The line allows classes that hold plain data.
    """
    if TENSOR_OF_PICKLE_DUMP in imports:
        # `torch.load` refuses files that `pickle.dump` wrote.
        return {
            "load": f"pickle.loads(pathlib.Path({name!r}).read_bytes())",
            "allow": "import pathlib, pickle; ",
            "trust": _line("trust"),
        }
    unknown = sorted(x for x in imports if not SAFE.fullmatch(x))
    allowed = [_allowed(imported) for imported in unknown]
    if not all(allowed):
        return _words_of_trust(name)
    load = f"torch.load({name!r}, map_location='cpu', weights_only=True)"
    if not allowed:
        return {"load": load, "allow": "", "trust": ""}
    modules = sorted({imported.partition(".")[0] for imported in unknown})
    if "numpy" in modules:
        # Arrays need the class of their type of numbers as well.
        allowed.append("*(type(numpy.dtype(c)) for c in '?bBhHiIqQefdU')")
    allow = (
        f"import {', '.join(modules)}; "
        f"torch.serialization.add_safe_globals([{', '.join(allowed)}]); "
    )
    return {"load": load, "allow": allow, "trust": ""}


def _allowed(name: str) -> str:
    """Return the entry of `add_safe_globals` for a class of plain data, else "".

    Examples
    --------
    >>> _allowed("numpy.core.multiarray.scalar"), _allowed("project.Model")
    ("(numpy._core.multiarray.scalar, 'numpy.core.multiarray.scalar')", '')
    """
    # Files that NumPy 1 wrote use its old names.
    current = name.replace("numpy.core.", "numpy._core.")
    if current not in PLAIN_DATA:
        return ""
    return name if current == name else f"({current}, {name!r})"


def _are_rows_by_id(entries: dict[Any, Any]) -> bool:
    """Check for a dictionary of vectors of one width, each under the id of its row."""
    if len(entries) < 2:
        return False
    shapes = set()
    for value in entries.values():
        if not isinstance(value, Built) or len(value.shape) != 1:
            return False
        shapes.add(value.shape)
    return len(shapes) == 1


def _columns_of_tables(entries: dict[Any, Any]) -> list[Any]:
    """Return the keys of lists that are as long as one of the tables, such as ids."""
    lengths = set()
    for value in entries.values():
        if isinstance(value, Built) and _is_table(value):
            lengths.add(value.shape[0])
    return [
        key
        for key, value in entries.items()
        if isinstance(value, list) and _is_column(value) and len(value) in lengths
    ]


def _is_tensor(value: object) -> bool:
    return isinstance(value, Built) and value.is_tensor


def _holds_tensors(value: object, known: dict[int, bool], depth: int = DEEPEST) -> bool:
    """Check for a dictionary that holds a tensor itself or in a dictionary inside it.

    `known` holds the answers by `id` of the dictionary, because a pickle can hold a
    dictionary many times, and also inside itself.
    """
    if not isinstance(value, dict) or depth == 0:
        return False
    if id(value) not in known:
        # This answer ends the search if the dictionary is found inside itself.
        known[id(value)] = False
        known[id(value)] = any(
            _is_tensor(entry) or _holds_tensors(entry, known, depth - 1)
            for entry in value.values()
        )
    return known[id(value)]


def _parts(state: dict[Any, Any]) -> list[Any]:
    """Return the keys of the dictionaries that hold weights, inside a dictionary."""
    known: dict[int, bool] = {}
    return [
        key
        for key, value in state.items()
        if _holds_tensors(value, known) and not NO_WEIGHTS.search(str(key))
    ]


def place_of_tensors(root: object) -> tuple[list[Any], object]:
    """Return the keys that lead to the dictionary of the weights, and that dictionary.

    Examples
    --------
    >>> weight = Built("torch._utils._rebuild_tensor_v2")
    >>> place_of_tensors({"epoch": 3, "state_dict": {"0.weight": weight}})[0]
    ['state_dict']
    >>> place_of_tensors({"user": weight, "item": weight, "seen": {0: [1]}})[0]
    []
    """
    keys: list[Any] = []
    state = root
    while isinstance(state, dict) and len(keys) < DEEPEST:
        parts = _parts(state)
        named = [key for key in KEYS_OF_WEIGHTS if key in parts]
        if named:
            key = named[0]
        elif len(parts) == 1 and not any(map(_is_tensor, state.values())):
            # The only dictionary with weights, whatever its key is.
            key = parts[0]
        else:
            break
        keys.append(key)
        state = state[key]
    return keys, state


def _line_of_pickle(found: Outline, path: Path, name: str) -> str:
    """Return the line for a pickle of another library, or of plain arrays."""
    root = found.root
    trust = _line("trust")
    words = {"name": name, "trust": trust}
    library = root.name if isinstance(root, Built) else ""
    suffix = path.suffix.lower()
    if not library and suffix == ".kv":
        library = "gensim.models.KeyedVectors"
    if not library and suffix == ".model":
        library = "gensim.models.Word2Vec"
    if re.fullmatch(r"gensim\.models\.[\w.]+", library):
        if library.endswith("KeyedVectors"):
            return _line("gensim", model=library, **words)
        documents = ".dv" if library.endswith("Doc2Vec") else ""
        return _line("words", model=library, part=documents, **words)
    template, keys = _template_of_arrays(root)
    if not template:
        template = "joblib" if suffix == ".joblib" else "live"
    return _line(template, keys=keys, **words)


def _template_of_arrays(root: object) -> tuple[str, str]:
    """Return the template for plain arrays and their keys; empty for other objects."""
    if isinstance(root, Built) and root.is_array:
        return "array", ""
    if isinstance(root, Built) and re.match(r"pandas\..*DataFrame$", root.name):
        return "frame", ""
    if isinstance(root, list | tuple) and root and all(map(_is_vector, root)):
        return "rows", ""
    # For example the biases and the embeddings of LightFM.
    parts = root if isinstance(root, list | tuple) else ()
    if any(map(_is_table, parts)) and all(_is_table(x) or _is_vector(x) for x in parts):
        return "pair", ""
    if isinstance(root, dict) and root:
        if all(map(_is_vector, root.values())):
            return "by_id", ""
        tables = [key for key, value in root.items() if _is_table(value)]
        columns = [key for key, value in root.items() if _is_column(value)]
        if tables:
            return "arrays", _listed([*tables, *columns], "data")
    return "", ""


def _is_vector(value: object) -> bool:
    """Check for an array of one dimension, or a list of floating-point numbers."""
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], float)
    return isinstance(value, Built) and value.is_numeric and len(value.shape) == 1


def _is_table(value: object) -> bool:
    """Check for an array of two dimensions, or a list of vectors."""
    if isinstance(value, list | tuple):
        return bool(value) and _is_vector(value[0])
    return isinstance(value, Built) and value.is_numeric and len(value.shape) == 2


def _is_column(value: object) -> bool:
    """Check for an array of one dimension, or a list of texts or integers."""
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], str | int)
    return _is_vector(value)
