"""Small inputs of every kind for the commands."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from models import random_model
from safetensors.numpy import save_file

import embaudit as ea

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from embaudit.model import FactorModel

N_ITEMS = 30
ITEM_IDS = [f"i{n}" for n in range(N_ITEMS)]


@pytest.fixture(scope="session")
def _input_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the inputs once; `inputs` copies them."""
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.fixture
def inputs(embaudit: Callable, tmp_path: Path, _input_folder: Path) -> None:
    """Copy the inputs into `tmp_path`, which `embaudit` makes the current folder."""
    shutil.copytree(_input_folder, tmp_path, dirs_exist_ok=True)


def write_inputs(folder: Path) -> None:
    """Write all inputs into a folder."""
    model = user_item_model()
    write_models(folder, model)
    write_arrays(folder, model)
    write_heads(folder, model.right)
    write_titles(folder)
    write_ratings(folder)
    write_networks(folder)
    write_cases(folder)


def user_item_model() -> FactorModel:
    """Draw a model of 40 users and 30 items with ids.

    The columns of the users have different scales, so gauges can move cosines much.
    """
    user_scales, item_scale = [4, 2, 1, 0.5], 1
    return random_model(
        n=40,
        p=N_ITEMS,
        k=4,
        scales=(user_scales, item_scale),
        objective="product",
        right_ids=ITEM_IDS,
        left_ids=np.arange(40),
    )


def write_models(folder: Path, model: FactorModel) -> None:
    """Write the model and four models that are made from it.

    - `twin` is an equivalent model, whose gauge has κ = 3, so its cosines differ.
    - `other` is `twin` with noise on the items, so its predictions differ, too.
    - `shuffled` has the rows of the users in another order, under the same ids.
    - `fewer` lacks the first five items.
    """
    gauge = ea.gauges.Diagonal(4, max_condition=3.0).sample(rng=1)
    twin = gauge.act(model)
    noise = np.random.default_rng(0).standard_normal(model.right.shape)
    user_order = np.random.default_rng(5).permutation(len(model.left))
    models = {
        "model": model,
        "twin": twin,
        "other": twin.replace(right=twin.right + 0.1 * noise),
        "shuffled": model.replace(left=model.left[user_order]),
        "fewer": model.replace(right=model.right[5:], right_ids=ITEM_IDS[5:]),
    }
    for name, saved_model in models.items():
        ea.save(saved_model, folder / f"{name}.npz")


def write_arrays(folder: Path, model: FactorModel) -> None:
    """Write bare arrays: the items, the items with length 1, the users, and layers.

    The three arrays of `layers.npz` have names that say nothing about their use.
    """
    lengths = np.linalg.norm(model.right, axis=1, keepdims=True)
    np.save(folder / "items.npy", model.right)
    np.save(folder / "unit.npy", model.right / lengths)
    np.save(folder / "users.npy", model.left)
    layers = {"a": model.right[0:4], "b": model.right[4:8], "c": model.right[8:12]}
    np.savez(folder / "layers.npz", **layers)


def write_heads(folder: Path, labels: np.ndarray) -> None:
    """Write a head with a bias, a head behind a final norm, and names of the labels.

    The mean label of the first head is far from zero, so centring changes its cosines.
    The gains of the final norm have κ = 4.
    """
    bias = np.arange(N_ITEMS) / 10
    np.savez(folder / "head.npz", weight=labels + 1, bias=bias)
    gains = np.array([1.0, 2.0, 3.0, 4.0])
    tensors = {"lm_head.weight": labels, "model.norm.weight": gains}
    save_file(tensors, folder / "head.safetensors")
    write_lines(folder / "labels.txt", [f"label {n}" for n in range(N_ITEMS)])


def write_titles(folder: Path) -> None:
    """Write a title for each item, and a kind: a, b, c, a, b, c and so on."""
    kinds = ["a", "b", "c"]
    lines = ["id,title,kind"]
    for n in range(N_ITEMS):
        kind = kinds[n % 3]
        lines.append(f"i{n},Film {n},{kind}")
    write_lines(folder / "films.csv", lines)


def write_ratings(folder: Path) -> None:
    """Write ratings of 20 users for 30 items, with at most one rating for each pair."""
    drawn_pairs = np.random.default_rng(0).integers([20, N_ITEMS], size=(300, 2))
    lines = ["user,item,rating,time"]
    for user, item in np.unique(drawn_pairs, axis=0):
        rating = (user * item) % 5 + 1
        time = user + item
        lines.append(f"{user},i{item},{rating},{time}")
    write_lines(folder / "ratings.csv", lines)


def write_networks(folder: Path) -> None:
    """Write the tensors of three networks; `longer` has a tensor that `x` lacks."""
    np.savez(folder / "x.npz", a=[3.0, 4.0], b=[1.0, 0.0])
    np.savez(folder / "y.npz", a=[4.0, 3.0], b=[0.0, 1.0])
    np.savez(folder / "longer.npz", a=[4.0, 3.0], b=[0.0, 1.0], late=[1.0])


def write_cases(folder: Path) -> None:
    """Write cases of four wards that show Simpson's paradox.

    In each ward y falls where x rises, while wards with a higher x have a higher y. The
    column `coin` alternates between 0 and 1, so it explains nothing.
    """
    lines = ["x,y,ward,coin"]
    coin = 0
    for ward in range(4):
        for step in (-1, 0, 1):
            x = 2 * ward + step
            y = 2 * ward - step
            lines.append(f"{x},{y},{ward},{coin}")
            coin = 1 - coin
    write_lines(folder / "cases.csv", lines)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text, each with a line end."""
    path.write_text("".join(f"{line}\n" for line in lines))
