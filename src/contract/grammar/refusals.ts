import type { ContractRefusalCode } from '../../refusal-codes.js';

/*
 * Every code with which a request can be refused. Documentation, failure handling and tests read this table. A code
 * without an entry, or an entry without a code, does not compile.
 */

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'idempotency_error'
  | 'rate_limit_error'
  | 'capacity_error'
  | 'api_error';

export interface RefusalRule {
  readonly status: number;
  readonly type: ErrorType;
  /** True if the identical request may succeed later. */
  readonly isRetryable: boolean;
  /**
   * `transport`: the request could not be read. `unrouted`: like `transport`, and the error may occur before the route
   * is known. `operation`: the operation refuses. Route.errorStyle selects the body.
   */
  readonly stage: 'unrouted' | 'transport' | 'operation';
  /** Meaning of the code and what the caller can do. A section of the documentation. */
  readonly meaning: string;
}

function transport(status: number, meaning: string, isRetryable = false): RefusalRule {
  return { status, type: 'invalid_request_error', isRetryable, stage: 'transport', meaning };
}

function unrouted(status: number, meaning: string, isRetryable = false): RefusalRule {
  return { ...transport(status, meaning, isRetryable), stage: 'unrouted' };
}

function refusal(status: number, type: ErrorType, meaning: string, isRetryable = false): RefusalRule {
  return { status, type, isRetryable, stage: 'operation', meaning };
}

function invalid(status: number, meaning: string): RefusalRule {
  return refusal(status, 'invalid_request_error', meaning);
}

function absent(meaning: string): RefusalRule {
  return refusal(404, 'not_found_error', meaning);
}

export const REFUSALS = {
  // The request could not be read.
  malformed_request: unrouted(400, 'The bytes on the connection are not an HTTP/1.1 request.'),
  malformed_path: unrouted(400, 'The path has a percent-escape that cannot be decoded.'),
  invalid_json: transport(
    400,
    'The body is not well-formed JSON in UTF-8; the message names the position and the reason.',
  ),
  route_not_found: unrouted(404, 'No route has this path.'),
  method_not_allowed: unrouted(
    405,
    'The path does not have this method; `Allow` lists the methods of the path.',
  ),
  not_acceptable: transport(406, '`Accept` excludes every media type of this route.'),
  request_timeout: unrouted(408, 'The request did not arrive completely in time.', true),
  body_too_large: transport(413, 'The body is larger than the limit of this route.'),
  unsupported_media_type: transport(
    415,
    'The body must be uncompressed JSON of the media type `application/json`.',
  ),
  expectation_failed: unrouted(417, '`Expect` has another value than `100-continue`.'),
  validation_failed: transport(422, 'The request violates its schema; the error lists the invalid places.'),
  header_too_large: unrouted(431, 'The request line and the headers together exceed 16 KiB.'),

  // Authentication.
  missing_api_key: refusal(
    401,
    'authentication_error',
    'The request has no API key; send `Authorization: Bearer <API_KEY>`.',
  ),
  invalid_api_key: refusal(401, 'authentication_error', 'The API key is malformed, unknown or revoked.'),
  permission_denied: refusal(
    403,
    'permission_error',
    'The credential is valid, but the resource belongs to another organization, or the scope of the key or an ACL ' +
      'forbids the operation.',
  ),
  budget_exhausted: refusal(402, 'permission_error', 'The organization has spent its configured budget.'),

  missing_sql_credential: refusal(
    401,
    'authentication_error',
    'The request has no SQL credential; send its user name and password by HTTP basic authentication.',
  ),
  invalid_sql_credential: refusal(
    401,
    'authentication_error',
    'The user name or the password is wrong, or the SQL credential was revoked or rotated.',
  ),

  // Content of the request.
  api_version_unsupported: invalid(400, '`Service-Contract-Pin` has another value than 2026-08-08.'),
  database_not_found: absent('No database has this id or slug.'),
  default_database_not_set: absent(
    'The request selects no database, and the server has no default database.',
  ),
  cursor_invalid: absent('The cursor is invalid: this server did not issue it for this list.'),
  release_not_found: absent('No release has this id, or the database has no release.'),
  target_space_not_found: absent('No target space has this id.'),
  receipt_not_found: absent('No receipt has this id.'),
  run_not_found: absent('No run has this id.'),
  run_already_finished: refusal(
    409,
    'conflict_error',
    'The run has completed or failed, so that it cannot be cancelled.',
  ),
  run_not_completed: refusal(
    409,
    'conflict_error',
    'The run has not completed, so that it has no result to export.',
  ),
  export_not_possible: invalid(
    422,
    'The rows of the run cannot be written in this format; the message states the reason.',
  ),
  // Conflicts that the operator or the organization can resolve. The same request succeeds after that.
  endpoint_not_configured: refusal(
    409,
    'conflict_error',
    'The operator of this server has not configured the program that does this work.',
  ),
  prediction_failed: refusal(
    500,
    'api_error',
    'The structure predictor failed; `details` has the reason, its exit code and the file of its log.',
  ),
  run_interrupted: refusal(500, 'api_error', 'The server stopped too often while it executed the run.'),
  calibration_changed: refusal(
    409,
    'conflict_error',
    'The database was calibrated or qualified again before the run resumed; submit the run again.',
  ),
  invalid_queries: invalid(
    422,
    'Some queries of the batch cannot be searched, or the batch has too many; the error lists the invalid queries.',
  ),
  webhook_endpoint_not_found: absent('No webhook endpoint has this id.'),
  webhook_delivery_not_found: absent(
    'No webhook delivery has this id, or its retention of 30 days has ended.',
  ),
  webhook_endpoint_disabled: refusal(409, 'conflict_error', 'The webhook endpoint is disabled or removed.'),
  webhook_endpoints_full: refusal(
    409,
    'capacity_error',
    'The organization has reached its maximum number of webhook endpoints.',
  ),
  webhook_url_refused: refusal(
    403,
    'permission_error',
    'Webhook deliveries to this URL are not permitted; the message states the reason.',
  ),
  result_expired: refusal(
    410,
    'not_found_error',
    'The result existed; it was deleted at the end of its retention.',
  ),
  invalid_path: invalid(422, 'The path of a stored file is invalid; the message states the reason.'),
  file_not_found: absent('No file exists at this place, or its ACL hides it from this key.'),
  file_not_managed: invalid(422, 'The URL does not belong to a stored file of this server.'),
  path_conflict: refusal(
    409,
    'conflict_error',
    'The path needs a folder where a file exists, or a file where a folder exists.',
  ),
  upload_not_found: absent('No upload has this id, or it was aborted.'),
  upload_not_open: refusal(
    409,
    'conflict_error',
    'The state of the upload does not allow the operation; `details.status` is the state.',
  ),
  upload_expired: refusal(
    410,
    'not_found_error',
    'The upload was not completed in time; its parts were deleted.',
  ),
  part_size_too_small: invalid(422, 'With this part size, the file would have more than 10,000 parts.'),
  part_number_invalid: invalid(422, 'The part number is greater than the number of parts of the upload.'),
  part_size_mismatch: invalid(
    422,
    'The size of the part differs from the size that the upload defines for it.',
  ),
  part_superseded: refusal(
    409,
    'conflict_error',
    'A later request sends the same part, and ended this one before all of its bytes had arrived.',
  ),
  part_not_uploaded: refusal(
    409,
    'conflict_error',
    'The part cannot be acknowledged, because the server has not received its bytes.',
  ),
  parts_missing: refusal(409, 'conflict_error', 'Some parts are not acknowledged yet; `details` lists them.'),
  checksum_invalid: invalid(422, 'A checksum header is invalid, or two of them contradict each other.'),
  checksum_mismatch: invalid(422, 'The SHA-256 of the bytes differs from the checksum of the request.'),
  signature_missing: refusal(
    401,
    'authentication_error',
    'The route accepts only signed URLs; request one and use it unchanged.',
  ),
  signature_invalid: refusal(
    403,
    'permission_error',
    'The signature is not valid for this URL and this method.',
  ),
  url_expired: refusal(410, 'not_found_error', 'The signed URL has expired, or its file has been replaced.'),
  precondition_failed: refusal(
    412,
    'conflict_error',
    'The file does not match the precondition of the request, such as `If-Match`.',
  ),
  range_not_satisfiable: invalid(416, 'The range starts after the end of the file.'),
  // The caller can resolve this conflict, so the status is 409 and not 507.
  storage_quota_exceeded: refusal(
    409,
    'capacity_error',
    'The storage quota of the organization is exhausted: delete files, abort uploads, or use stored target spaces.',
  ),
  file_exceeds_quota: invalid(413, 'The file is larger than the whole storage quota of the organization.'),
  storage_full: refusal(
    409,
    'capacity_error',
    'The disk has too little free space beyond its reserve.',
    true,
  ),
  msa_not_found: absent('No multiple sequence alignment has this id.'),
  msa_component_not_found: absent('No component of an alignment has this id.'),
  msa_alignments_missing: invalid(
    422,
    'The receipt has no alignment that can become a row; the message states the reason.',
  ),
  msa_target_not_in_receipt: absent('The receipt has no candidate with this id.'),
  msa_components_mismatch: invalid(
    422,
    'A component was created for another query than that of the receipt.',
  ),
  msa_too_large: invalid(422, 'The alignment would exceed 256 MiB; request fewer rows.'),
  invalid_sequence: invalid(
    422,
    'The query is not a protein sequence; the message names the first invalid letter.',
  ),
  sequence_empty: invalid(422, 'The query has no residues.'),
  sequence_is_nucleotide: invalid(422, 'The query appears to be DNA or RNA; translate it first.'),
  sequence_too_long: invalid(422, 'The query is longer than 65,535 residues.'),
  query_range_invalid: invalid(
    422,
    'The query range is empty or ends after the last residue of the query, or the query is a family of homologs.',
  ),
  invalid_filter: invalid(
    422,
    'The filter does not match the filter schema of the release; the error lists the invalid places.',
  ),
  pricing_endpoint_unknown: absent('An endpoint has no price; the error lists the priced endpoints.'),
  pricing_quantity_missing: invalid(422, 'The request lacks a quantity that the estimate type needs.'),
  pricing_history_missing: refusal(
    409,
    'conflict_error',
    'The organization has no successful call of the endpoint to estimate from; use `unit_price`.',
  ),
  sql_credential_not_found: absent('No SQL credential has this id.'),
  sql_credential_revoked: absent(
    'The SQL credential is revoked, so that it can be neither rotated nor revoked again.',
  ),
  sql_credentials_full: refusal(
    409,
    'capacity_error',
    'The organization has reached its maximum number of active SQL credentials.',
  ),
  sql_statement_invalid: invalid(
    422,
    'The SQL engine cannot execute the statement; the message states the reason.',
  ),
  sql_statement_refused: invalid(
    422,
    'The text is not one read-only statement, or it uses a table, function or file that statements may not use.',
  ),
  sql_statement_timeout: invalid(422, 'The statement exceeded the maximum time of a statement.'),
  sql_resources_exceeded: invalid(
    422,
    'The statement exceeded the maximum memory or the maximum number of rows of a result.',
  ),
  significance_unavailable: invalid(
    422,
    'The search cannot provide the E-values or probabilities that the request needs; the message states the reason.',
  ),
  propagation_unavailable: invalid(
    422,
    'Propagation needs the graph of neighbours of the release and the null model of walks over it. The request ' +
      'needs alignments and E-values, and no `database_size`. The message states the reason.',
  ),
  relatives_unavailable: invalid(
    422,
    'The homologs that the request needs are not available: the homolog source or its search program is missing ' +
      'or has changed, or the database has no homologs. Searches can send `relatives: none`.',
  ),
  response_too_large: invalid(422, 'The response exceeds 16 MiB; the message states how many rows fit.'),

  // Time and rate.
  idempotency_key_reused: refusal(
    422,
    'idempotency_error',
    'The `Idempotency-Key` was used before for another request on the same route.',
  ),
  idempotency_key_in_use: refusal(
    409,
    'idempotency_error',
    'The first request with this `Idempotency-Key` still runs.',
    true,
  ),
  run_storage_full: refusal(
    503,
    'capacity_error',
    'The organization has as many stored runs as the server has room for; retry when older runs have expired.',
    true,
  ),
  idempotency_storage_full: refusal(
    503,
    'capacity_error',
    'The organization has as many stored responses to requests with `Idempotency-Key` as the server has room for; ' +
      'retry without a key, or later.',
    true,
  ),
  rate_limit_exceeded: refusal(
    429,
    'rate_limit_error',
    'The API key has sent too many requests; see `RateLimit`.',
    true,
  ),
  queue_full: refusal(429, 'rate_limit_error', 'The queue of waiting work is full; see `RateLimit`.', true),
  execution_limit_exceeded: refusal(
    429,
    'rate_limit_error',
    'The API key has too many requests in execution at once; see `RateLimit`.',
    true,
  ),
  sql_busy: refusal(
    429,
    'rate_limit_error',
    'Too many SQL statements or logins run at once; see `RateLimit`.',
    true,
  ),
  sql_engine_failed: refusal(
    503,
    'capacity_error',
    'The SQL engine ended, possibly because of another statement. A new engine starts; retry.',
    true,
  ),
  worker_unavailable: refusal(
    503,
    'capacity_error',
    'A part of the database is on other machines, none of which responds. The search has no result without it.',
    true,
  ),
  start_deadline_exceeded: refusal(
    504,
    'capacity_error',
    'Work could not start before the deadline of `Service-Request-Timeout`.',
    true,
  ),
  client_closed_request: refusal(
    499,
    'invalid_request_error',
    'The client closed the connection before the response. The code appears only in logs.',
    true,
  ),
  server_stopping: refusal(503, 'capacity_error', 'The server is stopping; retry in a moment.', true),
  storage_unavailable: refusal(503, 'capacity_error', 'The disk is full or refuses writes.', true),
  internal_error: refusal(
    500,
    'api_error',
    'An error of the server. The log of the server has the cause under the request id.',
    true,
  ),
} as const satisfies Readonly<Record<ContractRefusalCode, RefusalRule>>;

export function isRefusalCode(code: string): code is ContractRefusalCode {
  return Object.hasOwn(REFUSALS, code);
}
