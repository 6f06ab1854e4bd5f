"""HTTP/1.1 on the standard library: connections that are reused, proxies of the environment, streamed bodies."""

from __future__ import annotations

import base64
import http.client
import selectors
import socket
import ssl
import threading
from typing import Dict, List, Mapping, Optional, Tuple
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

#: Scheme, host and port.
Origin = Tuple[str, str, int]
#: What the network and the server's bytes raise. A wrong address or an unsendable header raises ValueError.
NETWORK_ERRORS = (OSError, http.client.HTTPException)
#: Idle connections that one client holds open to one origin.
MOST_IDLE = 16
#: Largest read of a streamed body. Unit: bytes.
CHUNK_BYTES = 64 * 1024
#: Characters that stay as they are in a path or a query, which may be percent-encoded already.
URL_CHARACTERS = "/%?&=:@!$'()*+,;~[]"


def origin_of(url: str) -> Origin:
    """Returns the origin of an address. Raises ValueError if it is not an address of HTTP."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f'{url!r} is not an address: it must begin with "http://" or "https://" and name a host')
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


class Connections:
    """Idle connections by origin, for all threads. `timeout` bounds each wait for the network. Unit: seconds."""

    def __init__(self, context: Optional[ssl.SSLContext], timeout: float) -> None:
        self._context = context
        self._timeout = timeout
        self._idle: Dict[Origin, List[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()

    def take(self, origin: Origin) -> http.client.HTTPConnection:
        """Returns an idle connection that the server has not closed, else a new one."""
        while True:
            with self._lock:
                idle = self._idle.get(origin)
                connection = idle.pop() if idle else None
            if connection is None:
                return self._connect(origin)
            if is_open(connection):
                return connection
            connection.close()

    def give_back(self, origin: Origin, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(origin, [])
            if len(idle) < MOST_IDLE:
                idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            idle = [connection for connections in self._idle.values() for connection in connections]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _connect(self, origin: Origin) -> http.client.HTTPConnection:
        scheme, host, port = origin
        proxy = proxy_of(scheme, host, port)
        server = (host, port) if proxy is None else (str(proxy.hostname), proxy.port or 80)
        if scheme == "http":
            return http.client.HTTPConnection(*server, timeout=self._timeout)
        connection = http.client.HTTPSConnection(*server, timeout=self._timeout, context=self._trust())
        if proxy is not None:
            connection.set_tunnel(host, port, headers=credentials_of(proxy))
        return connection

    def _trust(self) -> ssl.SSLContext:
        """Returns the given context, else one with the certificates of the system, which takes 20 ms to read."""
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context


class Exchange:
    """One request and its response.

    One thread at a time uses an exchange; `abort` may come from another one. Methods raise NETWORK_ERRORS.
    """

    def __init__(
        self, connections: Connections, method: str, url: str, headers: Mapping[str, str], body: Optional[bytes]
    ) -> None:
        self._connections = connections
        self._method = method
        self._origin = origin_of(url)
        self._url = quote(url.split("#", 1)[0], safe=URL_CHARACTERS)
        self._headers = dict(headers)
        self._body = body
        self._connection: Optional[http.client.HTTPConnection] = None
        self._response: Optional[http.client.HTTPResponse] = None
        self._is_aborted = False

    def start(self) -> Tuple[int, Dict[str, str]]:
        """Sends the request. Returns status and headers of the response, with names in lower case."""
        connection = self._connection = self._connections.take(self._origin)
        target, headers = self._target()
        connection.request(self._method, target, self._body, headers)
        if self._is_aborted:
            raise ConnectionAbortedError("the request was cancelled")
        response = self._response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.headers.items()}

    def read_some(self) -> bytes:
        """Returns the next bytes of the body, empty at its end. Raises IncompleteRead if the connection ended before."""
        response = self._response
        assert response is not None
        if response.length is None:
            return response.read1(CHUNK_BYTES)
        chunk = response.read(CHUNK_BYTES)
        if chunk == b"" and response.length > 0:
            raise http.client.IncompleteRead(chunk, response.length)
        return chunk

    def close(self) -> None:
        """Releases the connection: for another request after a complete response, else by closing it."""
        connection, self._connection = self._connection, None
        response, self._response = self._response, None
        if connection is None:
            return
        is_complete = response is not None and response.isclosed() and not response.will_close
        if is_complete and not self._is_aborted:
            self._connections.give_back(self._origin, connection)
            return
        connection.close()
        if response is not None:
            response.close()

    def abort(self) -> None:
        """Ends a wait of the thread that uses the exchange, which then raises."""
        self._is_aborted = True
        connection = self._connection
        sock = None if connection is None else connection.sock
        try:
            if sock is not None:
                sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The other side has closed the connection already.
            pass

    def _target(self) -> Tuple[str, Dict[str, str]]:
        """Returns the request target and the headers; a proxy of plain HTTP needs the whole address."""
        scheme, host, port = self._origin
        proxy = proxy_of(scheme, host, port)
        if scheme == "http" and proxy is not None:
            return self._url, {**self._headers, **credentials_of(proxy)}
        parts = urlsplit(self._url)
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.path or '/'}{query}", self._headers


def is_open(connection: http.client.HTTPConnection) -> bool:
    """Whether an idle connection can take a request. A server that closes it makes its socket readable."""
    if connection.sock is None:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return not selector.select(0)


def proxy_of(scheme: str, host: str, port: int) -> Optional[SplitResult]:
    """Returns the proxy that the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY) or the system names."""
    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or proxy_bypass(f"{host}:{port}"):
        return None
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise ValueError(f"The proxy {address!r} cannot be used: only proxies with addresses of http:// can be.")
    return proxy


def credentials_of(proxy: SplitResult) -> Dict[str, str]:
    if proxy.username is None:
        return {}
    return {"Proxy-Authorization": basic(unquote(proxy.username), unquote(proxy.password or ""))}


def basic(user: str, password: str) -> str:
    """Returns the value of an Authorization header. Source: RFC 7617."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
