"""The exception of each code, made from the contract: test/clients/python.test.ts writes it with -u."""

from __future__ import annotations

from typing import Dict, Type

from .errors import (
    AuthenticationError,
    CapacityError,
    ConflictError,
    ForbiddenError,
    IdempotencyError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServiceError,
    GloamingError,
)


class MalformedRequest(InvalidRequestError):
    """The bytes on the connection are not an HTTP/1.1 request. Status 400."""

    code = "malformed_request"


class MalformedPath(InvalidRequestError):
    """The path has a percent-escape that cannot be decoded. Status 400."""

    code = "malformed_path"


class InvalidJson(InvalidRequestError):
    """The body is not well-formed JSON in UTF-8; the message says where and why. Status 400."""

    code = "invalid_json"


class RouteNotFound(InvalidRequestError):
    """No route has this path. Status 404."""

    code = "route_not_found"


class MethodNotAllowed(InvalidRequestError):
    """The path exists; `Allow` lists the methods that it has. Status 405."""

    code = "method_not_allowed"


class NotAcceptable(InvalidRequestError):
    """`Accept` excludes every representation that this route has. Status 406."""

    code = "not_acceptable"


class RequestTimeout(InvalidRequestError):
    """The request did not arrive completely in time. Status 408."""

    code = "request_timeout"


class BodyTooLarge(InvalidRequestError):
    """The body is larger than the limit of this route. Status 413."""

    code = "body_too_large"


class UnsupportedMediaType(InvalidRequestError):
    """The body must be sent as `application/json`, not compressed. Status 415."""

    code = "unsupported_media_type"


class ExpectationFailed(InvalidRequestError):
    """`Expect` names something else than `100-continue`. Status 417."""

    code = "expectation_failed"


class ValidationFailed(InvalidRequestError):
    """Parts of the request break its schema; every place is listed. Status 422."""

    code = "validation_failed"


class HeaderTooLarge(InvalidRequestError):
    """Request line and headers together exceed 16 KiB. Status 431."""

    code = "header_too_large"


class MissingApiKey(AuthenticationError):
    """Send `Authorization: Bearer <API_KEY>`. Status 401."""

    code = "missing_api_key"


class InvalidApiKey(AuthenticationError):
    """The API key is malformed, unknown or revoked. Status 401."""

    code = "invalid_api_key"


class PermissionDenied(ForbiddenError):
    """The key is good, the resource is of another organization. Status 403."""

    code = "permission_denied"


class BudgetExhausted(ForbiddenError):
    """The organization has spent its configured budget. Status 402."""

    code = "budget_exhausted"


class MissingSqlCredential(AuthenticationError):
    """Send user name and password of a SQL credential by HTTP basic authentication. Status 401."""

    code = "missing_sql_credential"


class InvalidSqlCredential(AuthenticationError):
    """User name or password is wrong, or the SQL credential was revoked or given a new password. Status 401."""

    code = "invalid_sql_credential"


class ApiVersionUnsupported(InvalidRequestError):
    """`Service-Contract-Pin` names another contract than 2026-08-08. Status 400."""

    code = "api_version_unsupported"


class DatabaseNotFound(NotFoundError):
    """No database has this id or slug. Status 404."""

    code = "database_not_found"


class DefaultDatabaseNotSet(NotFoundError):
    """No database was selected and the server has no default. Status 404."""

    code = "default_database_not_set"


class CursorInvalid(NotFoundError):
    """The cursor names no page: this server did not give it for this list. Status 404."""

    code = "cursor_invalid"


class ReleaseNotFound(NotFoundError):
    """No release has this id, or the database has no release. Status 404."""

    code = "release_not_found"


class TargetSpaceNotFound(NotFoundError):
    """No target space has this id. Status 404."""

    code = "target_space_not_found"


class ReceiptNotFound(NotFoundError):
    """No receipt has this id. Status 404."""

    code = "receipt_not_found"


class RunNotFound(NotFoundError):
    """No run has this id. Status 404."""

    code = "run_not_found"


class RunAlreadyFinished(ConflictError):
    """The run has completed or failed: nothing is left to cancel. Status 409."""

    code = "run_already_finished"


class RunNotCompleted(ConflictError):
    """The run has no result to export: it has not completed. Status 409."""

    code = "run_not_completed"


class ExportNotPossible(InvalidRequestError):
    """The rows of the run cannot be written in this format; the message says why. Status 422."""

    code = "export_not_possible"


class EndpointNotConfigured(ConflictError):
    """The operator of this server has not configured what would do the work. Status 409."""

    code = "endpoint_not_configured"


class PredictionFailed(ServiceError):
    """The structure predictor came to nothing; details tell how it ended and where its log is. Status 500."""

    code = "prediction_failed"


class RunInterrupted(ServiceError):
    """The server ended too often while it worked on the run. Status 500."""

    code = "run_interrupted"


class InvalidQueries(InvalidRequestError):
    """Some queries of the batch cannot be searched; every one is listed. Status 422."""

    code = "invalid_queries"


class WebhookEndpointNotFound(NotFoundError):
    """No webhook endpoint has this id. Status 404."""

    code = "webhook_endpoint_not_found"


class WebhookDeliveryNotFound(NotFoundError):
    """No webhook delivery has this id, or its 30 days are over. Status 404."""

    code = "webhook_delivery_not_found"


class WebhookEndpointDisabled(ConflictError):
    """The webhook endpoint is disabled or removed. Status 409."""

    code = "webhook_endpoint_disabled"


class WebhookEndpointsFull(CapacityError):
    """The organization has as many webhook endpoints as it may have. Status 409."""

    code = "webhook_endpoints_full"


class WebhookUrlRefused(ForbiddenError):
    """Deliveries may not go to this URL; the message says why. Status 403."""

    code = "webhook_url_refused"


class ResultExpired(NotFoundError):
    """It existed, and its retention has ended. Status 410."""

    code = "result_expired"


class InvalidPath(InvalidRequestError):
    """The path of a stored file is not one; the message says what is wrong with it. Status 422."""

    code = "invalid_path"


class FileNotFound(NotFoundError):
    """No file is there, or none that you are told of. Status 404."""

    code = "file_not_found"


class FileNotManaged(InvalidRequestError):
    """The URL is not that of a file of this server. Status 422."""

    code = "file_not_managed"


class PathConflict(ConflictError):
    """A file stands where a folder is needed, or the other way round. Status 409."""

    code = "path_conflict"


class UploadNotFound(NotFoundError):
    """No upload has this id, or it was aborted. Status 404."""

    code = "upload_not_found"


class UploadNotOpen(ConflictError):
    """The state of the upload forbids it; details name the state. Status 409."""

    code = "upload_not_open"


class UploadExpired(NotFoundError):
    """The upload was not completed in time; its parts are gone. Status 410."""

    code = "upload_expired"


class PartSizeTooSmall(InvalidRequestError):
    """With parts of this size the file would need more than 10,000. Status 422."""

    code = "part_size_too_small"


class PartNumberInvalid(InvalidRequestError):
    """The upload has fewer parts than this number. Status 422."""

    code = "part_number_invalid"


class PartSizeMismatch(InvalidRequestError):
    """The part has another size than the upload gives it. Status 422."""

    code = "part_size_mismatch"


class PartNotUploaded(ConflictError):
    """No bytes of this part have come that could be acknowledged. Status 409."""

    code = "part_not_uploaded"


class PartsMissing(ConflictError):
    """Parts are not acknowledged yet; details list them. Status 409."""

    code = "parts_missing"


class ChecksumInvalid(InvalidRequestError):
    """A checksum header is not one that can be read. Status 422."""

    code = "checksum_invalid"


class ChecksumMismatch(InvalidRequestError):
    """The bytes have another SHA-256 than was sent with them. Status 422."""

    code = "checksum_mismatch"


class SignatureMissing(AuthenticationError):
    """The route is reached by a signed URL only; ask for one. Status 401."""

    code = "signature_missing"


class SignatureInvalid(ForbiddenError):
    """This server has not signed this URL for this method. Status 403."""

    code = "signature_invalid"


class UrlExpired(NotFoundError):
    """The signed URL has expired, or its file has been replaced. Status 410."""

    code = "url_expired"


class PreconditionFailed(ConflictError):
    """The file is not the one that the request asks for. Status 412."""

    code = "precondition_failed"


class RangeNotSatisfiable(InvalidRequestError):
    """The range begins behind the end of the file. Status 416."""

    code = "range_not_satisfiable"


class StorageQuotaExceeded(CapacityError):
    """The organization has no room for it: delete files or abort uploads. Status 409."""

    code = "storage_quota_exceeded"


class FileExceedsQuota(InvalidRequestError):
    """The file alone is larger than all that the organization may keep. Status 413."""

    code = "file_exceeds_quota"


class StorageFull(CapacityError):
    """The disk has no room for it besides its reserve. Status 409."""

    code = "storage_full"


class MsaNotFound(NotFoundError):
    """No multiple sequence alignment has this id. Status 404."""

    code = "msa_not_found"


class MsaComponentNotFound(NotFoundError):
    """No component of an alignment has this id. Status 404."""

    code = "msa_component_not_found"


class MsaAlignmentsMissing(InvalidRequestError):
    """The receipt has no alignment that could become a row; the message says why. Status 422."""

    code = "msa_alignments_missing"


class MsaTargetNotInReceipt(NotFoundError):
    """The receipt has no candidate with this id. Status 404."""

    code = "msa_target_not_in_receipt"


class MsaComponentsMismatch(InvalidRequestError):
    """A component was placed over another query than that of the receipt. Status 422."""

    code = "msa_components_mismatch"


class MsaTooLarge(InvalidRequestError):
    """The alignment would take more than 256 MiB; ask for fewer rows. Status 422."""

    code = "msa_too_large"


class InvalidSequence(InvalidRequestError):
    """The query is not a protein sequence; the message names the first bad letter. Status 422."""

    code = "invalid_sequence"


class SequenceEmpty(InvalidRequestError):
    """The query has no residues. Status 422."""

    code = "sequence_empty"


class SequenceIsNucleotide(InvalidRequestError):
    """The query reads as DNA or RNA; translate it first. Status 422."""

    code = "sequence_is_nucleotide"


class SequenceTooLong(InvalidRequestError):
    """The query is longer than 65,535 residues. Status 422."""

    code = "sequence_too_long"


class InvalidFilter(InvalidRequestError):
    """The filter does not fit the filter schema of the release; every place is listed. Status 422."""

    code = "invalid_filter"


class PricingEndpointUnknown(NotFoundError):
    """An endpoint has no price; the places list those that have. Status 404."""

    code = "pricing_endpoint_unknown"


class PricingQuantityMissing(InvalidRequestError):
    """The estimate type needs a quantity that is not given. Status 422."""

    code = "pricing_quantity_missing"


class PricingHistoryMissing(ConflictError):
    """The organization has no successful call to estimate from; `unit_price` needs none. Status 409."""

    code = "pricing_history_missing"


class SqlCredentialNotFound(NotFoundError):
    """No SQL credential has this id. Status 404."""

    code = "sql_credential_not_found"


class SqlCredentialRevoked(NotFoundError):
    """The SQL credential is revoked: it can neither be rotated nor revoked again. Status 404."""

    code = "sql_credential_revoked"


class SqlCredentialsFull(CapacityError):
    """The organization has as many active SQL credentials as it may have. Status 409."""

    code = "sql_credentials_full"


class SqlStatementInvalid(InvalidRequestError):
    """The engine cannot execute the statement; the message says why. Status 422."""

    code = "sql_statement_invalid"


class SqlStatementRefused(InvalidRequestError):
    """The statement is not one that reads, or reads what is not yours. Status 422."""

    code = "sql_statement_refused"


class SqlStatementTimeout(InvalidRequestError):
    """The statement ran longer than statements may. Status 422."""

    code = "sql_statement_timeout"


class SqlResourcesExceeded(InvalidRequestError):
    """The statement needs more memory, or has more rows, than statements may. Status 422."""

    code = "sql_resources_exceeded"


class SignificanceUnavailable(InvalidRequestError):
    """Significance is required and no qualified calibration supports it. Status 422."""

    code = "significance_unavailable"


class RelativesUnavailable(InvalidRequestError):
    """The targets have relatives, and what a query is given its own from is no longer there; ask for
    `relatives: none`. Status 422."""

    code = "relatives_unavailable"


class ResponseTooLarge(InvalidRequestError):
    """The answer exceeds 16 MiB; the message says how many rows would fit. Status 422."""

    code = "response_too_large"


class IdempotencyKeyReused(IdempotencyError):
    """The key was used before for another request. Status 422."""

    code = "idempotency_key_reused"


class IdempotencyKeyInUse(IdempotencyError):
    """The first request with this key still runs. Status 409."""

    code = "idempotency_key_in_use"


class RunStorageFull(CapacityError):
    """No further run can be kept until older ones expire. Status 503."""

    code = "run_storage_full"


class IdempotencyStorageFull(CapacityError):
    """No further keyed request can be remembered now. Status 503."""

    code = "idempotency_storage_full"


class RateLimitExceeded(RateLimitError):
    """The key has sent too many requests; see `RateLimit`. Status 429."""

    code = "rate_limit_exceeded"


class QueueFull(RateLimitError):
    """Too much work waits already; see `RateLimit`. Status 429."""

    code = "queue_full"


class ExecutionLimitExceeded(RateLimitError):
    """The key has too many requests at work at once. Status 429."""

    code = "execution_limit_exceeded"


class SqlBusy(RateLimitError):
    """Too many SQL statements or logins at once; see `RateLimit`. Status 429."""

    code = "sql_busy"


class SqlEngineFailed(CapacityError):
    """The engine ended, perhaps by another statement; a new one takes its place. Status 503."""

    code = "sql_engine_failed"


class WorkerUnavailable(CapacityError):
    """A part of the database lies on another machine, which does not answer; no answer without it is
    given. Status 503."""

    code = "worker_unavailable"


class StartDeadlineExceeded(CapacityError):
    """Work could not start before the given deadline. Status 504."""

    code = "start_deadline_exceeded"


class ClientClosedRequest(InvalidRequestError):
    """The client went away; seen in logs only. Status 499."""

    code = "client_closed_request"


class ServerStopping(CapacityError):
    """The server is stopping; ask again in a moment. Status 503."""

    code = "server_stopping"


class StorageUnavailable(CapacityError):
    """The disk is full or refuses writes. Status 503."""

    code = "storage_unavailable"


class InternalError(ServiceError):
    """Our fault; the log has the cause under the request id. Status 500."""

    code = "internal_error"


#: Code on the wire → its class.
BY_CODE: Dict[str, Type[GloamingError]] = {
    "malformed_request": MalformedRequest,
    "malformed_path": MalformedPath,
    "invalid_json": InvalidJson,
    "route_not_found": RouteNotFound,
    "method_not_allowed": MethodNotAllowed,
    "not_acceptable": NotAcceptable,
    "request_timeout": RequestTimeout,
    "body_too_large": BodyTooLarge,
    "unsupported_media_type": UnsupportedMediaType,
    "expectation_failed": ExpectationFailed,
    "validation_failed": ValidationFailed,
    "header_too_large": HeaderTooLarge,
    "missing_api_key": MissingApiKey,
    "invalid_api_key": InvalidApiKey,
    "permission_denied": PermissionDenied,
    "budget_exhausted": BudgetExhausted,
    "missing_sql_credential": MissingSqlCredential,
    "invalid_sql_credential": InvalidSqlCredential,
    "api_version_unsupported": ApiVersionUnsupported,
    "database_not_found": DatabaseNotFound,
    "default_database_not_set": DefaultDatabaseNotSet,
    "cursor_invalid": CursorInvalid,
    "release_not_found": ReleaseNotFound,
    "target_space_not_found": TargetSpaceNotFound,
    "receipt_not_found": ReceiptNotFound,
    "run_not_found": RunNotFound,
    "run_already_finished": RunAlreadyFinished,
    "run_not_completed": RunNotCompleted,
    "export_not_possible": ExportNotPossible,
    "endpoint_not_configured": EndpointNotConfigured,
    "prediction_failed": PredictionFailed,
    "run_interrupted": RunInterrupted,
    "invalid_queries": InvalidQueries,
    "webhook_endpoint_not_found": WebhookEndpointNotFound,
    "webhook_delivery_not_found": WebhookDeliveryNotFound,
    "webhook_endpoint_disabled": WebhookEndpointDisabled,
    "webhook_endpoints_full": WebhookEndpointsFull,
    "webhook_url_refused": WebhookUrlRefused,
    "result_expired": ResultExpired,
    "invalid_path": InvalidPath,
    "file_not_found": FileNotFound,
    "file_not_managed": FileNotManaged,
    "path_conflict": PathConflict,
    "upload_not_found": UploadNotFound,
    "upload_not_open": UploadNotOpen,
    "upload_expired": UploadExpired,
    "part_size_too_small": PartSizeTooSmall,
    "part_number_invalid": PartNumberInvalid,
    "part_size_mismatch": PartSizeMismatch,
    "part_not_uploaded": PartNotUploaded,
    "parts_missing": PartsMissing,
    "checksum_invalid": ChecksumInvalid,
    "checksum_mismatch": ChecksumMismatch,
    "signature_missing": SignatureMissing,
    "signature_invalid": SignatureInvalid,
    "url_expired": UrlExpired,
    "precondition_failed": PreconditionFailed,
    "range_not_satisfiable": RangeNotSatisfiable,
    "storage_quota_exceeded": StorageQuotaExceeded,
    "file_exceeds_quota": FileExceedsQuota,
    "storage_full": StorageFull,
    "msa_not_found": MsaNotFound,
    "msa_component_not_found": MsaComponentNotFound,
    "msa_alignments_missing": MsaAlignmentsMissing,
    "msa_target_not_in_receipt": MsaTargetNotInReceipt,
    "msa_components_mismatch": MsaComponentsMismatch,
    "msa_too_large": MsaTooLarge,
    "invalid_sequence": InvalidSequence,
    "sequence_empty": SequenceEmpty,
    "sequence_is_nucleotide": SequenceIsNucleotide,
    "sequence_too_long": SequenceTooLong,
    "invalid_filter": InvalidFilter,
    "pricing_endpoint_unknown": PricingEndpointUnknown,
    "pricing_quantity_missing": PricingQuantityMissing,
    "pricing_history_missing": PricingHistoryMissing,
    "sql_credential_not_found": SqlCredentialNotFound,
    "sql_credential_revoked": SqlCredentialRevoked,
    "sql_credentials_full": SqlCredentialsFull,
    "sql_statement_invalid": SqlStatementInvalid,
    "sql_statement_refused": SqlStatementRefused,
    "sql_statement_timeout": SqlStatementTimeout,
    "sql_resources_exceeded": SqlResourcesExceeded,
    "significance_unavailable": SignificanceUnavailable,
    "relatives_unavailable": RelativesUnavailable,
    "response_too_large": ResponseTooLarge,
    "idempotency_key_reused": IdempotencyKeyReused,
    "idempotency_key_in_use": IdempotencyKeyInUse,
    "run_storage_full": RunStorageFull,
    "idempotency_storage_full": IdempotencyStorageFull,
    "rate_limit_exceeded": RateLimitExceeded,
    "queue_full": QueueFull,
    "execution_limit_exceeded": ExecutionLimitExceeded,
    "sql_busy": SqlBusy,
    "sql_engine_failed": SqlEngineFailed,
    "worker_unavailable": WorkerUnavailable,
    "start_deadline_exceeded": StartDeadlineExceeded,
    "client_closed_request": ClientClosedRequest,
    "server_stopping": ServerStopping,
    "storage_unavailable": StorageUnavailable,
    "internal_error": InternalError,
}
