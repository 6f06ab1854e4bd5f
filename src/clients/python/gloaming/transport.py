"""Performs the effects of flows over HTTP, blocking and for event loops."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Union

import httpx

from .errors import ConnectionFailed
from .wire import Effect, Emit, Flow, NoAnswer, Open, Read, Request, Response, Send, Sleep, Stream, T, Wait

DEFAULT_URL = "http://127.0.0.1:8080"
USER_AGENT = "gloaming-client/0.1.0"
#: Longest body that is read into memory: the largest alignment as JSON, and a margin. Unit: bytes.
BODY_MAX_BYTES = 320 * 1024 * 1024


class Address:
    """Address, API key and trusted certificates: of the arguments, else of the environment."""

    def __init__(self, url: Optional[str], key: Optional[str], ca_bundle: Optional[str]) -> None:
        self.url = (url or os.environ.get("GLOAMING_URL") or DEFAULT_URL).rstrip("/")
        self.key = key or os.environ.get("GLOAMING_API_KEY") or ""
        if not self.key:
            raise ValueError(
                'An API key is needed: the argument key, or GLOAMING_API_KEY; "gloaming keys create" makes one.'
            )
        bundle = ca_bundle or os.environ.get("GLOAMING_CA_BUNDLE")
        self.verify: Union[bool, ssl.SSLContext] = ssl.create_default_context(cafile=bundle) if bundle else True

    def headers_of(self, request: Request) -> Dict[str, str]:
        # Bodies are read as they come: a compressed one could be a thousand times larger than what was sent.
        fixed = {"User-Agent": USER_AGENT, "Accept": "application/json", "Accept-Encoding": "identity"}
        headers = {**fixed, **request.headers}
        if request.body is not None:
            headers.setdefault("Content-Type", "application/json")
        if request.sql_credential is None and not request.is_signed:
            headers["Authorization"] = f"Bearer {self.key}"
        return headers

    def arguments_of(self, request: Request) -> Dict[str, Any]:
        arguments: Dict[str, Any] = {
            "method": request.method,
            "url": request.path if request.is_signed else self.url + request.path,
            "params": dict(request.query) or None,
            "headers": self.headers_of(request),
            "content": request.body,
        }
        if request.sql_credential is not None:
            arguments["auth"] = request.sql_credential
        return arguments


def response_of(answer: httpx.Response, body: bytes) -> Response:
    return Response(answer.status_code, _headers_of(answer), body)


class Body:
    """Collects the chunks of a body. Raises ConnectionFailed for a body that is too long or encoded."""

    def __init__(self, answer: httpx.Response) -> None:
        require_identity(answer)
        self._chunks: List[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > BODY_MAX_BYTES:
            raise ConnectionFailed(f"The appliance sent more than {BODY_MAX_BYTES} bytes as one answer.")
        self._chunks.append(chunk)

    def whole(self) -> bytes:
        return b"".join(self._chunks)


def require_identity(answer: httpx.Response) -> None:
    """Raises ConnectionFailed for a body in an encoding, which no request of this client accepts."""
    encoding = answer.headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise ConnectionFailed(f"The appliance, or a proxy before it, sent the encoding {encoding[:40]!r}, not identity.")


def stream_of(answer: httpx.Response, chunks: Any) -> Stream:
    return Stream(answer.status_code, _headers_of(answer), (answer, chunks))


def _headers_of(answer: httpx.Response) -> Dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


class BlockingTransport:
    """Performs effects one after the other in the calling thread."""

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._client = httpx.Client(verify=address.verify, timeout=timeout)

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
            self._end(flow, streams)

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
            self._end(flow, streams)

    def close(self) -> None:
        self._client.close()

    def _perform(self, effect: Effect, streams: List[Stream]) -> Any:
        if isinstance(effect, Sleep):
            return time.sleep(effect.seconds)
        if isinstance(effect, Wait):
            return effect.future.result()
        try:
            if isinstance(effect, (Send, Open)):
                arguments = self._address.arguments_of(effect.request)
                auth = arguments.pop("auth", httpx.USE_CLIENT_DEFAULT)
                answer = self._client.send(self._client.build_request(**arguments), auth=auth, stream=True)
                if isinstance(effect, Open) and answer.is_success:
                    streams.append(stream_of(answer, answer.iter_raw()))
                    require_identity(answer)
                    return streams[-1]
                try:
                    body = Body(answer)
                    for chunk in answer.iter_raw():
                        body.add(chunk)
                finally:
                    answer.close()
                return response_of(answer, body.whole())
            if isinstance(effect, Read):
                return next(effect.stream.handle[1], b"")
        except httpx.TransportError as cause:
            return NoAnswer(cause)
        raise TypeError(f"{effect!r} is not an effect")

    def _end(self, flow: Flow[Any], streams: List[Stream]) -> None:
        flow.close()
        for stream in streams:
            stream.handle[0].close()


class AwaitingTransport:
    """Performs effects in an event loop."""

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._client = httpx.AsyncClient(verify=address.verify, timeout=timeout)

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
            await self._end(flow, streams)

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
            await self._end(flow, streams)

    async def close(self) -> None:
        await self._client.aclose()

    async def _perform(self, effect: Effect, streams: List[Stream]) -> Any:
        if isinstance(effect, Sleep):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, Wait):
            # Other tasks wait for the future, so that a cancel of this task must not cancel it.
            return await asyncio.shield(asyncio.wrap_future(effect.future))
        try:
            if isinstance(effect, (Send, Open)):
                arguments = self._address.arguments_of(effect.request)
                auth = arguments.pop("auth", httpx.USE_CLIENT_DEFAULT)
                answer = await self._client.send(self._client.build_request(**arguments), auth=auth, stream=True)
                if isinstance(effect, Open) and answer.is_success:
                    streams.append(stream_of(answer, answer.aiter_raw()))
                    require_identity(answer)
                    return streams[-1]
                try:
                    body = Body(answer)
                    async for chunk in answer.aiter_raw():
                        body.add(chunk)
                finally:
                    await answer.aclose()
                return response_of(answer, body.whole())
            if isinstance(effect, Read):
                try:
                    return await effect.stream.handle[1].__anext__()
                except StopAsyncIteration:
                    return b""
        except httpx.TransportError as cause:
            return NoAnswer(cause)
        raise TypeError(f"{effect!r} is not an effect")

    async def _end(self, flow: Flow[Any], streams: List[Stream]) -> None:
        flow.close()
        for stream in streams:
            await stream.handle[0].aclose()
