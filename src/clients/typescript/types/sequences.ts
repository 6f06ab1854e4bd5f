// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';
import type { Msa } from './runs.js';

export interface MsaComponentRequest {
  /** Receipt id: it names the content. */
  readonly receipt_id: string;
  /** One of its candidates. */
  readonly target_id: string;
}

export interface MsaComponentEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: MsaComponent;
  readonly evidence: Evidence;
}

/** One sequence of a receipt, placed over the query. */
export interface MsaComponent {
  readonly object: 'msa_component';
  /** Id of a component: it names its content. */
  readonly id: string;
  readonly format: 'gloaming-msa-component/1';
  /** Receipt id: it names the content. */
  readonly receipt_id: string;
  /** Exact immutable release. */
  readonly release_id: string;
  readonly query: Msa['query'];
  /** Id of the target in its release. */
  readonly target_id: string;
  /** Aligned stretch of the query ÷ its length. */
  readonly query_coverage_ratio: number;
  /** Identical residues ÷ columns of the alignment, gaps included. */
  readonly sequence_identity_ratio: number;
  /** E-value against the targets that were searched; absent where no calibration supports it. */
  readonly expected_false_hits?: number;
  /** Its A3M header, without `>`. */
  readonly header: string;
  /** Its A3M row. */
  readonly row: string;
}

export interface MsaEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: Msa;
  readonly evidence: Evidence;
}
