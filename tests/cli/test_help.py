"""Help of the commands: options in sections, rare ones by name, all of them with `explain COMMAND`."""

from __future__ import annotations

import re

import pytest

from embaudit.cli.commands import COMMANDS, RARE, RARE_IN, SECTIONS

RARELY = "\nRarely needed"


def listed(text):
    """Options that are explained on lines of their own."""
    return re.findall(r"^  (--[a-z0-9-]+)", text, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained_once_and_rare_ones_are_named(embaudit, command):
    few, _, rest = embaudit(command, "--help").out.partition(RARELY)
    everything = embaudit("explain", command).out.rpartition("Usage: ")[2]
    rare = re.findall(r"--[a-z0-9-]+", rest.partition(":\n")[2])
    assert RARELY not in everything
    assert sorted([*listed(few), *rare]) == sorted(listed(everything))
    assert len(set(listed(everything))) == len(listed(everything))


def test_an_audit_has_no_more_options_than_one_reads(embaudit):
    few = embaudit("audit", "--help").out.partition(RARELY)[0]
    assert len(set(listed(few)) - {"--help"}) <= 35
    assert [title for title in SECTIONS if f"\n{title}:\n" not in few] == []


def test_no_section_names_an_option_that_no_command_has(embaudit):
    options = {
        name
        for command in COMMANDS
        for name in re.findall(r"--([a-z0-9-]+)", embaudit("explain", command).out)
    }
    named = {
        name
        for names in (*SECTIONS.values(), RARE, *RARE_IN.values())
        for name in names
    }
    assert {name.replace("_", "-") for name in named} - options == set()


def test_a_word_of_training_has_an_entry_of_its_own(embaudit):
    als, law, every = (
        embaudit("explain", word).out
        for word in ("implicit-als", "Factors", "objectives")
    )
    assert als.startswith("implicit-als, lenskit-als\n")
    assert law.startswith("  factors: a loss with the same weight decay")
    assert [("spark-als" in shown, "  factors: a loss" in shown) for shown in (als, law, every)] == [
        (False, True), (False, True), (True, True)]  # fmt: skip
