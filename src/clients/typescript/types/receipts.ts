// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';

export interface ReceiptEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: Receipt;
  readonly evidence: Evidence;
}

export interface Receipt {
  readonly object: 'receipt';
  /** Receipt id: it names the content. */
  readonly id: string;
  /** SHA-256 of the canonical JSON of `content`. */
  readonly sha256: string;
  /** Length of the canonical JSON of `content`. */
  readonly bytes: number;
  /** When it was first stored. */
  readonly created_at: string;
  /** What was computed from what; its own `format` member names its version. */
  readonly content: Readonly<Record<string, unknown>>;
}
