"""The exceptions of the client: a class for each type of error. `gloaming.codes` has a subclass for each code."""

from __future__ import annotations

from typing import Any, ClassVar, Dict, Mapping, Optional, Type


class GloamingError(Exception):
    """A request that was refused or failed.

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
        #: HTTP status; None without an answer.
        self.status = status
        #: Machine-readable facts.
        self.details: Dict[str, Any] = dict(details or {})
        #: The member of the request at fault, such as `filter.value`.
        self.param = param
        self.doc_url = doc_url
        #: Id of the request in the log of the server.
        self.request_id = request_id
        #: Whether the identical request may succeed later. The client's own retries have failed.
        self.is_retryable = is_retryable


class InvalidRequestError(GloamingError):
    """The request is invalid."""


class AuthenticationError(GloamingError):
    """The key or credential is missing, malformed, unknown or revoked."""


class ForbiddenError(GloamingError):
    """The key may not do this, or the resource belongs to another organization."""


class NotFoundError(GloamingError):
    """The resource does not exist."""


class ConflictError(GloamingError):
    """The state of the resource does not allow the request."""


class IdempotencyError(GloamingError):
    """The Idempotency-Key was used for a different request."""


class RateLimitError(GloamingError):
    """The rate limit was exceeded for longer than the client's patience."""


class CapacityError(GloamingError):
    """The appliance has no capacity for the request."""


class ServiceError(GloamingError):
    """The appliance failed; its log has the cause under `request_id`."""


class ConnectionFailed(GloamingError):
    """The appliance did not answer, or the connection ended before the answer did."""

    code = "connection_failed"


class RunFailed(GloamingError):
    """A run ended without a result; `details` holds the error of the run."""

    code = "run_failed"


class RunCancelled(GloamingError):
    """The organization cancelled the run."""

    code = "run_cancelled"


class DamagedDownload(GloamingError):
    """The downloaded bytes differ from the stored file's checksum."""

    code = "damaged_download"


class WebhookVerificationError(GloamingError):
    """The message has no valid, recent signature of this secret."""

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
