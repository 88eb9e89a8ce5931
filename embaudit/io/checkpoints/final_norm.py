"""Find the final norm of a checkpoint: by its architecture, else by names that are customary, else by what is named."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.checkpoints.architectures import ELSEWHERE, Architecture
from embaudit.io.checkpoints.config import Config
from embaudit.io.checkpoints.opened import opened
from embaudit.io.codecs.arrays import Arrays, Memory
from embaudit.io.files import AnyPath, existing_path
from embaudit.io.intake import SHIFTS, FoundNorm
from embaudit.io.objects.live_model import comes_from
from embaudit.model import FactorModel, Softmax
from embaudit.model.final_norm import FinalNorm, NormKind

if TYPE_CHECKING:
    from embaudit.core.checked import Vector

NONE = "none"
"""Name of the norm where none stands before the head."""


def final_norm_of(path: AnyPath, *, name: str | None = None, kind: NormKind | None = None) -> FoundNorm | None:
    """Find the final norm of a checkpoint: in safetensors files or GGUF.

    Parameters
    ----------
    path : path
        The directory of a checkpoint, its index or its file; `config.json` beside it, or the metadata of GGUF, says
        which architecture it is.
    name : str, optional
        Name of the gains; "none" where there is no norm. By default that of the architecture.
    kind : {"rms", "layer"}, optional
        Which kind of norm, where the checkpoint does not tell or tells wrong.

    Returns
    -------
    FoundNorm or None
        None where there is no checkpoint, no such tensor, or none is asked for.

    Raises
    ------
    InputError
        If what is named is not there or is no vector, or the kind is unknown.
    """
    where = existing_path(path)
    stored = None if name == NONE else opened(where)
    if stored is None:
        if name not in (None, NONE):
            what = "asked of a checkpoint in safetensors files or GGUF"
            raise must_be("norm", what, path, "leave it out")
        return None
    checkpoint, config = stored
    if name is not None:
        return _named(checkpoint, config, name, kind, where)
    return _found(checkpoint, config, kind)


def _found(checkpoint: Arrays, config: Config, kind: NormKind | None = None) -> FoundNorm | None:
    if config.architecture is not None:
        return _of_architecture(checkpoint, config, config.architecture, kind)
    return _customary(checkpoint, config, kind)


def _of_architecture(
    checkpoint: Arrays, config: Config, architecture: Architecture, kind: NormKind | None
) -> FoundNorm | None:
    """Return the norm of a known architecture, with the scale of its logits; None without its tensor."""
    layer = _layer(checkpoint, architecture.norm)
    scale = architecture.factor(config.values)
    if layer is None:
        width = config.values.get("hidden_size")
        if architecture.constant and isinstance(width, int) and width > 0:
            norm = FinalNorm(
                kind or architecture.kind, np.full(width, scale), epsilon=architecture.epsilon_of(config.values)
            )
            return FoundNorm(norm, "no tensor", config.because)
        return None
    norm = _norm(checkpoint, layer, replace(architecture, kind=kind or architecture.kind), config, scale)
    return FoundNorm(norm, f"{layer}.weight", config.because)


def _customary(checkpoint: Arrays, config: Config, kind: NormKind | None) -> FoundNorm | None:
    stored = [layer for layer in (_layer(checkpoint, norm) for norm in ELSEWHERE) if layer is not None]
    if len(set(stored)) != 1:
        return None
    return _told(checkpoint, config, stored[0], kind, "its name")


def _named(checkpoint: Arrays, config: Config, name: str, kind: NormKind | None, where: Path) -> FoundNorm:
    """Return the norm that the caller names."""
    layer = name.removesuffix(".weight")
    stored = f"{layer}.weight"
    if name not in checkpoint.tensors and stored not in checkpoint.tensors:
        near = [
            architecture
            for architecture in checkpoint.tensors
            if "norm" in architecture.lower() or "ln" in architecture.lower()
        ]
        listed = ", ".join(near[-6:]) or "there is none that looks like one"
        raise must_be("norm", f"the name of a tensor of {where}, or none", repr(name), f"norms there: {listed}")
    architecture = config.architecture
    if architecture is not None and (layer == architecture.norm or layer.endswith(f".{architecture.norm}")):
        norm = _of_architecture(checkpoint, config, architecture, kind)
        if norm is not None:
            return norm
    return _told(checkpoint, config, layer if stored in checkpoint.tensors else name, kind, "your word")


def _told(checkpoint: Arrays, config: Config, layer: str, kind: NormKind | None, because: str) -> FoundNorm:
    """Determine the kind of a norm by what is stored and said: a bias, or an epsilon under a name that tells."""
    shifted = any(f"{layer}.{shift}" in checkpoint.tensors for shift in SHIFTS)
    says_layer = any(key.startswith("layer_norm_e") for key in config.values)
    told: NormKind = "layer" if shifted or (says_layer and "rms_norm_eps" not in config.values) else "rms"
    norm = _norm(checkpoint, layer, Architecture(layer, kind or told), config)
    return FoundNorm(norm, f"{layer}.weight" if f"{layer}.weight" in checkpoint.tensors else layer, because)


def _layer(checkpoint: Arrays, norm: str) -> str | None:
    """Find a layer by its name up to a prefix, such as that of a network of text within one of images."""
    # `model.language_model.norm` and `language_model.model.norm` are `model.norm` of a part, `ln_f` that of a bare one.
    if "*" in norm:
        return _last(checkpoint, norm)
    last = norm.rpartition(".")[2]
    names = (
        norm,
        norm.replace("model.", "model.language_model.", 1),
        f"language_model.{norm}",
        *((last,) * ("ln_f" in norm)),
    )
    return next((name for name in names if f"{name}.weight" in checkpoint.tensors), None)


def _last(checkpoint: Arrays, norm: str) -> str | None:
    """Find the last of many layers: the one with the highest number."""
    name = re.compile(re.escape(norm).replace(r"\*", r"(\d+)") + r"\.weight")
    stored = [(int(match[1]), match[0]) for match in map(name.fullmatch, checkpoint.tensors) if match]
    return max(stored)[1].removesuffix(".weight") if stored else None


def _vector(checkpoint: Arrays, name: str) -> Vector:
    # What is no number is refused where a norm is made of it.
    with np.errstate(invalid="ignore"):
        array = np.asarray(checkpoint[name], dtype=np.float64)
    if array.ndim != 1:
        raise must_be(f"the norm {name}", "one number a dimension", f"shape {array.shape}", "name another, or none")
    return array


def _norm(checkpoint: Arrays, layer: str, architecture: Architecture, config: Config, scale: float = 1.0) -> FinalNorm:
    weight = f"{layer}.weight" if f"{layer}.weight" in checkpoint.tensors else layer
    gain = _vector(checkpoint, weight) + architecture.adds_one
    shift = next((_vector(checkpoint, f"{layer}.{s}") for s in SHIFTS if f"{layer}.{s}" in checkpoint.tensors), None)
    beta = None if shift is None else scale * shift
    return FinalNorm(architecture.kind, scale * gain, beta, architecture.epsilon_of(config.values))


def fits(norm: FinalNorm, head: FactorModel) -> bool:
    """Return whether a norm can stand right before a head; see `FinalNorm.fits`.

    Examples
    --------
    >>> [fits(FinalNorm("rms", gain), FactorModel.from_softmax([[1.0, 2.0]])) for gain in ([1.0, 2.0], [1.0])]
    [True, False]
    """
    return norm.fits(head.link, head.rank)


def found_norm(
    source: Any, head: FactorModel, *, name: str | None = None, kind: NormKind | None = None
) -> FoundNorm | None:
    """Find the final norm before a head: that of its checkpoint, given as a path, or of a live network.

    Name and kind are those of `final_norm_of`; a norm that is named stands before the head, or is refused.
    """
    if not isinstance(head.link, Softmax) and name is None and kind is None:
        return None
    if isinstance(source, (str, os.PathLike)):
        stored = final_norm_of(source, name=name, kind=kind)
    elif name not in (None, NONE):
        raise must_be("norm", "asked of a checkpoint in safetensors files or GGUF", repr(name), "leave it out")
    elif name == NONE:
        return None
    elif comes_from(source, ("transformers",), ("PreTrainedModel",)):
        stored = _found(Memory(source.state_dict()), Config.of(source.config.to_dict()))
    else:
        return None
    return stored if stored is not None and (name is not None or fits(stored.norm, head)) else None


def norm_of(source: Any, head: FactorModel) -> FinalNorm | None:
    """Return the final norm that `found_norm` finds.

    Examples
    --------
    >>> norm_of(3, FactorModel.from_softmax([[1.0, 2.0]])) is None
    True
    """
    stored = found_norm(source, head)
    return None if stored is None else stored.norm
