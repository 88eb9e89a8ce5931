"""What embaudit offers, a line each: names, parameters, options, formats, libraries, columns and keys of its JSON.

`python tests/inventory.py` prints it. `tests/house/inventory.txt` is what commit 54a366e offered.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from enum import EnumType
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
ROOMS = (
    "blocks",
    "gauges",
    "io",
    "ranges",
    "reproduce",
    "reversals",
    "softmax",
    "testing",
)
"""Rooms whose names are public beside those of the package itself."""


def public_names() -> Iterator[tuple[str, object]]:
    """Yield each public dotted name with its object; of a class its public members, too."""
    for module in ("embaudit", *(f"embaudit.{room}" for room in ROOMS)):
        try:
            home = import_module(module)
        except ImportError:
            continue
        for name in getattr(home, "__all__", ()):
            value = getattr(home, name)
            if inspect.ismodule(value):
                continue
            yield f"{module}.{name}", value
            if inspect.isclass(value) and value.__module__.startswith("embaudit"):
                own = (
                    base
                    for base in value.__mro__
                    if base.__module__.startswith("embaudit")
                )
                members = {
                    member
                    for base in own
                    for member in (
                        *vars(base),
                        *getattr(base, "__dataclass_fields__", ()),
                    )
                }
                yield from (
                    (
                        f"{module}.{name}.{member}",
                        inspect.getattr_static(value, member, None),
                    )
                    for member in sorted(members)
                    if not member.startswith("_")
                )


def signatures() -> Iterator[str]:
    """Yield names and the parameters of what can be called."""
    for name, value in public_names():
        yield f"name {name}"
        function = (
            value.__func__ if isinstance(value, classmethod | staticmethod) else value
        )
        # What an enumeration is made of is Python's, and changes with it.
        if not callable(function) or isinstance(function, EnumType):
            continue
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            continue
        yield from (
            f"parameter {name} {parameter}"
            for parameter in parameters
            if parameter not in ("self", "cls")
        )


def options() -> Iterator[str]:
    """Yield the options and arguments of each command."""
    import typer
    from typer.main import get_command

    group = get_command(_application())
    for command in group.list_commands(typer.Context(group)):
        yield f"command {command}"
        for parameter in group.get_command(typer.Context(group), command).params:
            spelled = [
                name
                for name in (*parameter.opts, *parameter.secondary_opts)
                if name.startswith("-")
            ]
            yield from (f"option {command} {name}" for name in spelled)


def _application():
    return import_module("embaudit.cli.app").app


def libraries_and_formats() -> Iterator[str]:
    """Yield the formats that are read or written and, from docs/reading.md, the libraries and models tried."""
    text = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    tables = re.findall(
        r"<!-- ([^>]*?)-->\n\n(.*?)\n\n<!--|<!-- (what holds[^>]*?)-->(.*?)<!-- end",
        text,
        re.DOTALL,
    )
    for title, body, other, rest in tables:
        rows = [
            [cell.strip() for cell in line.split("|")[1:-1]]
            for line in (body or rest).splitlines()
            if "|" in line
        ]
        for row in rows[2:]:
            if title.startswith("formats"):
                yield from (
                    f"format {row[0]} {what}"
                    for what in (*row[1].split(), *re.split(r",\s*", row[2]))
                )
            elif other or title.startswith("what holds"):
                library = row[0].split()[0]
                yield from (
                    f"library {library} {model}" for model in re.split(r",\s*", row[1])
                )


def columns() -> Iterator[str]:
    """Yield the columns of results as data frames, from small models."""
    import embaudit as ea

    rng = np.random.default_rng(0)
    model = ea.FactorModel.from_user_item(
        rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    )
    head = ea.FactorModel.from_softmax(
        rng.normal(size=(8, 3)), rng.normal(size=8), embeddings=rng.normal(size=(9, 3))
    )
    group = ea.gauges.Diagonal(3, max_condition=2.0)
    after = group.sample(rng=rng).act(model)
    truth = ["a", "b"] * 10
    frame = pd.DataFrame(
        {"x": rng.normal(size=40), "y": rng.normal(size=40), "g": ["a", "b"] * 20}
    )
    softmax = ea.softmax
    results = {
        "Audit": lambda: ea.audit(model, n_gauges=1),
        "HeadReport": lambda: ea.head_report(head),
        "Movement": lambda: ea.movement(model, after),
        "Drift": lambda: ea.drift(model, after, condition_number=2.0),
        "Attack": lambda: ea.worst_gauge(model, group, n_starts=1, n_steps=2),
        "RangeSummary": lambda: ea.range_summary(model)[0],
        "CosineRange": lambda: ea.cosine_range(
            model, group, role="right", pairs=[(0, 1)]
        ),
        "CertifiedNeighbours": lambda: ea.certified_neighbours(
            model, role="right", n=3
        ),
        "Comparison": lambda: ea.compare(model, after, by_row=True),
        "CanonicalForm": lambda: ea.canonical_form(model),
        "Position": lambda: ea.position(model),
        "Pinning": lambda: ea.pinned_test(model.replace(link="cosine")),
        "Evaluation": lambda: ea.evaluate_similarities(model, truth),
        "Remedy": lambda: ea.fix(model),
        "Levels": lambda: ea.levels(model),
        "Twins": lambda: ea.twins(model),
        "BlockCosines": lambda: ea.block_cosines(
            {"a": np.arange(3.0), "b": np.ones(2)}, {"a": np.ones(3), "b": np.ones(2)}
        ),
        "SimpsonReport": lambda: ea.simpson(frame, x="x", y="y", groups=["g"]),
        "Argmaxable": lambda: softmax.argmaxable(head),
        "SharedHalves": lambda: softmax.shared_halves(head, [(0, 1)]),
        "LabelCombinations": lambda: softmax.label_combinations(
            ea.FactorModel.from_softmax(rng.normal(size=(4, 2)))
        ),
        "ProjectorCosines": lambda: softmax.projector_cosines(head, pairs=[(0, 1)]),
    }
    for name, compute in results.items():
        try:
            table = compute().to_frame()
        except (
            AttributeError,
            TypeError,
        ) as error:  # gone, or with other parameters: the columns are missing, too
            print(f"{name}: {error}", file=sys.stderr)
            continue
        yield from (f"column {name}.to_frame {column}" for column in table.columns)


def keys() -> Iterator[str]:
    """Yield the keys of each schema as dotted paths."""
    from click.testing import CliRunner
    from typer.main import get_command

    runner, group = CliRunner(), get_command(_application())
    for name in ("audit", "blocks", "compare", "evaluate", "simpson"):
        printed = runner.invoke(group, ["schema", name])
        if printed.exit_code == 0:
            schema = json.loads(printed.output)
            yield from (f"key {name} {path}" for path in _paths(schema, schema, ()))


def _paths(schema, node, seen) -> Iterator[str]:
    """Yield the paths of properties below a node of a schema; a definition is not entered within itself."""
    if "$ref" in node:
        if node["$ref"] in seen:
            return
        target = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from _paths(schema, target, (*seen, node["$ref"]))
    for name, child in node.get("properties", {}).items():
        yield name
        yield from (f"{name}.{path}" for path in _paths(schema, child, seen))
    below = [
        node.get("items"),
        node.get("additionalProperties"),
        *node.get("prefixItems", ()),
    ]
    for child in (
        *below,
        *node.get("anyOf", ()),
        *node.get("oneOf", ()),
        *node.get("allOf", ()),
    ):
        if isinstance(child, dict):
            yield from _paths(schema, child, seen)


def inventory() -> list[str]:
    """Collect all lines, sorted, each once."""
    parts = (signatures(), options(), libraries_and_formats(), columns(), keys())
    return sorted({line for part in parts for line in part})


if __name__ == "__main__":
    print("\n".join(inventory()))
