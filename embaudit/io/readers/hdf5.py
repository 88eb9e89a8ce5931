"""HDF5 files: named arrays as in `.npz`, an embedding of AnnData, the weights of a Keras model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from embaudit.errors import must_be, option
from embaudit.io.codecs.arrays import Arrays
from embaudit.io.codecs.hdf5 import Hdf5
from embaudit.io.intake import Contents, Source
from embaudit.io.readers.assemble import contents_of
from embaudit.io.request import Request

PASSED = ("InputLayer", "Embedding", "Flatten", "Reshape", "Add", "Dropout", "Functional", "Sequential")
"""Layers of Keras that leave the product of two tables, perhaps with biases, as it is."""
SIDES = {"obsm": "obs", "varm": "var", "X": "obs", "layers": "obs"}
"""Tables of AnnData that hold the ids of rows, by the group of an array."""


def contents(path: Path, request: Request) -> Contents:
    """Determine which arrays become what, by their names.

    Raises
    ------
    InputError
        If the file is damaged, or the names leave more than one reading.
    """
    stored = Hdf5(path)
    if stored.index:
        return contents_of(stored, _of_anndata(stored, request), path)
    return of_keras(stored, stored.config, request, path)


def of_keras(arrays: Arrays, config: Any, request: Request, where: object) -> Contents:
    """Determine which arrays become what, where Keras may say which layer has a softmax and what compares two tables.

    Raises
    ------
    InputError
        If layers are quantised, or others than a product or a cosine stand behind two tables and nobody names the link.
    """
    if "QuantizedDTypePolicy" in str(config):
        remedy = "save the model before it is quantised"
        raise must_be(f"{where}", "numbers as they are", "layers that Keras has quantised", remedy)
    layers = list(_layers(config))
    if request.weight is None and request.left is None and request.kind in ("auto", "head"):
        softmax = [layer for kind, layer in layers if kind == "Dense" and _activation(layer) == "softmax"]
        heads = [f"{layer.get('name')}.kernel" for layer in softmax if f"{layer.get('name')}.kernel" in arrays.tensors]
        request = replace(request, kind="head", weight=heads[0]) if len(heads) == 1 else request
    base = contents_of(arrays, request, where)
    if "left" not in base.fields or "link" in base.fields or request.link is not None or not layers:
        return base
    between = [f"{kind} {_activation(layer)}".strip() for kind, layer in layers if kind not in (*PASSED, "Dot")]
    if between:
        remedy = "say what becomes of their product with --link=identity (or cosine, sigmoid)"
        raise must_be(f"the layers of {where} behind its tables", "a Dot", ", ".join(dict.fromkeys(between)), remedy)
    cosine = any(kind == "Dot" and layer.get("normalize") for kind, layer in layers)
    link = Source.of("its Dot layer", "cosine" if cosine else "identity")
    return replace(base, fields={**base.fields, "link": link})


def _layers(config: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield class and settings of the layers of a model of Keras, those inside other models and wrappers included."""
    settings = config.get("config") if isinstance(config, dict) else None
    # Sequential models of Keras before 2.2.3 list their layers without a name.
    layers = settings.get("layers") or [settings.get("layer")] if isinstance(settings, dict) else settings
    for layer in layers if isinstance(layers, list) else ():
        if isinstance(layer, dict) and isinstance(layer.get("config"), dict):
            yield str(layer.get("class_name")), layer["config"]
            yield from _layers(layer)


def _activation(settings: dict[str, Any]) -> str:
    """Return the name of the activation of a layer, empty for none."""
    stored = settings.get("activation")
    return str((stored.get("config") if isinstance(stored, dict) else stored) or "")


def _of_anndata(stored: Hdf5, request: Request) -> Request:
    """Choose the embedding of an AnnData file, with the ids of its rows."""
    weight = request.weight
    if weight is None:
        matrices = {name: x.shape for name, x in stored.tensors.items() if name.startswith(("obsm/", "varm/"))}
        matrices = {name: shape for name, shape in matrices.items() if len(shape) == 2}
        of_rows = [name for name in matrices if name.startswith("obsm/")]
        if len(of_rows) != 1:
            listed = ", ".join(f"{name} {shape}" for name, shape in matrices.items())
            choice = f"choose one with {option('weight', next(iter(matrices)))}" if matrices else "compute one"
            remedy = f"{choice}, or take what was measured with --weight=X"
            raise must_be(f"the embedding of {stored.path}", "one", listed or "none", remedy)
        weight = of_rows[0]
    side = SIDES.get(weight.split("/")[0])
    ids = stored.index.get(side or "")
    kind = "vectors" if request.kind == "auto" else request.kind
    return replace(request, kind=kind, weight=weight, ids=request.ids or ids)
