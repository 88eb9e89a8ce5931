"""Encoders by the files in their folder: sentence-transformers, CLIP and SigLIP, and how they compare vectors."""

from __future__ import annotations

from pathlib import Path

from embaudit.errors import InputError, must_be
from embaudit.io.json_text import parsed_file

EXPORTS = {
    "modules.json": "numpy.save('vectors.npy', SentenceTransformer({path!r}).encode(texts))",
    "config_sentence_transformers.json": "numpy.save('vectors.npy', SentenceTransformer({path!r}).encode(texts))",
    "config.json": "numpy.savez('towers.npz', user_factors=text_embeds, item_factors=image_embeds)",
}
"""By the file that names an encoder: the line of Python that writes vectors of it."""


def encoder_of(folder: Path) -> tuple[str, str] | None:
    """Return the word for how the encoder of a folder was trained, and the file that says so; None without one.

    A layer that normalises is read from the modules of sentence-transformers, or their similarity from its
    configuration; without either it is not known how vectors are compared.
    """
    modules = parsed_file(folder / "modules.json")
    types = [str(x.get("type")) for x in modules if isinstance(x, dict)] if isinstance(modules, list) else []
    if any(kind.endswith(".Normalize") for kind in types):
        return "sentence-transformers", "modules.json"
    for name, key, words in (
        ("config_sentence_transformers.json", "similarity_fn_name", {"cosine": "sentence-transformers",
                                                                     "dot": "msmarco-dot"}),
        ("config.json", "model_type", {"clip": "clip", "siglip": "siglip"}),
    ):  # fmt: skip
        content = parsed_file(folder / name)
        word = words.get(str(content.get(key))) if isinstance(content, dict) else None
        if word is not None:
            return word, name
    return None


def refusal_of(folder: Path) -> InputError | None:
    """Build the error that says what to export of an encoder, whose own tables are no embeddings of texts or images."""
    is_encoder = isinstance(parsed_file(folder / "modules.json"), list)
    word, name = encoder_of(folder) or ("sentence-transformers" if is_encoder else "", "modules.json")
    if not word:
        return None
    remedy = f"export them in Python: {EXPORTS[name].format(path=str(folder))}"
    return must_be("the input", "vectors", f"{folder}, an encoder ({word}, as {name} says)", remedy)
