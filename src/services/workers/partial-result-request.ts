import { Type, type Static } from '@sinclair/typebox';
import {
  BATCH_PACK_MAX_QUERIES,
  PROTEIN_MAX_RESIDUES,
  RETAINED_MAX_CANDIDATES,
  WORKER_MAX_PARTS,
} from '../../limits.js';

/** Path on which a worker serves partial results. It is internal and no part of the contract. */
export const PARTIAL_RESULTS_PATH = '/parts/surveys';

const Count = Type.Integer({ minimum: 1, maximum: RETAINED_MAX_CANDIDATES });

/**
 * Request of a coordinator to a worker: the partial results of some queries in one partition of a release. The request
 * names everything that the sums depend on, so the worker needs neither calibration nor policy.
 */
export type PartialResultRequest = Static<typeof PartialResultRequest>;
export const PartialResultRequest = Type.Object(
  {
    release_id: Type.String({ pattern: '^dbr_[0-9a-f]{64}$' }),
    /** Kernels of the same version give the same bits. */
    kernels_version: Type.String({ minLength: 1, maxLength: 64 }),
    /** Number of the partition, 1..`part_count`, in the order of targetRanges. */
    part: Type.Integer({ minimum: 1, maximum: WORKER_MAX_PARTS }),
    part_count: Type.Integer({ minimum: 1, maximum: WORKER_MAX_PARTS }),
    /** Canonical form of the filter; null without a filter. */
    filter: Type.Unknown(),
    limit: Count,
    /** Numbers of candidates that the prefilter selects; null for the exhaustive policy. */
    sampled: Type.Union([
      Type.Object({ nearest_count: Count, striking_count: Count }, { additionalProperties: false }),
      Type.Null(),
    ]),
    relatives: Type.Union([Type.Literal('as_release'), Type.Literal('none')]),
    is_background: Type.Boolean(),
    /** Normalised query sequences. */
    sequences: Type.Array(Type.String({ minLength: 1, maxLength: PROTEIN_MAX_RESIDUES }), {
      minItems: 1,
      maxItems: BATCH_PACK_MAX_QUERIES,
    }),
  },
  { additionalProperties: false },
);
