"""Help of the commands: options by subject, and rare ones with `--help-all`."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command

from embaudit.cli.app import app
from embaudit.cli.commands import COMMANDS
from embaudit.gauges import GROUPS


def listed(text):
    """Options that are explained on lines of their own."""
    return re.findall(r"^│ \*?\s{0,4}(--[a-z0-9-]+)", text, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained_once_in_one_of_the_helps(embaudit, command):
    params = get_command(app).get_command(None, command).params
    options = {max(one.opts, key=len) for one in params if one.opts[0][0] == "-"}
    is_rare = {max(one.opts, key=len) for one in params if getattr(one, "hidden", 0)}
    few = listed(embaudit(command, "--help").out)
    assert sorted(few) == sorted({*options, "--help"} - is_rare)
    if is_rare:
        everything = embaudit(command, "--help-all").out
        assert sorted(listed(everything)) == sorted({*options, "--help"})


def test_an_audit_has_no_more_options_than_one_reads(embaudit):
    text = embaudit("audit", "--help").out
    assert len(listed(text)) <= 30
    for panel in ("Your file", "Training", "Output", "Gate", "Effort"):
        assert f"╭─ {panel} ─" in text


def test_the_help_of_gauge_names_every_gauge_group():
    params = get_command(app).get_command(None, "gauge").params
    (text,) = (one.help for one in params if "--group" in one.opts)
    missing = [group.kind for group in GROUPS if group.kind not in text]
    assert not missing, f"the help of --group in embaudit/cli/gauge.py lacks {missing}"


def test_a_word_of_training_has_an_entry_of_its_own(embaudit):
    als, law, every = (
        embaudit("explain", word).out
        for word in ("implicit-als", "Factors", "objectives")
    )
    assert als.startswith("implicit-als, lenskit-als\n")
    assert law.startswith("  factors: a loss with the same weight decay")
    assert [
        ("spark-als" in shown, "  factors: a loss" in shown)
        for shown in (als, law, every)
    ] == [(False, True), (False, True), (True, True)]


def test_paragraphs_of_a_help_are_wrapped_at_the_width_of_the_terminal(
    embaudit, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "300")
    lines = [line.strip() for line in embaudit("fix", "--help").out.splitlines()]
    assert (
        "With --align-to, write the vectors of a retrained model in the coordinates of "
        "the old model, and say for which lists old and new vectors may be mixed."
    ) in lines
