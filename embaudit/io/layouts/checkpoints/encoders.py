"""Encoders in a folder: how they were trained, and what to export of them."""

from __future__ import annotations

from pathlib import Path

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.json_text import parsed_file

MODULES = "modules.json"
"""File that lists the layers of a model of sentence-transformers."""
SENTENCE_TRANSFORMERS = "config_sentence_transformers.json"
CONFIG = "config.json"
BY_SIMILARITY = {"cosine": "sentence-transformers", "dot": "msmarco-dot"}
"""Training objective by the `similarity_fn_name` of sentence-transformers."""
BY_MODEL_TYPE = {"clip": "clip", "siglip": "siglip"}
"""Training objective by the `model_type` of transformers."""
ENCODE = "numpy.save('vectors.npy', SentenceTransformer({path!r}).encode(texts))"
EXPORTS = {
    MODULES: ENCODE,
    SENTENCE_TRANSFORMERS: ENCODE,
    CONFIG: (
        "numpy.savez('towers.npz', user_factors=text_embeds, item_factors=image_embeds)"
    ),
}
"""Line of Python that writes the vectors of an encoder, by the file that names it."""


def encoder_of(folder: Path) -> tuple[str, str] | None:
    """Return the training objective of the encoder in a folder, and its source.

    A layer that normalises the vectors decides, whatever similarity is configured.
    Without such a layer, the configured similarity decides. The objective is empty if
    the folder says neither.

    Returns
    -------
    tuple of (str, str) or None
        The objective, and the name of the file that says it. None if the folder holds
        no encoder.
    """
    modules = parsed_file(folder / MODULES)
    is_sentence_transformer = isinstance(modules, list)
    if isinstance(modules, list):
        for module in modules:
            is_layer = isinstance(module, dict)
            if is_layer and str(module.get("type")).endswith(".Normalize"):
                return "sentence-transformers", MODULES
    for file, key, objectives in (
        (SENTENCE_TRANSFORMERS, "similarity_fn_name", BY_SIMILARITY),
        (CONFIG, "model_type", BY_MODEL_TYPE),
    ):
        content = parsed_file(folder / file)
        if isinstance(content, dict) and str(content.get(key)) in objectives:
            return objectives[str(content.get(key))], file
    return ("", MODULES) if is_sentence_transformer else None


def refusal_of(folder: Path) -> InputError | None:
    """Return the error that says what to export of the encoder in a folder.

    The tables inside an encoder are no embeddings of texts or images.
    """
    encoder = encoder_of(folder)
    if encoder is None:
        return None
    objective, file = encoder
    return must_be(
        "the input",
        "vectors",
        Sentence(
            "{}, an encoder ({}, as {} says)",
            File(folder),
            objective or "sentence-transformers",
            file,
        ),
        f"export them in Python: {EXPORTS[file].format(path=str(folder))}",
    )
