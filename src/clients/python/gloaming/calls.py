"""Requests with an Idempotency-Key, retries with backoff, and the exception of each refusal."""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from typing import Any, Mapping, Optional

from .codes import BY_CODE
from .errors import BY_TYPE, ConnectionFailed, GloamingError, InvalidRequestError, ServiceError
from .wire import Flow, Json, NoAnswer, Open, Request, Response, Send, Sleep, Stream

#: Pause before the second attempt if the service names none; it doubles with each attempt. Unit: seconds.
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 30.0
#: Attempts at one request, also if the service asks for short pauses.
MOST_ATTEMPTS = 12


class Caller:
    """Makes requests. `patience` bounds the sum of the pauses of one request. Unit: seconds."""

    def __init__(self, patience: float) -> None:
        self.patience = patience

    def send(self, request: Request) -> Flow[Response]:
        """Returns a successful response. Raises the exception of the last refusal."""
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
        """Returns a response whose body is not read yet. Raises as `send`."""
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
        """Returns the body of the response. Parameters that are None are not sent."""
        sent = {name: str(value) for name, value in (query or {}).items() if value is not None}
        response = yield from self.send(Request("GET", path, sent, headers or {}))
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
        """Returns the body of the response. The Idempotency-Key makes a retry safe."""
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
        """Returns the response; its header `idempotent-replayed` says that an earlier request executed."""
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
        """Sends bytes to a signed URL, without the API key."""
        sent = {"Content-Type": "application/octet-stream", **headers}
        return (yield from self.send(Request("PUT", url, headers=sent, body=body, is_signed=True)))


def pause_after(outcome: "Response | NoAnswer", attempt: int) -> Optional[float]:
    """Returns the seconds to wait before a retry; None if a retry cannot succeed."""
    backoff: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt) * (0.5 + random.random() / 2)
    if isinstance(outcome, NoAnswer):
        return backoff
    retryable = outcome.headers.get("service-retryable")
    # A response of a proxy in between lacks that header.
    is_retryable = retryable == "true" or (retryable is None and outcome.status in (429, 502, 503, 504))
    if not is_retryable:
        return None
    after = outcome.headers.get("retry-after", "")
    return max(backoff, float(after)) if after.isdigit() else backoff


def error_of(outcome: "Response | NoAnswer") -> GloamingError:
    """Returns the exception of a failed request: of its code, else of its error type, else of its status."""
    if isinstance(outcome, NoAnswer):
        failure = ConnectionFailed(f"The appliance did not answer: {outcome.cause!r}", is_retryable=True)
        failure.__cause__ = outcome.cause
        return failure
    headers = outcome.headers
    code = headers.get("service-error-type", "")
    error = _error_in(outcome.body)
    status = outcome.status
    fallback = BY_TYPE.get(str(error.get("type")), ServiceError if status >= 500 else InvalidRequestError)
    message = error.get("message") or error.get("detail") or f"The server answered with status {status}."
    return BY_CODE.get(code, fallback)(
        str(message),
        status=status,
        details=error.get("details"),
        param=error.get("param") or None,
        doc_url=error.get("doc_url"),
        request_id=headers.get("x-request-id"),
        is_retryable=headers.get("service-retryable") == "true",
    )


def _error_in(body: bytes) -> Json:
    """Returns the error of any of the three failure bodies; empty if the answer is not of the appliance."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    error = value.get("error")
    return error if isinstance(error, dict) else value


def derived_key(*parts: Any) -> str:
    """Returns an Idempotency-Key that equal parts share, so that a repeated step gets the result of the first.

    The appliance stores keys for 24 hours. Parts are values that JSON can represent.

    Examples:
        >>> from gloaming import derived_key
        >>> derived_key("step 1", protein) == derived_key("step 1", protein)
        True
        >>> derived_key("step 1", protein) == derived_key("step 2", protein)
        False
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
