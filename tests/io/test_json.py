"""Vectors in JSON and JSON lines."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import gz, refusal, write_all

from embaudit.io import load, read

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [[1, 2], [3, 4.5]]
RECORDS = [
    {"id": "a", "title": "Heat", "vector": ROWS[0]},
    {"id": "b", "title": "Ran", "vector": ROWS[1]},
]


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        # A list of vectors, a map from id to vector, alone or beside other keys.
        ("v.json", json.dumps(ROWS), None),
        ("v.json", json.dumps(dict(zip("ab", ROWS, strict=True))), ["a", "b"]),
        (
            "v.json",
            json.dumps({"model": "x", "data": dict(zip("ab", ROWS, strict=True))}),
            ["a", "b"],
        ),
        # Records, or one list for each column.
        ("v.json", json.dumps(RECORDS), ["a", "b"]),
        ("v.json", json.dumps({"id": ["a", "b"], "v": ROWS, "seed": [1]}), ["a", "b"]),
        # One value a line; empty lines are skipped.
        ("v.jsonl", lines(*RECORDS), ["a", "b"]),
        ("v.ndjson", lines(*RECORDS), ["a", "b"]),
        ("v.jsonl.gz", gz(lines(*RECORDS)), ["a", "b"]),
        ("v.jsonl", "[1, 2]\n\n[3, 4.5]\n", None),
    ],
)
def test_vectors_are_read_from_lists_maps_and_records(
    tmp_path: Path, name: str, content: Any, ids: list[str] | None
) -> None:
    model = load(write_all(tmp_path, {name: content}))
    assert model.right.tolist() == ROWS
    if ids is None:
        assert model.right_ids is None
    else:
        assert model.right_ids.tolist() == ids


DATA = [{"object": "embedding", "index": k, "embedding": ROWS[k]} for k in (0, 1)]
USAGE = {"prompt_tokens": 8, "total_tokens": 8}
BODY = {"object": "list", "model": "m", "data": DATA, "usage": USAGE}
ENCODED = [
    {"embedding": b64encode(np.array(row, "<f4").tobytes()).decode()} for row in ROWS
]


def batch(k: int, data: Any) -> dict[str, Any]:
    """Return a line of a batch of OpenAI or Voyage."""
    body = {"object": "list", "data": data, "usage": USAGE}
    response = {"status_code": 200, "request_id": f"r{k}", "body": body}
    names = {"id": f"batch_req_{k}", "custom_id": "ab"[k]}
    return {**names, "response": response, "error": None}


ANSWERS: dict[str, tuple[str, Any, list[str] | None]] = {
    "OpenAI": ("v.json", BODY, None),
    "OpenAI in base64": ("v.json", {**BODY, "data": ENCODED}, None),
    "Cohere": (
        "v.json",
        {"id": "x", "texts": ["s", "t"], "embeddings": ROWS, "meta": {"shape": [2, 2]}},
        None,
    ),
    "Cohere, second version": (
        "v.json",
        {"id": "x", "embeddings": {"float": ROWS}, "texts": ["s", "t"]},
        None,
    ),
    "Ollama": ("v.json", {"model": "m", "embeddings": ROWS, "load_duration": 3}, None),
    "Gemini": ("v.json", {"embeddings": [{"values": row} for row in ROWS]}, None),
    "Chroma": (
        "v.json",
        {
            "ids": ["a", "b"],
            "embeddings": ROWS,
            "documents": ["s", "t"],
            "metadatas": [{"year": 1}, None],
            "included": ["embeddings"],
            "uris": None,
        },
        ["a", "b"],
    ),
    "batch": ("v.jsonl", [batch(k, [DATA[k]]) for k in (0, 1)], ["a", "b"]),
    "batch in base64": (
        "v.jsonl",
        [batch(k, [ENCODED[k]]) for k in (0, 1)],
        ["a", "b"],
    ),
    "batch of several texts": ("v.jsonl", [batch(0, DATA)], ["a/0", "a/1"]),
    "batch of Gemini": (
        "v.jsonl",
        [
            {"key": key, "response": {"embedding": {"values": row}}}
            for key, row in zip("ab", ROWS, strict=True)
        ],
        ["a", "b"],
    ),
    "batch of Bedrock": (
        "v.jsonl",
        [
            {
                "modelInput": {"inputText": "s"},
                "modelOutput": {"embedding": row, "inputTextTokenCount": 3},
                "recordId": key,
            }
            for key, row in zip("ab", ROWS, strict=True)
        ],
        ["a", "b"],
    ),
    "batch of Vertex": (
        "v.jsonl",
        [
            {
                "instance": {"content": "s"},
                "predictions": [
                    {"embeddings": {"statistics": {"token_count": 3}, "values": row}}
                ],
                "status": "",
            }
            for row in ROWS
        ],
        None,
    ),
    "hits of Elasticsearch": (
        "v.json",
        {
            "took": 3,
            "hits": {
                "total": {"value": 2},
                "hits": [
                    {"_index": "x", "_id": key, "_source": {"embedding": row}}
                    for key, row in zip("ab", ROWS, strict=True)
                ],
            },
        },
        ["a", "b"],
    ),
    "bulk request of Elasticsearch": (
        "v.ndjson",
        [
            line
            for key, row in zip("ab", ROWS, strict=True)
            for line in (
                {"index": {"_index": "x", "_id": key}},
                {"title": "t", "embedding": row},
            )
        ],
        ["a", "b"],
    ),
    "scroll of Qdrant": (
        "v.json",
        {
            "result": {
                "points": [
                    {"id": key, "vector": row, "payload": {"year": 1}}
                    for key, row in zip("ab", ROWS, strict=True)
                ]
            },
            "status": "ok",
            "time": 0.5,
        },
        ["a", "b"],
    ),
    "objects of Weaviate": (
        "v.json",
        {
            "objects": [
                {"class": "A", "id": key, "vectors": {"default": row}}
                for key, row in zip("ab", ROWS, strict=True)
            ]
        },
        ["a", "b"],
    ),
    "records by id": (
        "v.json",
        {
            key: {"text": "s", "embedding": row}
            for key, row in zip("ab", ROWS, strict=True)
        },
        ["a", "b"],
    ),
}


@pytest.mark.parametrize("service", ANSWERS)
def test_answers_of_services_are_read(tmp_path: Path, service: str) -> None:
    name, content, ids = ANSWERS[service]
    text = json.dumps(content) if name == "v.json" else lines(*content)
    model = load(write_all(tmp_path, {name: text}))
    assert model.right.tolist() == ROWS
    if ids is None:
        assert model.right_ids is None
    else:
        assert model.right_ids.tolist() == ids


def test_texts_that_a_service_returns_name_the_rows(tmp_path: Path) -> None:
    content = {"ids": ["a", "b"], "embeddings": ROWS, "documents": ["s", "t"]}
    model = load(write_all(tmp_path, {"v.json": json.dumps(content)}))
    assert model.names("right").tolist() == ["s", "t"]


def test_a_request_that_failed_is_named(tmp_path: Path) -> None:
    failed = {"custom_id": "b", "response": None, "error": {"code": "rate_limit"}}
    path = write_all(tmp_path, {"v.jsonl": lines(batch(0, [DATA[1]]), failed)})
    assert "a vector in every row; got no vector in row 1; drop that row" in refusal(
        lambda: load(path).right
    )


def test_titles_of_records_are_read_and_the_intake_names_every_column(
    tmp_path: Path,
) -> None:
    found = read(write_all(tmp_path, {"v.json": json.dumps(RECORDS)}))
    assert found.model.names("right").tolist() == ["Heat", "Ran"]
    assert found.intake.explain() == (
        "Read as json: column vector (2 × 2) as right factors, id (2) as right ids, "
        "title (2) as right names."
    )


def test_lists_of_integers_are_vectors(tmp_path: Path) -> None:
    """They are not taken for the codes of a quantised table."""
    first = {"id": 1, "vector": [1, 2, 3]}
    second = {"id": 2, "vector": [3, 4, 5]}
    path = write_all(tmp_path, {"v.jsonl": lines(first, second)})
    np.testing.assert_array_equal(load(path).right, [[1, 2, 3], [3, 4, 5]])


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("{", "must be JSON of vectors"),
        ("[" * 100_000, "must be JSON of vectors"),
        ('{"a": [1, 2], "a": [3, 4]}', "must be JSON of vectors"),
        ("[]", "must be vectors: lists of numbers, {id: vector}, or records"),
        ("[{}]", "must be vectors: lists of numbers, {id: vector}, or records"),
        ("3", "records of an id and a vector; got a number"),
        ('{"error": {"message": "rate limit"}}', "got an object with the keys error"),
        ("[[1, 2], [3, null]]", "write vectors with json.dump"),
        ("[[1, 2], [3, true]]", "write vectors with json.dump"),
        ('[{"a": 1}, 2]', "write vectors with json.dump"),
        ("[[1, NaN]]", "got the number NaN, which is not finite"),
        ('{"a": [1, 2], "b": [3, -Infinity]}', "got the number -Infinity"),
        ("[[1, 1e999]]", "got the number 1e999, which is not finite"),
        # NaN is not JSON, even outside the vectors.
        ('[{"id": "a", "v": [1], "price": NaN}]', "got the number NaN"),
        (
            '{"a": [1, 2], "b": [3]}',
            "vectors of 2 numbers, like the first one; got 1 in",
        ),
        (
            '[{"id": 1, "v": [1]}, {"id": 2}]',
            "a vector in every row; got no vector in row 1",
        ),
        (
            '[{"v": [1]}, {"id": "b", "v": [2]}]',
            "an id in every row; got no id in row 0",
        ),
        (
            '[{"v": [1]}, {"v": [2], "bias": 1}]',
            "got bias, which has the name of a bias",
        ),
        (
            '{"users": [[1, 2], [3, 4]], "x": {"items": {"a": [1, 2], "b": [3, 4]}}}',
            "one table of vectors; got 2 tables: users, x.items; write each "
            "table to a file",
        ),
        (
            '{"users": [[1, 2]], "items": [[1, 2], [3, 4]], "n": 3}',
            "one table of vectors; got 2 tables: items, users; write each "
            "table to a file",
        ),
        (
            '{"users": {"a": [1], "b": [2]}, '
            '"x": {"items": {"a": [3], "b": [4]}, "n": 3}}',
            "one table of vectors; got 2 tables: users, x.items; write each "
            "table to a file",
        ),
        # Shapes of arrays are no vectors.
        (
            '{"arrays": [{"info": {"shape": [8, 5]}}, {"info": {"shape": [5, 3]}}]}',
            "must be vectors: lists of numbers",
        ),
        (
            '{"weightsManifest": [{"weights": [{"shape": [8, 5]}]}]}',
            "got a model of TensorFlow.js; give its folder",
        ),
        # JSON files that are stored next to models.
        (
            '{"a": 0, "b": 1}',
            "got a vocabulary; give the head, and this file with labels=",
        ),
        ('{"model_type": "llama"}', "got a configuration; give its folder"),
        ('{"added_tokens": [], "model": {}}', "got a tokenizer; give its folder"),
        ('{"embaudit_version": "1"}', "got an audit; give the model that was audited"),
    ],
)
def test_json_that_holds_no_vectors_is_refused(
    tmp_path: Path, content: str, part: str
) -> None:
    path = write_all(tmp_path, {"v.json": content})
    assert part in refusal(lambda: load(path).right)


@pytest.mark.parametrize(
    "line",
    [
        "[1, NaN]",
        "[1, 1e999]",
        '{"id": "b", "vector": [1, NaN]}',
        '{"id": "b", "vector": [1, -1e999]}',
        '{"id": "b", "vector": [1, 2], "price": Infinity}',
        '{"id": "b", "vector": [1, 2], "shop": {"prices": [[1.0], [NaN]]}}',
    ],
)
def test_lines_with_numbers_that_are_not_finite_are_refused(
    tmp_path: Path, line: str
) -> None:
    finite = "[3, 4]" if line.startswith("[") else '{"id": "a", "vector": [3, 4]}'
    path = write_all(tmp_path, {"v.jsonl": f"{finite}\n{line}\n"})
    assert "must be JSON of vectors" in refusal(load, path)


def test_a_record_may_have_nulls_and_empty_lists_next_to_its_vector(
    tmp_path: Path,
) -> None:
    records = [
        {"id": "a", "vector": [1, 2.5], "price": None, "tags": []},
        {"id": "b", "vector": [3, 4.5], "price": 2.5, "tags": [0.5]},
    ]
    model = load(write_all(tmp_path, {"v.jsonl": lines(*records)}))
    assert model.right.tolist() == [[1, 2.5], [3, 4.5]]


def test_lines_in_another_encoding_are_refused(tmp_path: Path) -> None:
    content = b'{"id": "\xff", "vector": [1, 2]}\n{"id": "b", "vector": [2, 1]}\n'
    path = write_all(tmp_path, {"v.jsonl": content})
    assert "must be JSON of vectors" in refusal(load, path)
