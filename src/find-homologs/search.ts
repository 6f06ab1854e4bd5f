import {
  withoutHomologs,
  type FindOptions,
  type HomologFinder,
  type SelectedHomologSet,
} from '../homologs/finder.js';
import type { FoundHomolog } from '../homologs/homolog-set.js';
import type { HomologRules } from '../homologs/rules.js';
import { listHomologs, selectHomologs } from '../homologs/select.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import type { Release } from '../release/release.js';
import { openRowReader, type RowReader } from '../release/rows/row-reader.js';
import { eValueOf } from '../search/pairs/candidate-significance.js';
import { searchMany } from '../search/search.js';
import type { Candidate, SearchEngine, SearchResult } from '../search/search-types.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';

/** Nearest targets that are aligned and get an E-value, which decides whether they are homologs. */
const CANDIDATES = 500;
/** One scan of the release's tokens serves all proteins of a batch. */
const BATCH_PROTEINS = 32;

/**
 * Returns a finder that searches a release: nearest targets by MaxSim, alignments by affine score, E-values by the
 * release's calibration. Homologs get the vectors that the release stores, so only the protein itself is encoded.
 * Errors  none here; the finder rejects with those of `open`, with Faults of encoder and kernels, or the signal's
 *         reason
 * @param open  returns the engine of a calibrated release; called for each search, because engines may be closed in
 *              between
 */
export function searchedHomologs(open: () => Promise<SearchEngine>, rules: HomologRules): HomologFinder {
  return {
    batchProteins: BATCH_PROTEINS,
    async find(proteins, options = {}) {
      const homologSource = await open();
      const sequences = proteins.map(({ sequence }) => sequence);
      const results = await searchAligned(sequences, { limit: CANDIDATES, ...rules }, homologSource, options);
      const reader = await openRowReader(homologSource.release.tokens);
      try {
        const homologSets: SelectedHomologSet[] = [];
        for (const [index, { candidates }] of results.entries()) {
          const { sequence } = proteins[index];
          homologSets.push(await homologSetOf(sequence, candidates, homologSource.release, reader, rules));
        }
        return homologSets;
      } finally {
        await reader.close();
      }
    },
    async list(sequence, limit, options = {}) {
      const homologSource = await open();
      const [{ candidates }] = await searchAligned([sequence], { limit, ...rules }, homologSource, options);
      const hits = candidates.flatMap((candidate) => homologOf(candidate, homologSource.release) ?? []);
      return listHomologs(hits, rules);
    },
  };
}

function searchAligned(
  sequences: readonly string[],
  { limit, maxEValue }: { readonly limit: number } & Pick<HomologRules, 'maxEValue'>,
  homologSource: SearchEngine,
  { signal, isLowPriority }: FindOptions,
): Promise<readonly SearchResult[]> {
  const settings = {
    targetSpace: unfilteredSpace(homologSource.release),
    limit,
    evidence: 'pairwise_sequence_alignment',
    alignedMaxEValue: maxEValue,
    guarantee: 'approximate',
    significance: 'if_available',
  } as const;
  const queries = sequences.map((sequence) => ({ sequence, normalizationId: NORMALIZATION_ID }));
  return searchMany(queries, settings, { ...homologSource, isLowPriority }, signal);
}

/** A homolog with the index of its target in the searched release. */
interface Hit extends FoundHomolog {
  readonly targetIndex: number;
}

/**
 * Selects the homologs of a profile among the candidates of a search. Their vectors are the tokens that the release
 * stores.
 * Errors  errors of the file system
 */
export async function homologSetOf(
  sequence: string,
  candidates: readonly Candidate[],
  release: Release,
  reader: RowReader,
  rules: HomologRules,
): Promise<SelectedHomologSet> {
  const hits = candidates.flatMap((candidate) => homologOf(candidate, release) ?? []);
  if (hits.length === 0) return withoutHomologs(sequence);
  const homologSet = selectHomologs({ sequence, homologs: hits }, rules);
  const byId = new Map(hits.map((homolog) => [homolog.id, homolog]));
  const vectors: QueryTokens[] = [];
  for (const { id, residues } of homologSet.averaged) {
    const { targetIndex, targetStart } = byId.get(id)!;
    const values = await reader.read(
      release.tokens.residueStarts[targetIndex] + targetStart,
      residues.length,
    );
    vectors.push({ values, length: residues.length });
  }
  return { ...homologSet, vectors };
}

/** Returns the candidate as a homolog of the query; undefined if it has no E-value or no alignment. */
export function homologOf(candidate: Candidate, { targets }: Release): Hit | undefined {
  const { alignment, targetIndex } = candidate;
  const eValue = eValueOf(candidate);
  if (alignment === undefined || alignment.cigar === '' || eValue === undefined) return undefined;
  const { targetStart, targetEnd } = alignment;
  return {
    id: targets.id(targetIndex),
    eValue,
    identity: alignment.sequenceIdentityRatio,
    coverage: alignment.queryCoverageRatio,
    round: 1,
    residues: targets.sequence(targetIndex).slice(targetStart, targetEnd),
    start: alignment.queryStart,
    residueStart: 0,
    cigar: alignment.cigar,
    targetIndex,
    targetStart,
    targetLength: targets.length(targetIndex),
  };
}
