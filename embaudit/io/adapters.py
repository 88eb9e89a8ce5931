"""Low-rank adapters (LoRA): a pair of factors per module, and the scale of its product.

The update of a module with weights W (out, in) is `scale · B A`, with B (out, r) and
A (r, in). `embaudit.io.layouts.low_rank` lists the names of both.

The scale is `lora_alpha / r`, or `lora_alpha / √r` with `use_rslora`, from
`adapter_config.json` of PEFT, and `MODULE.alpha / r` in files of kohya.

The factors of a convolution have the sides of its kernel as further dimensions. B has
kernels of one entry, so the update of all kernels is a product of matrices, too.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import Matrix, as_factors, is_number
from embaudit.core.tolerances import LARGEST_MAGNITUDE
from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.arrays import Tensor
from embaudit.io.files import AnyPath, existing_path
from embaudit.io.formats.safetensors import ADAPTER, INDEX, SINGLE, Safetensors
from embaudit.io.json_text import parsed_file
from embaudit.io.layouts.low_rank import ALPHA, FACTOR, ROLES, is_low_rank_adapter

PICKLED = "adapter_model.bin"
CONFIG = "adapter_config.json"
"""Files of a folder that PEFT writes."""
PICKLES = (".bin", ".pt", ".pth", ".ckpt")
"""Suffixes of files that torch pickles."""
PAIR = "the pair"
"""Name of the module of two matrices in memory."""
PIECE = re.compile(r"\\d\+|\.\*|\\\.|[\w./-]")
"""One piece of a pattern of names of modules: a wildcard or a character."""
WILDCARDS = (r"\d+", ".*", r"\.", ".")
"""Pieces of a pattern that are kept as regular expressions."""
MOST_WILDCARDS = 4
"""Largest number of `.*` and `\\d+` in a pattern."""
OTHER_PRODUCTS = ("target_parameters", "use_bdlora", "use_qalora", "kasa_config")
"""Settings with which the update is not `B A`: one product per expert or block, inputs
that are averaged, or a diagonal matrix between both factors."""
FROM_ZERO = (True, None, "gaussian", "eva", "orthogonal", "mica")
"""Values of `init_lora_weights` with which the product of the factors starts at 0.

With other values, such as "pissa", it starts at a part of the weights of the module.
"""
SPACINGS = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
"""Distance of 1 from the next larger number of each type."""


@dataclass(frozen=True, eq=False)
class AdapterPair:
    """The two factors of one module: its update is `scale · b @ a`."""

    name: str
    """Name of the module in the network, without the prefix of PEFT."""
    b: Matrix = field(repr=False)
    """(out, r) the factor B, with one row per output."""
    a: Matrix = field(repr=False)
    """(r, in) the factor A, with one column per input."""
    scale: float = 1.0
    """Factor of the product."""
    spacing: float = SPACINGS["float64"]
    """Relative spacing of the numbers of the type that the factors are stored in."""

    @property
    def rank(self) -> int:
        """Number of columns of B, and of rows of A."""
        return int(self.b.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the update."""
        return int(self.b.shape[0]), int(self.a.shape[1])


@dataclass(frozen=True, eq=False)
class Adapter:
    """The factor pairs of a low-rank adapter."""

    pairs: Mapping[str, AdapterPair] = field(repr=False)
    """The pairs by the names of their modules, in the order of the file."""
    source: str = ""
    """Path of the file; empty for arrays in memory."""
    left_over: tuple[str, ...] = ()
    """Names of trained arrays that belong to no pair, such as biases, magnitudes of
    DoRA, and modules that were trained as a whole."""
    scale_is_known: bool = True
    """False if no file states the scale, so that 1 was taken."""
    start: str = ""
    """Value of `init_lora_weights` if the product does not start at 0; else empty."""
    base: str = ""
    """Name of the base model in the configuration; empty if it states none."""


def is_adapter(path: AnyPath) -> bool:
    """Return True for a file or a folder that holds a low-rank adapter.

    A checkpoint of a whole network with adapters inside is no adapter.

    Examples
    --------
    >>> is_adapter("no-such-file.safetensors"), is_adapter("items.npy")
    (False, False)
    """
    place = Path(path)
    if place.name == PICKLED:
        return True
    try:
        if place.suffix.lower() == ".safetensors":
            return is_low_rank_adapter(Safetensors(existing_path(path)).tensors)
        if not place.is_dir():
            return False
    except (InputError, OSError):
        # The reader of models says what is wrong with the file.
        return False
    if (place / SINGLE).exists() or (place / INDEX).exists():
        return False
    return any((place / name).exists() for name in (ADAPTER, PICKLED, CONFIG))


def read_adapter(path: AnyPath) -> Adapter:
    """Read the factor pairs of a low-rank adapter.

    Parameters
    ----------
    path : path
        A file in safetensors, or the folder that PEFT writes. `adapter_config.json` is
        read next to the file.

    Raises
    ------
    InputError
        If the file is damaged, holds another kind of adapter, or a pair of factors is
        not complete or does not fit together.
    """
    place = existing_path(path, "the adapter")
    if place.is_dir():
        folder, file = place, place / ADAPTER
        if not file.exists():
            file = place / PICKLED
        if not file.exists():
            raise must_be(
                "the adapter",
                f"a folder with {ADAPTER}",
                Sentence("{}, a folder without this file", File(place)),
                "save it with model.save_pretrained(FOLDER) of PEFT",
            )
    else:
        folder, file = place.parent, place
    if file.suffix.lower() in PICKLES:
        raise must_be(
            "the adapter",
            "stored in safetensors",
            Sentence("{}, a pickle, which can run code", File(file)),
            "load it with PEFT and save it again: model.save_pretrained(FOLDER)",
        )
    if file.suffix.lower() != ".safetensors":
        raise must_be(
            "the adapter",
            "a low-rank adapter (LoRA) in safetensors, or a folder with one",
            File(file),
        )
    arrays = Safetensors(file)
    config = _config_of(folder)
    found = _factors_in(arrays.tensors, file)
    has_alphas = any(name.endswith(ALPHA) for name in arrays.tensors)
    pairs: dict[str, AdapterPair] = {}
    used: set[str] = set()
    for module, names in found.items():
        pair = _pair(module, names, arrays, config, file)
        if pair.name in pairs:
            raise must_be(
                Sentence("module {} of {}", pair.name, File(file)),
                "named once",
                "its name with and without a prefix",
            )
        pairs[pair.name] = pair
        used.update(names.values())
        used.add(module + ALPHA)
    initialisation = config.get("init_lora_weights")
    start = ""
    if initialisation not in FROM_ZERO:
        start = str(initialisation)
    return Adapter(
        pairs,
        source=str(path),
        left_over=tuple(name for name in arrays.tensors if name not in used),
        scale_is_known=has_alphas or "lora_alpha" in config,
        start=start,
        base=str(config.get("base_model_name_or_path") or ""),
    )


def _config_of(folder: Path) -> dict[str, Any]:
    """Return the configuration of PEFT in a folder; empty if there is none.

    Raises
    ------
    InputError
        If it describes another kind of adapter, or a number in it is not usable.
    """
    path = folder / CONFIG
    if not path.exists():
        return {}
    config = parsed_file(path)
    if not isinstance(config, dict):
        raise must_be(File(path), "a JSON object", "other content", "fetch it again")
    kind = config.get("peft_type", "LORA")
    if str(kind).upper() != "LORA":
        raise must_be(
            Sentence("peft_type of {}", File(path)),
            "LORA, whose update is a product of two matrices",
            kind,
        )
    for setting in OTHER_PRODUCTS:
        if config.get(setting):
            raise must_be(
                Sentence("the adapter of {}", File(path)),
                "an adapter with one pair of factors per module, whose product is the "
                "update",
                f"an adapter with {setting}, whose updates are computed differently",
            )
    numbers = {"lora_alpha": config.get("lora_alpha", 1)}
    patterns = config.get("alpha_pattern") or {}
    if not isinstance(patterns, dict):
        raise must_be(
            Sentence("alpha_pattern of {}", File(path)), "a map", repr(patterns)
        )
    for name, value in {**patterns, **numbers}.items():
        if not is_number(value) or abs(value) > LARGEST_MAGNITUDE:
            raise must_be(
                Sentence("{} of {}", name, File(path)), "a number", repr(value)
            )
    return config


def _factors_in(tensors: Mapping[str, Tensor], file: Path) -> dict[str, dict[str, str]]:
    """Return the names of the factors "a" and "b" of each module.

    Raises
    ------
    InputError
        If there is no factor, a module has one factor only, or the file holds several
        adapters.
    """
    found: dict[str, dict[str, str]] = {}
    adapters: set[str] = set()
    for name in tensors:
        match = FACTOR.match(name)
        if match is None:
            continue
        adapters.add(match["adapter"] or "")
        label = next(
            match[group]
            for group in ("peft", "embedding", "kohya", "diffusers")
            if match[group] is not None
        )
        found.setdefault(match["module"], {}).setdefault(ROLES[label], name)
    if len(adapters) > 1:
        got = ", ".join(sorted(name or "no name" for name in adapters))
        raise must_be(
            File(file), "one adapter", got, "save each adapter in a file of its own"
        )
    if not found:
        examples = ", ".join(list(tensors)[:2]) or "no array"
        raise must_be(
            File(file),
            "a low-rank adapter (LoRA), with arrays lora_A and lora_B",
            examples,
            "adapters of other kinds have no pair of factors per module",
        )
    for module, names in found.items():
        if "mid" in names:
            raise must_be(
                Sentence("module {} of {}", module, File(file)),
                "a product of two factors",
                "a third factor, lora_mid",
            )
        for role, other in (("a", "b"), ("b", "a")):
            if role not in names:
                raise must_be(
                    Sentence("module {} of {}", module, File(file)),
                    "a pair of factors",
                    f"{names[other]} alone",
                    "fetch or save the adapter again",
                )
    return found


def _pair(
    module: str,
    names: Mapping[str, str],
    arrays: Safetensors,
    config: Mapping[str, Any],
    file: Path,
) -> AdapterPair:
    """Read the two factors of a module, and the scale of their product."""
    matrices = {}
    for role, name in names.items():
        if arrays.tensors[name].dtype not in SPACINGS:
            raise must_be(
                Sentence("{} of {}", name, File(file)),
                "of dtype " + ", ".join(SPACINGS),
                arrays.tensors[name].dtype,
                "save the adapter in one of these types",
            )
        matrices[role] = _as_matrix(arrays[name], name, file)
    a, b = matrices["a"], matrices["b"]
    if b.shape[1] != a.shape[0]:
        raise must_be(
            Sentence("the factors of {} of {}", module, File(file)),
            "of shapes (out, r) and (r, in)",
            f"{b.shape} and {a.shape}",
            "transpose both if rows and columns are swapped",
        )
    rank = int(b.shape[1])
    name = module.removeprefix("base_model.model.")
    spacing = max(SPACINGS[arrays.tensors[one].dtype] for one in names.values())
    if module + ALPHA in arrays.tensors:
        # kohya writes 0 if the scale is 1.
        alpha = _scalar(arrays[module + ALPHA], module + ALPHA, file) or rank
        return AdapterPair(name, b, a, alpha / rank, spacing)
    if "lora_alpha" not in config:
        return AdapterPair(name, b, a, 1.0, spacing)
    alpha = _alpha_of(name, config)
    divisor = math.sqrt(rank) if config.get("use_rslora") else rank
    return AdapterPair(name, b, a, alpha / divisor, spacing)


def _as_matrix(array: NDArray[Any], name: str, file: Path) -> Matrix:
    """Return a factor as a matrix, with the kernels of a convolution in its rows."""
    if array.ndim > 2:
        array = array.reshape(len(array), -1)
    return as_factors(array, f"{name} of {file}")


def _scalar(array: NDArray[Any], name: str, file: Path) -> float:
    """Return the one number of an array."""
    entry = Sentence("{} of {}", name, File(file))
    if array.size != 1:
        raise must_be(entry, "one finite number", f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise must_be(entry, "one finite number", array.item())
    return float(array.item())


def _alpha_of(module: str, config: Mapping[str, Any]) -> float:
    """Return the alpha of a module, for which a pattern can set another one."""
    for pattern, alpha in (config.get("alpha_pattern") or {}).items():
        if _names_module(pattern, module):
            return float(alpha)
    return float(config["lora_alpha"])


def _names_module(pattern: str, module: str) -> bool:
    r"""Return True if a pattern of a configuration matches the end of a module's name.

    PEFT matches any regular expression. Some of them take forever, so only names with
    the wildcards `.`, `.*` and `\d+` are read here.

    Raises
    ------
    InputError
        If the pattern holds anything else.

    Examples
    --------
    >>> _names_module("q_proj", "layers.0.q_proj"), _names_module("proj", "q_proj")
    (True, False)
    >>> _names_module(r"layers\.\d+\.q_proj", "model.layers.10.q_proj")
    True
    >>> _names_module("^layers.0", "model.layers.0")
    False
    """
    from_start, pieces = pattern.startswith("^"), PIECE.findall(pattern)
    is_known = "".join(pieces) == pattern.removeprefix("^").removesuffix("$")
    n_wildcards = pieces.count(".*") + pieces.count(r"\d+")
    if not is_known or n_wildcards > MOST_WILDCARDS:
        raise must_be(
            f"alpha_pattern of {CONFIG}",
            "names of modules, or the ends of their names",
            repr(pattern),
            "write the names",
        )
    expression = "".join(
        piece if piece in WILDCARDS else re.escape(piece) for piece in pieces
    )
    start = r"(?:.*\.)?"
    if from_start:
        start = ""
    return re.fullmatch(start + expression, module) is not None


AdapterSource: TypeAlias = "Adapter | AnyPath | tuple[ArrayLike, ArrayLike]"
"""An adapter, its file or folder, or the factors B and A of one module."""


def adapter_of(source: AdapterSource, *, scale: float | None = None) -> Adapter:
    """Return the adapter at a path, or an adapter of the two factors of one module.

    Parameters
    ----------
    source : Adapter, path or pair of arrays
        An adapter, its file or folder, or the factors B of shape (out, r) and A of
        shape (r, in).
    scale : float, optional
        Factor of `B A`, 1 by default. An adapter in a file states its own.

    Raises
    ------
    InputError
        If the matrices do not fit together, or a scale is given for a file.

    Examples
    --------
    >>> adapter = adapter_of((np.ones((6, 2)), np.ones((2, 4))), scale=0.5)
    >>> [(pair.shape, pair.rank, pair.scale) for pair in adapter.pairs.values()]
    [((6, 4), 2, 0.5)]
    >>> adapter_of((np.ones((2, 6)), np.ones((4, 2))))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: B and A must be of shapes (out, r) and (r, in); got
    (2, 6) and (4, 2); transpose both.
    """
    if isinstance(source, tuple) and len(source) == 2:
        factor = 1.0
        if scale is not None:
            factor = scale
        return _adapter_of_pair(source[0], source[1], factor)
    if scale is not None:
        raise must_be("scale", "omitted for an adapter that states its own", scale)
    if isinstance(source, Adapter):
        return source
    if isinstance(source, str | os.PathLike):
        return read_adapter(source)
    raise must_be(
        "an adapter", "a path, or two matrices B and A", type(source).__name__
    )


def _adapter_of_pair(left: ArrayLike, right: ArrayLike, scale: float) -> Adapter:
    """Make the adapter of the factors B and A of one module."""
    if not is_number(scale) or abs(scale) > LARGEST_MAGNITUDE:
        raise must_be("scale", "a finite number", repr(scale))
    b, a = as_factors(left, "B"), as_factors(right, "A")
    allowed, shapes = "of shapes (out, r) and (r, in)", f"{b.shape} and {a.shape}"
    if b.shape[1] != a.shape[0]:
        remedy = "transpose both" if b.shape[0] == a.shape[1] else ""
        raise must_be("B and A", allowed, shapes, remedy)
    if b.shape[1] > max(b.shape[0], a.shape[1]):
        raise must_be(
            "B and A",
            f"{allowed} with r below out or in",
            shapes,
            "give B first, then A",
        )
    spacing = max(float(np.finfo(one.dtype).eps) for one in (b, a))
    return Adapter({PAIR: AdapterPair(PAIR, b, a, float(scale), spacing)})
