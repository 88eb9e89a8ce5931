"""Each command succeeds on good input, and its first line says what it did."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split

import numpy as np
import pytest

import embaudit as ea

QUICK = "--n-gauges 1 --n-pairs 50 --n-starts 0"
PRINTED = [
    ("--version", f"embaudit {ea.__version__}"),
    (f"audit model.npz {QUICK}", "model.npz: two tables, 40 users × 30 items, 4 dim"),
    (f"audit model.npz {QUICK} --full", "FactorModel(40 users × 30 items, 4 dim"),
    (f"audit items.npy {QUICK}", "items.npy: vectors, 30 items, 4 dimensions"),
    (
        f"audit items.npy --left-file users.npy {QUICK}",
        "items.npy: two tables, 40 users × 30 items,",
    ),
    (
        f"audit items.npy --transpose right {QUICK}",
        "items.npy: vectors, 4 items, 30 dim",
    ),
    (
        f"audit head.npz --kind head {QUICK}",
        "head.npz: softmax head, 30 labels, 4 dimensions",
    ),
    ("blocks x.npz y.npz", "The global cosine is 0.9231: "),  # 24 / 26
    ("compare model.npz twin.npz", "SAME: up to rounding, the models differ only by"),
    ("compare items.npy unit.npy --by-row", "30 items, matched by the order of their"),
    (
        "compare head.npz head.npz --kind head --labels labels.txt",
        "SAME: the rows differ at most by the rounding of the files",
    ),
    (
        "evaluate model.npz --items films.csv --truth kind",
        "judged by kind: 30 of 30 items matched by id.",
    ),
    (
        "evaluate model.npz --interactions ratings.csv",
        "judged by 238 held-out items of 20 users in ratings.csv",
    ),
    (
        "evaluate model.npz --interactions ratings.csv --last 2 --time time",
        "judged by the last 2 items, by time, of 20 users in ratings.csv",
    ),
    ("explain", "EMB001  predictions did not stay the same"),
    ("explain EMB101", "EMB101 (issue): training does not fix the cosines"),
    ("explain emb202", "EMB202 (tip): the item bias takes no part in the cosines"),
    ("explain gauge", "gauge"),
    ("explain implicit-als", "implicit-als, lenskit-als"),
    (
        "fit ratings.csv --objective product --n-components 3 --out m.npz",
        "238 rows read: 20 users × 30 items, 238 interactions",
    ),
    ("fix model.npz --out f.npz", "item vectors of 4 dimensions, whose plain cosine"),
    ("fix items.npy --out f.csv", "item vectors of 4 dimensions, with a mean of 0."),
    ("formats model.npz", "Read as embaudit: left (40 × 4) as left factors, right (30"),
    (
        "formats items.npy --left-file users.npy",
        "Read as npy: users.npy (40 × 4) as left",
    ),
    ("formats head.safetensors", "model.norm.weight (4) as the final norm"),
    ("formats head.safetensors --norm none", "Not used: model.norm.weight (4)"),
    ("gauge model.npz --out g.npz", "diagonal 1, condition number 2: FactorModel(40"),
    (
        "gauge model.npz --exponent 0.5 --out g.npz",
        "exponent 0.5, condition number 3.0",
    ),
    ("gauge items.npy --group orthogonal --out g.npz", "orthogonal 1, condition numb"),
    ("schema", "{"),
    (
        "simpson cases.csv --x x --y y --groups ward --min-size 2 --n-permutations 9",
        # Within a ward y falls exactly as x rises; over all, r = (5 - 2/3)/(5 + 2/3).
        "Reversal by ward: over all 12 rows x and y correlate by +0.765, within",
    ),
    (
        "simpson cases.csv --x x --y y --groups coin --n-permutations 9",
        "Grouping by coin does not reverse, remove or uncover the association: "
        "over all",
    ),
]


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("typed", "part"), PRINTED, ids=[typed for typed, _ in PRINTED]
)
def test_a_command_says_in_its_first_line_what_it_did(embaudit, typed, part):
    result = embaudit(*split(typed))
    assert result.code == 0, result.err
    assert part in result.out.splitlines()[0]


QUIET = [
    f"audit model.npz {QUICK}",
    "blocks x.npz y.npz",
    "compare model.npz twin.npz",
    "evaluate model.npz --items films.csv --truth kind",
    "fit ratings.csv --objective product --n-components 3 --out m.npz",
    "fix model.npz --out f.npz",
    "gauge model.npz --out g.npz",
    "simpson cases.csv --x x --y y --groups ward --n-permutations 9",
]


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("typed", QUIET)
def test_a_quiet_command_prints_nothing(embaudit, typed):
    result = embaudit(*split(typed), "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.usefixtures("inputs")
def test_an_audit_says_which_options_and_names_it_went_by(embaudit):
    shown = embaudit(*split(f"audit model.npz {QUICK} --objective factors"))
    words = "you declared factors, but objective in model.npz says product"
    assert words in " ".join(shown.out.split())
    arrays = "items.npy --left-file users.npy"
    shown = embaudit(*split(f"audit {arrays} {QUICK} --objective factors"))
    assert "--objective factors --as prediction" in " ".join(
        shown.out.replace("\\\n", " ").split()
    )
    titled = embaudit(*split(f"audit model.npz {QUICK} --items films.csv --show i3"))
    assert titled.err == "titles: 30 of 30 items matched by id.\n"
    assert "Nearest to Film 3:" in titled.out
    few = embaudit(*split(f"audit model.npz {QUICK} --n-neighbours 4"))
    assert "4 nearest kept" in few.out
    normed = embaudit(*split(f"audit head.safetensors {QUICK}"))
    assert normed.err == (
        "final norm: model.norm.weight (RMSNorm, which stretches some axes 4 times as "
        "much as others), by its name; "
        "--norm none reads the head without it.\n"
    )


@pytest.mark.usefixtures("inputs")
def test_rows_have_the_name_that_was_typed_even_if_it_looks_like_markup(embaudit):
    name = "--right-name '[b]row'"
    audited = embaudit(*split(f"audit unit.npy --compared cosine {name} {QUICK}"))
    assert "unit.npy: vectors, 30 [b]rows, 4 dimensions" in audited.out
    assert (
        "Are these [b]row-[b]row cosines fixed by what the model predicts?"
        in audited.out
    )
    compared = embaudit(*split(f"compare items.npy unit.npy --by-row {name}"))
    assert "The [b]rows' cosines are the same." in compared.out
    judged = embaudit(
        *split(f"evaluate model.npz {name} --items films.csv --truth kind")
    )
    assert "30 of 30 [b]rows matched by id" in judged.out
    fixed = embaudit(*split(f"fix items.npy {name} --out f.npz"))
    assert fixed.out.startswith("[b]row vectors of 4 dimensions")


@pytest.mark.usefixtures("inputs")
def test_fit_says_what_it_merged_and_dropped(embaudit):
    Path("some.csv").write_text(
        "user,item,rating\n1,1,3\n1,1,5\n1,2,4\n2,1,5\n2,2,1\n3,1,2\n"
    )
    fit = "fit some.csv --objective product --n-components 1 --duplicates last"
    result = embaudit(*split(f"{fit} --threshold 3 --out m.npz"))
    assert "6 rows read: 2 users × 2 items, 3 interactions\n" in result.out
    assert "1 duplicate merged\n" in result.out
    assert "2 interactions dropped\n" in result.out


@pytest.mark.usefixtures("inputs")
def test_columns_of_a_table_without_a_header_are_named_by_number(embaudit):
    Path("bare.dat").write_text("1;1;3\n1;2;4\n2;1;5\n3;2;1\n2;2;2\n")
    fit = "fit bare.dat --objective product --n-components 1 --quiet"
    assert embaudit(*split(f"{fit} --header no --sep ';' --out a.npz")).code == 0
    assert ea.load("a.npz").left_ids.tolist() == [1, 2, 3]
    swapped = embaudit(*split(f"{fit} --header no --rating 0 --user 2 --out b.npz"))
    assert swapped.code == 0
    assert ea.load("b.npz").left_ids.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("inputs")
def test_few_rows_of_many_columns_make_a_command_ask_for_transpose(embaudit):
    np.save("wide.npy", np.load("items.npy").T)
    gauge = "gauge wide.npy --group orthogonal"
    asked = embaudit(*split(f"{gauge} --out a.npz"))
    assert "Did you mean 30 items? Then read it with --transpose right." in asked.err
    told = embaudit(*split(f"{gauge} --transpose right --out b.npz"))
    assert "FactorModel(30 items, 4 dimensions" in told.out
    assert told.err == ""


@pytest.mark.usefixtures("inputs")
def test_orthonormal_rows_make_a_command_ask_for_transpose(embaudit):
    """The rows of Vᵀ have length 1, as those of encoders have."""
    items = np.random.default_rng(0).standard_normal((30, 8))
    right = np.linalg.svd(items, full_matrices=False)[2][:4]
    np.save("right.npy", right)
    gauge = "gauge right.npy --group orthogonal"
    asked = embaudit(*split(f"{gauge} --out a.npz"))
    assert asked.err == (
        "This is read as 4 items of 8 numbers each, orthonormal as the rows of Vᵀ in a "
        "singular value decomposition. Did you mean 8 items? Then read it with "
        "--transpose right.\n"
    )
    told = embaudit(*split(f"{gauge} --transpose none --out b.npz"))
    assert told.err == ""


@pytest.mark.usefixtures("inputs")
def test_an_audit_is_verified_with_its_own_model_only(embaudit):
    audit = f"audit model.npz {QUICK} --quiet --json audit.json"
    assert embaudit(*split(audit)).code == 0
    same = embaudit("verify", "audit.json", "model.npz")
    other = embaudit("verify", "audit.json", "other.npz")
    assert (same.code, other.code) == (0, 1)
    assert same.out.startswith("All agrees: ")
    assert "All agrees" not in other.out
    name = json.loads(Path("audit.json").read_text())["movement"][0]["gauge"]
    made = embaudit(
        *split("gauge model.npz --from audit.json --out g.npz --name"), name
    )
    assert made.out.startswith(f"{name}, condition number ")
