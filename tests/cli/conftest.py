"""Small inputs of every kind for the commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from models import random_model
from safetensors.numpy import save_file

import embaudit as ea


@pytest.fixture(scope="session")
def _input_folder(tmp_path_factory):
    """Write the inputs once; `inputs` copies them."""
    folder = tmp_path_factory.mktemp("inputs")
    write_models(folder)
    write_heads(folder)
    write_tables(folder)
    return folder


@pytest.fixture
def inputs(embaudit, _input_folder):
    """Copy the inputs into the folder where `embaudit` runs."""
    shutil.copytree(_input_folder, Path.cwd(), dirs_exist_ok=True)


def write_models(folder):
    """Write a model of 40 users and 30 items, four relatives of it, and bare arrays.

    `twin` predicts the same with other cosines, `other` is a twin with noise,
    `shuffled` has the users' rows mixed up, `fewer` lacks the first five items.
    """
    ids = [f"i{n}" for n in range(30)]
    model = random_model(
        n=40,
        p=30,
        k=4,
        scales=([4, 2, 1, 0.5], 1),
        objective="product",
        right_ids=ids,
        left_ids=np.arange(40),
    )
    twin = ea.gauges.Diagonal(4, max_condition=3.0).sample(rng=1).act(model)
    noise = 0.1 * np.random.default_rng(0).standard_normal((30, 4))
    order = np.random.default_rng(5).permutation(40)
    ea.save(model, folder / "model.npz")
    ea.save(twin, folder / "twin.npz")
    ea.save(twin.replace(right=twin.right + noise), folder / "other.npz")
    ea.save(model.replace(left=model.left[order]), folder / "shuffled.npz")
    fewer = model.replace(right=model.right[5:], right_ids=ids[5:])
    ea.save(fewer, folder / "fewer.npz")
    lengths = np.linalg.norm(model.right, axis=1, keepdims=True)
    np.save(folder / "items.npy", model.right)
    np.save(folder / "unit.npy", model.right / lengths)
    np.save(folder / "users.npy", model.left)
    layers = {name: model.right[row : row + 4] for row, name in enumerate("abc")}
    np.savez(folder / "layers.npz", **layers)


def write_heads(folder):
    """Write a head with a bias, and one behind a final norm whose κ is 4."""
    rows = np.load(folder / "items.npy")
    np.savez(folder / "head.npz", weight=rows + 1, bias=np.arange(30) / 10)
    tensors = {"lm_head.weight": rows, "model.norm.weight": np.arange(4.0) + 1}
    save_file(tensors, folder / "head.safetensors")
    labels = "".join(f"label {n}\n" for n in range(30))
    (folder / "labels.txt").write_text(labels)


def write_tables(folder):
    """Write titles, ratings, tensors of two networks, and cases of four wards.

    In each ward y falls where x rises, while wards with a higher x have a higher y.
    """
    films = [f"i{n},Film {n},{'abc'[n % 3]}" for n in range(30)]
    (folder / "films.csv").write_text("\n".join(["id,title,kind", *films]))
    draw = np.random.default_rng(0)
    seen = sorted({(u, i) for u, i in draw.integers([20, 30], size=(300, 2)).tolist()})
    ratings = [f"{u},i{i},{(u * i) % 5 + 1},{u + i}" for u, i in seen]
    text = "\n".join(["user,item,rating,time", *ratings])
    (folder / "ratings.csv").write_text(text + "\n")
    np.savez(folder / "x.npz", a=[3.0, 4.0], b=[1.0, 0.0])
    np.savez(folder / "y.npz", a=[4.0, 3.0], b=[0.0, 1.0])
    np.savez(folder / "longer.npz", a=[4.0, 3.0], b=[0.0, 1.0], late=[1.0])
    wards = [(2 * w + x, 2 * w - x, w) for w in range(4) for x in (-1, 0, 1)]
    cases = [f"{x},{y},{w},{n % 2}" for n, (x, y, w) in enumerate(wards)]
    (folder / "cases.csv").write_text("\n".join(["x,y,ward,coin", *cases]))
