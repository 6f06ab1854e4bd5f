/* Every code of a refusal. A code that is not in this file does not compile. */

export type RefusalCode = ContractRefusalCode | CommandRefusalCode;

/** Codes that network clients get. contract/grammar/refusals.ts has their meanings. */
export type ContractRefusalCode =
  | UnreadableRequestCode
  | CallerCode
  | SearchCode
  | RunCode
  | WebhookCode
  | StorageCode
  | SqlCode
  | MomentCode;

/** The request could not be read. */
type UnreadableRequestCode =
  | 'malformed_request'
  | 'malformed_path'
  | 'invalid_json'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'request_timeout'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'validation_failed'
  | 'header_too_large'
  | 'api_version_unsupported';

/** Identity and rights of the caller. */
type CallerCode =
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'permission_denied'
  | 'budget_exhausted'
  | 'missing_sql_credential'
  | 'invalid_sql_credential';

/** Databases, queries, and products of searches. */
type SearchCode =
  | 'database_not_found'
  | 'default_database_not_set'
  | 'cursor_invalid'
  | 'release_not_found'
  | 'target_space_not_found'
  | 'receipt_not_found'
  | 'invalid_filter'
  | 'invalid_sequence'
  | 'sequence_empty'
  | 'sequence_is_nucleotide'
  | 'sequence_too_long'
  | 'query_range_invalid'
  | 'significance_unavailable'
  | 'propagation_unavailable'
  | 'relatives_unavailable'
  | 'worker_unavailable'
  | 'response_too_large'
  | 'msa_not_found'
  | 'msa_component_not_found'
  | 'msa_alignments_missing'
  | 'msa_target_not_in_receipt'
  | 'msa_components_mismatch'
  | 'msa_too_large'
  | 'pricing_endpoint_unknown'
  | 'pricing_quantity_missing'
  | 'pricing_history_missing';

type RunCode =
  | 'run_not_found'
  | 'run_already_finished'
  | 'run_not_completed'
  | 'run_interrupted'
  | 'calibration_changed'
  | 'run_storage_full'
  | 'result_expired'
  | 'invalid_queries'
  | 'export_not_possible'
  | 'endpoint_not_configured'
  | 'prediction_failed';

type WebhookCode =
  | 'webhook_endpoint_not_found'
  | 'webhook_delivery_not_found'
  | 'webhook_endpoint_disabled'
  | 'webhook_endpoints_full'
  | 'webhook_url_refused';

type StorageCode =
  | 'invalid_path'
  | 'path_conflict'
  | 'file_not_found'
  | 'file_not_managed'
  | 'upload_not_found'
  | 'upload_not_open'
  | 'upload_expired'
  | 'part_size_too_small'
  | 'part_number_invalid'
  | 'part_size_mismatch'
  | 'part_superseded'
  | 'part_not_uploaded'
  | 'parts_missing'
  | 'checksum_invalid'
  | 'checksum_mismatch'
  | 'signature_missing'
  | 'signature_invalid'
  | 'url_expired'
  | 'precondition_failed'
  | 'range_not_satisfiable'
  | 'storage_quota_exceeded'
  | 'file_exceeds_quota'
  | 'storage_full';

type SqlCode =
  | 'sql_credential_not_found'
  | 'sql_credential_revoked'
  | 'sql_credentials_full'
  | 'sql_statement_invalid'
  | 'sql_statement_refused'
  | 'sql_statement_timeout'
  | 'sql_resources_exceeded'
  | 'sql_busy'
  | 'sql_engine_failed';

/** Time, rate and load; and internal failures. */
type MomentCode =
  | 'idempotency_key_reused'
  | 'idempotency_key_in_use'
  | 'idempotency_storage_full'
  | 'rate_limit_exceeded'
  | 'queue_full'
  | 'execution_limit_exceeded'
  | 'start_deadline_exceeded'
  | 'client_closed_request'
  | 'server_stopping'
  | 'storage_unavailable'
  | 'internal_error';

/** Codes of the command line only. In a request, such a refusal is an internal failure of the server. */
export type CommandRefusalCode =
  // Settings, options and files of the operator.
  | 'invalid_config'
  | 'invalid_option'
  | 'not_confirmed'
  | 'address_unavailable'
  | 'invalid_organization'
  | 'api_key_not_found'
  | 'invalid_fasta'
  | 'invalid_input'
  | 'invalid_compression'
  | 'line_too_long'
  | 'invalid_text'
  | 'invalid_gzip'
  | 'truncated_gzip'
  | 'disk_full'
  | 'indexes_not_writable'
  // Building, calibrating and checking releases.
  | 'invalid_slug'
  | 'invalid_id'
  | 'duplicate_id'
  | 'attribute_too_long'
  | 'invalid_metadata'
  | 'invalid_embeddings'
  | 'invalid_taxonomy'
  | 'release_too_large'
  | 'release_damaged'
  | 'release_ambiguous'
  | 'release_in_use'
  | 'build_running'
  | 'refresh_refused'
  | 'download_too_large'
  | 'build_not_found'
  | 'build_incomplete'
  | 'tasks_failed'
  | 'batch_not_found'
  | 'batch_running'
  | 'interrupted'
  | 'calibration_impossible'
  | 'qualification_impossible'
  | 'calibration_not_found'
  // Homologs and their sources.
  | 'tool_missing'
  | 'background_not_found'
  | 'background_exists'
  | 'background_in_use'
  | 'invalid_alignment'
  // Encoders.
  | 'invalid_encoder_card'
  | 'unknown_encoder'
  | 'unusable_encoder'
  | 'encoder_exists'
  | 'encoder_changed'
  | 'kernels_changed'
  // Backups and checks of stored data.
  | 'data_folder_damaged'
  | 'data_folder_empty'
  | 'data_folder_in_use'
  | 'data_folder_newer'
  | 'data_folder_not_empty'
  | 'secret_key_missing'
  | 'data_folder_not_writable'
  | 'backup_not_found'
  | 'backup_damaged'
  | 'backup_source_damaged'
  | 'restore_conflict'
  | 'damage_found'
  | 'invalid_receipt'
  | 'receipt_differs'
  // Response of a server with a code that the contract lacks; end of a watched run.
  | 'refused'
  | 'run_failed'
  | 'run_cancelled';
