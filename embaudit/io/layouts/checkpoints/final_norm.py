"""Checkpoints of any format: the norm before the head, by architecture, name or request."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from embaudit.errors import File, Sentence, must_be
from embaudit.io.arrays import Arrays
from embaudit.io.contents import Contents
from embaudit.io.intake import SHIFTS, StoredNorm
from embaudit.io.layouts.checkpoints.architectures import ELSEWHERE
from embaudit.io.layouts.checkpoints.config import Config
from embaudit.io.options import Request
from embaudit.model import as_link
from embaudit.model.final_norm import FinalNorm, NormKind

NONE = "none"
"""Name of the norm where none stands before the head."""


def with_norm(
    contents: Contents,
    checkpoint: Arrays,
    config: Config,
    request: Request,
    where: object,
) -> Contents:
    """Add the norm before the softmax head that a checkpoint holds, or the one that the caller names.

    Raises
    ------
    InputError
        If what is named is not there or is no vector, or the kind is unknown.
    """
    link = contents.link if request.link is None else as_link(request.link)
    is_asked = request.norm is not None or request.norm_kind is not None
    is_softmax = link is not None and link.name == "softmax"
    if request.norm == NONE or not (is_softmax or is_asked):
        return contents
    return replace(
        contents,
        norm=_norm_in(checkpoint, config, where, request.norm, request.norm_kind),
    )


def _norm_in(
    checkpoint: Arrays,
    config: Config,
    where: object,
    name: str | None = None,
    kind: NormKind | None = None,
) -> StoredNorm | None:
    """Find the norm of a known architecture, else the one with a customary name, else the one that the caller names."""
    architecture = config.architecture
    layer = None if name is None else name.removesuffix(".weight")
    if (
        name is not None
        and layer is not None
        and not {name, f"{layer}.weight"} & set(checkpoint.tensors)
    ):
        near = [
            tensor
            for tensor in checkpoint.tensors
            if "norm" in tensor.lower() or "ln" in tensor.lower()
        ]
        listed = ", ".join(near[-6:]) or "there is none that looks like one"
        raise must_be(
            "norm",
            Sentence("the name of a tensor of {}, or none", File(where)),
            repr(name),
            f"norms there: {listed}",
        )
    # A known architecture tells kind, gains and the scale of the logits; its own norm
    # may be named, too.
    if architecture is not None and (
        layer is None or f".{layer}".endswith(f".{architecture.norm}")
    ):
        stored, scale = (
            _layer(checkpoint, architecture.norm),
            architecture.factor(config.values),
        )
        width = config.values.get("hidden_size")
        if stored is not None:
            norm = _norm(
                checkpoint,
                config,
                stored,
                kind or architecture.kind,
                architecture.adds_one,
                scale,
            )
            return StoredNorm(norm, f"{stored}.weight", config.because)
        if architecture.constant and isinstance(width, int) and width > 0:
            norm = FinalNorm(
                kind or architecture.kind, np.full(width, scale), epsilon=config.epsilon
            )
            return StoredNorm(norm, "no tensor", config.because)
    # Elsewhere only a single layer with a customary name can be meant.
    if layer is None:
        layers = {_layer(checkpoint, norm) for norm in ELSEWHERE} - {None}
        if architecture is not None or len(layers) != 1:
            return None
        (layer,) = layers
    assert layer is not None
    # A bias, or an epsilon under a name that tells, makes it a LayerNorm.
    shifted = any(f"{layer}.{shift}" in checkpoint.tensors for shift in SHIFTS)
    says_layer = any(key.startswith("layer_norm_e") for key in config.values)
    is_layer = shifted or (says_layer and "rms_norm_eps" not in config.values)
    norm = _norm(checkpoint, config, layer, kind or ("layer" if is_layer else "rms"))
    return StoredNorm(
        norm, _weight(checkpoint, layer), "its name" if name is None else "your word"
    )


def _layer(checkpoint: Arrays, norm: str) -> str | None:
    """Find a layer by its name up to a prefix, such as that of a network of text within one of images."""
    if "*" in norm:
        # The last of many layers is the one with the highest number.
        name = re.compile(re.escape(norm).replace(r"\*", r"(\d+)") + r"\.weight")
        stored = [
            (int(match[1]), match[0])
            for match in map(name.fullmatch, checkpoint.tensors)
            if match
        ]
        return max(stored)[1].removesuffix(".weight") if stored else None
    # `model.language_model.norm` and `language_model.model.norm` are `model.norm` of a
    # part, `ln_f` that of a bare one.
    names = [
        norm,
        norm.replace("model.", "model.language_model.", 1),
        f"language_model.{norm}",
    ]
    names += ["ln_f"] if norm.endswith("ln_f") else []
    return next(
        (name for name in names if f"{name}.weight" in checkpoint.tensors), None
    )


def _weight(checkpoint: Arrays, layer: str) -> str:
    return f"{layer}.weight" if f"{layer}.weight" in checkpoint.tensors else layer


def _norm(
    checkpoint: Arrays,
    config: Config,
    layer: str,
    kind: NormKind,
    adds_one: bool = False,
    scale: float = 1.0,
) -> FinalNorm:
    """Read gains and shift of a norm; what multiplies all logits behind it is put into both."""
    stored = [
        name
        for name in (f"{layer}.{shift}" for shift in SHIFTS)
        if name in checkpoint.tensors
    ]
    vectors = []
    for name in (_weight(checkpoint, layer), *stored[:1]):
        # What is no number is refused where a norm is made of it.
        with np.errstate(invalid="ignore"):
            vectors.append(np.asarray(checkpoint[name], dtype=np.float64))
        if vectors[-1].ndim != 1:
            got = f"shape {vectors[-1].shape}"
            raise must_be(
                f"the norm {name}",
                "one number a dimension",
                got,
                "name another, or none",
            )
    # Logits are s·W(γ·x̂ + β) = W(sγ·x̂ + sβ), so that the norm can carry the scale s.
    gain, *shift = vectors
    return FinalNorm(
        kind,
        scale * (gain + adds_one),
        scale * shift[0] if shift else None,
        config.epsilon,
    )
