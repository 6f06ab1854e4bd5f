"""Effects and flows: the client as values, which a transport performs.

A flow is a generator with the protocol of one operation, without I/O. It yields an effect, receives its outcome, and
returns a result. `gloaming.transport` performs effects with blocking calls or by awaiting, so that the two clients share
everything else.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Dict, Generator, Mapping, Optional, TypeVar, Union

T = TypeVar("T")

#: A JSON object.
Json = Dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One HTTP request.

    `path` is relative to the address of the service, or an absolute URL if `is_signed`; such a request has no API key.
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
        """Whether a retry is safe."""
        return self.method != "POST" or "Idempotency-Key" in self.headers


@dataclass(frozen=True)
class Response:
    """A complete response; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Json:
        """Returns the body as JSON object. Raises ValueError for anything else."""
        value = json.loads(self.body)
        if not isinstance(value, dict):
            raise ValueError("the body is not a JSON object")
        return value


@dataclass(frozen=True)
class NoAnswer:
    """The connection failed, or ended before the response did."""

    cause: Exception


@dataclass(frozen=True)
class Send:
    """Sends a request. Outcome: `Response` or `NoAnswer`."""

    request: Request


@dataclass(frozen=True)
class Open:
    """Sends a request without reading the body. Outcome: `Stream`, a failed `Response`, or `NoAnswer`."""

    request: Request


@dataclass(frozen=True)
class Stream:
    """A response whose body is not read yet."""

    status: int
    headers: Mapping[str, str]
    handle: Any


@dataclass(frozen=True)
class Read:
    """Reads a chunk of a stream. Outcome: bytes, empty at the end, or `NoAnswer`."""

    stream: Stream


@dataclass(frozen=True)
class Sleep:
    """Waits. Unit: seconds."""

    seconds: float


@dataclass(frozen=True)
class Wait:
    """Waits for another flow of the same client, perhaps in another thread. Outcome: the result of `future`."""

    future: "Future[Any]"


@dataclass(frozen=True)
class Emit:
    """Yields one item of the flow to its consumer."""

    item: Any


Effect = Union[Send, Open, Read, Sleep, Wait, Emit]
Flow = Generator[Effect, Any, T]
