"""Pages agree with the code: links have a target, tables are complete, and claims have
tests.
"""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
import tomllib
from operator import attrgetter
from xml.etree import ElementTree as ET

import pytest
import yaml
from pages import ALONE, DOCS, PAGES, ROOT, anchors, links
from peers.table import BEGIN, COLUMNS, END, PAGE, locked, rendered, replaced, stored

import embaudit as ea
from embaudit import __version__
from embaudit.auditing.catalogue import CODES
from embaudit.auditing.words import WORDS
from embaudit.core import tolerances
from embaudit.io import list_formats

TEXTS = {page: path.read_text(encoding="utf-8") for page, path in PAGES.items()}
AWAY = (
    "https://arxiv.org/abs/",
    "https://kexue.fm/archives/",
    "https://grouplens.org/datasets/",
)
"""Where pages lead that are no part of this project."""
DOORS = ("recommender", "classifier", "encoder", "researcher")


@pytest.fixture(scope="module")
def generate():
    """The names of docs/generate.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(DOCS), *sys.path])
        yield runpy.run_path(str(DOCS / "generate.py"))


@pytest.mark.parametrize("page", PAGES)
def test_every_link_and_picture_leads_somewhere(page):
    for target in links(TEXTS[page]):
        if target.startswith("https://"):
            assert target.startswith(AWAY), target
            continue
        name, _, anchor = target.partition("#")
        path = (PAGES[page].parent / name).resolve() if name else PAGES[page]
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), target


def test_every_page_is_in_the_table_of_contents():
    listed = re.search(
        r"```\{toctree\}\n:hidden:\n\n(.*?)```", TEXTS["docs/index.md"], re.DOTALL
    )[1].split()
    assert sorted(f"docs/{name}.md" for name in ["index", *listed]) == sorted(
        set(PAGES) - ALONE - {"README.md"}
    )
    stories = re.findall(r"^gallery/(\S+)$", TEXTS["docs/gallery.md"], re.MULTILINE)
    assert stories == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def test_what_pages_say_of_the_code_is_what_it_says(generate):
    for path, text in generate["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"run `python docs/generate.py`: {path.name} is old"
        )


def test_every_code_and_word_is_where_its_address_says():
    for entry in (*CODES.values(), *WORDS.values()):
        page, _, anchor = entry.address.partition("#")
        assert anchor in anchors(TEXTS[page]), entry.address
    assert CODES["EMB101"].address == "docs/checks.md#emb101"
    assert WORDS["prediction cosine"].address == "docs/checks.md#prediction-cosine"


def test_the_picture_is_of_models_that_predict_the_same(generate):
    drawn = generate["neighbours_picture"]()
    assert (DOCS / "neighbours.svg").read_text(encoding="utf-8") == drawn, (
        "run `python docs/generate.py`"
    )
    said = [
        element.text
        for element in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")
    ]
    columns = [
        said.index(title)
        for title in ("as trained", "stretched one way", "stretched another way")
    ]
    first, second, third = (set(said[at + 1 : at + 13 : 2]) for at in columns)
    assert len(first) == len(second) == len(third) == 6
    assert len(second & third) == 2
    assert (
        "All 18,000 predictions are the same. The cosines next to the items differ."
        in said
    )


def test_every_extra_of_a_format_is_one_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    needed = {entry.extra for entry in list_formats()} - {""}
    assert needed
    assert needed <= set(extras)


def test_every_claim_of_the_theory_has_its_tests():
    theory = TEXTS["docs/theory.md"]
    parts = re.split(r"^#{2,3} ", theory, flags=re.MULTILINE)[1:]
    claims = [part for part in parts if "*Proof.*" in part]
    assert len(claims) >= 15
    assert [
        part.splitlines()[0] for part in claims if "Guarded by `tests/" not in part
    ] == []
    missing = []
    for file, test in sorted(set(re.findall(r"`(tests/\S+\.py)::(\w+)`", theory))):
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if test not in names:
            missing.append(f"{file}::{test}")
    assert not missing, f"docs/theory.md names tests that do not exist: {missing}"


def test_sections_of_the_theory_that_code_cites_exist():
    headings = re.findall(r"^#{2,3} (.+)$", TEXTS["docs/theory.md"], re.MULTILINE)
    cited = set()
    for path in (ROOT / "embaudit").rglob("*.py"):
        code = re.sub(r"\n\s*(# )?", " ", path.read_text(encoding="utf-8"))
        code = re.sub(r"' '", "", code)  # literals that Python joins
        cited |= set(re.findall(r'docs/theory\.md, "(.+?)"', code))
    assert len(cited) >= 10
    assert cited <= set(headings)


def test_the_theory_lists_every_tolerance_with_its_value():
    row = r"^\| `([A-Z0-9_]+)` \| (\S+) \|"
    listed = re.findall(row, TEXTS["docs/theory.md"], re.MULTILINE)
    defined = [
        (name, f"{value:.3g}")
        for name, value in vars(tolerances).items()
        if name.isupper()
    ]
    assert listed == defined


def test_every_public_name_is_in_the_api():
    named = set(re.findall(r"^   ([\w.]+)$", TEXTS["docs/api.md"], re.MULTILINE))
    subpackages = {"blocks", "gauges", "io", "heads", "ranges", "reproduce"}
    assert set(ea.__all__) - subpackages - {"__version__"} <= named
    documented = [attrgetter(name)(ea) for name in named]
    missing = [
        name for name in ea.gauges.__all__ if getattr(ea.gauges, name) not in documented
    ]
    assert not missing, f"docs/api.md lacks {missing} of embaudit.gauges"


def test_the_api_says_when_to_use_each_name():
    sections = re.split(r"^## ", TEXTS["docs/api.md"], flags=re.MULTILINE)[1:]
    for section in sections:
        prose, table = section.split("```{eval-rst}")
        for name in re.findall(r"^   ([\w.]+)$", table, re.MULTILINE):
            assert re.search(rf"`{re.escape(name)}[`(]", prose), name


def test_every_entry_of_the_json_of_an_audit_is_described():
    stored = ROOT / "embaudit" / "report" / "audit.schema.json"
    schema = json.loads(stored.read_text(encoding="utf-8"))
    rows = re.findall(r"^\| (`.+`) \| (.+) \|$", TEXTS["docs/json.md"], re.MULTILINE)
    contents = {
        entry: content
        for entries, content in rows
        for entry in re.findall(r"`(\w+)`", entries)
    }
    assert set(schema["properties"]) <= set(contents)
    for entry, definition in (("findings", "finding"), ("answer", "answer")):
        fields = re.search(r"`(.+)`", contents[entry])[1].split(", ")
        assert sorted(fields) == sorted(schema["$defs"][definition]["properties"])


def test_measured_figures_are_those_of_the_benchmarks():
    record = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    figures = re.findall(
        r"\d[\d.]*(?: to \d[\d.]*)? (?:s|MiB|GiB|GB)\b", TEXTS["docs/scale.md"]
    )
    assert len(figures) >= 6
    assert [figure for figure in figures if figure not in record] == []


def test_every_benchmark_is_run_and_described():
    folder = ROOT / "benchmarks"
    scripts = sorted(path.name for path in folder.glob("bench_*.py"))
    assert (
        sorted(
            re.findall(
                r'^    "(bench_\w+\.py)":',
                (folder / "run.py").read_text(),
                re.MULTILINE,
            )
        )
        == scripts
    )
    assert (
        sorted(
            re.findall(
                r"^## `(bench_\w+\.py)`",
                (folder / "README.md").read_text(),
                re.MULTILINE,
            )
        )
        == scripts
    )


README = (ROOT / "README.md").read_text()


def test_it_is_about_a_screen():
    assert 50 <= README.count("\n") <= 80


def test_the_two_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "docs"):
        assert f"`make {target}`" in README
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_continuous_integration_runs_both_on_every_python():
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())[
        "jobs"
    ]["readme"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert [step["run"] for step in job["steps"] if "run" in step] == [
        "make demo",
        "make test",
    ]


def test_hooks_run_tools_of_the_project():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0][
        "hooks"
    ]
    assert [hook["entry"].split()[0] for hook in hooks] == [
        f".venv/bin/{tool}" for tool in ("ruff", "ruff", "codespell")
    ]


def test_it_leads_to_every_page():
    of_the_theme = {"docs/index.md", "docs/gallery.md", "docs/api.md"}
    assert set(PAGES) - {"README.md", *of_the_theme} - ALONE <= set(links(README))


def test_the_citation_is_of_this_version():
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {__version__}\n" in cited
    assert cited.startswith("cff-version: 1.2.0\n")
    for number in ("2403.05440", "2603.29488"):
        assert number in cited
        assert number in README


def test_the_table_of_other_libraries_is_that_of_their_last_run() -> None:
    held = stored()
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert replaced(text, rendered(held)) == text
    assert {
        column
        for library in held.values()
        for found in library["models"].values()
        for column in found
    } <= set(COLUMNS)


def test_the_table_of_other_libraries_states_the_versions_of_the_lock() -> None:
    versions = locked()
    for name, library in stored().items():
        assert library["version"] == versions[name], name


def test_nothing_that_was_found_wrong_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("peers.table.MISSING", {"c": "it needs d", "e": "gone"})
    models = {
        "N": {"scores": "yes"},
        "O": {"scores": "NO"},
        "M": {"scores": "yes", "file": "NO"},
    }
    held = {
        "a": {"version": "1", "models": models},
        "B": {"version": None, "models": {"K": {"scores": "not installed"}}},
    }
    assert rendered(held) == (
        "| library | models | its own scores or vectors | its own files | ids and "
        "titles | written, read by others "
        "| audited live |\n"
        "|---|---|---|---|---|---|---|\n"
        "| a 1 | M, N, O | NO: O; yes: M, N | NO | – | – | – |\n"
        "| B – | K | not installed | – | – | – | – |\n\n"
        "Not tried: c (it needs d); e (gone)."
    )
    assert (
        replaced(f"a\n{BEGIN}\nold\n{END}\nb", "new")
        == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"
    )
