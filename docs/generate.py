"""Write parts of these pages from the code: `python docs/generate.py`.

The parts are the page of checks, tables of formats and words, the survey, the list of
subpackages, and every picture. Tests fail if a part is out of date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from layers_picture import subpackages
from neighbours_picture import neighbours_picture
from pictures import PICTURES
from survey import survey_lessons, survey_reasons, survey_sources, survey_table

from embaudit import audit
from embaudit.auditing.catalogue import CODES
from embaudit.auditing.entry import Entry
from embaudit.auditing.words import WORDS
from embaudit.io import list_formats
from embaudit.io.layouts.beside import BESIDE_FACTORS, BESIDE_ONE_TABLE
from embaudit.io.layouts.recipes import RECIPES
from embaudit.model.trainings import TRAININGS

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))

from truth.answered import WAYS  # noqa: E402
from truth.table import TABLE  # noqa: E402

if TYPE_CHECKING:
    from embaudit.io import Format
    from embaudit.io.layouts.recipes import Recipe
    from embaudit.model.trainings import Training

BEGIN, END = "<!-- {}, by `python docs/generate.py` -->", "<!-- end of {} -->"


def checks() -> str:
    """Write every code and word under a heading, as `embaudit explain` prints them."""
    rows = [
        f"| [{code.name}](#{code.name.lower()}) | {code.severity} | {code.title} |"
        for code in CODES.values()
    ]
    table = ["| code | severity | meaning |", "|---|---|---|", *rows, ""]
    codes = [
        _entry(code, f"**{code.severity}: {_plain(code.title)}.**")
        for code in CODES.values()
    ]
    words = [
        _entry(word, f"Also {'; '.join(word.also)}." if word.also else "")
        for word in WORDS.values()
    ]
    return "\n".join([*table, "## Codes", "", *codes, "## Words", "", *words]).rstrip()


def answers() -> str:
    """Write how models of the truth table are answered, one for each way to answer."""
    heads = [
        "| such as | findings | answer | because | how sure |",
        "|---|---|---|---|---|",
    ]
    rows = []
    for way in WAYS:
        row = TABLE[way.model]
        # Attacks and many gauges take time and decide no answer.
        given = audit(
            row.model, n_gauges=1, n_pairs=50, n_starts=0, **row.options
        ).answer
        codes = ", ".join(map(_linked, given.findings))
        rows.append(
            f"| {way.title} | {codes} | {given.word} | {_plain(given.because)} | "
            f"{_plain(given.certainty.text)} |"
        )
    return "\n".join([*heads, *rows])


def _linked(code: str) -> str:
    """Write a code with a link to its entry, or the word of a note."""
    return f"[{code}](#{code.lower()})" if code in CODES else f"`{code}`"


def _entry(entry: Entry, line: str) -> str:
    sections = [f"- *{heading}*: {_plain(text)}" for heading, text in entry.sections]
    return "\n".join(
        [f"### {entry.name}", "", *([line, ""] if line else []), *sections, ""]
    )


def _plain(text: str) -> str:
    """Escape what Markdown would take for markup outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\_*\[\]<>$|])", r"\\\1", part)
        for part in parts
    )


def table_of_formats() -> str:
    """Write the formats that files are read in and written in."""
    heads = ["| format | files | | from | holds | extra |", "|---|---|---|---|---|---|"]
    return "\n".join([*heads, *map(_row, list_formats())])


def table_of_trainings() -> str:
    """Write the words for trainings, as `embaudit explain objectives` prints them."""
    heads = [
        "| `--objective` | predictions | law | training fixes | stays free |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*heads, *map(_training, TRAININGS)])


def _training(row: Training) -> str:
    words, law = (
        ", ".join(f"`{word}`" for word in row.words),
        f"`{row.law}`" if row.law else "none known",
    )
    return f"| {words} | {row.predictions} | {law} | {row.fixes} | {row.free} |"


def _row(row: Format) -> str:
    able = "reads, writes" if row.is_written else "reads"
    files = " ".join("folder" if suffix == "/" else suffix for suffix in row.suffixes)
    cells = (row.name, files, able, row.origin, row.content, row.extra)
    return f"| {' | '.join(cells)} |"


READ_AS = {
    "factors": "two tables",
    "head": "softmax head",
    "tied head": "input embeddings; the head, if there is no other",
    "vectors": "vectors",
}
"""What the arrays of each kind of recipe become."""


def table_of_layouts() -> str:
    """Write the known names of arrays, in the order in which they are tried."""
    heads = ["| arrays | of | read as |", "|---|---|---|"]
    return "\n".join([*heads, *map(_layout, RECIPES)])


def _layout(recipe: Recipe) -> str:
    names = [recipe.left, recipe.right, recipe.bias]
    arrays = ", ".join(f"`{name}`" for name in names if name)
    read_as = READ_AS[recipe.kind]
    if recipe.needs_bias:
        read_as += ", if the file holds its bias"
    if recipe.transposed:
        read_as += f"; `{recipe.right}` has one column per entity"
    return f"| {arrays} | {recipe.source} | {read_as} |"


def table_beside_layouts() -> str:
    """Write the names of the arrays next to tables."""
    rows = ["| array | names | next to |", "|---|---|---|"]
    for field, names in BESIDE_FACTORS.items():
        tables = "any table" if field in BESIDE_ONE_TABLE else "two tables"
        listed = ", ".join(f"`{name}`" for name in names)
        rows.append(f"| {field.replace('_', ' ')} | {listed} | {tables} |")
    return "\n".join(rows)


def filled(text: str, name: str, content: str) -> str:
    """Put what the code says between the marks of a page."""
    begin, end = BEGIN.format(name), END.format(name)
    for mark in (begin, end):
        if text.count(mark) != 1:
            raise ValueError(f"a page must have the mark {mark} once")
    before, after = text.partition(begin)[0], text.partition(end)[2]
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def pages() -> dict[Path, str]:
    """Write every page with parts from the code, and keep the text around the marks."""
    parts = (
        ("checks.md", "codes and words", checks()),
        ("checks.md", "table of answers", answers()),
        ("reading.md", "formats", table_of_formats()),
        ("reading.md", "words of training", table_of_trainings()),
        ("reading.md", "layouts", table_of_layouts()),
        ("reading.md", "names next to tables", table_beside_layouts()),
        ("contributing.md", "subpackages", subpackages()),
        ("survey.md", "survey", survey_table()),
        ("survey.md", "lessons", survey_lessons()),
        ("survey.md", "reasons", survey_reasons()),
        ("survey.md", "sources", survey_sources()),
    )
    texts = {page: (HERE / page).read_text(encoding="utf-8") for page, *_ in parts}
    for page, name, content in parts:
        texts[page] = filled(texts[page], name, content)
    return {HERE / page: text for page, text in texts.items()}


def main() -> None:
    """Write pages and pictures."""
    drawn = {
        HERE / "pictures" / f"{name}.svg": draw() for name, draw in PICTURES.items()
    }
    for path, text in (
        pages() | {HERE / "neighbours.svg": neighbours_picture()} | drawn
    ).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
