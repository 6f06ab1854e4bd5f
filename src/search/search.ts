import { assert } from '../errors.js';
import { RETAINED_MAX_CANDIDATES } from '../limits.js';
import { align } from './align.js';
import { compare } from './compare.js';
import { encode } from './query/encode.js';
import { resolvePolicy } from './policy.js';
import { rank } from './rank.js';
import { rescore } from './rescore.js';
import { seal } from './seal.js';
import type { ProteinQuery, SearchEngine, SearchRequest, SearchResult } from './search-types.js';
import { createJudge } from './significance.js';

/*
 * The straight line of the appliance. Proteins and one release go in; out come, for each protein, the nearest targets
 * with their measurements, and the digest that names what was found.
 *
 *   resolve policy   the guarantee that is asked for → how the release meets it
 *   encode           residues → int8 tokens, with those of relatives where the release's targets have them
 *   compare          tokens → integer MaxSim sums with every eligible target
 *   rank             sums → the nearest targets, and their distances
 *   rescore          these targets → affine scores, with the paths behind them where alignments are asked for
 *   align            paths → extended CIGAR and counts
 *   judge            measurements → how surprising they are
 *   seal             all of it → a result under its digest
 *
 * Each stage is a file here, and candidates only gain members on their way.
 */

/** What all queries of one call share. */
export type SearchSettings = Omit<SearchRequest, 'query'>;

/**
 * Searches one release with one query.
 * Errors  Refusal `significance_unavailable` before any work; Fault of encoder or kernels; the signal's reason
 */
export async function search(
  request: SearchRequest,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<SearchResult> {
  const [result] = await searchMany([request.query], request, engine, signal);
  return result;
}

/**
 * The same for many queries at once: each gets the very result that it would get alone, but the release's tokens are
 * read once for all of them.
 */
export async function searchMany(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  assert(settings.limit >= 1 && settings.limit <= RETAINED_MAX_CANDIDATES, 'the contract bounds the limit');
  assert(settings.targetSpace.releaseId === engine.release.id, 'a target space belongs to one release');
  const { release, threads, isBackground } = engine;
  const sequences = queries.map(({ sequence }) => sequence);
  const options = { signal, threads, isBackground };

  const policy = resolvePolicy(release.manifest, settings.guarantee);
  const judge = createJudge(settings, sequences, engine);
  const encoded = await encode(queries, settings, engine, { signal });
  const tokens = encoded.map((query) => query.tokens);
  const compared = await compare(tokens, settings, engine, options);

  const results: SearchResult[] = [];
  for (const [index, found] of compared.entries()) {
    const query = encoded[index];
    const ranked = await rank(found, query.tokens.length, release, settings.limit);
    const rescored = await rescore(query, ranked, settings.evidence, engine, options);
    const aligned = await align(query, rescored, release);
    const candidates = await judge(query, aligned, found.panel, options);
    const served = { policy, kernelRetry: found.retry };
    results.push(await seal(query, candidates, served, settings, engine));
  }
  return results;
}
