"""How every request is made: keyed, repeated where that does no harm, and failing with the exception of its code."""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from typing import Any, Mapping, Optional

from .errors import error_of
from .wire import Flow, Json, NoAnswer, Open, Request, Response, Send, Sleep, Stream

#: Pause before the second attempt where the service names none; each further one is twice as long. Unit: seconds.
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 30.0
#: Attempts at one request, whatever pauses the service asks for.
MOST_ATTEMPTS = 12


class Caller:
    """Makes requests. `patience` bounds the pauses before attempts at one of them. Unit: seconds."""

    def __init__(self, patience: float) -> None:
        self.patience = patience

    def send(self, request: Request) -> Flow[Response]:
        """The answer, a success. Raises the exception of the refusal that stands in the end."""
        waited = 0.0
        for attempt in range(MOST_ATTEMPTS):
            outcome: "Response | NoAnswer" = yield Send(request)
            if isinstance(outcome, Response) and outcome.status < 400:
                return outcome
            pause = pause_after(outcome, attempt) if request.is_repeatable else None
            if pause is None or waited + pause > self.patience:
                raise error_of(outcome)
            waited += pause
            yield Sleep(pause)
        raise error_of(outcome)

    def open(self, request: Request) -> Flow[Stream]:
        """An answer whose body is still to come. Raises as `send`."""
        waited = 0.0
        for attempt in range(MOST_ATTEMPTS):
            outcome: "Stream | Response | NoAnswer" = yield Open(request)
            if isinstance(outcome, Stream):
                return outcome
            pause = pause_after(outcome, attempt)
            if pause is None or waited + pause > self.patience:
                raise error_of(outcome)
            waited += pause
            yield Sleep(pause)
        assert not isinstance(outcome, Stream)
        raise error_of(outcome)

    def get(
        self,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Flow[Json]:
        """The body of an answer; parameters that are None are left out."""
        given = {name: str(value) for name, value in (query or {}).items() if value is not None}
        response = yield from self.send(Request("GET", path, given, headers or {}))
        return response.json()

    def post(
        self,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        sql_credential: Optional["tuple[str, str]"] = None,
    ) -> Flow[Json]:
        """The body of an answer to a keyed request: sent again, it is executed once."""
        response = yield from self.post_keyed(
            path, body, idempotency_key=idempotency_key, headers=headers, sql_credential=sql_credential
        )
        return response.json()

    def post_keyed(
        self,
        path: str,
        body: Optional[Mapping[str, Any]],
        *,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        sql_credential: Optional["tuple[str, str]"] = None,
    ) -> Flow[Response]:
        """The whole answer: its header `idempotent-replayed` says whether an earlier request has made it."""
        key = idempotency_key or uuid.uuid4().hex
        request = Request(
            "POST",
            path,
            headers={"Idempotency-Key": key, **(headers or {})},
            body=None if body is None else json.dumps(body).encode(),
            sql_credential=sql_credential,
        )
        return (yield from self.send(request))

    def delete(self, path: str, query: Optional[Mapping[str, str]] = None) -> Flow[Json]:
        response = yield from self.send(Request("DELETE", path, query or {}))
        return response.json()

    def put_signed(self, url: str, body: bytes, headers: Mapping[str, str]) -> Flow[Response]:
        """Sends bytes to a signed URL, which takes no key."""
        sent = {"Content-Type": "application/octet-stream", **headers}
        return (yield from self.send(Request("PUT", url, headers=sent, body=body, is_signed=True)))


def pause_after(outcome: "Response | NoAnswer", attempt: int) -> Optional[float]:
    """Seconds to wait before the same request is sent again; None where that is of no use."""
    backoff: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt) * (0.5 + random.random() / 2)
    if isinstance(outcome, NoAnswer):
        return backoff
    told = outcome.headers.get("service-retryable")
    # A proxy in between knows nothing of that header.
    is_retryable = told == "true" or (told is None and outcome.status in (429, 502, 503, 504))
    if not is_retryable:
        return None
    after = outcome.headers.get("retry-after", "")
    return max(backoff, float(after)) if after.isdigit() else backoff


def derived_key(*parts: Any) -> str:
    """An Idempotency-Key that equal parts share: whoever runs the same step again is led to what the first run made.

    The appliance keeps keys for 24 hours. Parts are anything that JSON can hold.

    Examples:
        >>> from gloaming import derived_key
        >>> derived_key("step 1", protein) == derived_key("step 1", protein)
        True
        >>> derived_key("step 1", protein) == derived_key("step 2", protein)
        False
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


