"""The norm before the head of a checkpoint: by architecture, by name or by option."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from embaudit.errors import File, Sentence, must_be
from embaudit.io.arrays import Arrays
from embaudit.io.contents import Contents
from embaudit.io.intake import SHIFTS, StoredNorm
from embaudit.io.layouts.checkpoints.architectures import CUSTOMARY_NORMS
from embaudit.io.layouts.checkpoints.config import Config
from embaudit.io.options import Request
from embaudit.model import as_link
from embaudit.model.final_norm import FinalNorm, NormKind

NONE = "none"
"""Value of the option `norm` for a head without a norm before it."""
LISTED = 6
"""Number of norms that an error lists."""


def with_norm(
    contents: Contents,
    checkpoint: Arrays,
    config: Config,
    request: Request,
    where: object,
) -> Contents:
    """Add the norm before the softmax head that a checkpoint holds or the caller names.

    Raises
    ------
    InputError
        If the array that the caller names is not there or is no vector.
    """
    link = contents.link if request.link is None else as_link(request.link)
    is_asked = request.norm is not None or request.norm_kind is not None
    is_softmax = link is not None and link.name == "softmax"
    if request.norm == NONE or not (is_softmax or is_asked):
        return contents
    layer = None
    if request.norm is not None:
        layer = _named_layer(checkpoint, request.norm, where)
    norm = _norm_of_architecture(checkpoint, config, layer, request.norm_kind)
    if norm is None:
        norm = _norm_by_name(checkpoint, config, layer, request.norm_kind)
    return replace(contents, norm=norm)


def _named_layer(checkpoint: Arrays, name: str, where: object) -> str:
    """Return the layer that the caller names, by itself or by its weight.

    Raises
    ------
    InputError
        If the checkpoint does not hold it.
    """
    layer = name.removesuffix(".weight")
    if name in checkpoint.tensors or f"{layer}.weight" in checkpoint.tensors:
        return layer
    norms = [
        tensor
        for tensor in checkpoint.tensors
        if "norm" in tensor.lower() or "ln" in tensor.lower()
    ]
    listed = ", ".join(norms[-LISTED:]) or "no tensor looks like a norm"
    raise must_be(
        "norm",
        Sentence("the name of a tensor of {}, or 'none'", File(where)),
        repr(name),
        f"norms there: {listed}",
    )


def _norm_of_architecture(
    checkpoint: Arrays, config: Config, layer: str | None, kind: NormKind | None
) -> StoredNorm | None:
    """Read the norm of a known architecture, which tells kind, gains and scale.

    Return None if the architecture is not known, the checkpoint does not hold its norm,
    or the caller names another layer.
    """
    architecture = config.architecture
    if architecture is None:
        return None
    if layer is not None and not f".{layer}".endswith(f".{architecture.norm}"):
        return None
    kind = kind or architecture.kind
    scale = config.logit_factor
    stored = _layer(checkpoint, architecture.norm)
    if stored is not None:
        norm = _read_norm(
            checkpoint, config, stored, kind, architecture.adds_one, scale
        )
        return StoredNorm(norm, f"{stored}.weight", config.architecture_source)
    if not architecture.constant:
        return None
    width = config.count("hidden_size")
    if width is not None:
        norm = FinalNorm(kind, np.full(width, scale), epsilon=config.epsilon)
        return StoredNorm(norm, "no tensor", config.architecture_source)
    return None


def _norm_by_name(
    checkpoint: Arrays, config: Config, layer: str | None, kind: NormKind | None
) -> StoredNorm | None:
    """Read the layer that the caller names, else the only one with a customary name.

    Return None if there is no such layer, or if the architecture is known, because its
    norm is then known, too.
    """
    because = "your word"
    if layer is None:
        because = "its name"
        layers = {_layer(checkpoint, norm) for norm in CUSTOMARY_NORMS} - {None}
        if config.architecture is not None or len(layers) != 1:
            return None
        layer = layers.pop()
    assert layer is not None
    if kind is None:
        kind = _kind_of(checkpoint, config, layer)
    norm = _read_norm(checkpoint, config, layer, kind)
    return StoredNorm(norm, _weight(checkpoint, layer), because)


def _kind_of(checkpoint: Arrays, config: Config, layer: str) -> NormKind:
    """Return the kind of a norm: a LayerNorm has a bias, or an epsilon named for it."""
    has_bias = any(f"{layer}.{shift}" in checkpoint.tensors for shift in SHIFTS)
    says_layer = any(key.startswith("layer_norm_e") for key in config.settings)
    says_rms = "rms_norm_eps" in config.settings
    if has_bias or (says_layer and not says_rms):
        return "layer"
    return "rms"


def _layer(checkpoint: Arrays, norm: str) -> str | None:
    """Find a layer by its name up to a prefix, such as that of a part for texts."""
    if "*" in norm:
        return _last_of_many(checkpoint, norm)
    names = [
        norm,
        # A part of a network of texts and images, in transformers 5 and before.
        norm.replace("model.", "model.language_model.", 1),
        f"language_model.{norm}",
    ]
    if norm.endswith("ln_f"):
        # GPT-2 without its wrapper.
        names.append("ln_f")
    for name in names:
        if f"{name}.weight" in checkpoint.tensors:
            return name
    return None


def _last_of_many(checkpoint: Arrays, norm: str) -> str | None:
    """Return the layer with the highest number in the place of `*`."""
    before, after = f"{norm}.weight".split("*")
    numbers = []
    for name in checkpoint.tensors:
        if name.startswith(before) and name.endswith(after):
            number = name.removeprefix(before).removesuffix(after)
            if number.isdecimal():
                numbers.append(int(number))
    if not numbers:
        return None
    return norm.replace("*", str(max(numbers)))


def _weight(checkpoint: Arrays, layer: str) -> str:
    """Return the name of the gains of a layer."""
    name = f"{layer}.weight"
    return name if name in checkpoint.tensors else layer


def _read_norm(
    checkpoint: Arrays,
    config: Config,
    layer: str,
    kind: NormKind,
    adds_one: bool = False,
    scale: float = 1.0,
) -> FinalNorm:
    """Read gains and shift of a norm, and multiply both by the scale of the logits.

    Logits are s·W(γ·x̂ + β) = W(sγ·x̂ + sβ), so the norm can carry the scale s.
    """
    gain = _vector(checkpoint, _weight(checkpoint, layer))
    if adds_one:
        gain = 1 + gain
    gain = scale * gain
    shift = None
    for name in SHIFTS:
        if shift is None and f"{layer}.{name}" in checkpoint.tensors:
            shift = scale * _vector(checkpoint, f"{layer}.{name}")
    return FinalNorm(kind, gain, shift, config.epsilon)


def _vector(checkpoint: Arrays, name: str) -> np.ndarray:
    """Read one number per dimension; FinalNorm refuses numbers that are not finite."""
    with np.errstate(invalid="ignore"):
        vector = np.asarray(checkpoint[name], dtype=np.float64)
    if vector.ndim != 1:
        raise must_be(
            f"the norm {name}",
            "one number per dimension",
            f"shape {vector.shape}",
            "name another tensor, or 'none'",
        )
    return vector
