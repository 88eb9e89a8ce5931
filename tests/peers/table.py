"""The table of libraries in the documentation, as the last run of tests wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from packaging.requirements import Requirement

STORED = Path(__file__).with_name("table.json")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reading.md"
LOCK = ROOT / "requirements-peers.lock"
OLDEST_PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0"}
"""The lock has other versions for later Pythons; the table states those of this one."""
BEGIN, END = "<!-- what holds, by `make test-peers` -->", "<!-- end -->"
COLUMNS = {
    "scores": "its own scores or vectors",
    "file": "its own files",
    "titles": "ids and titles",
    "written": "written, read by others",
    "audited": "audited live",
}
"""What a test may say, and how the page heads it."""
NO_PART = "–"
MISSING = {
    "lightfm": (
        "its build stops with an error of its own; "
        "lightfm-next, which is maintained, stands in its place"
    ),
    "cornac LightGCN and NGCF": "they need DGL",
    "cornac COE": "it uses np.int, which NumPy has dropped",
    "lenskit HPF": "it needs hpfrec, which is not among its requirements",
}
"""What is not tried, and why."""


@dataclass(frozen=True)
class Row:
    """What one test found of one model."""

    library: str
    model: str
    column: str
    outcome: str
    """ "yes", "NO", what the test says held instead, or why it was not tried."""


def rows_of(mark: Any, callspec: Any, report: Any) -> Iterable[Row]:
    """Return the claim of a test, with the peer among its parameters if it has one."""
    said = dict(report.user_properties).get("held", "yes")
    outcome = {"passed": said, "failed": "NO"}.get(report.outcome) or _reason(report)
    peer = None if callspec is None else callspec.params.get("peer")
    library = mark.kwargs.get("library") or peer.library
    yield Row(library, mark.kwargs.get("model") or peer.model, mark.args[0], outcome)


def _reason(report: Any) -> str:
    return str(report.longrepr[2]).removeprefix("Skipped: ")


def locked() -> dict[str, str]:
    """Return the version of each library in the lock file of these tests."""
    versions = {}
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        # Hashes are indented, and comments begin with #.
        if not line[:1].isalnum():
            continue
        requirement = Requirement(line.removesuffix("\\"))
        marker = requirement.marker
        if marker is None or marker.evaluate(dict(OLDEST_PYTHON)):
            (pin,) = requirement.specifier
            versions[requirement.name] = pin.version
    return versions


Held: TypeAlias = dict[str, dict[str, Any]]
"""What held: libraries, their versions and models, and of each model what its columns
say.
"""


def stored() -> Held:
    """Read what held before."""
    held: Held = json.loads(STORED.read_text(encoding="utf-8"))
    return held


def write(rows: Iterable[Row], *, known: Held) -> None:
    """Store what held in place of what is known, and put it into the page."""
    held: Held = known
    versions = locked()
    said: dict[tuple[str, str, str], str] = {}
    for row in rows:
        # One test that fails outweighs others that pass.
        key = (row.library, row.model, row.column)
        said[key] = "NO" if said.get(key) == "NO" else row.outcome
    for (name, model, column), outcome in said.items():
        library = held.setdefault(name, {"models": {}})
        library["version"] = versions[name]
        library["models"].setdefault(model, {})[column] = outcome
    STORED.write_text(
        json.dumps(held, indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(text, rendered(held)), encoding="utf-8")


def replaced(text: str, table: str) -> str:
    """Put a table between the marks of a text."""
    return re.sub(
        f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})",
        lambda _: f"\n{table}\n\n",
        text,
        flags=re.DOTALL,
    )


def rendered(held: Held) -> str:
    """Word what held, one line a library."""
    heads = ("library", "models", *COLUMNS.values())
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, library in sorted(held.items(), key=lambda item: item[0].lower()):
        models = dict(sorted(library["models"].items()))
        cells = (
            f"{name} {library['version'] or NO_PART}",
            ", ".join(models),
            *(_cell(models, key) for key in COLUMNS),
        )
        lines.append("| " + " | ".join(cells) + " |")
    missing = "; ".join(f"{name} ({reason})" for name, reason in MISSING.items())
    return "\n".join([*lines, "", f"Not tried: {missing}."])


def _cell(models: dict[str, dict[str, str]], column: str) -> str:
    said = {model: found[column] for model, found in models.items() if column in found}
    if len(set(said.values())) < 2:
        return next(iter(said.values()), NO_PART)
    of = {
        outcome: [model for model in said if said[model] == outcome]
        for outcome in sorted(set(said.values()))
    }
    return "; ".join(
        f"{outcome}: {', '.join(several)}" for outcome, several in of.items()
    )
