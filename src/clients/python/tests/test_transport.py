"""The two transports against servers of the standard library: connections, streams, certificates, proxies, cancels."""

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gloaming import ConnectionFailed
from gloaming.transport import Address, AwaitingTransport, BlockingTransport
from gloaming.wire import NoAnswer, Open, Read, Request, Response, Send, Stream


class Handler(BaseHTTPRequestHandler):
    """Answers with what it received, or as the path says."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections.append(self)

    def log_message(self, *_):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        kind = self.path.split("?")[0].rsplit("/", 1)[-1]
        if kind == "events":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for text in (b"first", b"second"):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                self.server.gate.wait(10)
            self.wfile.write(b"0\r\n\r\n")
        elif kind == "slow":
            self.server.gate.wait(10)
            self.whole(200, b"late")
        elif kind == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"x" * 300)
            self.close_connection = True
        elif kind == "packed":
            self.whole(200, gzip.compress(b"x"), encoding="gzip")
        elif kind == "last":
            self.whole(200, b"bye", close=True)
        else:
            self.whole(404 if kind == "absent" else 200, b"%d" % len(body))

    def whole(self, status, body, close=False, encoding=None):
        self.send_response(status)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = close

    do_GET = do_POST = do_PUT = do_DELETE = answer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def serving(context=None):
    server = Server(("127.0.0.1", 0), Handler)
    server.seen, server.connections, server.gate = [], [], threading.Event()
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.gate.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def server():
    with serving() as started:
        yield started


def address_of(server, scheme="http", ca_bundle=None):
    return Address(f"{scheme}://127.0.0.1:{server.server_port}", "glm_key", ca_bundle)


def perform(*effects):
    """Yields the effects and returns their outcomes; a Read without stream reads the last stream to its end."""
    outcomes = []
    for effect in effects:
        outcomes.append((yield effect))
        if isinstance(outcomes[-1], Stream):
            chunks = []
            while chunks[-1:] not in ([b""],) and not (chunks and isinstance(chunks[-1], NoAnswer)):
                chunks.append((yield Read(outcomes[-1])))
            outcomes.append(chunks)
    return outcomes


def blocking(address, flow, timeout=10):
    transport = BlockingTransport(address, timeout)
    try:
        return transport.run(flow)
    finally:
        transport.close()


def awaiting(address, flow, timeout=10):
    async def awaited():
        transport = AwaitingTransport(address, timeout)
        try:
            return await transport.run(flow)
        finally:
            await transport.close()

    return asyncio.run(awaited())


both = pytest.mark.parametrize("run", [blocking, awaiting])


@both
def test_requests_one_after_the_other_share_a_connection(server, run):
    get = Send(Request("GET", "/v1/x"))
    assert [each.status for each in run(address_of(server), perform(get, get, get))] == [200] * 3
    assert len(server.connections) == 1


@both
def test_a_connection_that_the_server_closed_is_not_used_again(server, run):
    def flow():
        first = yield Send(Request("GET", "/last"))
        time.sleep(0.1)
        return [first.body, (yield Send(Request("GET", "/v1/x"))).status]

    assert run(address_of(server), flow()) == [b"bye", 200]


@both
def test_a_request_arrives_with_its_query_key_and_body(server, run):
    post = Request("POST", "/v1/x y", {"a": "1 &ü", "b": "2"}, {"Idempotency-Key": "k"}, b"{}")
    assert run(address_of(server), perform(Send(post)))[0].body == b"2"
    method, path, headers, body = server.seen[0]
    assert (method, path, body) == ("POST", "/v1/x%20y?a=1+%26%C3%BC&b=2", b"{}")
    assert (headers["authorization"], headers["idempotency-key"]) == ("Bearer glm_key", "k")
    assert (headers["content-type"], headers["accept-encoding"]) == ("application/json", "identity")


@both
def test_a_signed_url_gets_no_key_and_a_statement_gets_its_credential(server, run):
    signed = Request("PUT", f"http://127.0.0.1:{server.server_port}/part?signature=a%2Fb", body=b"x", is_signed=True)
    statement = Request("POST", "/v1/sql", body=b"{}", sql_credential=("user", "word"))
    run(address_of(server), perform(Send(signed), Send(statement)))
    assert "authorization" not in server.seen[0][2] and server.seen[0][1] == "/part?signature=a%2Fb"
    assert server.seen[1][2]["authorization"] == "Basic dXNlcjp3b3Jk"


@both
def test_a_stream_gives_each_chunk_when_it_arrives(server, run):
    threading.Timer(0.3, server.gate.set).start()
    began = time.monotonic()

    def flow():
        stream = yield Open(Request("GET", "/events"))
        first = yield Read(stream)
        at = time.monotonic() - began
        return [first, at, (yield Read(stream)), (yield Read(stream))]

    first, at, second, end = run(address_of(server), flow())
    assert (first, second, end) == (b"first", b"second", b"")
    assert at < 0.3


@both
def test_a_body_that_ends_early_is_no_answer(server, run):
    two = Send(Request("GET", "/cut")), Open(Request("GET", "/cut"))
    whole, stream, chunks = run(address_of(server), perform(*two))
    assert isinstance(whole, NoAnswer)
    assert stream.status == 200
    assert b"".join(chunks[:-1]) == b"x" * 300 and isinstance(chunks[-1], NoAnswer)


@both
def test_a_failed_open_is_a_response_with_its_body(server, run):
    (response,) = run(address_of(server), perform(Open(Request("GET", "/absent"))))
    assert isinstance(response, Response) and (response.status, response.body) == (404, b"0")


@both
def test_a_body_that_is_too_long_or_encoded_raises_connection_failed(server, run, monkeypatch):
    with pytest.raises(ConnectionFailed, match="gzip"):
        run(address_of(server), perform(Send(Request("GET", "/packed"))))
    with pytest.raises(ConnectionFailed, match="gzip"):
        run(address_of(server), perform(Open(Request("GET", "/packed"))))
    server.gate.set()
    monkeypatch.setattr("gloaming.transport.BODY_MAX_BYTES", 10)
    with pytest.raises(ConnectionFailed, match="more than 10 bytes"):
        run(address_of(server), perform(Send(Request("GET", "/events"))))


@both
def test_a_server_that_is_not_there_is_no_answer(run):
    address = Address("http://127.0.0.1:9", "glm_key", None)
    assert isinstance(run(address, perform(Send(Request("GET", "/"))))[0], NoAnswer)


@both
def test_a_silent_server_is_no_answer_after_the_timeout(server, run):
    (outcome,) = run(address_of(server), perform(Send(Request("GET", "/slow"))), 0.2)
    assert isinstance(outcome, NoAnswer) and isinstance(outcome.cause, socket.timeout)


@pytest.mark.parametrize("path", ["/slow", "/events"])
def test_a_cancelled_task_ends_its_request_and_its_thread(server, path):
    async def awaited():
        transport = AwaitingTransport(address_of(server), 60)
        request = Request("GET", path)
        task = asyncio.ensure_future(transport.run(perform(Open(request) if path == "/events" else Send(request))))
        while not server.seen:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        transport._threads.shutdown(wait=True)

    began = time.monotonic()
    asyncio.run(awaited())
    assert time.monotonic() - began < 5


def test_tasks_wait_for_the_network_at_the_same_time(server):
    async def awaited():
        transport = AwaitingTransport(address_of(server), 10)
        tasks = [asyncio.ensure_future(transport.run(perform(Send(Request("GET", "/slow"))))) for _ in range(40)]
        while len(server.seen) < 40:
            await asyncio.sleep(0.01)
        server.gate.set()
        outcomes = [outcome for (outcome,) in await asyncio.gather(*tasks)]
        await transport.close()
        return outcomes

    assert [each.body for each in asyncio.run(awaited())] == [b"late"] * 40


@both
def test_the_proxy_of_the_environment_gets_the_request_unless_no_proxy_names_the_host(server, run, monkeypatch):
    with serving() as proxy:
        monkeypatch.setenv("http_proxy", f"http://us%20er:word@127.0.0.1:{proxy.server_port}")
        monkeypatch.setenv("no_proxy", "other.lab")
        address = Address("http://gloaming.lab:8080", "glm_key", None)
        assert run(address, perform(Send(Request("GET", "/v1/x", {"a": "1"}))))[0].status == 200
        assert proxy.seen[0][1] == "http://gloaming.lab:8080/v1/x?a=1"
        assert proxy.seen[0][2]["host"] == "gloaming.lab:8080"
        assert proxy.seen[0][2]["proxy-authorization"] == "Basic dXMgZXI6d29yZA=="
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert run(address_of(server), perform(Send(Request("GET", "/v1/x"))))[0].status == 200
        assert len(proxy.seen) == 1 and len(server.seen) == 1


def test_a_proxy_of_another_protocol_is_refused(monkeypatch):
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1080")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(ValueError, match="socks5"):
        blocking(Address("http://gloaming.lab", "glm_key", None), perform(Send(Request("GET", "/"))))


@pytest.mark.parametrize("url", ["gloaming.lab:8080", "ftp://gloaming.lab", "file:///etc/passwd"])
def test_an_address_of_another_protocol_is_refused(url):
    with pytest.raises(ValueError, match="http://"):
        Address(url, "glm_key", None)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed here")
@both
def test_only_a_certificate_of_the_bundle_is_trusted(tmp_path, run):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(context) as server:
        get = Send(Request("GET", "/v1/x"))
        address = address_of(server, "https", str(certificate))
        assert [each.status for each in run(address, perform(get, get))] == [200, 200]
        assert len(server.connections) == 1
        stranger = run(address_of(server, "https"), perform(get))[0]
        assert isinstance(stranger, NoAnswer) and isinstance(stranger.cause, ssl.SSLCertVerificationError)
