"""The operations as flows, which both clients share."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import re
import tempfile
import threading
import uuid
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlsplit

from .calls import Caller, derived_key
from .errors import ConnectionFailed, DamagedDownload, GloamingError, RunCancelled, RunFailed
from .events import FINAL_STATES, EventReader
from .hits import Hit, Hits
from .inputs import Protein, Proteins, fasta_path, is_one_protein, read_protein, read_proteins
from .operations import OPERATIONS
from .results import Reference, SqlResult
from .wire import Emit, Flow, Json, NoAnswer, Read, Request, Sleep, T, Wait

#: Called with the number of bytes transferred and the total.
Progress = Callable[[int, int], None]
#: Larger FASTA files are uploaded instead of sent with the run. Unit: bytes.
INLINE_FASTA_MAX_BYTES = 4 * 1024 * 1024
#: Signed URLs per request.
PART_URLS_AT_ONCE = 32
#: Time that one request waits for a run; the client repeats it. Unit: seconds.
WAIT_SECONDS = 20
RESULT_PAGE_ROWS = 500


def search_body(options: Mapping[str, Any]) -> Json:
    """Returns members of the request from keyword arguments. Members that are None get the default of the service."""
    given = {name: value for name, value in options.items() if value is not None}
    alignments = given.pop("alignments", True)
    return {**given, "evidence": "pairwise_sequence_alignment" if alignments else "candidate_measurement"}


def search(caller: Caller, query: Protein, options: Mapping[str, Any], key: Optional[str]) -> Flow[Hits]:
    name, sequence = read_protein(query)
    body = {"query": {"kind": "protein_sequence", "sequence": sequence}, **search_body(options)}
    answer = yield from caller.post("/v1/homology", body, idempotency_key=key)
    return Hits(answer, sequence, name or "query")


class Submission:
    """An accepted run with its queries, which the result rows do not contain."""

    def __init__(self, run: Json, queries: Optional[Sequence[str]], is_replayed: bool = False) -> None:
        self.run = run
        self.queries = queries
        #: Whether an earlier request with the same Idempotency-Key created it.
        self.is_replayed = is_replayed


def submit(
    caller: Caller,
    queries: Proteins,
    options: Mapping[str, Any],
    run_options: Mapping[str, Any],
    key: Optional[str],
) -> Flow[Submission]:
    settings = search_body(options)
    if is_one_protein(queries):
        sequence = read_protein(queries).sequence
        body: Json = {"query": {"kind": "protein_sequence", "sequence": sequence}, **settings}
        return (yield from create(caller, "homology.search", body, run_options, key, [sequence]))
    path = fasta_path(queries)
    if path is not None and path.stat().st_size > INLINE_FASTA_MAX_BYTES:
        url = yield from upload(caller, path, None, None)
        return (yield from create(caller, "homology.batch_search", {"fasta_url": url, **settings}, run_options, key))
    proteins = list(read_proteins(queries))
    named = [{"sequence": sequence, **({"id": name} if name else {})} for name, sequence in proteins]
    sent = [sequence for _, sequence in proteins]
    body = {"queries": named, **settings}
    return (yield from create(caller, "homology.batch_search", body, run_options, key, sent))


def create(
    caller: Caller,
    endpoint: str,
    body: Mapping[str, Any],
    run_options: Mapping[str, Any],
    key: Optional[str],
    queries: Optional[Sequence[str]] = None,
) -> Flow[Submission]:
    given = {name: value for name, value in run_options.items() if value is not None}
    request = {"endpoint": endpoint, "input": body, **given}
    headers = {"Prefer": "respond-async"}
    response = yield from caller.post_keyed("/v1/runs", request, idempotency_key=key, headers=headers)
    return Submission(response.json()["data"], queries, "idempotent-replayed" in response.headers)


def read_run(caller: Caller, run_id: str, wait_seconds: int = 0) -> Flow[Json]:
    headers = {"Prefer": f"wait={wait_seconds}"} if wait_seconds > 0 else {}
    answer = yield from caller.get(f"/v1/runs/{run_id}", headers=headers)
    data: Json = answer["data"]
    return data


def cancel(caller: Caller, run_id: str) -> Flow[Json]:
    answer = yield from caller.post(f"/v1/runs/{run_id}/cancel")
    data: Json = answer["data"]
    return data


def wait_for(caller: Caller, run_id: str) -> Flow[Json]:
    """Waits for the run and returns it completed. Raises RunFailed, RunCancelled."""
    while True:
        run = yield from read_run(caller, run_id, WAIT_SECONDS)
        if run["status"] in FINAL_STATES:
            return require_completed(run)


def require_completed(run: Json) -> Json:
    if run["status"] == "completed":
        return run
    if run["status"] == "cancelled":
        raise RunCancelled(f"The run {run['id']} was cancelled.", details={"run_id": run["id"]})
    error = run.get("error", {})
    raise RunFailed(f"The run {run['id']} has failed: {error.get('message')}", details={"run_id": run["id"], **error})


def watch(caller: Caller, run_id: str) -> Flow[None]:
    """Emits events until the last one; a new connection continues behind the last event received."""
    reader = EventReader()
    silent = 0
    while True:
        headers = {"Accept": "text/event-stream"}
        if reader.last_id is not None:
            headers["Last-Event-ID"] = reader.last_id
        stream = yield from caller.open(Request("GET", f"/v1/runs/{run_id}/events", headers=headers))
        before = reader.last_id
        while True:
            chunk = yield Read(stream)
            if isinstance(chunk, NoAnswer) or chunk == b"":
                break
            for event in reader.feed(chunk):
                yield Emit(event)
                if event.is_final:
                    return
        fresh = EventReader()
        fresh.last_id = reader.last_id
        silent = silent + 1 if reader.last_id == before else 0
        reader = fresh
        if (yield from read_run(caller, run_id))["status"] in FINAL_STATES and silent > 0:
            return
        yield Sleep(min(5.0, 0.2 * 2**silent))


def pages(caller: Caller, path: str, query: Mapping[str, Any]) -> Flow[None]:
    """Emits the rows of all pages of a list."""
    cursor: Optional[str] = None
    while True:
        page = yield from caller.get(path, {**query, "cursor": cursor})
        for row in page["data"]:
            yield Emit(row)
        cursor = page["next_cursor"]
        if not page["has_more"]:
            return


def results(caller: Caller, run_id: str, queries: Optional[Sequence[str]]) -> Flow[None]:
    """Emits the rows of a run in order, also before its end: Hit of a search, Hits of a batch, else the JSON row."""
    cursor: Optional[str] = None
    run: Json = yield from read_run(caller, run_id)
    while True:
        if run["status"] not in FINAL_STATES:
            run = yield from read_run(caller, run_id)
        if run["status"] in ("failed", "cancelled"):
            require_completed(run)
        page = yield from caller.get(f"/v1/runs/{run_id}/results", {"cursor": cursor, "limit": RESULT_PAGE_ROWS})
        if run["endpoint"] == "homology.search":
            sequence = yield from query_of(caller, run, queries)
            hits = Hits({"candidates": page["data"]}, sequence)
            for hit in hits:
                yield Emit(hit)
        elif run["endpoint"] != "homology.batch_search":
            for row in page["data"]:
                yield Emit(row)
        else:
            for row in page["data"]:
                at = row["query_index"]
                sequence = queries[at] if queries is not None else (yield from receipt_query(caller, row))
                yield Emit(Hits(row, sequence, row["query_id"]))
        cursor = page["next_cursor"] or cursor
        if not page["has_more"]:
            return
        if not page["data"]:
            run = yield from read_run(caller, run_id, WAIT_SECONDS)


def query_of(caller: Caller, run: Json, queries: Optional[Sequence[str]]) -> Flow[str]:
    if queries is not None:
        return queries[0]
    summary = run.get("result", {}).get("summary")
    return "" if summary is None else (yield from receipt_query(caller, summary))


def receipt_query(caller: Caller, searched: Json) -> Flow[str]:
    """Returns the query of a run that another session submitted; only the receipt contains it."""
    receipt = yield from caller.get(f"/v1/receipts/{searched['receipt']['id']}")
    return str(receipt["data"]["content"]["query"]["sequence"])


def export(
    caller: Caller,
    run_id: str,
    file_format: str,
    to: "Optional[Union[str, os.PathLike[str]]]",
    query_index: Optional[int],
    members: Mapping[str, Any],
) -> Flow[Path]:
    # The order of the command line; the service's default is the rank.
    body: Json = {"run_id": run_id, "format": file_format, "sort": "evalue", **members}
    if query_index is not None:
        body["query_index"] = query_index
    key = derived_key("export", body)
    submission = yield from create(caller, "homology.export", body, {}, key)
    run = yield from wait_for(caller, submission.run["id"])
    file = run["result"]["summary"]["file"]
    if to is not None:
        yield from download(caller, file, Path(to), os.replace)
        return Path(to)
    # The path on the server is text of the server, and names no file here.
    stem, suffix = (re.sub(r"[^A-Za-z0-9_-]", "_", text)[:64] for text in (run_id, file_format))
    query = "" if query_index is None else f".query-{int(query_index)}"
    name = Path(f"{stem}{query}.{suffix}")
    free: Path = yield from download(caller, file, name, place_free)
    return free


def download(caller: Caller, file: Json, target: Path, place: "Callable[[str, Path], T]") -> Flow[T]:
    """Writes a stored file, complete or not at all; resumes after a lost connection. `place` moves it to `target`."""
    path = urlsplit(file["url"]).path
    digest = hashlib.sha256()
    size = int(file["size_bytes"])
    got = 0
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
        try:
            failures = 0
            while got < size:
                headers = {"Accept": "*/*", **({"Range": f"bytes={got}-"} if got > 0 else {})}
                stream = yield from caller.open(Request("GET", path, headers=headers))
                while True:
                    chunk = yield Read(stream)
                    if isinstance(chunk, NoAnswer) or chunk == b"":
                        break
                    if got + len(chunk) > size:
                        raise DamagedDownload(f"More than the announced {size} bytes came of {file['path']}.")
                    digest.update(chunk)
                    got += part.write(chunk)
                if got < size:
                    failures += 1
                    if failures > 8:
                        raise ConnectionFailed(f"The download of {file['path']} was interrupted too often.")
                    yield Sleep(0.2 * failures)
            part.close()
            if digest.hexdigest() != file["checksum"]:
                raise DamagedDownload(f"The checksum of the downloaded {file['path']} differs from the stored one.")
            return place(part.name, target)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise


def place_free(written: str, target: Path) -> Path:
    """Moves a file to `target` or, if that exists, to the first free `NAME-2.EXT`, `NAME-3.EXT` and so on."""
    for number in itertools.count(1):
        free = target if number == 1 else target.with_name(f"{target.stem}-{number}{target.suffix}")
        try:
            # The rename replaces the empty file that this call has created, and no other.
            os.close(os.open(free, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            continue
        os.replace(written, free)
        return free
    raise AssertionError("the count is endless")


def upload(caller: Caller, path: Path, name: Optional[str], progress: Optional[Progress]) -> Flow[str]:
    """Uploads a file and returns its URL. Resumes an upload of the same unchanged file interrupted within a day."""
    state = path.stat()
    name = name or path.name
    key = derived_key("upload", name, str(path.resolve()), state.st_size, state.st_mtime_ns)
    body = {"file_name": name, "size_bytes": state.st_size}
    begun: Json = (yield from caller.post("/v1/storage/uploads", body, idempotency_key=key))["data"]
    try:
        data: Json = (yield from caller.get(f"/v1/storage/uploads/{begun['id']}"))["data"]
        if data["status"] in ("aborted", "expired"):
            data = yield from upload_again(caller, body)
    except GloamingError as error:
        if error.status not in (404, 410):
            raise
        data = yield from upload_again(caller, body)
    size, part_size = data["size_bytes"], data["part_size_bytes"]
    done = set(data["uploaded_parts"])
    missing = [number for number in range(1, data["part_count"] + 1) if number not in done]
    got = sum(min(part_size, size - (number - 1) * part_size) for number in done)
    notify = progress or (lambda _done, _all: None)
    notify(got, size)
    if data["status"] == "completed":
        return str(data["url"])
    with open(path, "rb") as file:
        for start in range(0, len(missing), PART_URLS_AT_ONCE):
            batch = missing[start : start + PART_URLS_AT_ONCE]
            signed = yield from caller.post(f"/v1/storage/uploads/{data['id']}/part-urls", {"part_numbers": batch})
            for part in signed["data"]["urls"]:
                file.seek((part["part_number"] - 1) * part_size)
                chunk = file.read(part_size)
                yield from put_part(caller, data["id"], part, chunk)
                got += len(chunk)
                notify(got, size)
    completed = yield from caller.post(f"/v1/storage/uploads/{data['id']}/complete")
    return str(completed["data"]["url"])


def upload_again(caller: Caller, body: Json) -> Flow[Json]:
    data: Json = (yield from caller.post("/v1/storage/uploads", body))["data"]
    return data


def put_part(caller: Caller, upload_id: str, part: Json, chunk: bytes) -> Flow[None]:
    digest = hashlib.sha256(chunk)
    headers = {"x-amz-checksum-sha256": base64.b64encode(digest.digest()).decode()}
    yield from caller.put_signed(part["url"], chunk, headers)
    path = f"/v1/storage/uploads/{upload_id}/parts/{part['part_number']}/acknowledge"
    yield from caller.post(path, {"checksum": digest.hexdigest()})


def resolve(caller: Caller, query: str, limit: int) -> Flow[List[Reference]]:
    answer = yield from caller.post("/v1/refs/resolve", {"query": query, "limit": limit})
    return [Reference.of(each) for each in answer["data"]["references"]]


def call(
    caller: Caller,
    operation: str,
    params: Mapping[str, str],
    query: Mapping[str, Any],
    body: Optional[Mapping[str, Any]],
    headers: Mapping[str, str],
    key: Optional[str],
) -> Flow[Any]:
    """Returns the JSON body of any operation of the contract, or the bytes of another media type."""
    if operation not in OPERATIONS:
        raise ValueError(f"The contract has no operation {operation!r}.")
    method, path = OPERATIONS[operation]
    filled = re.sub(r"\{(\w+)\}", lambda name: quote(params[name[1]], safe=""), path)
    sent = {name: _query_text(value) for name, value in query.items() if value is not None}
    keyed = {"Idempotency-Key": key or uuid.uuid4().hex} if method == "POST" else {}
    content = None if body is None else json.dumps(body).encode()
    response = yield from caller.send(Request(method, filled, sent, {**keyed, **headers}, content))
    is_json = response.headers.get("content-type", "").partition(";")[0] == "application/json"
    return response.json() if is_json else response.body


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def databases(caller: Caller) -> Flow[None]:
    yield from pages(caller, "/v1/homology/databases", {"limit": 100})


class SqlSession:
    """The SQL credential of a client: an argument, of the environment, or made on the first statement."""

    def __init__(self, given: Optional["tuple[str, str]"]) -> None:
        self._credential = given
        self._own_id: Optional[str] = None
        self._lock = threading.Lock()
        #: Set while a credential is being made; resolves to the failure, or None.
        self._making: "Optional[Future[Optional[Exception]]]" = None

    def credential(self, caller: Caller) -> Flow["tuple[str, str]"]:
        """Returns user and password. Concurrent statements share one request and its failure."""
        while True:
            with self._lock:
                self._credential = self._credential or credential_of_environment()
                if self._credential is not None:
                    return self._credential
                making = self._making
                own = self._making = making or Future()
            if making is None:
                yield from self._make(caller, own)
                continue
            failure: Optional[Exception] = yield Wait(making)
            if failure is not None:
                raise failure

    def _make(self, caller: Caller, making: "Future[Optional[Exception]]") -> Flow[None]:
        failure: Optional[Exception] = None
        try:
            data = (yield from caller.post("/v1/sql-credentials", {"name": "Python client"}))["data"]
            self._own_id = str(data["sql_credential"]["id"])
            self._credential = (str(data["sql_engine_user"]), str(data["password"]))
        except Exception as error:
            failure = error
            raise
        finally:
            # The future also resolves without failure if this flow was cancelled; a waiting flow then makes the credential.
            self._making = None
            making.set_result(failure)

    def revoke(self, caller: Caller) -> Flow[None]:
        """Revokes the credential that this client made."""
        own_id, self._own_id = self._own_id, None
        if own_id is not None:
            yield from caller.delete(f"/v1/sql-credentials/{own_id}")


def credential_of_environment() -> Optional["tuple[str, str]"]:
    user, password = os.environ.get("GLOAMING_SQL_USER"), os.environ.get("GLOAMING_SQL_PASSWORD")
    return (user, password) if user and password else None


def sql(
    caller: Caller, session: SqlSession, statement: str, parameters: Sequence[Any], limit: int
) -> Flow[SqlResult]:
    credential = yield from session.credential(caller)
    body: Json = {"sql": statement, "limit": limit}
    if parameters:
        body["parameters"] = list(parameters)
    answer = yield from caller.post("/v1/sql/query", body, sql_credential=credential)
    return SqlResult.of(answer["data"])
