"""What can go wrong, as exceptions: a class for each type of error, and in `gloaming.codes` one for each code."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Dict, Mapping, Optional, Type

from .wire import Json, NoAnswer, Response


class GloamingError(Exception):
    """A request that was refused, or came to nothing.

    Examples:
        >>> from gloaming import GloamingError
        >>> try:
        ...     client.search(protein, database="nowhere")
        ... except GloamingError as error:
        ...     print(error.code, error.status)
        database_not_found 404
    """

    #: Stable code of the refusal, the same as on the wire.
    code: ClassVar[str] = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        status: Optional[int] = None,
        details: Optional[Mapping[str, Any]] = None,
        param: Optional[str] = None,
        doc_url: Optional[str] = None,
        request_id: Optional[str] = None,
        is_retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        #: HTTP status; None where there was no answer.
        self.status = status
        #: Machine-readable facts.
        self.details: Dict[str, Any] = dict(details or {})
        #: The member of the request at fault, such as `filter.value`.
        self.param = param
        self.doc_url = doc_url
        #: Names the request in the log of the server.
        self.request_id = request_id
        #: Whether the identical request may succeed later; the client has tried that in vain.
        self.is_retryable = is_retryable


class InvalidRequestError(GloamingError):
    """The request cannot be done as it was asked."""


class AuthenticationError(GloamingError):
    """The key or credential is missing, malformed, unknown or revoked."""


class ForbiddenError(GloamingError):
    """It belongs to another organization."""


class NotFoundError(GloamingError):
    """There is no such thing."""


class ConflictError(GloamingError):
    """The state of the thing does not allow it."""


class IdempotencyError(GloamingError):
    """The Idempotency-Key was used for something else."""


class RateLimitError(GloamingError):
    """Too much was asked at once, for longer than the client's patience."""


class CapacityError(GloamingError):
    """The appliance has no room for it."""


class ServiceError(GloamingError):
    """The appliance failed; its log has the cause under `request_id`."""


class ConnectionFailed(GloamingError):
    """The appliance did not answer, or its answer broke off."""

    code = "connection_failed"


class RunFailed(GloamingError):
    """A run ended without a result; `details` has its error as the run tells it."""

    code = "run_failed"


class RunCancelled(GloamingError):
    """A run was ended by its owner."""

    code = "run_cancelled"


class DamagedDownload(GloamingError):
    """What was downloaded is not what the appliance has stored."""

    code = "damaged_download"


class WebhookVerificationError(GloamingError):
    """A message that no appliance with this secret has sent lately."""

    code = "webhook_verification_failed"


#: `type` of an error on the wire → its class.
BY_TYPE: Dict[str, Type[GloamingError]] = {
    "invalid_request_error": InvalidRequestError,
    "authentication_error": AuthenticationError,
    "permission_error": ForbiddenError,
    "not_found_error": NotFoundError,
    "conflict_error": ConflictError,
    "idempotency_error": IdempotencyError,
    "rate_limit_error": RateLimitError,
    "capacity_error": CapacityError,
    "api_error": ServiceError,
}


def error_of(outcome: "Response | NoAnswer") -> GloamingError:
    """The exception that tells of an answer that is no success."""
    from .codes import BY_CODE

    if isinstance(outcome, NoAnswer):
        error = ConnectionFailed(f"The appliance did not answer: {outcome.cause!r}", is_retryable=True)
        error.__cause__ = outcome.cause
        return error
    headers = outcome.headers
    code = headers.get("service-error-type", "")
    told = _words_in(outcome.body)
    status = outcome.status
    fallback = BY_TYPE.get(str(told.get("type")), ServiceError if status >= 500 else InvalidRequestError)
    message = told.get("message") or told.get("detail") or f"The server answered with status {status}."
    return BY_CODE.get(code, fallback)(
        str(message),
        status=status,
        details=told.get("details"),
        param=told.get("param") or None,
        doc_url=told.get("doc_url"),
        request_id=headers.get("x-request-id"),
        is_retryable=headers.get("service-retryable") == "true",
    )


def _words_in(body: bytes) -> Json:
    """The error in whichever of the three bodies it stands; empty where something else has answered."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    error = value.get("error")
    return error if isinstance(error, dict) else value
