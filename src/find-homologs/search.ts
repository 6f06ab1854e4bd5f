import { withoutHomologs, type HomologFinder, type SelectedHomologSet } from '../homologs/finder.js';
import type { FoundHomolog } from '../homologs/homolog-set.js';
import type { HomologRules } from '../homologs/rules.js';
import { listHomologs, selectHomologs } from '../homologs/select.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { unfilteredSpace } from '../release/filter/target-space.js';
import type { Release } from '../release/release.js';
import { openRowReader, type RowReader } from '../release/rows/row-reader.js';
import { eValueOf } from '../search/candidate-significance.js';
import { searchMany } from '../search/search.js';
import type { Candidate, SearchEngine, SearchResult } from '../search/search-types.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';

/** Nearest targets that are aligned and judged; only those within the rules' E-value are relatives. */
const CANDIDATES = 500;
/** The release's tokens are read once for all of a batch. */
const BATCH_PROTEINS = 32;

/**
 * Relatives by our own search of a background: the nearest of a release by MaxSim, aligned by affine score, with the
 * E-values of its calibration. Their vectors are those that the release has of them, seen in the whole protein, so
 * that nothing but the protein itself is encoded.
 * @param open  the background's engine, calibrated, and searched by its approximate policy where it has one; asked for
 *              at each call, because engines may be closed between two
 * Errors  Refusal `significance_unavailable` where the background has no calibration; Faults of encoder and kernels
 */
export function searchedHomologs(open: () => Promise<SearchEngine>, rules: HomologRules): HomologFinder {
  return {
    batchProteins: BATCH_PROTEINS,
    async find(proteins, { signal } = {}) {
      const homologSource = await open();
      const sequences = proteins.map(({ sequence }) => sequence);
      const results = await searchAligned(sequences, { limit: CANDIDATES, ...rules }, homologSource, signal);
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
    async list(sequence, limit, { signal } = {}) {
      const homologSource = await open();
      const [{ candidates }] = await searchAligned([sequence], { limit, ...rules }, homologSource, signal);
      const found = candidates.flatMap((candidate) => homologOf(candidate, homologSource.release) ?? []);
      return listHomologs(found, rules);
    },
  };
}

function searchAligned(
  sequences: readonly string[],
  { limit, maxEValue }: { readonly limit: number } & Pick<HomologRules, 'maxEValue'>,
  homologSource: SearchEngine,
  signal: AbortSignal | undefined,
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
  return searchMany(queries, settings, homologSource, signal);
}

/** A relative with its target in the background. */
interface Found extends FoundHomolog {
  readonly targetIndex: number;
}

async function homologSetOf(
  sequence: string,
  candidates: readonly Candidate[],
  release: Release,
  reader: RowReader,
  rules: HomologRules,
): Promise<SelectedHomologSet> {
  const found = candidates.flatMap((candidate) => homologOf(candidate, release) ?? []);
  if (found.length === 0) return withoutHomologs(sequence);
  const homologSet = selectHomologs({ sequence, homologs: found }, rules);
  const byId = new Map(found.map((homolog) => [homolog.id, homolog]));
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

/** The candidate as a row over the query; undefined where nothing supports an E-value or nothing is aligned. */
function homologOf(candidate: Candidate, { targets }: Release): Found | undefined {
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
