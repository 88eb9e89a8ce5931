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
"""Where AnnData keeps the ids of the rows of its arrays."""


def contents(path: Path, request: Request) -> Contents:
    """Tell which arrays become what, by their names.

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
    """Tell which arrays become what, where Keras may say which layer has a softmax and what compares two tables.

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
    found = contents_of(arrays, request, where)
    if "left" not in found.fields or "link" in found.fields or request.link is not None or not layers:
        return found
    others = [f"{kind} {_activation(layer)}".strip() for kind, layer in layers if kind not in (*PASSED, "Dot")]
    if others:
        remedy = "say what becomes of their product with --link=identity (or cosine, sigmoid)"
        raise must_be(f"the layers of {where} behind its tables", "a Dot", ", ".join(dict.fromkeys(others)), remedy)
    cosine = any(kind == "Dot" and layer.get("normalize") for kind, layer in layers)
    link = Source.of("its Dot layer", "cosine" if cosine else "identity")
    return replace(found, fields={**found.fields, "link": link})


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
    chosen = request.weight
    if chosen is None:
        found = {name: x.shape for name, x in stored.tensors.items() if name.startswith(("obsm/", "varm/"))}
        found = {name: shape for name, shape in found.items() if len(shape) == 2}
        of_rows = [name for name in found if name.startswith("obsm/")]
        if len(of_rows) != 1:
            listed = ", ".join(f"{name} {shape}" for name, shape in found.items())
            choice = f"choose one with {option('weight', next(iter(found)))}" if found else "compute one"
            remedy = f"{choice}, or take what was measured with --weight=X"
            raise must_be(f"the embedding of {stored.path}", "one", listed or "none", remedy)
        chosen = of_rows[0]
    side = SIDES.get(chosen.split("/")[0])
    ids = stored.index.get(side or "")
    kind = "vectors" if request.kind == "auto" else request.kind
    return replace(request, kind=kind, weight=chosen, ids=request.ids or ids)
