"""What embaudit says it makes of one file of each format: `looked.txt` holds it for people to read."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from seeds import SEEDS, Seed
from snapshots import as_locked, assert_section

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import load, look, read, save
from embaudit.model import Softmax

HEAD = ea.FactorModel.from_softmax(np.eye(4), labels=list("abcd")).replace(
    link=Softmax(soft_cap=3.0)
)
TABLE = ea.FactorModel.from_vectors(np.eye(4), ids=[7, 8, 9, 10], compared="cosine")
SAVED = [Seed(f"{name}{suffix}", load, partial(save, model)) for suffix in (".npz", ".safetensors", ".parquet")
         for name, model in {"head": HEAD, "compared": TABLE}.items()]  # fmt: skip


@as_locked
def test_what_is_said_of_a_file_of_each_format(tmp_path, monkeypatch):
    lines = []
    for number, seed in enumerate((*SEEDS, *SAVED)):
        folder = tmp_path / str(number)
        (folder / seed.name).parent.mkdir(parents=True)
        monkeypatch.chdir(folder)
        seed.write(folder / seed.name)
        for given in (seed.name, *[str(Path(seed.name).parent)][: "/" in seed.name]):
            try:
                said = look(given).explain()
                model = read(given).model
                said += f"\n  {model!r}, {model.objective}, {model.names('right')[:2].tolist()}"
            except InputError as refused:
                said = f"refused: {refused}"
            lines.append(f"{given}: {said}\n")
    assert_section(Path(__file__).with_name("looked.txt"), "looked", "".join(lines))
