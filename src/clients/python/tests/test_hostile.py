"""The client against a server that is not the appliance: it writes where it should not, and sends without end."""

import asyncio
import gzip
import hashlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gloaming import AsyncGloaming, ConnectionFailed, DamagedDownload, Gloaming
from gloaming import transport

CONTENT = b"seventeen bytes.\n"
RUN = {"object": "run", "id": "run_1", "endpoint": "homology.export", "status": "completed"}


class Hostile(BaseHTTPRequestHandler):
    """Answers as the class attributes say."""

    protocol_version = "HTTP/1.1"
    path_of_file = "exports/run_1.tsv"
    content = CONTENT
    size = len(CONTENT)
    encoding = None
    seen = []
    sent = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        Hostile.seen.append(dict(self.headers))
        if not self.path.startswith("/files/"):
            return self.answer(json.dumps({"data": self.run()}).encode())
        self.answer(self.content)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(json.dumps({"data": self.run()}).encode())

    def run(self):
        file = {
            "path": self.path_of_file,
            "url": "http://elsewhere.example/files/1",
            "size_bytes": self.size,
            "checksum": hashlib.sha256(CONTENT).hexdigest(),
        }
        return {**RUN, "result": {"summary": {"file": file}}}

    def answer(self, body):
        chunks = body if hasattr(body, "__next__") else iter([body])
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        if self.encoding:
            self.send_header("Content-Encoding", self.encoding)
        self.end_headers()
        try:
            for chunk in chunks:
                Hostile.sent += len(chunk)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hostile(here):
    served = type("Served", (Hostile,), {})
    Hostile.seen, Hostile.sent = [], 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), served)
    threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True).start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()
    server.server_close()


def export(hostile, **options):
    with Gloaming(hostile.url, "glm_test", patience=0) as client:
        return client.run("run_1").export("tsv", **options)


@pytest.mark.parametrize("path", [".bashrc", "sitecustomize.py", "exports/important.py", "..", "a/", "", "/etc/passwd"])
def test_the_server_does_not_name_the_file(hostile, here, path):
    (here / "important.py").write_text("mine")
    hostile.path_of_file = path
    assert str(export(hostile)) == "run_1.tsv"
    assert sorted(os.listdir(here)) == ["important.py", "run_1.tsv"]
    assert (here / "important.py").read_text() == "mine"


def test_an_existing_file_of_the_default_name_stays(hostile, here):
    (here / "run_1.tsv").write_text("mine")
    assert [str(export(hostile)), str(export(hostile))] == ["run_1-2.tsv", "run_1-3.tsv"]
    assert (here / "run_1.tsv").read_text() == "mine"
    assert export(hostile, to=here / "run_1.tsv").read_bytes() == CONTENT
    assert len(os.listdir(here)) == 3


def test_a_run_id_of_the_server_is_no_path(hostile, here):
    hostile.run = lambda self: {**Hostile.run(self), "id": "../../x/\x1b"}
    assert str(export(hostile)) == "______x__.tsv"


def test_a_download_ends_at_the_announced_size(hostile, here):
    hostile.content = property(lambda _: iter(lambda: b"x" * 65536, None))
    with pytest.raises(DamagedDownload):
        export(hostile)
    assert os.listdir(here) == []
    assert Hostile.sent < 16 * 1024 * 1024


def test_an_encoded_file_is_not_decoded(hostile, here):
    with Gloaming(hostile.url, "glm_test", patience=0) as client:
        run = client.run("run_1")
        hostile.encoding = "gzip"
        with pytest.raises(ConnectionFailed):
            client.run("run_1")
        hostile.encoding = None
        hostile.do_GET = lambda self: (Hostile.seen.append(dict(self.headers)), encoded(self))
        with pytest.raises((ConnectionFailed, DamagedDownload)):
            run.export("tsv")
    assert os.listdir(here) == []
    assert {headers["Accept-Encoding"] for headers in Hostile.seen} == {"identity"}


def encoded(handler):
    if not handler.path.startswith("/files/"):
        return Hostile.answer(handler, json.dumps({"data": handler.run()}).encode())
    handler.encoding = "gzip"
    Hostile.answer(handler, gzip.compress(b"\0" * 10_000_000))


def test_an_endless_answer_is_not_read_into_memory(hostile, monkeypatch):
    monkeypatch.setattr(transport, "BODY_MAX_BYTES", 1_000_000)
    hostile.do_GET = lambda self: self.answer(iter(lambda: b" " * 65536, None))
    with Gloaming(hostile.url, "glm_test", patience=0) as client:
        with pytest.raises(ConnectionFailed):
            client.run("run_1")

    async def awaited():
        async with AsyncGloaming(hostile.url, "glm_test", patience=0) as client:
            await client.run("run_1")

    with pytest.raises(ConnectionFailed):
        asyncio.run(awaited())
