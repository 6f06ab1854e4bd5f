import { LRUCache } from 'lru-cache';
import { sha256Hex } from '../../canonical.js';
import type { Msa } from '../../contract/msa.js';
import { Refusal } from '../../errors.js';
import { SEARCH_CACHE_MAX_CANDIDATES } from '../../limits.js';
import type { Release, TargetSpace } from '../../release/release.js';
import { search } from '../../search/search.js';
import type { Candidate, SearchEngine } from '../../search/search-types.js';
import type { RequestContext } from '../context.js';
import type { Catalog, CatalogRelease } from '../search/catalog.js';
import type { Engines } from '../../engine/engines.js';
import type { Receipts } from '../search/receipts.js';
import type { TargetSpaces } from '../search/target-spaces.js';
import { toolsOf } from '../search/traces.js';
import { receiptRow, type AlignedReceipt, type Judged, type PossibleRow } from './rows.js';

export interface MsaReceiptsDependencies {
  readonly receipts: Receipts;
  readonly catalog: Catalog;
  readonly engines: Engines;
  readonly targetSpaces: TargetSpaces;
}

/** Content of a receipt that can be read without its release. */
interface ReadReceipt {
  readonly content: AlignedReceipt;
  readonly release: CatalogRelease;
  readonly query: Msa['query'];
}

/** A receipt with alignments, and the release of its sequences. */
export interface OpenReceipt {
  readonly release: CatalogRelease;
  /** Tools that compute E-values and rows here. */
  readonly tools: ReturnType<typeof toolsOf>;
  readonly sequence: string;
  readonly query: Msa['query'];
  /** Present if rows have E-values. */
  readonly calibrationId?: string;
  readonly candidates: AlignedReceipt['candidates'];
  /** One per candidate; undefined if no part of it is aligned. */
  readonly rows: readonly (PossibleRow | undefined)[];
}

/** Results of the repeated search for a receipt's candidates, in order; empty if the search finds another result. */
type Judgements = readonly Judged[];

/** Receipts of searches, from which alignments are built. */
export class MsaReceipts {
  readonly #dependencies: MsaReceiptsDependencies;
  /** By receipt and calibration. */
  readonly #judged = new LRUCache<string, Judgements>({
    maxSize: SEARCH_CACHE_MAX_CANDIDATES,
    sizeCalculation: ({ length }) => length + 1,
  });

  constructor(dependencies: MsaReceiptsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Errors  Refusal `msa_alignments_missing` and those of receipts and catalog */
  read(id: string, context: RequestContext): ReadReceipt {
    const { receipts, catalog } = this.#dependencies;
    // services/search/receipts.ts wrote the receipt under this id.
    const content: unknown = receipts.get(id, context).value.content;
    const aligned = content as AlignedReceipt;
    const release = catalog.release(aligned.release_id, context.organizationId, 'receipt_id');
    if (aligned.parameters.evidence !== 'pairwise_sequence_alignment') throw withoutAlignments();
    const { sequence } = aligned.query;
    return { content: aligned, release, query: { length: sequence.length, sha256: sha256Hex(sequence) } };
  }

  /** Errors  those of read; Faults of files and encoder; the signal's reason */
  async open(id: string, context: RequestContext): Promise<OpenReceipt> {
    const { engines, targetSpaces } = this.#dependencies;
    const { content, release, query } = this.read(id, context);
    const { candidates } = content;
    const { sequence } = content.query;
    const engine = await engines.open(release.releaseId);
    const space = await targetSpaceOf(content, engine.release, targetSpaces, context.signal);
    const judged = await this.#judge(id, content, space, engine, context.signal);
    const { calibration } = engine;
    const hasEValues = judged.some(({ logEValue: value }) => value !== undefined);
    return {
      release,
      tools: toolsOf(engine),
      sequence,
      query,
      ...(calibration && hasEValues && { calibrationId: calibration.id }),
      candidates,
      rows: candidates.map((candidate, at) =>
        receiptRow({ ...candidate, rank: at + 1 }, judged.at(at), sequence, engine.release),
      ),
    };
  }

  /**
   * Receipts hold integers only. The search is therefore repeated, and its scores are used if it finds the same result.
   * The latest results are cached.
   * Range   empty if the encoder gives other tokens on this machine; no E-values if the search requested none, or the
   *         release has no calibration
   * Errors  Fault of encoder or kernels; the signal's reason
   */
  async #judge(
    receiptId: string,
    receipt: AlignedReceipt,
    targetSpace: TargetSpace,
    engine: SearchEngine,
    signal: AbortSignal,
  ): Promise<Judgements> {
    const key = `${receiptId} ${engine.calibration?.id ?? ''}`;
    const cached = this.#judged.get(key);
    if (cached !== undefined) return cached;
    const { sequence, normalization_id: normalizationId } = receipt.query;
    const request = { ...receipt.parameters, query: { sequence, normalizationId }, targetSpace };
    const { candidates, resultSha256 } = await search(request, engine, signal);
    const judged = resultSha256 === receipt.result_sha256 ? candidates.map(judgedOf) : [];
    this.#judged.set(key, judged);
    return judged;
  }
}

function judgedOf({ affine, significance }: Candidate): Judged {
  return {
    normalizedScore: affine.normalizedScore,
    ...(significance.kind === 'supported' && { logEValue: significance.logEValue }),
  };
}

export function withoutAlignments(): Refusal {
  return new Refusal(
    'msa_alignments_missing',
    'The receipt has no alignment to make a row of. Search with evidence "pairwise_sequence_alignment".',
    { param: 'receipt_id' },
  );
}

async function targetSpaceOf(
  { target_space: space }: AlignedReceipt,
  release: Release,
  targetSpaces: TargetSpaces,
  signal: AbortSignal,
): Promise<TargetSpace> {
  if (space === null) return targetSpaces.unfiltered(release);
  return targetSpaces.reopenInTurns(release, space.canonical_filter, signal);
}
