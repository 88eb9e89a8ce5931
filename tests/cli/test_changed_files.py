"""Commands write no result if a file that they read was changed in the meantime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from embaudit.core.progress import reporting

COMMANDS = {
    "audit": ("audit", "model.npz", "--quick", "--json", "r.json"),
    "compare": ("compare", "model.npz", "twin.npz", "--json", "r.json"),
    "evaluate": (
        *("evaluate", "model.npz", "--items", "films.csv", "--truth", "kind"),
        *("--json", "r.json"),
    ),
    "simpson": (
        "simpson",
        "cases.csv",
        "--x",
        "x",
        "--y",
        "y",
        "--groups",
        "ward",
        "--json",
        "r.json",
    ),
}


class Changing:
    """Replace a file at the first step of work whose progress is shown."""

    def __init__(self, path):
        self.path = Path(path)
        self.is_done = False

    def __call__(self, steps, title, total):
        if not self.is_done:
            content = self.path.read_bytes()
            self.path.unlink()
            self.path.write_bytes(content)
            self.is_done = True
        yield from steps


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        *(("audit", "model.npz"), ("compare", "model.npz"), ("compare", "twin.npz")),
        *(("evaluate", "model.npz"), ("evaluate", "films.csv")),
        ("simpson", "cases.csv"),
    ],
)
def test_a_file_that_is_replaced_during_a_command_is_refused(embaudit, name, changed):
    change = Changing(changed)
    with reporting(change):
        found = embaudit(*COMMANDS[name])
    assert change.is_done
    assert found.code == 2
    assert f"{changed} must be unchanged while it is read" in found.err
    assert not Path("r.json").exists()


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_fix_writes_no_vectors_of_a_file_that_was_replaced(embaudit, kind):
    source = Path("model.npz")
    changed = source
    if kind == "folder":
        source = Path("head")
        source.mkdir()
        rows = np.random.default_rng(0).standard_normal((300, 8))
        save_file({"lm_head.weight": rows}, source / "model.safetensors")
        changed = source / "model.safetensors"
    change = Changing(changed)
    with reporting(change):
        found = embaudit("fix", source, "--out", "r.npz")
    assert change.is_done
    assert found.code == 2
    assert f"{changed} must be unchanged while it is read" in found.err
    assert not Path("r.npz").exists()


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        (("gauge", "model.npz", "--out", "r.npz"), "model.npz"),
        (
            *[("fit", "ratings.csv", "--objective", "product", "--n-components", "2")],
            "ratings.csv",
        ),
        (("verify", "a.json", "model.npz"), "model.npz"),
        (("verify", "a.json", "model.npz"), "a.json"),
    ],
)
def test_other_commands_refuse_a_file_that_was_replaced(embaudit, arguments, changed):
    if arguments[0] == "verify":
        assert embaudit("audit", "model.npz", "--quick", "--json", "a.json").code == 0
    if arguments[0] == "fit":
        arguments = (*arguments, "--out", "r.npz")
    change = Changing(changed)
    with reporting(change):
        found = embaudit(*arguments)
    assert change.is_done
    assert found.code == 2
    assert f"{changed} must be unchanged while it is read" in found.err
    assert not Path("r.npz").exists()
