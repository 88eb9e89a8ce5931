"""The remedy that an error message suggests works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD

import embaudit as ea

if TYPE_CHECKING:
    from collections.abc import Callable

DRAW = np.random.default_rng(0)
USERS, ITEMS = DRAW.normal(size=(20, 3)), DRAW.normal(size=(15, 3))
STATE = {"w1": USERS, "w2": ITEMS}
DATA = np.abs(DRAW.normal(size=(30, 12)))
SVD = TruncatedSVD(4, random_state=0).fit(DATA)
FEW = {"n_gauges": 1, "n_starts": 0}


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ea.InputError) as error:
        call()
    return str(error.value)


def cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez("state.npz", **STATE)
    return tmp_path


def test_an_audit_takes_the_names_of_arrays_that_it_asks_for() -> None:
    said = refusal(lambda: ea.audit(STATE))
    assert "name two factors with left=A and weight=B" in said
    assert "or one table with weight=B and kind='head' or kind='vectors'" in said
    pair = ea.audit(STATE, left="w1", weight="w2", **FEW).model
    assert (pair.n_left, pair.n_right) == (20, 15)
    head = ea.audit(STATE, weight="w2", kind="head", **FEW).model
    assert (head.link.name, head.n_right) == ("softmax", 15)
    table = ea.audit(STATE, weight="w1", kind="vectors", **FEW).model
    assert (table.left, table.n_right) == (None, 20)


def test_an_audit_takes_every_option_of_load_from_a_file(folder: Path) -> None:
    model = ea.audit(
        "state.npz",
        left="w1",
        weight="w2",
        link="softmax",
        left_ids=np.arange(20),
        **FEW,
    ).model
    assert model.link.name == "softmax"
    assert model.left_ids is not None
    said = refusal(lambda: ea.audit("state.npz", wieght="w2"))
    assert said.endswith("got 'wieght'; the nearest one is weight.")


def test_the_other_side_of_a_decomposition_is_given_beside_it() -> None:
    assert "a second set (`--left-file FILE`)" in ea.audit(SVD, **FEW).explain()
    left = SVD.transform(DATA)
    model = ea.audit(SVD, left=left, **FEW).model
    np.testing.assert_allclose(model.scores(), left @ SVD.components_)
    said = refusal(lambda: ea.fix(SVD, "prediction"))
    assert "add the users with left or left_file when the model is loaded" in said
    assert "taken by" not in said
    assert "embaudit.io" not in said
    fixed = ea.fix(ea.load(SVD, left=left), "prediction").vectors()
    np.testing.assert_allclose(
        cosines(fixed), cosines((left @ SVD.components_).T), atol=1e-9
    )


def test_a_classifier_has_inputs_and_no_left_side() -> None:
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit(DATA, np.arange(30) % 3)
    said = refusal(lambda: ea.audit(fitted, left=DATA))
    assert said.endswith("pass the vectors that the head is applied to with inputs.")
    assert ea.audit(fitted, inputs=DATA, **FEW).model.n_left == 30


def test_functions_of_a_model_name_the_function_that_takes_the_options(
    folder: Path,
) -> None:
    for call in (ea.fix, lambda state: ea.compare(state, state)):
        said = refusal(lambda call=call: call(STATE))
        assert said.endswith("These options are taken by embaudit.load.")
        said = refusal(lambda call=call: call("state.npz"))
        assert said.endswith("These options are taken by embaudit.load.")
    said = refusal(lambda: ea.fix([USERS, ITEMS]))
    assert "give the right array, and the left array with left=ARRAY" in said
    assert said.endswith("These options are taken by embaudit.load.")
    model = ea.load(ITEMS, left=USERS)
    assert ea.fix(model).roles == ("right",)
    named = ea.load("state.npz", left="w1", weight="w2")
    assert ea.fix(named).roles == ("right",)
    named = ea.load(STATE, weight="w2", kind="vectors")
    assert ea.fix(named).kind == "centred"


def test_ids_that_a_comparison_lacks_are_given_when_a_model_is_read(
    folder: Path,
) -> None:
    ids = np.arange(100, 120)
    with_ids = ea.FactorModel.from_user_item(USERS, ITEMS, user_ids=ids)
    said = refusal(lambda: ea.compare(with_ids, "state.npz"))
    assert "These options are taken by embaudit.load" in said
    other = ea.load("state.npz", left="w1", weight="w2")
    said = refusal(lambda: ea.compare(with_ids, other))
    assert "add them with left_ids when the model is read" in said
    other = ea.load("state.npz", left="w1", weight="w2", left_ids=ids)
    assert ea.compare(with_ids, other).agreement.same


def test_titles_without_ids_are_joined_by_row_as_the_refusal_says(folder: Path) -> None:
    Path("films.csv").write_text("".join(f"{i},Film {i}\n" for i in range(15)))
    vectors = ea.FactorModel.from_vectors(ITEMS)
    said = refusal(lambda: ea.audit(vectors, items="films.csv"))
    assert "by_row=True" in said
    # The sentence also names ids, which a model has before titles are joined.
    assert said.endswith("embaudit.io.with_titles takes by_row.")
    named, _ = ea.io.with_titles(vectors, "films.csv", by_row=True)
    assert named.names("right")[3] == "Film 3"


def test_every_file_that_a_refused_folder_names_is_read(folder: Path) -> None:
    model = Path("model")
    (model / "inner").mkdir(parents=True)
    np.savez(model / "factors.npz", user_factors=USERS, item_factors=ITEMS)
    np.save(model / "inner" / "rows.npy", ITEMS)
    (model / "vocab.txt").write_text("a\nb\n")
    (model / "config.json").write_text('{"hidden_size": 3}')
    (model / "broken.npy").write_bytes(b"\x93NUMPY")
    said = refusal(lambda: ea.load(model))
    names = re.search(r"name the file in it: (.*?);", said)[1].split(", ")
    assert names == ["model/factors.npz", "model/inner/rows.npy"]
    assert [ea.load(name).n_right for name in names] == [15, 15]
    for name in names:
        Path(name).unlink()
    sentence = refusal(lambda: ea.load(model))
    assert "name a file with a model; a folder can be read if it holds" in sentence


def test_unit_rows_are_read_with_the_link_that_was_trained(folder: Path) -> None:
    left, right = (x / np.linalg.norm(x, axis=1)[:, None] for x in (USERS, ITEMS))
    np.savez("unit.npz", user_factors=left, item_factors=right)
    model = ea.load("unit.npz")
    said = refusal(lambda: ea.fix(model, "balanced"))
    assert "read it with link='identity' or objective='cosine'" in said
    balanced = ea.fix(ea.load("unit.npz", link="identity"), "balanced").to_model()
    np.testing.assert_allclose(balanced.scores(), left @ right.T, atol=1e-12)
    prediction = ea.fix(ea.load("unit.npz", objective="cosine"), "prediction")
    assert prediction.roles == ("right",)
