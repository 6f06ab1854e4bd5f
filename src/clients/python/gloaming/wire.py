"""What the client does, as values: flows yield effects, and a transport performs them.

A flow is a generator that knows everything about the service and nothing about sockets. It yields an effect, is sent
what came of it, and returns its result. `gloaming.transport` performs effects with blocking calls or by awaiting, so
that the two clients share all but that.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Dict, Generator, Mapping, Optional, TypeVar, Union

T = TypeVar("T")

#: The object of a JSON text.
Json = Dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One HTTP request.

    `path` is below the service's address, or an absolute URL where `is_signed`: such a request carries no key.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None
    is_signed: bool = False
    #: User name and password of a SQL credential, instead of the API key.
    sql_credential: Optional["tuple[str, str]"] = None

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice does no more than sending it once."""
        return self.method != "POST" or "Idempotency-Key" in self.headers


@dataclass(frozen=True)
class Response:
    """An answer that was read to its end; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Json:
        """The body as JSON. Raises ValueError where it is none."""
        value = json.loads(self.body)
        if not isinstance(value, dict):
            raise ValueError("the body is no JSON object")
        return value


@dataclass(frozen=True)
class NoAnswer:
    """The connection failed, or ended before the answer did."""

    cause: Exception


@dataclass(frozen=True)
class Send:
    """Sends a request; a `Response` or `NoAnswer` comes of it."""

    request: Request


@dataclass(frozen=True)
class Open:
    """Sends a request and leaves its body to be read; a `Stream`, a `Response` that is no success, or `NoAnswer`."""

    request: Request


@dataclass(frozen=True)
class Stream:
    """An answer whose body is still to come."""

    status: int
    headers: Mapping[str, str]
    handle: Any


@dataclass(frozen=True)
class Read:
    """Reads some of a stream: bytes, empty at its end, or `NoAnswer`."""

    stream: Stream


@dataclass(frozen=True)
class Sleep:
    """Waits. Unit: seconds."""

    seconds: float


@dataclass(frozen=True)
class Wait:
    """Waits for another flow of the same client, perhaps of another thread: what it leaves in `future` comes of it."""

    future: "Future[Any]"


@dataclass(frozen=True)
class Emit:
    """Gives one item to whoever iterates over the flow."""

    item: Any


Effect = Union[Send, Open, Read, Sleep, Wait, Emit]
Flow = Generator[Effect, Any, T]
