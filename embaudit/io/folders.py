"""Folders of other tools that name the model in them, such as those of MLflow."""

from __future__ import annotations

import re
from pathlib import Path

MLMODEL = "MLmodel"
"""Name of the file in a folder of MLflow that describes the model."""
MOST_BYTES = 2**20
"""Bytes of that file that are read."""
ENTRY = re.compile(r"^ +(?P<key>\w+): +['\"]?(?P<value>[^'\"\n]+?)['\"]?\s*$", re.M)
"""A line of YAML that gives a setting of a kind of model."""
KEYS = ("pickled_model", "model_binary", "model_data", "data", "model_path")
"""Settings that hold the name of the model, a file or a folder, the best first."""


def model_in(path: Path) -> Path:
    r"""Return the model that a folder of MLflow names, or the path itself.

    A folder such as `data/model.pth` or `model/` lies in it. A name that leads out of
    the folder, or to no file, is not followed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     text = "flavors:\n  onnx:\n    data: m.onnx\n"
    ...     _ = Path(folder, "MLmodel").write_text(text)
    ...     _ = Path(folder, "m.onnx").write_bytes(b"x")
    ...     model_in(Path(folder)).name
    'm.onnx'
    """
    description = path / MLMODEL
    if not description.is_file():
        return path
    with description.open("rb") as file:
        text = file.read(MOST_BYTES).decode(errors="replace")
    settings = {match["key"]: match["value"] for match in ENTRY.finditer(text)}
    for key in KEYS:
        if key not in settings:
            continue
        model = path / settings[key]
        is_inside = model.resolve().is_relative_to(path.resolve())
        if is_inside and model.exists() and not model.samefile(path):
            return _only_model(model)
    return path


def _only_model(path: Path) -> Path:
    """Return the one file or folder in a folder that is called a model."""
    if not path.is_dir():
        return path
    models = [entry for entry in sorted(path.iterdir()) if entry.stem == "model"]
    is_loose = not (path / "config.json").exists()
    return models[0] if len(models) == 1 and is_loose else path
