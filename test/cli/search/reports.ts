import type { CalibrationCard } from '#src/significance/card.js';
import type { ReleaseManifest, Release } from '#src/release/release.js';
import type { CandidateSignificance } from '#src/search/pairs/candidate-significance.js';
import { PLAIN_STYLE, type Layout, type SearchOutput, type SearchReport } from '#src/cli/search/report.js';
import type { Candidate, PairwiseAlignment, SearchEngine } from '#src/search/search-types.js';

/* A made-up search of three targets, of which the last has nothing to align. */

const QUERY = 'MKTAYIAKQRQISFVKSHFSRQ';
const TARGETS = [
  { id: 'P00001', sequence: QUERY, name: 'Query itself', organism: 'Escherichia coli (strain K12)' },
  {
    id: 'P00002',
    sequence: 'GGMRTAYLAKQRAAQISFIKSHGG',
    name: 'Uncharacterized protein with a name that goes on and on',
  },
  { id: 'P00003', sequence: 'GGGGGGGG', organism: 'Saccharomyces cerevisiae' },
];

export const layout: Layout = {
  columns: 80,
  hasAlignments: false,
  style: PLAIN_STYLE,
  isTerminal: false,
  manual: 'http://lab/docs/',
};

export interface ReportOptions {
  readonly eValues?: readonly number[];
  readonly alignments?: boolean;
  /** Gives the second candidate a further alignment: its last four query residues. */
  readonly hasFurther?: boolean;
}

export function reportOf(options: ReportOptions = {}): SearchReport {
  const { eValues, alignments = true, hasFurther = false } = options;
  const aligned: (PairwiseAlignment | undefined)[] = [
    alignmentWith(
      { cigar: '22=', queryStart: 0, queryEnd: 22, targetStart: 0, targetEnd: 22, identical: 22, gaps: 0 },
      22,
    ),
    alignmentWith(
      {
        cigar: '1=1X3=1X4=2D4=1X2=',
        queryStart: 0,
        queryEnd: 17,
        targetStart: 2,
        targetEnd: 21,
        identical: 14,
        gaps: 2,
      },
      24,
    ),
    alignmentWith(
      { cigar: '', queryStart: 0, queryEnd: 0, targetStart: 0, targetEnd: 0, identical: 0, gaps: 0 },
      8,
    ),
  ];
  const candidates = TARGETS.map((_, index): Candidate => ({
    rank: index + 1,
    targetIndex: index,
    queryToTargetSum: 1,
    targetToQuerySum: 1,
    maxsim: { bidirectional: [-1.5e-7, 0.25, 0.75][index], queryToTarget: 0.2, targetToQuery: 0.3 },
    affine: { rawScore: [110, 61, 0][index], normalizedScore: [1, 0.554545, 0][index] },
    ...(alignments && { alignment: aligned[index] }),
    ...(hasFurther && { further: index === 1 ? FURTHER : { alignments: [], isCut: false } }),
    significance: judgement(eValues?.[index]),
  }));
  return {
    query: { id: 'Q1', sequence: QUERY, normalizationId: 'gloaming-protein/1' },
    result: {
      candidates,
      isResultLimitReached: true,
      policy: {
        id: 'pol_1',
        requestedGuarantee: 'approximate',
        resolvedGuarantee: 'exhaustive',
        isExhaustive: true,
        isFallback: true,
        resolutionReason: 'no_qualified_approximate_policy',
      },
      queryLength: QUERY.length,
      queryTokensSha256: '0'.repeat(64),
      resultSha256: '1'.repeat(64),
      funnel: { eligible: 3, prefiltered: 3, rescored: 3, aligned: alignments ? 3 : 0, listed: 3 },
    },
    sort: 'evalue',
    leftOutCount: 0,
    request: {
      evidence: alignments ? 'pairwise_sequence_alignment' : 'candidate_measurement',
      guarantee: 'approximate',
      significance: 'if_available',
      limit: 3,
    },
    release,
    database: { databaseId: `db_${'0'.repeat(24)}`, releaseId: release.id, slug: 'tiny' },
    targetSpace: { releaseId: release.id, searchedTargetCount: 1_234, searchedResidueCount: 99_999 },
    engine: {
      release,
      backend: { name: 'native', variant: 'reference', version: '1' },
      encoder: { device: 'cpu' },
    } as unknown as SearchEngine,
    serverVersion: '0.1.0+test',
  };
}

export async function* each(...reports: SearchReport[]): AsyncGenerator<SearchReport> {
  yield* reports;
}

export async function textOf(output: SearchOutput): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of output) parts.push(typeof part === 'string' ? Buffer.from(part) : part);
  return Buffer.concat(parts).toString('utf8');
}

const release = {
  id: `dbr_${'2'.repeat(64)}`,
  manifest: {
    title: 'Tiny database',
    is_simulated: false,
    corpus_snapshot_id: `corpus_${'3'.repeat(64)}`,
    normalization_id: 'gloaming-protein/1',
    encoder: { id: 'baseline-1', sha256: '4'.repeat(64), dimension: 64, inverse_step: 173 },
    affine: { multiplier: 1, offset: 1, gap_open: 10, gap_extend: 1 },
    counts: { targets: 1_234, residues: 99_999 },
  } as unknown as ReleaseManifest,
  targets: {
    count: TARGETS.length,
    id: (index: number) => TARGETS[index].id,
    sequence: (index: number) => TARGETS[index].sequence,
    length: (index: number) => TARGETS[index].sequence.length,
    attribute: (index: number, field: 'name' | 'organism') => TARGETS[index][field],
    attributes: (index: number) => {
      const { name, organism } = TARGETS[index];
      return { ...(name && { name }), ...(organism && { organism }) };
    },
  },
} as unknown as Release;

const CALIBRATION = { bins: [{ name: 'all', pair_count: 1_000, tail: {} }] } as unknown as CalibrationCard;

const FURTHER = {
  alignments: [
    {
      ...alignmentWith(
        {
          cigar: '1X2=1X',
          queryStart: 18,
          queryEnd: 22,
          targetStart: 0,
          targetEnd: 4,
          identical: 2,
          gaps: 0,
        },
        24,
      ),
      rawScore: 30,
      significance: { eValue: 0.004, logEValue: Math.log(0.004), bitScore: 8 },
    },
  ],
  isCut: true,
};

interface Ends {
  readonly cigar: string;
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly targetStart: number;
  readonly targetEnd: number;
  readonly identical: number;
  readonly gaps: number;
}

function alignmentWith({ identical, gaps, ...ends }: Ends, targetLength: number): PairwiseAlignment {
  const pairs = ends.queryEnd - ends.queryStart;
  return {
    ...ends,
    alignedResidueCount: pairs,
    gapOpeningCount: gaps > 0 ? 1 : 0,
    gapResidueCount: gaps,
    identicalResidueCount: identical,
    queryLength: QUERY.length,
    targetLength,
    queryCoverageRatio: pairs / QUERY.length,
    targetCoverageRatio: (ends.targetEnd - ends.targetStart) / targetLength,
    sequenceIdentityRatio: pairs === 0 ? 0 : identical / (pairs + gaps),
  };
}

function judgement(eValue: number | undefined): CandidateSignificance {
  if (eValue === undefined) return { kind: 'not_available', reason: 'no_qualified_calibration' };
  const [card] = CALIBRATION.bins;
  const logEValue = Math.log(eValue);
  return {
    kind: 'supported',
    calibration: { id: 'calib_1', card: CALIBRATION },
    population: {
      id: release.id,
      targetCount: 3,
      residueCount: 54,
      count: 1,
      logCount: 0,
      strataCount: 1,
      isComplete: true,
    },
    bin: card!,
    support: 'within_calibration_sample',
    logTailProbability: logEValue,
    bitScore: 0 - logEValue / Math.LN2,
    eValue,
    logEValue,
    logEValueMinimum: -50,
    familyWiseProbability: eValue,
    qValue: eValue,
    tangent: { lambda: 1, logK: 0 },
  };
}
