"""A small stand-in for a Qdrant server: HTTP in front of the client's local mode.

It answers the requests that reading and writing a collection need, with the bodies that
the HTTP interface of Qdrant documents, so that the real client can be tested with them.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator


class Handler(BaseHTTPRequestHandler):
    """Answer the requests of one client."""

    server: Server

    def do_GET(self) -> None:
        self.answer("GET")

    def do_PUT(self) -> None:
        self.answer("PUT")

    def do_POST(self) -> None:
        self.answer("POST")

    def do_DELETE(self) -> None:
        self.answer("DELETE")

    def log_message(self, *_: Any) -> None:
        """Write nothing."""

    def answer(self, method: str) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size) or b"{}")
        path = urlsplit(self.path).path.strip("/").split("/")
        key = self.headers.get("api-key")
        if self.server.key is not None and key != self.server.key:
            self.reply(401 if key is None else 403, "Invalid API key or JWT")
            return
        with self.server.lock:
            self.server.requests.append((method, *path))
            try:
                status, result = self.server.result(method, path, body)
            except ValueError as error:
                status, result = 400, str(error)
        self.reply(status, result)

    def reply(self, status: int, result: Any) -> None:
        if status < 300:
            document = {"result": result, "status": "ok", "time": 0.0}
        else:
            document = {"status": {"error": result}, "time": 0.0}
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Server(ThreadingHTTPServer):
    """HTTP in front of a client that keeps its collections in memory."""

    daemon_threads = True

    def __init__(self) -> None:
        from qdrant_client import QdrantClient

        super().__init__(("127.0.0.1", 0), Handler)
        self.client = QdrantClient(":memory:", force_disable_check_same_thread=True)
        self.key: str | None = None
        self.lock = Lock()
        self.requests: list[tuple[str, ...]] = []
        self.quantization: dict[str, Any] | None = None
        """How the index rounds vectors, which the local mode does not keep."""
        self.failing: tuple[str, int] | None = None
        """Last part of a path whose requests fail, and after how many."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def result(
        self, method: str, path: list[str], body: dict[str, Any]
    ) -> tuple[int, Any]:
        """Return the status and the result of a request."""
        if self.failing is not None and path[-1] == self.failing[0]:
            name, n_left = self.failing
            if n_left == 0:
                return 500, "Service internal error: out of disk space"
            self.failing = (name, n_left - 1)
        if path == ["aliases"]:
            return 200, self.client.get_aliases().model_dump(mode="json")
        if path == ["collections", "aliases"]:
            return 200, self.aliased(body)
        if path == ["collections"]:
            return 200, self.client.get_collections().model_dump(mode="json")
        if path[0] != "collections":
            return 404, "Not found"
        name, action = path[1], (method, *path[2:])
        exists = self.client.collection_exists(name)
        if action == ("GET", "exists"):
            return 200, {"exists": exists}
        if action == ("PUT",) and exists:
            return 409, f"Wrong input: Collection `{name}` already exists!"
        if action != ("PUT",) and not exists:
            return 404, f"Not found: Collection `{name}` doesn't exist!"
        answers = {
            ("GET",): self.described,
            ("PUT",): self.created,
            ("DELETE",): self.deleted,
            ("POST", "points", "count"): self.counted,
            ("POST", "points", "scroll"): self.scrolled,
            ("PUT", "points"): self.upserted,
        }
        return 200, answers[action](name, body)

    def aliased(self, body: dict[str, Any]) -> bool:
        from qdrant_client import models

        changes = models.ChangeAliasesOperation(**body).actions
        return self.client.update_collection_aliases(changes)

    def described(self, name: str, _: dict[str, Any]) -> Any:
        document = self.client.get_collection(name).model_dump(mode="json")
        document["config"]["quantization_config"] = self.quantization
        return document

    def created(self, name: str, body: dict[str, Any]) -> Any:
        from qdrant_client import models

        vectors = models.CreateCollection(**body).vectors
        return self.client.create_collection(name, vectors_config=vectors)

    def deleted(self, name: str, _: dict[str, Any]) -> Any:
        return self.client.delete_collection(name)

    def counted(self, name: str, body: dict[str, Any]) -> Any:
        from qdrant_client import models

        condition = models.CountRequest(**body).filter
        count = self.client.count(name, count_filter=condition, exact=True)
        return count.model_dump(mode="json")

    def scrolled(self, name: str, body: dict[str, Any]) -> Any:
        from qdrant_client import models

        request = models.ScrollRequest(**body)
        points, following = self.client.scroll(
            name,
            scroll_filter=request.filter,
            limit=request.limit or 10,
            offset=request.offset,
            with_payload=True if request.with_payload is None else request.with_payload,
            with_vectors=request.with_vector or False,
        )
        dumped = [point.model_dump(mode="json") for point in points]
        return {"points": dumped, "next_page_offset": following}

    def upserted(self, name: str, body: dict[str, Any]) -> Any:
        """Write points, which the client sends one by one or in columns."""
        from qdrant_client import models

        if "batch" in body:
            points: Any = models.Batch(**body["batch"])
        else:
            points = models.PointsList(**body).points
        return self.client.upsert(name, points).model_dump(mode="json")


@contextmanager
def running() -> Iterator[Server]:
    """Run a server on a free port of this machine while the block runs."""
    with Server() as server:
        thread = Thread(target=server.serve_forever, args=[0.05], daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
