import { sha256Hex } from '../../canonical.js';
import type { Msa } from '../../contract/msa.js';
import { Refusal } from '../../errors.js';
import type { Release, TargetSpace } from '../../release/release.js';
import type { Catalog, CatalogRelease } from '../search/catalog.js';
import type { RequestContext } from '../context.js';
import type { Engines } from '../search/engines.js';
import { possibleRow, type AlignedReceipt, type PossibleRow } from './rows.js';
import type { Rejudge } from './significance.js';
import type { Receipts } from '../search/receipts.js';
import type { TargetSpaces } from '../search/target-spaces.js';

export interface MsaSources {
  readonly receipts: Receipts;
  readonly catalog: Catalog;
  readonly engines: Engines;
  readonly targetSpaces: TargetSpaces;
}

interface OpenOptions extends MsaSources {
  readonly rejudge: Rejudge;
}

/** A receipt with alignments, and the release that its sequences come from. */
export interface OpenReceipt {
  readonly release: CatalogRelease;
  readonly sequence: string;
  readonly query: Msa['query'];
  /** Present where rows have E-values. */
  readonly calibrationId?: string;
  readonly candidates: AlignedReceipt['candidates'];
  /** Of each candidate; undefined where nothing of it is aligned. */
  readonly rows: readonly (PossibleRow | undefined)[];
}

/**
 * A receipt that alignments can be made of, as far as it can be read without its release.
 * Errors  Refusal `msa_alignments_missing` and those of receipts and catalog
 */
export function readReceipt(id: string, context: RequestContext, { receipts, catalog }: MsaSources) {
  // Written by services/search/receipts.ts under this very name.
  const content = receipts.get(id, context).value.content as unknown as AlignedReceipt;
  const release = catalog.release(content.release_id, context.organizationId);
  if (content.parameters.evidence !== 'pairwise_sequence_alignment') throw withoutAlignments();
  const { sequence } = content.query;
  const query: Msa['query'] = { length: sequence.length, sha256: sha256Hex(sequence) };
  return { content, release, query };
}

/** Errors  those of readReceipt; Faults of files and encoder; the signal's reason */
export async function openReceipt(
  id: string,
  context: RequestContext,
  options: OpenOptions,
): Promise<OpenReceipt> {
  const { engines, targetSpaces, rejudge } = options;
  const { content, release, query } = readReceipt(id, context, options);
  const { candidates } = content;
  const { sequence } = content.query;
  const engine = await engines.open(release.releaseId);
  const space = targetSpaceOf(content, engine.release, targetSpaces);
  const expected = await rejudge(id, content, space, engine, context.signal);
  const { calibration } = engine;
  return {
    release,
    sequence,
    query,
    ...(calibration && expected.length > 0 && { calibrationId: calibration.id }),
    candidates,
    rows: candidates.map((candidate, at) => possibleRow(candidate, expected[at], sequence, engine.release)),
  };
}

export function withoutAlignments(): Refusal {
  return new Refusal(
    'msa_alignments_missing',
    'The receipt has no alignment to make a row of. Search with evidence "pairwise_sequence_alignment".',
    { param: 'receipt_id' },
  );
}

function targetSpaceOf(
  { target_space: space }: AlignedReceipt,
  release: Release,
  targetSpaces: TargetSpaces,
): TargetSpace {
  if (space === null) return targetSpaces.unfiltered(release);
  return targetSpaces.reopen(release, {
    id: space.id,
    databaseReleaseId: release.id,
    canonicalFilter: space.canonical_filter,
    filterSchemaId: release.manifest.filter_schema.id,
  });
}
