import { Type, type Static } from '@sinclair/typebox';
import {
  BATCH_PACK_MAX_QUERIES,
  PROTEIN_MAX_RESIDUES,
  RETAINED_MAX_CANDIDATES,
  WORKER_MAX_PARTS,
} from '../../limits.js';

/** Where an appliance that serves parts is asked; no part of the contract. */
export const SURVEYS_PATH = '/parts/surveys';

const Count = Type.Integer({ minimum: 1, maximum: RETAINED_MAX_CANDIDATES });

/**
 * What a front asks a worker: what a part of a release's targets has to say of some queries. It names all that the
 * sums depend on, so that the worker needs no calibration and no qualified policy of its own.
 */
export type PartialResultRequest = Static<typeof PartialResultRequest>;
export const PartialResultRequest = Type.Object(
  {
    release_id: Type.String({ pattern: '^dbr_[0-9a-f]{64}$' }),
    /** Kernels of one version give the same bits. */
    kernels_version: Type.String({ minLength: 1, maxLength: 64 }),
    /** Part `part` of `part_count`, from 1 on, as targetRanges divides the release. */
    part: Type.Integer({ minimum: 1, maximum: WORKER_MAX_PARTS }),
    part_count: Type.Integer({ minimum: 1, maximum: WORKER_MAX_PARTS }),
    /** In its canonical form; null without. */
    filter: Type.Unknown(),
    limit: Count,
    /** How many finalists the sampled policy leaves; null where the exhaustive one answers. */
    sampled: Type.Union([
      Type.Object({ nearest_count: Count, striking_count: Count }, { additionalProperties: false }),
      Type.Null(),
    ]),
    relatives: Type.Union([Type.Literal('as_release'), Type.Literal('none')]),
    is_background: Type.Boolean(),
    /** Normalised. */
    sequences: Type.Array(Type.String({ minLength: 1, maxLength: PROTEIN_MAX_RESIDUES }), {
      minItems: 1,
      maxItems: BATCH_PACK_MAX_QUERIES,
    }),
  },
  { additionalProperties: false },
);
