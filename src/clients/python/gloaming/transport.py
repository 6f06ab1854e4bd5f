"""Performs the effects of flows over HTTP, blocking and for event loops."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Dict, Iterator, List, Mapping, Optional, Union
from urllib.parse import urlencode

from .errors import ConnectionFailed
from .exchange import NETWORK_ERRORS, Connections, Exchange, basic, origin_of
from .wire import Effect, Emit, Flow, NoAnswer, Open, Read, Request, Response, Send, Sleep, Stream, T, Wait

DEFAULT_URL = "http://127.0.0.1:8080"
USER_AGENT = "gloaming-client/0.1.0"
#: Longest body that is read into memory: the largest alignment as JSON, and a margin. Unit: bytes.
BODY_MAX_BYTES = 320 * 1024 * 1024
#: Requests of one client for event loops that are on their way at a time; each has a thread.
MOST_THREADS = 100


class Address:
    """Address, API key and trusted certificates: of the arguments, else of the environment."""

    def __init__(self, url: Optional[str], key: Optional[str], ca_bundle: Optional[str]) -> None:
        self.url = (url or os.environ.get("GLOAMING_URL") or DEFAULT_URL).rstrip("/")
        origin_of(self.url)
        self.key = key or os.environ.get("GLOAMING_API_KEY") or ""
        if not self.key:
            raise ValueError(
                'An API key is needed: the argument key, or GLOAMING_API_KEY; "gloaming keys create" makes one.'
            )
        bundle = ca_bundle or os.environ.get("GLOAMING_CA_BUNDLE")
        self._context: Optional[ssl.SSLContext] = ssl.create_default_context(cafile=bundle) if bundle else None

    def connections(self, timeout: float) -> Connections:
        return Connections(self._context, timeout)

    def exchange_of(self, request: Request, connections: Connections) -> Exchange:
        url = request.path if request.is_signed else self.url + request.path
        if request.query:
            url += f"{'&' if '?' in url else '?'}{urlencode(request.query)}"
        return Exchange(connections, request.method, url, self._headers_of(request), request.body)

    def _headers_of(self, request: Request) -> Dict[str, str]:
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json", **request.headers}
        if request.body is not None:
            headers.setdefault("Content-Type", "application/json")
        if request.sql_credential is not None:
            headers["Authorization"] = basic(*request.sql_credential)
        elif not request.is_signed:
            headers["Authorization"] = f"Bearer {self.key}"
        return headers


def outcome_of(effect: "Union[Send, Open, Read]", exchange: Exchange) -> "Union[Response, Stream, bytes, NoAnswer]":
    """Performs an effect on the network, in the calling thread. Returns its outcome. Raises as `body_of`."""
    try:
        if isinstance(effect, Read):
            return exchange.read_some()
        status, headers = exchange.start()
        require_identity(headers)
        if isinstance(effect, Open) and 200 <= status < 300:
            return Stream(status, headers, exchange)
        response = Response(status, headers, body_of(exchange))
        exchange.close()
        return response
    except NETWORK_ERRORS as cause:
        exchange.close()
        return NoAnswer(cause)


def body_of(exchange: Exchange) -> bytes:
    """Returns the body. Raises ConnectionFailed for one that is too long."""
    chunks: List[bytes] = []
    size = 0
    while True:
        chunk = exchange.read_some()
        if chunk == b"":
            return b"".join(chunks)
        size += len(chunk)
        if size > BODY_MAX_BYTES:
            raise ConnectionFailed(f"The appliance sent more than {BODY_MAX_BYTES} bytes as one answer.")
        chunks.append(chunk)


def require_identity(headers: Mapping[str, str]) -> None:
    """Raises ConnectionFailed for a body in an encoding, which no request of this client accepts."""
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise ConnectionFailed(f"The appliance, or a proxy before it, sent the encoding {encoding[:40]!r}, not identity.")


class BlockingTransport:
    """Performs effects one after the other in the calling thread."""

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._connections = address.connections(timeout)

    def run(self, flow: Flow[T]) -> T:
        """Runs the flow and returns its result. Raises what the flow raises."""
        streams: List[Stream] = []
        try:
            outcome: Any = None
            while True:
                outcome = self._perform(flow.send(outcome), streams)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            end_of(flow, streams)

    def iterate(self, flow: Flow[None]) -> Iterator[Any]:
        """Yields what the flow emits."""
        streams: List[Stream] = []
        try:
            outcome: Any = None
            while True:
                effect = flow.send(outcome)
                outcome = None
                if isinstance(effect, Emit):
                    yield effect.item
                else:
                    outcome = self._perform(effect, streams)
        except StopIteration:
            return
        finally:
            end_of(flow, streams)

    def close(self) -> None:
        self._connections.close()

    def _perform(self, effect: Effect, streams: List[Stream]) -> Any:
        if isinstance(effect, Sleep):
            return time.sleep(effect.seconds)
        if isinstance(effect, Wait):
            return effect.future.result()
        if isinstance(effect, Read):
            return outcome_of(effect, effect.stream.handle)
        if isinstance(effect, (Send, Open)):
            exchange = self._address.exchange_of(effect.request, self._connections)
            try:
                outcome = outcome_of(effect, exchange)
            except BaseException:
                exchange.close()
                raise
            if isinstance(outcome, Stream):
                streams.append(outcome)
            return outcome
        raise TypeError(f"{effect!r} is not an effect")


class AwaitingTransport:
    """Performs effects for an event loop: what waits for the network does so in a thread of its own."""

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._connections = address.connections(timeout)
        self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="gloaming")

    async def run(self, flow: Flow[T]) -> T:
        """Runs the flow and returns its result. Raises what the flow raises."""
        streams: List[Stream] = []
        try:
            outcome: Any = None
            while True:
                outcome = await self._perform(flow.send(outcome), streams)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            end_of(flow, streams)

    async def iterate(self, flow: Flow[None]) -> AsyncIterator[Any]:
        """Yields what the flow emits."""
        streams: List[Stream] = []
        try:
            outcome: Any = None
            while True:
                try:
                    effect = flow.send(outcome)
                except StopIteration:
                    return
                outcome = None
                if isinstance(effect, Emit):
                    yield effect.item
                else:
                    outcome = await self._perform(effect, streams)
        finally:
            end_of(flow, streams)

    async def close(self) -> None:
        self._connections.close()
        self._threads.shutdown(wait=False)

    async def _perform(self, effect: Effect, streams: List[Stream]) -> Any:
        if isinstance(effect, Sleep):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, Wait):
            # Other tasks wait for the future, so that a cancel of this task must not cancel it.
            return await asyncio.shield(asyncio.wrap_future(effect.future))
        if isinstance(effect, Read):
            return await self._in_thread(effect, effect.stream.handle)
        if isinstance(effect, (Send, Open)):
            exchange = self._address.exchange_of(effect.request, self._connections)
            outcome = await self._in_thread(effect, exchange)
            if isinstance(outcome, Stream):
                streams.append(outcome)
            return outcome
        raise TypeError(f"{effect!r} is not an effect")

    async def _in_thread(self, effect: "Union[Send, Open, Read]", exchange: Exchange) -> Any:
        """Returns the outcome. A cancel of the task ends the request, and the thread with it."""
        work = self._threads.submit(outcome_of, effect, exchange)
        try:
            return await asyncio.wrap_future(work)
        except BaseException:
            exchange.abort()
            work.add_done_callback(lambda _: exchange.close())
            raise


def end_of(flow: Flow[Any], streams: List[Stream]) -> None:
    """Closes the flow and the connections of its streams."""
    flow.close()
    for stream in streams:
        stream.handle.close()
