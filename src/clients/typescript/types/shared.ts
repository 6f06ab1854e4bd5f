// Written by config/client-types.mjs from config/openapi.json.

export interface FailureEnvelope {
  /** The operation failed. */
  readonly ok: false;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly error: ErrorDetail;
  readonly evidence: Evidence;
}

export interface Provenance {
  /** When the server made this response. */
  readonly created_at: string;
  /** Id of the operation, as in the OpenAPI document. */
  readonly operation: string;
  /** Equals the header `X-Request-ID`. */
  readonly request_id: string;
  /** Exact build of the server: release version and commit. */
  readonly server_version: string;
  /** True when an earlier equal execution was reused, or what it had made. */
  readonly cache_hit: boolean;
  /** Releases that the result was computed from. */
  readonly database_snapshots: readonly {
    /** Slug of the database. */
    readonly name: string;
    /** Release id. */
    readonly version: string;
    /** Digest of the release, with its algorithm. */
    readonly digest: string;
    /** Kind of snapshot: `homology_release`. */
    readonly kind: string;
  }[];
  /** Ids of what this operation brought into being. */
  readonly generated_object_ids: readonly string[];
  /**
   * SHA-256 of the canonical JSON (RFC 8785) of the request body as it was sent; of `null` without a
   * body. Absent only where a refusal came before a long body was read, or where the body is no
   * JSON.
   */
  readonly input_hash?: string;
  /**
   * SHA-256 of the canonical JSON of path, query and body with defaults filled in, as far as they
   * were read.
   */
  readonly parameters_hash: string;
  /** What computed the result: this server first; for a result of before, also what computed that. */
  readonly tool_versions: readonly {
    /** Name of the program, library or kernel backend. */
    readonly name: string;
    /** Its version. */
    readonly version: string;
    /** What of it served: its instruction set, device or file. */
    readonly path: string;
  }[];
}

export interface Warning {
  /** Stable machine-readable code. */
  readonly code: string;
  /** What it means for the result, for a person. */
  readonly message: string;
  /** Machine-readable facts. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface ErrorDetail {
  /** Stable machine-readable code; identical to the header `Service-Error-Type`. */
  readonly code: string;
  /** What was expected, what came and what to do, for a person. */
  readonly message: string;
  /** Page of this server that explains the code. */
  readonly doc_url: string;
  /**
   * - `invalid_request_error`: the request cannot be carried out as it stands
   * - `authentication_error`: the API key is missing or not good
   * - `permission_error`: the key may not do this
   * - `not_found_error`: what is asked for does not exist, or no longer
   * - `conflict_error`: the state of the resource forbids it
   * - `idempotency_error`: the Idempotency-Key stands in the way
   * - `rate_limit_error`: too many requests; the same request succeeds later
   * - `capacity_error`: the server has no room for it now
   * - `api_error`: a fault of the server
   */
  readonly type:
    | 'invalid_request_error'
    | 'authentication_error'
    | 'permission_error'
    | 'not_found_error'
    | 'conflict_error'
    | 'idempotency_error'
    | 'rate_limit_error'
    | 'capacity_error'
    | 'api_error';
  /** Equals the header `Service-Retryable`. */
  readonly is_retryable: boolean;
  /** Machine-readable facts about this refusal. */
  readonly details: Readonly<Record<string, unknown>>;
  /** The member of the request that is at fault, as a dotted path. */
  readonly param?: string;
  /** Equals the header `X-Request-ID`. */
  readonly request_id: string;
  /** Every place of the request that is wrong. */
  readonly errors?: readonly ErrorLocation[];
}

export interface ErrorLocation {
  /**
   * Path to the place, step by step: `["body", "filter", "filters", "2", "op"]`; a name with dots is
   * one step.
   */
  readonly loc: readonly string[];
  /** What is wrong there. */
  readonly msg: string;
  /** Code of the error that this place belongs to. */
  readonly type: string;
  /** Page of this server that explains the code. */
  readonly url: string;
  /**
   * What it breaks, by keyword of JSON Schema or by the name of the limit: `{"minimum": 1}`. Empty
   * where the message says all.
   */
  readonly ctx: Readonly<Record<string, unknown>>;
  /** What stood there, shortened where it is long; null where nothing did. */
  readonly input: unknown;
}

export interface Evidence {
  /** Length of `warnings`. */
  readonly warnings_count: number;
  /** From arrival of the request to this response. */
  readonly duration_ms: number;
  /** Ids that the request named. */
  readonly input_refs: readonly string[];
  /** Ids of what was read to answer. */
  readonly object_refs: readonly string[];
  /** Ids that the answer names and can be asked for. */
  readonly output_refs: readonly string[];
  /** Rows in `data`, or of the result that `data` stands for; 1 for a single resource without rows. */
  readonly row_count: number;
}

/** Failure of the direct homology route. */
export interface HomologyFailure {
  readonly error: {
    /** Stable machine-readable code; identical to the header `Service-Error-Type`. */
    readonly code: string;
    /** Page of this server that explains the code. */
    readonly doc_url: string;
    /** What was expected, what came and what to do, for a person. */
    readonly message: string;
    /** Equals the header `X-Request-ID`. */
    readonly request_id: string;
    /**
     * - `invalid_request_error`: the request cannot be carried out as it stands
     * - `authentication_error`: the API key is missing or not good
     * - `permission_error`: the key may not do this
     * - `not_found_error`: what is asked for does not exist, or no longer
     * - `conflict_error`: the state of the resource forbids it
     * - `idempotency_error`: the Idempotency-Key stands in the way
     * - `rate_limit_error`: too many requests; the same request succeeds later
     * - `capacity_error`: the server has no room for it now
     * - `api_error`: a fault of the server
     */
    readonly type:
      | 'invalid_request_error'
      | 'authentication_error'
      | 'permission_error'
      | 'not_found_error'
      | 'conflict_error'
      | 'idempotency_error'
      | 'rate_limit_error'
      | 'capacity_error'
      | 'api_error';
    /** Facts about this refusal; `errors` lists every place of the request that is wrong. */
    readonly details: Readonly<Record<string, unknown>>;
    /**
     * The member of the request that is at fault, as a dotted path. Empty where no single member is at
     * fault.
     */
    readonly param: string;
  };
}

/** A transport failure (RFC 9457). */
export interface Problem {
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  /** The status says what kind of problem this is. */
  readonly type: 'about:blank';
  /** Phrase of the HTTP status. */
  readonly title: string;
  /** HTTP status. */
  readonly status: number;
  /** What was expected, what came and what to do, for a person. */
  readonly detail: string;
  /** Stable machine-readable code; identical to the header `Service-Error-Type`. */
  readonly code: string;
  /** Names this occurrence: `urn:gloaming:request:<X-Request-ID>`. */
  readonly instance: string;
  /** Every place of the request that is wrong; may be empty. */
  readonly errors: readonly {
    /** Where in the request: `body.filter.filters[2].op`. */
    readonly location: string;
    /** What is wrong there. */
    readonly message: string;
    /** What stood there, shortened where it is long; null for nothing. */
    readonly value: unknown;
  }[];
}
