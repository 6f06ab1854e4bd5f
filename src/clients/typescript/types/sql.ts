// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';

export interface SqlCredentialRequest {
  /** Your name of it. */
  readonly name: string;
  /** Your words about it. */
  readonly description?: string;
}

export interface SqlCredentialSecretEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: SqlCredentialSecret;
  readonly evidence: Evidence;
}

export interface SqlCredentialSecret {
  /** User name of the engine. */
  readonly sql_engine_user: string;
  /** Shown this once; only a hash of it is kept. */
  readonly password: string;
  readonly sql_credential: SqlCredential;
}

/** Opens the SQL engine over the rows of one organization, read-only. */
export interface SqlCredential {
  readonly object: 'sql_credential';
  /** SQL credential id. */
  readonly id: string;
  /** Your name of it. */
  readonly name: string;
  /** User name at both doors: HTTP basic authentication and the PostgreSQL protocol. */
  readonly username: string;
  /** What it may do: `gloaming_reader` reads, and nothing else. */
  readonly reader_role: string;
  /** Environment that it opens; an appliance has one. */
  readonly environment_id: string;
  /** Organization whose rows it sees. */
  readonly organization_id: string;
  /** False from its revocation on. */
  readonly is_active: boolean;
  /** When it was created. */
  readonly created_at: string;
  /** Your words about it. */
  readonly description?: string;
  /** When it last got a new password. */
  readonly last_rotated_at?: string;
  /** When it was revoked. */
  readonly revoked_at?: string;
}

export interface SqlCredentialList {
  readonly object: 'list';
  readonly data: readonly SqlCredential[];
  /** True when a further page exists. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SqlCredentialRevocationEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: SqlCredentialRevocation;
  readonly evidence: Evidence;
}

export interface SqlCredentialRevocation {
  /** User name of the engine. */
  readonly sql_engine_user: string;
  /** True: it opens nothing any more, and what it had opened is ended. */
  readonly revoked: boolean;
  readonly sql_credential: SqlCredential;
}

export interface SqlQueryRequest {
  /** One SELECT statement (or VALUES, FROM, SHOW, DESCRIBE, SUMMARIZE, EXPLAIN) of DuckDB. */
  readonly sql: string;
  /** Values of `$1`, `$2` and so on. */
  readonly parameters?: readonly (string | number | boolean | null)[];
  /** Rows of a JSON answer at most; an Arrow answer has all rows. Default: 1000. */
  readonly limit?: number;
  /** Time for the statement, where it is shorter than the server’s own. */
  readonly timeout_seconds?: number;
}

export interface SqlResultEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: SqlResult;
  readonly evidence: Evidence;
}

export interface SqlResult {
  readonly object: 'sql_result';
  /** Columns in order. */
  readonly columns: readonly {
    /** Name. */
    readonly name: string;
    /** Type, as DuckDB writes it. */
    readonly type: string;
  }[];
  /**
   * Values by column. Integers beyond ±(2⁵³ − 1), decimals, times and numbers that are not finite
   * are text.
   */
  readonly rows: readonly (readonly unknown[])[];
  /** Rows given. */
  readonly row_count: number;
  /** True where the result has more rows than `limit`. */
  readonly is_row_limit_reached: boolean;
}
