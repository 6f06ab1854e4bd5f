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
  invalid_json: transport(400, 'The body is not well-formed JSON in UTF-8; the message says where and why.'),
  route_not_found: unrouted(404, 'No route has this path.'),
  method_not_allowed: unrouted(405, 'The path exists; `Allow` lists the methods that it has.'),
  not_acceptable: transport(406, '`Accept` excludes every representation that this route has.'),
  request_timeout: unrouted(408, 'The request did not arrive completely in time.', true),
  body_too_large: transport(413, 'The body is larger than the limit of this route.'),
  unsupported_media_type: transport(415, 'The body must be sent as `application/json`, not compressed.'),
  expectation_failed: unrouted(417, '`Expect` names something else than `100-continue`.'),
  validation_failed: transport(422, 'Parts of the request break its schema; every place is listed.'),
  header_too_large: unrouted(431, 'Request line and headers together exceed 16 KiB.'),

  // Authentication.
  missing_api_key: refusal(401, 'authentication_error', 'Send `Authorization: Bearer <API_KEY>`.'),
  invalid_api_key: refusal(401, 'authentication_error', 'The API key is malformed, unknown or revoked.'),
  permission_denied: refusal(
    403,
    'permission_error',
    'The key is good, the resource is of another organization.',
  ),
  budget_exhausted: refusal(402, 'permission_error', 'The organization has spent its configured budget.'),

  missing_sql_credential: refusal(
    401,
    'authentication_error',
    'Send user name and password of a SQL credential by HTTP basic authentication.',
  ),
  invalid_sql_credential: refusal(
    401,
    'authentication_error',
    'User name or password is wrong, or the SQL credential was revoked or given a new password.',
  ),

  // Content of the request.
  api_version_unsupported: invalid(400, '`Service-Contract-Pin` names another contract than 2026-08-08.'),
  database_not_found: absent('No database has this id or slug.'),
  default_database_not_set: absent('No database was selected and the server has no default.'),
  cursor_invalid: absent('The cursor names no page: this server did not give it for this list.'),
  release_not_found: absent('No release has this id, or the database has no release.'),
  target_space_not_found: absent('No target space has this id.'),
  receipt_not_found: absent('No receipt has this id.'),
  run_not_found: absent('No run has this id.'),
  run_already_finished: refusal(
    409,
    'conflict_error',
    'The run has completed or failed: nothing is left to cancel.',
  ),
  run_not_completed: refusal(409, 'conflict_error', 'The run has no result to export: it has not completed.'),
  export_not_possible: invalid(
    422,
    'The rows of the run cannot be written in this format; the message says why.',
  ),
  // Conflicts that the operator or the organization can resolve. The same request succeeds after that.
  endpoint_not_configured: refusal(
    409,
    'conflict_error',
    'The operator of this server has not configured what would do the work.',
  ),
  prediction_failed: refusal(
    500,
    'api_error',
    'The structure predictor came to nothing; details tell how it ended and where its log is.',
  ),
  run_interrupted: refusal(500, 'api_error', 'The server ended too often while it worked on the run.'),
  invalid_queries: invalid(422, 'Some queries of the batch cannot be searched; every one is listed.'),
  webhook_endpoint_not_found: absent('No webhook endpoint has this id.'),
  webhook_delivery_not_found: absent('No webhook delivery has this id, or its 30 days are over.'),
  webhook_endpoint_disabled: refusal(409, 'conflict_error', 'The webhook endpoint is disabled or removed.'),
  webhook_endpoints_full: refusal(
    409,
    'capacity_error',
    'The organization has as many webhook endpoints as it may have.',
  ),
  webhook_url_refused: refusal(
    403,
    'permission_error',
    'Deliveries may not go to this URL; the message says why.',
  ),
  result_expired: refusal(410, 'not_found_error', 'It existed, and its retention has ended.'),
  invalid_path: invalid(422, 'The path of a stored file is not one; the message says what is wrong with it.'),
  file_not_found: absent('No file is there, or none that you are told of.'),
  file_not_managed: invalid(422, 'The URL is not that of a file of this server.'),
  path_conflict: refusal(
    409,
    'conflict_error',
    'A file stands where a folder is needed, or the other way round.',
  ),
  upload_not_found: absent('No upload has this id, or it was aborted.'),
  upload_not_open: refusal(
    409,
    'conflict_error',
    'The state of the upload forbids it; details name the state.',
  ),
  upload_expired: refusal(
    410,
    'not_found_error',
    'The upload was not completed in time; its parts are gone.',
  ),
  part_size_too_small: invalid(422, 'With parts of this size the file would need more than 10,000.'),
  part_number_invalid: invalid(422, 'The upload has fewer parts than this number.'),
  part_size_mismatch: invalid(422, 'The part has another size than the upload gives it.'),
  part_not_uploaded: refusal(
    409,
    'conflict_error',
    'No bytes of this part have come that could be acknowledged.',
  ),
  parts_missing: refusal(409, 'conflict_error', 'Parts are not acknowledged yet; details list them.'),
  checksum_invalid: invalid(422, 'A checksum header is not one that can be read.'),
  checksum_mismatch: invalid(422, 'The bytes have another SHA-256 than was sent with them.'),
  signature_missing: refusal(
    401,
    'authentication_error',
    'The route is reached by a signed URL only; ask for one.',
  ),
  signature_invalid: refusal(403, 'permission_error', 'This server has not signed this URL for this method.'),
  url_expired: refusal(410, 'not_found_error', 'The signed URL has expired, or its file has been replaced.'),
  precondition_failed: refusal(412, 'conflict_error', 'The file is not the one that the request asks for.'),
  range_not_satisfiable: invalid(416, 'The range begins behind the end of the file.'),
  // The caller can resolve this conflict, so the status is 409 and not 507.
  storage_quota_exceeded: refusal(
    409,
    'capacity_error',
    'The organization has no room for it: delete files, abort uploads, or use target spaces that are stored.',
  ),
  file_exceeds_quota: invalid(413, 'The file alone is larger than all that the organization may keep.'),
  storage_full: refusal(409, 'capacity_error', 'The disk has no room for it besides its reserve.', true),
  msa_not_found: absent('No multiple sequence alignment has this id.'),
  msa_component_not_found: absent('No component of an alignment has this id.'),
  msa_alignments_missing: invalid(
    422,
    'The receipt has no alignment that could become a row; the message says why.',
  ),
  msa_target_not_in_receipt: absent('The receipt has no candidate with this id.'),
  msa_components_mismatch: invalid(
    422,
    'A component was placed over another query than that of the receipt.',
  ),
  msa_too_large: invalid(422, 'The alignment would take more than 256 MiB; ask for fewer rows.'),
  invalid_sequence: invalid(
    422,
    'The query is not a protein sequence; the message names the first bad letter.',
  ),
  sequence_empty: invalid(422, 'The query has no residues.'),
  sequence_is_nucleotide: invalid(422, 'The query reads as DNA or RNA; translate it first.'),
  sequence_too_long: invalid(422, 'The query is longer than 65,535 residues.'),
  query_range_invalid: invalid(422, 'The query range is empty, or ends after the last residue of the query.'),
  invalid_filter: invalid(
    422,
    'The filter does not fit the filter schema of the release; every place is listed.',
  ),
  pricing_endpoint_unknown: absent('An endpoint has no price; the places list those that have.'),
  pricing_quantity_missing: invalid(422, 'The estimate type needs a quantity that is not given.'),
  pricing_history_missing: refusal(
    409,
    'conflict_error',
    'The organization has no successful call to estimate from; `unit_price` needs none.',
  ),
  sql_credential_not_found: absent('No SQL credential has this id.'),
  sql_credential_revoked: absent(
    'The SQL credential is revoked: it can neither be rotated nor revoked again.',
  ),
  sql_credentials_full: refusal(
    409,
    'capacity_error',
    'The organization has as many active SQL credentials as it may have.',
  ),
  sql_statement_invalid: invalid(422, 'The engine cannot execute the statement; the message says why.'),
  sql_statement_refused: invalid(422, 'The statement is not one that reads, or reads what is not yours.'),
  sql_statement_timeout: invalid(422, 'The statement ran longer than statements may.'),
  sql_resources_exceeded: invalid(
    422,
    'The statement needs more memory, or has more rows, than statements may.',
  ),
  significance_unavailable: invalid(
    422,
    'Significance is required and no qualified calibration supports it.',
  ),
  propagation_unavailable: invalid(
    422,
    'Propagation needs the graph of neighbours of the release and the null of walks over it; one is missing.',
  ),
  relatives_unavailable: invalid(
    422,
    'The targets have relatives, and what a query is given its own from is no longer there; ask for `relatives: none`.',
  ),
  response_too_large: invalid(422, 'The answer exceeds 16 MiB; the message says how many rows would fit.'),

  // Time and rate.
  idempotency_key_reused: refusal(
    422,
    'idempotency_error',
    'The key was used before for another request on the same route.',
  ),
  idempotency_key_in_use: refusal(
    409,
    'idempotency_error',
    'The first request with this key still runs.',
    true,
  ),
  run_storage_full: refusal(
    503,
    'capacity_error',
    'No further run can be kept until older ones expire.',
    true,
  ),
  idempotency_storage_full: refusal(
    503,
    'capacity_error',
    'No further keyed request can be remembered now.',
    true,
  ),
  rate_limit_exceeded: refusal(
    429,
    'rate_limit_error',
    'The key has sent too many requests; see `RateLimit`.',
    true,
  ),
  queue_full: refusal(429, 'rate_limit_error', 'Too much work waits already; see `RateLimit`.', true),
  execution_limit_exceeded: refusal(
    429,
    'rate_limit_error',
    'The key has too many requests at work at once.',
    true,
  ),
  sql_busy: refusal(
    429,
    'rate_limit_error',
    'Too many SQL statements or logins at once; see `RateLimit`.',
    true,
  ),
  sql_engine_failed: refusal(
    503,
    'capacity_error',
    'The engine ended, perhaps by another statement; a new one takes its place.',
    true,
  ),
  worker_unavailable: refusal(
    503,
    'capacity_error',
    'A part of the database lies on another machine, which does not answer; no answer without it is given.',
    true,
  ),
  start_deadline_exceeded: refusal(
    504,
    'capacity_error',
    'Work could not start before the given deadline.',
    true,
  ),
  client_closed_request: refusal(
    499,
    'invalid_request_error',
    'The client went away; seen in logs only.',
    true,
  ),
  server_stopping: refusal(503, 'capacity_error', 'The server is stopping; ask again in a moment.', true),
  storage_unavailable: refusal(503, 'capacity_error', 'The disk is full or refuses writes.', true),
  internal_error: refusal(500, 'api_error', 'Our fault; the log has the cause under the request id.', true),
} as const satisfies Readonly<Record<ContractRefusalCode, RefusalRule>>;

export function isRefusalCode(code: string): code is ContractRefusalCode {
  return Object.hasOwn(REFUSALS, code);
}
