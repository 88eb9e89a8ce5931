"""Options have one name in Python and on the command line.

The error for a wrong name suggests the nearest one.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import pickle
import re
import shlex
from functools import cache
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import embaudit as ea
from embaudit.auditing.equivalents import one_equivalent
from embaudit.auditing.evidence import gather
from embaudit.auditing.recorded_equivalent import repeat_equivalent
from embaudit.cli.app import app
from embaudit.cli.commands import COMMANDS
from embaudit.errors import InputError, Option
from embaudit.evaluation import held_out_interactions
from embaudit.io import with_titles
from embaudit.io.layouts.checks import BIAS_OPTIONS, FACTOR_OPTIONS, ID_OPTIONS
from embaudit.io.options import Request

FEW = (
    "--n-gauges",
    1,
    "--n-pairs",
    50,
    "--n-starts",
    1,
    "--n-steps",
    2,
    "--n-lists",
    5,
)


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    np.savez(
        "m.npz",
        user_factors=draw.standard_normal((40, 4)),
        item_factors=draw.standard_normal((30, 4)),
    )
    return "m.npz"


FUNCTIONS = {
    "audit": (ea.audit, gather),
    "blocks": (ea.block_cosines,),
    "compare": (
        ea.compare,
        ea.stable_neighbours,
        ea.space_map,
        ea.compare_copies,
        ea.compare_lora,
    ),
    "evaluate": (ea.evaluate_similarities, held_out_interactions),
    "fit": (ea.io.read_interactions, ea.ProductPenaltyMF),
    "fix": (ea.fix,),
    "gauge": (one_equivalent, repeat_equivalent),
    "reproduce": (ea.reproduce.netflix, ea.reproduce.NetflixSetting),
    "simpson": (ea.simpson,),
    "threshold": (ea.threshold,),
    "demo": (ea.simulate_interactions,),
}
"""What a command calls, beside `load` and `with_titles`."""
READ = {field.name for field in dataclasses.fields(Request)} | {
    "format",
    "items",
    *signature(with_titles).parameters,
}
TYPED = {
    "full",
    "json",
    "out",
    "markdown",
    "quiet",
    "force",
    "jobs",
    "dask",  # where a result goes, and who works on it
    "fail_on",
    "ignore_code",
    "allow_missing_scores",
    "baseline",
    "junit",
    "heatmap",
    "heatmap_groups",  # gates, pictures
    "help_all",
}
"""Options of the command line alone."""
OWN = {
    "audit": {"attention"},  # layer and head of `ea.audit_attention`
    "fit": {"rng"},  # random_state, as scikit-learn calls it
    "compare": {
        "paired",  # whether `ea.space_map` is called
        *("copy", "formats"),  # both are `copies` of `ea.compare_copies`
    },
    "gauge": {"from"},  # the record
    "evaluate": {"truth"},  # the columns
    "reproduce": {"rng"},  # the seed of a setting
    "threshold": {"left_items"},  # groups of left rows
}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_an_option_is_called_as_the_keyword_it_sets(command):
    options = get_command(app).get_command(None, command).params
    shown = [one for one in options if one.param_type_name == "option"]
    names = {one.opts[0].removeprefix("--").replace("-", "_") for one in shown}
    keywords = {
        name.rstrip("_")
        for function in FUNCTIONS[command]
        for name in signature(function).parameters
    }
    assert names - keywords - READ - TYPED == OWN.get(command, set()) - keywords


def test_every_option_of_an_audit_but_its_roles_is_one_of_the_command():
    params = get_command(app).get_command(None, "audit").params
    names = {field.name for field in dataclasses.fields(ea.AuditOptions)}
    assert names - {one.name for one in params} == {"roles"}


def test_every_option_of_load_but_features_of_objects_is_one_of_the_command():
    params = get_command(app).get_command(None, "audit").params
    names = {"format", *(field.name for field in dataclasses.fields(Request))}
    assert names - {one.name for one in params} == {
        "collection",
        "user_features",
        "item_features",
    }


def test_titles_of_a_table_are_those_of_an_audit(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 4))
    (tmp_path / "t.csv").write_text(
        "id,title\n" + "".join(f"i{n},Film {n}\n" for n in range(30)), encoding="utf-8"
    )
    found = ea.audit(
        rows,
        ids=[f"i{n}" for n in range(30)],
        items=tmp_path / "t.csv",
        n_gauges=1,
        n_pairs=20,
    )
    assert found.model.names("right")[3] == "Film 3"


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: ea.audit("m.npz", n_neighbors=3), "n_neighbours"),
        (lambda: ea.load("m.npz", objektive="bpr"), "objective"),
        (lambda: ea.compare("m.npz", "m.npz", byrow=True), "by_row"),
        (lambda: ea.fix("m.npz", dimension=3), "dimensions"),
        (
            lambda: ea.evaluate_similarities("m.npz", ["a", "b"] * 15, rolle="item"),
            "role",
        ),
    ],
)
def test_a_wrong_keyword_names_the_nearest(model, call, near):
    with pytest.raises(InputError, match=f"the nearest one is {near}") as refused:
        call()
    assert isinstance(refused.value, TypeError)


def sources():
    """Yield the syntax tree of each module outside the command line and the report."""
    package = Path(ea.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in ("cli", "report"):
            yield path.name, ast.parse(path.read_text(encoding="utf-8"))


def texts(tree):
    """Yield the texts of one line in a syntax tree, with N for each inserted value.

    Docstrings of several lines are skipped.
    """
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= set(node.values)
            text = "".join(
                part.value if isinstance(part, ast.Constant) else "N"
                for part in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in inside
        ):
            text = node.value
        else:
            continue
        if "\n" not in text:
            yield text


@cache
def options():
    """Return the options of all commands."""
    commands = (get_command(app).get_command(None, name) for name in COMMANDS)
    return {
        word
        for command in commands
        for one in command.params
        for word in (*one.opts, *one.secondary_opts)
    }


def test_every_option_that_an_error_names_is_one_of_a_command():
    named = {
        call.args[0].value
        for _, tree in sources()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "Option"
        and isinstance(call.args[0], ast.Constant)
    }
    # Some names are chosen when the program runs.
    for options_of_sides in (BIAS_OPTIONS, FACTOR_OPTIONS, ID_OPTIONS):
        named |= set(options_of_sides.values())
    named |= {"ids", "left_ids", "user", "item", "rating", "id", "title"}
    assert {"kind", "weight", "by_row"} <= named
    assert {Option(name).for_cli() for name in named} <= options()


def test_sentences_leave_dashes_to_the_command_line():
    n_texts = 0
    for file, tree in sources():
        for text in texts(tree):
            # Backticks enclose a command, which Python writes as the shell does.
            outside = re.sub("`[^`]*`", "", text)
            assert not re.search(r"(?<![\w-])--[a-zN]", outside), (file, text)
            n_texts += 1
    assert n_texts > 1000


@pytest.mark.parametrize(
    "value", ["b", "avg rating", "it's", "a=b", "--left=a", "a\tb"]
)
def test_a_value_is_quoted_as_each_front_needs_it(value):
    error = InputError("leave it out with {}.", Option("ignore", value))
    typed = error.for_cli().removeprefix("leave it out with ").removesuffix(".")
    assert shlex.split(typed.replace("\\t", "\t")) == ["--ignore", value]
    keyword = str(error).removeprefix("leave it out with ").removesuffix(".")
    assert ast.parse(f"f({keyword})").body[0].value.keywords[0].value.value == value


def test_a_parameter_is_called_as_the_front_calls_it(model, embaudit):
    with pytest.raises(InputError, match=r"^n_pairs must be"):
        ea.audit(model, n_pairs=0)
    assert embaudit("audit", model, "--n-pairs", 0).err.startswith(
        "embaudit: --n-pairs must be"
    )
    with pytest.raises(InputError, match=r"name two factors with left=A and weight=B"):
        np.savez("two.npz", a=np.ones((3, 2)), b=np.ones((4, 2))) or ea.load("two.npz")
    assert (
        "name two factors with --left A and --weight B, or"
        in embaudit("audit", "two.npz").err
    )


def test_files_that_a_shell_spelled_out_are_read_as_one_list(embaudit, tmp_path):
    for number in range(2):
        rows = np.random.default_rng(number).normal(size=(20, 4))
        ea.save(
            ea.FactorModel.from_vectors(
                rows, ids=[f"{number}-{row}" for row in range(20)]
            ),
            f"p{number}.parquet",
        )
    assert "40 × 4" in embaudit("formats", "p0.parquet", "p1.parquet").out
    screen = embaudit("audit", "p0.parquet", "p1.parquet", *FEW, "--json", "a.json").out
    assert "embaudit audit p0.parquet p1.parquet" in screen
    assert (
        json.loads(Path("a.json").read_text(encoding="utf-8"))["model"]["n_right"] == 40
    )
    assert embaudit("fix", "p0.parquet", "p1.parquet", "--out", "f.npz").code == 0
    assert ea.load("f.npz").n_right == 40
    refused = embaudit(
        "fix", "p0.parquet", "p1.parquet", "--out", "p1.parquet", "--force"
    )
    assert (refused.code, "another file than the input" in refused.err) == (2, True)


def test_an_error_from_another_process_still_names_options():
    error = pickle.loads(pickle.dumps(InputError("say {}.", Option("kind", "head"))))
    assert (str(error), error.for_cli()) == ("say kind='head'.", "say --kind head.")
