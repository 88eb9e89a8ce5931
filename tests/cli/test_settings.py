"""Settings of a project in `embaudit.toml`, or in `pyproject.toml`."""

from __future__ import annotations

from pathlib import Path
from shlex import split

import pytest

AUDIT = split("audit model.npz --n-pairs 50 --n-starts 0")
REFUSED = [
    ("magic = 3", "got 'magic'"),
    ("n-pair = 3", "the nearest one is n-pairs"),
    ("fail_on = 'tip'", "the nearest one is fail-on"),
    ("n-pairs = true", "n-pairs in embaudit.toml must be what --n-pairs takes"),
    ("n-pairs = 1.5", "as an integer); got 1.5."),
    ("n-pairs = [9]", "n-pairs in embaudit.toml must be a text, a number or a flag"),
    ("n-gauges = 0", "--n-gauges must be an integer from 1"),
    ("max-condition = 'x'", "as a number); got 'x'."),
    ("objective = 3", "--objective must be"),
    ("groups = [{}]", "groups in embaudit.toml must be a list of texts"),
    ("groups = ['magic']", "one of canonical, affine, diagonal"),
    ("normalised = 'perhaps'", "should be a valid boolean"),
    ("rng = -1", "greater than or equal to 0); got -1."),
    ("fail-on = 'magic'", "'magic' is not one of 'issue', 'tip', 'never'"),
    ("fail-on = 3", "); got 3."),
    ("ignore-code = [3]", "a code must be listed by `embaudit explain`; got"),
    ("ignore-code = ['EMB1O1']", "the nearest one is EMB101"),
    ("baseline = 'none.json'", "the baseline must be a file that exists"),
    ("[severity]", "got 'severity'"),
    ("[tool", "must be valid TOML"),
    ("a = " + 100_000 * "[", "must be valid TOML"),
]


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("text", "part"), REFUSED, ids=[one[:30] for one, _ in REFUSED]
)
def test_a_wrong_setting_is_refused_by_name(embaudit, text, part):
    Path("embaudit.toml").write_text(text)
    result = embaudit(*AUDIT)
    *_, last = result.err.replace(f"{Path.cwd()}/", "").splitlines()
    assert result.code == 2
    assert last.startswith("embaudit: ")
    assert part in last
    assert result.out == ""


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[tool]\nembaudit = 3\n", "tool.embaudit in pyproject.toml must be a table"),
        (
            "[tool.embaudit]\nmagic = 3\n",
            "a setting in pyproject.toml must be an option",
        ),
    ],
)
def test_a_wrong_setting_of_pyproject_is_refused_by_name(embaudit, text, part):
    Path("pyproject.toml").write_text(text)
    result = embaudit(*AUDIT)
    assert result.code == 2
    assert part in result.err.replace(f"{Path.cwd()}/", "")


@pytest.mark.usefixtures("inputs")
def test_settings_must_be_a_file(embaudit):
    Path("embaudit.toml").mkdir()
    result = embaudit(*AUDIT)
    assert result.code == 2
    assert "embaudit.toml must be a file; got a folder" in result.err


@pytest.mark.usefixtures("inputs")
def test_a_pyproject_without_settings_changes_nothing(embaudit):
    Path("pyproject.toml").write_text("tool = 3")
    result = embaudit(*AUDIT, "--quiet")
    assert (result.code, result.err) == (0, "")


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("name", "table"), [("embaudit.toml", ""), ("pyproject.toml", "tool.embaudit")]
)
def test_settings_hold_below_their_folder_and_options_override_them(
    embaudit, name, table, monkeypatch
):
    """EMB101 is an issue of this model, so the gate stops without --fail-on never."""
    head = f"[{table}]\n" if table else ""
    file = Path.cwd() / name
    file.write_text(f'{head}fail-on = "issue"\nn-gauges = 1\n')
    model = Path.cwd() / "model.npz"
    Path("below").mkdir()
    monkeypatch.chdir("below")
    few = ("audit", model, "--n-pairs", 50, "--n-starts", 0)
    settled = embaudit(*few)
    assert settled.code == 1
    assert settled.err == (
        f"settings: fail-on, n-gauges of {file}; "
        "options on the command line override this file.\n"
    )
    assert settled.out.splitlines()[-1].startswith("gate: stops at EMB101")
    never = embaudit(*few, "--fail-on", "never", "--quiet")
    assert (never.code, never.err) == (0, "")


@pytest.mark.usefixtures("inputs")
def test_a_code_that_settings_ignore_does_not_stop_the_gate(embaudit):
    Path("embaudit.toml").write_text("ignore-code = ['EMB101']\nfail-on = 'tip'\n")
    result = embaudit(*AUDIT)
    last = result.out.splitlines()[-1]
    assert result.code == 0
    assert last == "gate: passes; not counted: EMB101 items (issue, ignored)"


@pytest.mark.usefixtures("inputs")
def test_settings_choose_how_a_head_is_read_and_audited(embaudit):
    audit = split("audit head.safetensors --n-pairs 50 --n-starts 0 --n-gauges 1")
    Path("embaudit.toml").write_text(
        'norm = "none"\nsoft-cap = 30\nn-neighbours = 3\nobjective = "softmax-decay"\n'
    )
    capped = embaudit(*audit).out
    assert "not used: model.norm.weight (4)" in capped
    assert "softmax-decay, as you" in capped
    assert "fixed by a logit soft-cap of 30" in capped
    assert "3 nearest kept" in capped
    Path("embaudit.toml").write_text('normalised = true\nnorm-kind = "rms"\n')
    unit = embaudit(*audit).out
    assert "YES: label-label cosines are the same in all equivalent models" in unit


@pytest.mark.usefixtures("inputs")
def test_paths_in_settings_are_relative_to_the_folder_of_their_file(
    embaudit, monkeypatch
):
    Path("embaudit.toml").write_text("items = 'films.csv'\nquiet = true\n")
    model = Path.cwd() / "model.npz"
    Path("below").mkdir()
    monkeypatch.chdir("below")
    few = ("--n-pairs", 50, "--n-starts", 0, "--json", "a.json")
    assert embaudit("audit", model, *few).code == 0
    assert '"Film ' in Path("a.json").read_text()
