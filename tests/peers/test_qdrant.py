"""Collections of Qdrant, live and behind a small HTTP server."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from peers.servers import (
    check_refusal_without_secret,
    read_with_secret,
)

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import read
from embaudit.io.stores.addresses import Address
from embaudit.io.stores.qdrant import _server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peers.qdrant_server import Server

qdrant = pytest.importorskip("qdrant_client")
models = qdrant.models

X = np.random.default_rng(0).normal(size=(250, 6)).astype(np.float32)
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)
IDS = np.random.default_rng(1).permutation(1000)[: len(X)]
ORDER = np.argsort(IDS)
"""Qdrant returns points in the order of their ids."""
DISTANCES = {
    "cosine": models.Distance.COSINE,
    "dot": models.Distance.DOT,
    "l2": models.Distance.EUCLID,
    "l1": models.Distance.MANHATTAN,
}


def filled(client: Any, name: str, distance: Any = models.Distance.COSINE) -> None:
    client.create_collection(
        name, vectors_config=models.VectorParams(size=6, distance=distance)
    )
    points = [
        models.PointStruct(
            id=int(id_),
            vector=row.tolist(),
            payload={"title": f"film {id_}", "year": 1950 + int(id_) % 70},
        )
        for id_, row in zip(IDS, X, strict=True)
    ]
    client.upsert(name, points)


@pytest.fixture
def client() -> Iterator[Any]:
    client = qdrant.QdrantClient(":memory:")
    yield client
    client.close()


@pytest.fixture
def server() -> Iterator[Server]:
    from peers.qdrant_server import running

    with running() as server:
        yield server


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.holds("scores", library="qdrant-client", model="collections")
def test_every_number_of_a_live_client_and_its_metric(client: Any, metric: str) -> None:
    filled(client, "items", DISTANCES[metric])
    reading = read(client, collection="items")
    stored = UNIT if metric == "cosine" else X
    np.testing.assert_allclose(
        reading.model.right, stored[ORDER], rtol=0, atol=2e-7 * (metric == "cosine")
    )
    assert reading.intake.metric.to_dict() == {
        "name": metric,
        "source": "the collection",
        "is_default": False,
        "unit_rows": metric == "cosine",
        "codes": "",
    }


@pytest.mark.holds("titles", library="qdrant-client", model="collections")
def test_ids_and_titles(client: Any) -> None:
    filled(client, "items")
    reading = read(client)
    model = reading.model
    assert model.right_ids.tolist() == sorted(IDS.tolist())
    assert model.right_names.tolist() == [f"film {i}" for i in sorted(IDS)]
    assert [part.name for part in reading.intake.left_over] == ["year"]


@pytest.mark.holds("audited", library="qdrant-client", model="collections")
def test_an_audit_says_that_lengths_are_lost(client: Any) -> None:
    filled(client, "items")
    intake = ea.audit(client, collection="items").to_dict()["input"]["intake"]
    assert intake["metric"]["unit_rows"] is True
    assert "divided the rows by their lengths, which are lost" in intake["explanation"]


def test_an_address_reads_what_the_client_reads(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several batches of points, so that offsets are followed.
    monkeypatch.setattr("embaudit.io.stores.qdrant.BATCH_BYTES", 24 * 100)
    filled(server.client, "items", models.Distance.DOT)
    reading = read(f"qdrant:{server.address}/items")
    np.testing.assert_array_equal(reading.model.right, X[ORDER])
    assert reading.model.right_ids.tolist() == sorted(IDS.tolist())
    assert reading.model.right_names[0] == f"film {min(IDS)}"
    scrolls = [r for r in server.requests if r[-1] == "scroll"]
    assert len(scrolls) == 1 + 3
    assert reading.intake.files == (f"qdrant:{server.address}/items",)


def test_nothing_on_the_server_is_changed(server: Server) -> None:
    filled(server.client, "items")
    read(f"qdrant:{server.address}/items")
    assert {method for method, *_ in server.requests} <= {"GET", "POST"}
    changing = {"PUT", "DELETE", "PATCH"}
    assert not changing & {method for method, *_ in server.requests}


def test_an_audit_of_an_address(server: Server, embaudit: Any, tmp_path: Path) -> None:
    filled(server.client, "items")
    out = tmp_path / "audit.json"
    address = f"qdrant:{server.address}/items"
    result = embaudit("audit", address, "--json", out)
    assert result.code in (0, 1), result.err
    document = json.loads(out.read_text())
    assert document["input"]["intake"]["metric"]["name"] == "cosine"
    assert document["input"]["intake"]["files"] == [address]


def named(client: Any, **more: Any) -> None:
    vectors = {
        "text": models.VectorParams(size=6, distance=models.Distance.DOT),
        "image": models.VectorParams(size=3, distance=models.Distance.EUCLID),
        **more,
    }
    client.create_collection(
        "items",
        vectors_config=vectors,
        sparse_vectors_config={"words": models.SparseVectorParams()},
    )
    points = [
        models.PointStruct(id=1, vector={"text": X[0].tolist()}),
        models.PointStruct(id=2, vector={"image": [1.0, 2.0, 3.0]}),
        models.PointStruct(
            id=3, vector={"text": X[1].tolist(), "image": [3.0, 2.0, 1.0]}
        ),
    ]
    client.upsert("items", points)


def test_of_several_vectors_one_must_be_chosen(client: Any) -> None:
    named(client)
    with pytest.raises(InputError, match="choose one of image, text with vector=NAME"):
        read(client)
    reading = read(client, vector="text")
    np.testing.assert_array_equal(reading.model.right, X[:2])
    assert reading.model.right_ids.tolist() == [1, 3]
    assert reading.intake.metric.name == "dot"
    left_over = [part.name for part in reading.intake.left_over]
    assert left_over == ["vector image", "vector words", "1 point without this vector"]


def test_the_only_dense_vector_with_a_name_needs_no_choice(client: Any) -> None:
    params = models.VectorParams(size=6, distance=models.Distance.DOT)
    many = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    client.create_collection(
        "items",
        vectors_config={
            "text": params,
            "tokens": params.model_copy(update={"multivector_config": many}),
            "codes": params.model_copy(update={"datatype": models.Datatype.UINT8}),
        },
    )
    client.upsert("items", [models.PointStruct(id=1, vector={"text": X[0].tolist()})])
    np.testing.assert_array_equal(read(client).model.right, X[:1])
    with pytest.raises(InputError, match="must be one per point; got a matrix"):
        read(client, vector="tokens")
    with pytest.raises(InputError, match="float32 or float16; got uint8"):
        read(client, vector="codes")


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        ({"scalar": {"type": "int8", "quantile": 0.99}}, "int8 codes of them"),
        ({"binary": {"always_ram": True}}, "binary codes of them"),
        ({"product": {"compression": "x16"}}, "product codes of them"),
        (None, ""),
    ],
)
def test_codes_that_the_index_searches_are_named(
    server: Server, settings: dict[str, Any] | None, codes: str
) -> None:
    filled(server.client, "items", models.Distance.DOT)
    server.quantization = settings
    reading = read(f"qdrant:{server.address}/items")
    np.testing.assert_array_equal(reading.model.right, X[ORDER])
    assert reading.intake.metric.codes == codes
    text = reading.intake.explain()
    assert ("its index searches" in text) == bool(codes)
    assert codes in text


def test_numbers_and_texts_as_ids_are_texts(client: Any) -> None:
    client.create_collection(
        "items",
        vectors_config=models.VectorParams(size=6, distance=models.Distance.DOT),
    )
    text = "5c56c793-69f3-4fbf-87e6-c4bf54c28c26"
    points = [
        models.PointStruct(id=i, vector=row.tolist(), payload={"sku": f"s{j}"})
        for j, (i, row) in enumerate(zip([2**63 + 5, text], X[:2], strict=True))
    ]
    client.upsert("items", points)
    assert sorted(read(client).model.right_ids) == [text, str(2**63 + 5)]
    model = read(client, vector_id="sku").model
    assert sorted(model.right_ids) == ["s0", "s1"]
    row = model.right_ids.tolist().index("s1")
    np.testing.assert_array_equal(model.right[row], X[1])
    with pytest.raises(InputError, match=r"one of its fields .sku.; got 'isbn'"):
        read(client, vector_id="isbn")


def test_a_title_that_some_points_lack_names_no_rows(client: Any) -> None:
    filled(client, "items")
    client.set_payload("items", {"title": None}, points=[int(IDS[0])])
    assert read(client, collection="items").model.right_names is None


def test_a_field_that_is_called_a_bias_must_be_left_out_by_name(client: Any) -> None:
    filled(client, "items", models.Distance.DOT)
    points = sorted(IDS.tolist())[:1]
    client.set_payload("items", {"item_bias": 0.5}, points=points)
    with pytest.raises(
        InputError, match="which has the name of a bias; ignore it with"
    ):
        read(client)
    assert read(client, ignore="item_bias").model.n_right == len(X)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("http://127.0.0.1:1/items", "Connection refused; start the server"),
        ("http://ann:secret@localhost/items", "must be free of keys"),
        ("http://localhost/items?api-key=secret", "must be free of keys"),
        ("localhost:6333/items", "must be qdrant:http://HOST:6333/COLLECTION"),
    ],
)
def test_addresses_that_cannot_be_read(
    place: str, sentence: str, embaudit: Any
) -> None:
    result = embaudit("audit", f"qdrant:{place}")
    check_refusal_without_secret(result, sentence)


def test_a_collection_that_is_not_there(server: Server) -> None:
    filled(server.client, "items")
    with pytest.raises(InputError, match=r"name one of qdrant:http://\S+/items"):
        read(f"qdrant:{server.address}/item")


@pytest.mark.parametrize("wanted", [None, "item"])
def test_collections_of_a_client_are_named_by_the_keyword(
    client: Any, wanted: str | None
) -> None:
    for name in ("items", "users"):
        filled(client, name)
    with pytest.raises(InputError) as caught:
        read(client, collection=wanted)
    choices = "name one of collection='items', collection='users'."
    assert choices in str(caught.value)


def test_an_empty_collection(client: Any) -> None:
    params = models.VectorParams(size=6, distance=models.Distance.DOT)
    client.create_collection("items", vectors_config=params)
    with pytest.raises(InputError, match="with vectors; got no vectors in 0 points"):
        read(client)


def test_the_key_comes_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(server.client, "items", models.Distance.DOT)
    server.key = "secret"
    address = f"qdrant:{server.address}/items"
    with pytest.raises(InputError, match="set QDRANT_API_KEY"):
        read(address)
    reading = read_with_secret(
        address, "QDRANT_API_KEY", monkeypatch, refusal="a key that can read it"
    )
    np.testing.assert_array_equal(reading.model.right, X[ORDER])


@pytest.mark.parametrize("port", ["", ":1"])
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_a_key_for_this_machine_causes_no_warning(
    host: str, port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    place = f"http://{host}{port}"
    _, name, store = _server(Address.parse("qdrant", f"qdrant:{place}/items"))
    assert (name, store.place) == ("items", place)


@pytest.mark.parametrize("host", ["localhost.example", "127.0.0.10", "example"])
def test_a_key_for_another_machine_is_not_sent_unnoticed(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    with pytest.warns(UserWarning, match="Api key is used with an insecure"):
        _server(Address.parse("qdrant", f"qdrant:http://{host}/items"))


def test_a_server_that_fails_meanwhile(server: Server) -> None:
    filled(server.client, "items")
    server.failing = ("scroll", 1)
    with pytest.raises(InputError, match="cannot be read: Service internal error"):
        read(f"qdrant:{server.address}/items")


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (200, b"<html>hello</html>", "answers that the client does not understand"),
        (200, b"{}", "answers that the client does not understand"),
        (404, b"nothing", "the server answered 404 Not Found; check the path"),
        (503, b"", "the server answered 503 Service Unavailable"),
    ],
)
def test_a_server_that_is_none_of_qdrant(
    status: int, body: bytes, sentence: str
) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        thread = Thread(target=other.serve_forever, args=[0.05], daemon=True)
        thread.start()
        address = f"qdrant:http://127.0.0.1:{other.server_port}/items"
        with pytest.raises(InputError, match=sentence) as caught:
            read(address)
        # The address stands there once.
        assert str(caught.value).count("qdrant:") == 1
        with pytest.raises(InputError, match="speaks https or http"):
            read(address.replace("http:", "https:"))
        other.shutdown()
        thread.join()


def test_a_server_that_does_not_answer(
    silent_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embaudit.io.stores.qdrant.TIMEOUT_SECONDS", 1)
    with pytest.raises(InputError, match="timed out; run the command again"):
        read(f"qdrant:http://127.0.0.1:{silent_port}/items")


def test_points_that_come_meanwhile_are_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(client, "items")
    count = client.count

    def earlier(*args: Any, **kwargs: Any) -> Any:
        result = count(*args, **kwargs)
        return result.model_copy(update={"count": result.count - 1})

    monkeypatch.setattr(client, "count", earlier)
    with pytest.raises(InputError, match="must be unchanged while it is read"):
        read(client)


def test_folders_of_the_local_mode_are_not_opened(tmp_path: Path) -> None:
    folder = tmp_path / "local"
    client = qdrant.QdrantClient(path=str(folder))
    filled(client, "items")
    client.close()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for place in (f"qdrant:{folder}", str(folder)):
        with pytest.raises(InputError, match="a folder of pickles") as caught:
            read(place)
        line = f"QdrantClient(path={str(folder)!r}), collection='items')"
        assert line in str(caught.value)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert before == after
    # The line works. This mode writes rows to its folder before it divides them.
    out = tmp_path / "vectors.npz"
    client = qdrant.QdrantClient(path=str(folder))
    assert not read(client, collection="items").intake.metric.unit_rows
    ea.io.save(ea.load(client, collection="items"), out)
    client.close()
    np.testing.assert_array_equal(ea.load(out).right, X[ORDER])
