"""Collections of a Qdrant server, or of a live client.

They are read by scrolling through their points. If a collection is compared by cosine,
the server has divided its rows by their lengths. Folders of the local mode hold pickles
and are refused.
"""

from __future__ import annotations

import os
import re
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from embaudit.core.progress import track
from embaudit.core.words import counted, listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.draft import Draft
from embaudit.io.formats import TableWriter, register, register_tables
from embaudit.io.intake import Metric, Part
from embaudit.io.options import Request
from embaudit.io.refusals import folder_of_qdrant
from embaudit.io.stores.addresses import Address, chosen_table
from embaudit.io.stores.clients import import_client
from embaudit.io.stores.columns import require_no_bias, title_column
from embaudit.io.stores.metrics import metric_named
from embaudit.io.stores.vector_table import Batch, VectorTable
from embaudit.io.stores.writing import already_there, keeps, row_batches

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Filter, VectorParams

KEY = "QDRANT_API_KEY"
"""Variable of the environment that holds the key of a server."""
SERVER = re.compile(r"(https?):/+([^/?#]+)(/[^?#]*)?(.*)", re.DOTALL)
"""Scheme, host, path, and query of the address of a collection."""
LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d*)?", re.IGNORECASE)
"""Host and port of this machine, to which a key can be sent without encryption."""
FORM = "qdrant:http://HOST:6333/COLLECTION"
"""What an address looks like."""
TIMEOUT_SECONDS = 60
"""Time to wait for one batch of points."""
BATCH_BYTES = 2**22
"""Size of the vectors that are fetched at a time."""
PEEKED = 100
"""Points from which the fields of the payload are taken."""
UNIT_TOLERANCE = 1e-3
"""Deviation of a length from 1 that numbers of 16 bits can cause."""
SHOWN = 12
"""Names that a sentence lists at most."""
FLOATS = (None, "float32", "float16")
"""Types of numbers that are not codes, as Qdrant calls them; None is its default."""


@register(
    "qdrant",
    addresses=("qdrant:http://", "qdrant:https://", "qdrant:"),
    origin="Qdrant, qdrant:http://HOST:6333/COLLECTION",
    content="vectors, ids, titles, metric",
    options=("vector", "vector_id", "ignore"),
    extra="qdrant",
    package="qdrant_client",
)
def read(address: str, request: Request) -> Contents:
    """Read a collection of a server; see `table`."""
    return table(Address.parse("qdrant", address), request).contents()


def table(address: Address, request: Request) -> VectorTable:
    """Describe a collection of a server.

    Parameters
    ----------
    address : Address
        `qdrant:http://HOST:6333/COLLECTION`. The key of the server is taken from
        QDRANT_API_KEY.
    request : Request
        `vector` names one of several vectors per point.

    Raises
    ------
    InputError
        If the server or the collection cannot be read, if points have several vectors
        and none is named, or if the vectors are codes.
    """
    server, name, store = _server(address)
    return collection_table(server, name, request, store)


def _server(address: Address) -> tuple[QdrantClient, str, Address]:
    """Return a client, the name of the collection, and the address of the server."""
    match = SERVER.fullmatch(address.place)
    if match is None:
        refused = folder_of_qdrant(Path(address.place))
        if refused is not None:
            raise refused
        raise must_be("the address of a collection", FORM, File(address))
    scheme, host, path, query = match.groups()
    if "@" in host or query:
        raise must_be(
            "the address of a collection",
            "free of keys, which other users of this machine could see",
            "an address with a key or a query",
            f"set {KEY}",
        )
    prefix, _, name = (path or "").rstrip("/").rpartition("/")
    module = import_client(
        "qdrant_client", extra="qdrant", what="a collection of Qdrant"
    )
    with warnings.catch_warnings():
        if LOOPBACK.fullmatch(host):
            warnings.filterwarnings("ignore", "Api key is used with an insecure")
        server = module.QdrantClient(
            url=f"{scheme}://{host}{prefix}",
            api_key=os.environ.get(KEY) or None,
            timeout=TIMEOUT_SECONDS,
            check_compatibility=False,
        )
    return server, unquote(name), Address(address.store, f"{scheme}://{host}{prefix}")


def live_table(client: QdrantClient, request: Request) -> VectorTable:
    """Describe a collection of a live client: `collection`, or the only one."""
    store = Address("qdrant", "client")
    wanted = request.collection or ""
    return collection_table(client, wanted, request, store, keyword="collection")


def collection_table(
    client: QdrantClient,
    wanted: str,
    request: Request,
    store: Address,
    *,
    keyword: str = "",
) -> VectorTable:
    """Describe the collection of a client that was named, or the only one.

    For `keyword` see `chosen_table`.
    """
    place = store
    if wanted:
        place = store.with_table(wanted)
    with _errors_in_words(place):
        name = wanted
        if not wanted or not client.collection_exists(wanted):
            collections = client.get_collections().collections
            names = sorted(collection.name for collection in collections)
            name = chosen_table(store, names, wanted, keyword=keyword)
    address = store.with_table(name)
    with _errors_in_words(address):
        config = client.get_collection(name).config
        vector, params = _vector_params(config.params.vectors, request.vector, address)
        n_points = client.count(name, exact=True).count
        having = _filter_for(vector)
        n_vectors = client.count(name, count_filter=having, exact=True).count
        peeked, _ = client.scroll(
            name,
            scroll_filter=having,
            limit=PEEKED,
            with_payload=True,
            with_vectors=[vector] if vector else True,
        )
    if not n_vectors:
        raise must_be(
            File(address),
            "a collection with vectors",
            f"no vectors in {counted(n_points, 'point')}",
        )
    fields: list[str] = []
    for point in peeked:
        fields += [key for key in point.payload or {} if key not in fields]
    ids = _id_field(fields, request, address)
    titles = title_column(
        [
            key
            for key in fields
            if key != ids and not request.ignores(key) and _is_text(peeked, key)
        ]
    )
    unused_fields = [key for key in fields if key not in (ids, titles)]
    require_no_bias(address, unused_fields, request)
    left_over = [f"vector {other}" for other in _other_names(config.params, vector)]
    left_over += unused_fields
    if n_points > n_vectors:
        left_over.append(
            f"{counted(n_points - n_vectors, 'point')} without this vector"
        )
    page = Page(name, vector, having, ids, titles)
    metric = Metric(
        metric_named(str(params.distance.value)),
        "the collection",
        unit_rows=_rows_are_unit(params, page.batch(peeked).vectors),
        codes=_codes(params.quantization_config or config.quantization_config),
    )
    return VectorTable(
        address,
        n_vectors,
        params.size,
        metric,
        partial(_batches, client, page, n_vectors, params.size, address),
        ids=ids or "ids of the points",
        vectors=f"vector {vector}" if vector else "vectors",
        titles=titles,
        left_over=tuple(Part(part, "") for part in left_over),
    )


def _id_field(fields: Sequence[str], request: Request, address: Address) -> str:
    """Return the field of the payload with the ids; empty for the ids of the points."""
    wanted = request.vector_id
    if wanted is None:
        return ""
    if wanted not in fields:
        raise must_be(
            Sentence("the ids of {}", File(address)),
            f"one of its fields ({listed(fields, SHOWN) or 'it has none'})",
            repr(wanted),
            "omit the name to use the ids of the points",
        )
    return wanted


def _vector_params(
    config: Any, wanted: str | None, address: Address
) -> tuple[str, VectorParams]:
    """Return the name and the parameters of the vectors that the caller names.

    If the caller names none, those of the only vectors are returned. Their name is
    empty if points have one vector without a name.
    """
    where = Sentence("the vectors of {}", File(address))
    if config is None:
        raise must_be(where, "dense vectors", "sparse vectors only")
    if not isinstance(config, dict):
        if wanted not in (None, ""):
            raise must_be(
                where,
                "chosen without a name, because they have no name",
                repr(wanted),
                "omit the name",
            )
        return "", _require_numbers(config, where)
    if wanted is not None and wanted in config:
        return wanted, _require_numbers(config[wanted], where)
    names = sorted(config)
    usable = [name for name in names if _is_readable(config[name])]
    if wanted is None and len(usable) == 1:
        return usable[0], config[usable[0]]
    if wanted is None and len(names) == 1:
        return names[0], _require_numbers(config[names[0]], where)
    got = f"{len(names)} vectors per point"
    if wanted is not None:
        got = repr(wanted)
    raise must_be(
        where,
        "the vectors of one name",
        got,
        Sentence(
            "choose one of {} with {}",
            listed(usable or names, SHOWN),
            Option("vector", placeholder="NAME"),
        ),
    )


def _is_readable(params: VectorParams) -> bool:
    """Check for one vector per point whose numbers are not codes."""
    return params.multivector_config is None and _type_of(params) in FLOATS


def _type_of(params: VectorParams) -> str | None:
    return None if params.datatype is None else str(params.datatype.value)


def _require_numbers(params: VectorParams, where: Sentence) -> VectorParams:
    """Refuse vectors of codes, and several vectors per point under one name."""
    if params.multivector_config is not None:
        raise must_be(
            where, "one per point", "a matrix per point, for late interaction"
        )
    if _type_of(params) not in FLOATS:
        raise must_be(
            where,
            "of type float32 or float16",
            f"{_type_of(params)}, which holds codes",
            "read the original vectors instead",
        )
    return params


def _other_names(params: Any, vector: str) -> list[str]:
    """Return the names of the other vectors of the points."""
    dense = params.vectors if isinstance(params.vectors, dict) else ()
    return sorted({*dense, *(params.sparse_vectors or ())} - {vector})


def _filter_for(vector: str) -> Filter:
    """Return the condition that a point has a vector."""
    from qdrant_client.models import Filter, HasVectorCondition

    return Filter(must=[HasVectorCondition(has_vector=vector)])


def _is_text(points: Sequence[Any], key: str) -> bool:
    """Check that a field is text in all points that have it."""
    values = [point.payload[key] for point in points if key in (point.payload or {})]
    return all(isinstance(value, str) for value in values if value is not None)


def _rows_are_unit(params: VectorParams, vectors: NDArray[Any]) -> bool:
    """Check that Qdrant divided the rows of a collection by their lengths.

    A server does so if it compares by cosine. A folder of the local mode that was
    opened again holds the rows as they were, so the lengths of some rows are checked.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    is_unit = np.abs(lengths[lengths > 0] - 1) < UNIT_TOLERANCE
    return str(params.distance.value) == "Cosine" and bool(is_unit.all())


def _codes(quantization: Any) -> str:
    """Describe what the index searches; empty for the vectors themselves.

    Scrolling returns whole vectors although the index may search codes of them.
    """
    if quantization is None:
        return ""
    # The only field that is set names the kind, such as scalar, binary or product. Its
    # settings can name the type of the codes, such as int8.
    (kind,) = quantization.model_fields_set
    code = getattr(getattr(quantization, kind), "type", None)
    if code is None:
        return f"{kind} codes of them"
    return f"{code.value} codes of them"


@dataclass(frozen=True)
class Page:
    """The vector and the fields that are read of each point of a collection."""

    collection: str
    vector: str
    """Name of the vector; empty if points have one without a name."""
    having: Filter
    """The condition that a point has the vector."""
    ids: str
    """Field of the payload that holds ids; empty for the ids of the points."""
    titles: str
    """Field of the payload that holds titles; empty for none."""

    @property
    def fields(self) -> list[str]:
        """Fields of the payload that are read."""
        return [field for field in (self.ids, self.titles) if field]

    def batch(self, points: Sequence[Any]) -> Batch:
        """Take the vectors, ids and titles of some points."""
        vectors = [
            point.vector[self.vector] if self.vector else point.vector
            for point in points
        ]
        ids = [point.id for point in points]
        if self.ids:
            ids = [_id_of(point, self.ids) for point in points]
        titles = None
        if self.titles:
            titles = [_text_of(point, self.titles) for point in points]
        return Batch(np.array(vectors, np.float32).reshape(len(ids), -1), ids, titles)


def _batches(
    client: QdrantClient, page: Page, n_rows: int, n_columns: int, address: Address
) -> Iterator[Batch]:
    """Scroll through the points that have the vector, in the order of their ids."""
    size = max(1, BATCH_BYTES // (4 * n_columns))

    def pages() -> Iterator[list[Any]]:
        offset = None
        while True:
            points, offset = client.scroll(
                page.collection,
                scroll_filter=page.having,
                limit=size,
                offset=offset,
                with_payload=page.fields or False,
                with_vectors=[page.vector] if page.vector else True,
            )
            yield points
            if offset is None:
                return

    with _errors_in_words(address):
        n_pages = -(-n_rows // size)
        for points in track(pages(), f"reading {page.collection}", n_pages):
            yield page.batch(points)


def _id_of(point: Any, key: str) -> int | str:
    """Return a field of a point as an id."""
    value = (point.payload or {}).get(key)
    if value is None:
        raise must_be(
            f"the field {key}",
            "present in every point, because it holds the ids",
            f"no value in point {point.id}",
            "omit the name to use the ids of the points",
        )
    return value if type(value) is int else str(value)


def _text_of(point: Any, key: str) -> str | None:
    """Return a field of a point if it is text."""
    value = (point.payload or {}).get(key)
    return value if isinstance(value, str) else None


@contextmanager
def _errors_in_words(address: Address, verb: str = "read") -> Iterator[None]:
    """Turn errors of the client into refusals that name the collection."""
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    try:
        yield
    except InputError:
        raise
    except UnexpectedResponse as error:
        raise _refusal_of_answer(address, error, verb) from error
    except ApiException as error:
        why = str(error).splitlines()[0] if str(error) else "no answer"
        why = re.sub(r"^\[Errno -?\d+\] ", "", why)
        remedy = "start the server, or check host and port"
        if "SSL" in why:
            remedy = "check whether the server speaks https or http"
        elif "timed out" in why:
            remedy = "run the command again when the server is less busy"
        raise InputError(
            "{} cannot be {}: {}; {}.", File(address), verb, why, remedy
        ) from error
    # The client cannot parse answers of another server or of another version.
    except (ValueError, AssertionError) as error:
        raise must_be(
            File(address),
            "a collection of a Qdrant server",
            "answers that the client does not understand",
            "check host, port and path, and the versions of client and server",
        ) from error


def _refusal_of_answer(address: Address, error: Any, verb: str) -> InputError:
    """Build the error for an answer of the server that states an error."""
    try:
        why = error.structured()["status"]["error"]
    except (ValueError, TypeError, KeyError):
        why = f"the server answered {error.status_code} {error.reason_phrase}".strip()
    advice = {
        401: f"set {KEY}",
        403: f"set {KEY} to a key that can read it",
        404: "check the path",
    }
    remedy = advice.get(error.status_code, "")
    if remedy:
        return InputError("{} cannot be {}: {}; {}.", File(address), verb, why, remedy)
    return InputError("{} cannot be {}: {}.", File(address), verb, why)


def _require_new(text: str, force: bool) -> None:
    """Refuse a collection that exists, and a server that cannot be reached."""
    server, name, store = _server(Address.parse("qdrant", text))
    address = store.with_table(name)
    if not name:
        raise must_be("the address of a collection", FORM, File(address))
    with _errors_in_words(address, "written"):
        if server.collection_exists(name) and not force:
            raise already_there(address)


def _remove(text: str) -> None:
    """Remove a collection."""
    server, name, store = _server(Address.parse("qdrant", text))
    with _errors_in_words(store.with_table(name), "written"):
        server.delete_collection(name)


def _write(text: str, draft: Draft, metric: str, force: bool) -> dict[str, str]:
    """Write a collection.

    The collection is removed again if writing fails. Qdrant cannot rename a collection.
    So if a collection is replaced, the new rows go to a collection of another name, and
    then the old name becomes an alias of the new collection.
    """
    server, name, store = _server(Address.parse("qdrant", text))
    address = store.with_table(name)
    with _errors_in_words(address, "written"):
        is_there = server.collection_exists(name)
        if is_there and not force:
            raise already_there(address)
        written = f"{name}-{secrets.token_hex(4)}" if is_there else name
        try:
            are_ids = _fill(server, written, draft, metric)
        except BaseException:
            # Also after Ctrl-C, because half of a collection would look like a whole
            # one.
            with suppress(Exception):
                server.delete_collection(written)
            raise
        if is_there:
            _replace(server, name, written)
    if are_ids:
        return {}
    return {"vector_id": "id"}


def _fill(server: QdrantClient, name: str, draft: Draft, metric: str) -> bool:
    """Fill a new collection with the rows of a draft.

    Returns
    -------
    bool
        True if the ids of the points are the ids of the draft. Otherwise, points are
        numbered, and their field `id` holds the ids of the draft.
    """
    from qdrant_client.models import Batch as Points
    from qdrant_client.models import Distance, VectorParams

    distance = Distance.DOT if metric == "dot" else Distance.COSINE
    params = VectorParams(size=draft.right.shape[1], distance=distance)
    server.create_collection(name, vectors_config=params)
    are_ids = _can_be_ids(draft.tokens)
    start = 0
    for rows in row_batches(draft):
        payloads: list[dict[str, Any]] = [{} for _ in rows.ids]
        ids = rows.ids
        if not are_ids:
            ids = list(range(start, start + len(rows.ids)))
            for payload, id_ in zip(payloads, rows.ids, strict=True):
                payload["id"] = id_
        for payload, title in zip(payloads, rows.titles or (), strict=False):
            payload["title"] = title
        vectors = rows.vectors.tolist()
        server.upsert(name, Points(ids=ids, vectors=vectors, payloads=payloads))
        start += len(ids)
    return are_ids


def _can_be_ids(ids: NDArray[Any]) -> bool:
    """Return True for ids that points can have: whole numbers >= 0, or UUIDs.

    UUIDs must be written as Qdrant writes them.

    Examples
    --------
    >>> [_can_be_ids(np.array(ids)) for ids in ([3, 7], [-1], ["a"])]
    [True, False, False]
    """
    if ids.dtype.kind in "iu":
        return bool((ids >= 0).all())
    try:
        return all(str(UUID(text)) == text for text in ids.tolist())
    except ValueError:
        return False


def _replace(server: QdrantClient, name: str, written: str) -> None:
    """Make the name of an old collection an alias of a new one, `written`."""
    from qdrant_client.models import (
        CreateAlias,
        CreateAliasOperation,
        DeleteAlias,
        DeleteAliasOperation,
    )

    create = CreateAliasOperation(
        create_alias=CreateAlias(collection_name=written, alias_name=name)
    )
    aliases = [alias.alias_name for alias in server.get_aliases().aliases]
    if name in aliases:
        delete = DeleteAliasOperation(delete_alias=DeleteAlias(alias_name=name))
        server.update_collection_aliases([delete, create])
    else:
        server.delete_collection(name)
        server.update_collection_aliases([create])


register_tables("qdrant", TableWriter(_require_new, _write, _remove, keeps))
