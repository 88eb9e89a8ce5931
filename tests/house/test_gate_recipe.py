"""The recipe of the gate runs; it passes for an unchanged model and fails for a changed
one.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml

from embaudit import FactorModel, save
from embaudit._version import __version__

RECIPE = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")


def blocks(kind):
    """Every block of code of a kind."""
    return re.findall(rf"```{kind}\n(.*?)```", RECIPE, re.DOTALL)


STEPS = yaml.safe_load(*blocks("yaml"))["jobs"]["gate"]["steps"]
FIRST, ACCEPT = (
    shlex.split(block.removeprefix("$ embaudit ")) for block in blocks("console")
)
COMMANDS = [
    shlex.split(step["run"])
    for step in STEPS
    if step.get("run", "").startswith("embaudit ")
]


def trained(seed, *, zero=()):
    """One night's model: yesterday's with a little noise, and rows that training left
    at zero.
    """
    draw, noise = np.random.default_rng(0), np.random.default_rng(seed)
    users, items = draw.standard_normal((30, 4)), draw.standard_normal((20, 4))
    items = items + 1e-3 * noise.standard_normal(items.shape)
    items[list(zero)] = 0
    return FactorModel.from_user_item(
        users, items, user_ids=np.arange(30), item_ids=np.arange(20)
    )


@pytest.fixture
def project(embaudit):
    """A project with the settings of the recipe, and with a baseline made as the recipe
    says.
    """
    (settings,) = blocks("toml")
    Path("embaudit.toml").write_text("n-gauges = 1\n" + settings)
    save(trained(1), "yesterday.npz")
    assert embaudit(*FIRST).code == 0
    return lambda: [embaudit(*words) for _, *words in COMMANDS]


def test_the_recipe_installs_the_wheel_that_a_checkout_builds():
    """There is no release that a name alone could install."""
    (build,) = blocks("sh")
    assert build.startswith("pip wheel . --no-deps ")
    installed = [step["run"] for step in STEPS if "pip" in step.get("run", "")]
    assert installed == [f"pip install ./embaudit-{__version__}-py3-none-any.whl"]


def test_the_recipe_asks_for_all_three_and_shows_what_they_write():
    assert [words[:2] for words in COMMANDS] == [
        ["embaudit", name] for name in ("audit", "compare", "verify")
    ]
    assert COMMANDS[0][2:7] == [
        "today.npz",
        "--fail-on",
        "issue",
        "--baseline",
        FIRST[3],
    ]
    kept = next(
        step["with"]["path"].split()
        for step in STEPS
        if "upload-artifact" in step.get("uses", "")
    )
    written = {word for words in COMMANDS for word in words[2:]}
    assert {*kept} <= written
    # What shows a failure must run after one.
    after = STEPS[
        1
        + next(
            i for i, step in enumerate(STEPS) if "--fail-on" in step.get("run", "")
        ) :
    ]
    assert {step["if"] for step in after} == {"${{ !cancelled() }}"}


def test_a_night_without_news_passes(project):
    save(trained(2), "today.npz")
    audit, compare, verify = project()
    assert (audit.code, compare.code, verify.code) == (0, 0, 0)
    assert (
        audit.out.splitlines()[-1]
        == "gate: passes; not counted: EMB101 items (issue, known)"
    )
    assert "gate: passes; not counted: EMB101 items (issue, known)" in RECIPE
    assert ET.fromstring(Path("today.xml").read_text()).get("failures") == "0"
    assert json.loads(Path("change.json").read_text())["changes"]
    assert verify.out.startswith("All agrees: ")


def test_rows_left_at_zero_stop_the_release_until_somebody_accepts_them(
    project, embaudit
):
    save(trained(2, zero=[3, 4]), "today.npz")
    audit, compare, verify = project()
    assert (audit.code, compare.code, verify.code) == (1, 1, 0)
    last = (
        "gate: stops at EMB201 items (tip, new: always stops)"
        "; not counted: EMB101 items (issue, known)"
    )
    assert audit.out.splitlines()[-1] == last
    assert last in RECIPE
    assert ET.fromstring(Path("today.xml").read_text()).get("failures") == "1"
    assert "EMB201" in Path("today.md").read_text()
    assert embaudit(*ACCEPT).code == 0
    (_, *words), *_ = COMMANDS
    assert embaudit(*words, "--force").code == 0
