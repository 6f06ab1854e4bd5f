// @module-tag fast

import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { readFilterExpressions } from '#src/cli/search/filter.js';
import { deepRowsOf } from '#src/cli/search/deep-rows.js';
import { addSearchOptions } from '#src/cli/search/flags.js';
import { evidenceOf, exportFormatOf, selectionOf, type SearchFlags } from '#src/cli/search/options.js';
import { describeLongList, limitOf, tableLimitOf } from '#src/cli/search/limit.js';
import { alignmentBoundsOf } from '#src/cli/terminal/search-settings.js';
import {
  codebookDefinition,
  POLICY_FORMAT,
  policyId,
  type PolicyCard,
  type PolicyKind,
  type RecallsCard,
} from '#src/recall/policy-card.js';

function flagsOf(...words: string[]): SearchFlags {
  const command = addSearchOptions(
    new Command('search').exitOverride().configureOutput({ writeErr: () => undefined }),
  );
  return command.parse(words, { from: 'user' }).opts<SearchFlags>();
}

/** A card whose policy lists 100 candidates. Of the longer ones, that with 400 has enough recall and a large pool. */
function cardOf(kind: PolicyKind): PolicyCard {
  const recallsOf = (mean: number): RecallsCard => {
    const recall = { query_count: 9, wanted_count: 90, found_count: 90, mean, low: mean, high: mean };
    return { nearest_10: recall, nearest_100: recall, evident: recall };
  };
  const file = { path: '', sha256: '', size_bytes: 0 };
  const tried = [
    { nearest_count: 200, striking_count: 100, pool_count: 600, ...recallsOf(1) },
    { nearest_count: 400, striking_count: 200, pool_count: 600, ...recallsOf(1) },
    { nearest_count: 600, striking_count: 300, pool_count: 300, ...recallsOf(1) },
    { nearest_count: 800, striking_count: 400, pool_count: 1_200, ...recallsOf(0.5) },
  ];
  const policy = codebookDefinition(100, 50, 600);
  return {
    format: POLICY_FORMAT,
    release_id: 'dbr_test',
    calibration_id: null,
    policy_id: policyId(policy),
    policy,
    ...(kind === 'coded' && { codes: { words: file, codes: file } }),
    seed: 1,
    evident_expected_false_hits: 1e-3,
    compared_target_count: 1,
    recalls: recallsOf(1),
    strata: [],
    tried,
    required_recall: 0.9,
  };
}

describe('the options of a search', () => {
  it('show the best 25 of the nearest 500 in a table, and list the nearest 100 elsewhere by default', () => {
    expect(limitOf(flagsOf(), undefined)).toBe(500);
    expect(tableLimitOf(flagsOf(), undefined)).toBe(25);
    expect(limitOf(flagsOf('--limit', '700'), undefined)).toBe(700);
    expect(tableLimitOf(flagsOf('--limit', '700'), undefined)).toBe(700);
    expect(limitOf(flagsOf('--sort', 'distance'), undefined)).toBe(25);
    expect(tableLimitOf(flagsOf('--sort', 'distance'), undefined)).toBeUndefined();
    expect(tableLimitOf(flagsOf('--format', 'tsv'), undefined)).toBeUndefined();
    expect(limitOf(flagsOf('--format', 'tsv'), undefined)).toBe(100);
    expect(limitOf(flagsOf('--format', 'tsv', '--limit', '10000'), undefined)).toBe(10_000);
  });

  it.each([
    [['--limit', '0']],
    [['--limit', '10001']],
    [['--limit', 'ten']],
    [['--limit', '1.5']],
    [['--format', 'xml']],
    [['--guarantee', 'maybe']],
    [['--threads', '257']],
    [['--max-hsps', '0']],
    [['--max-hsps', '101']],
    [['--rounds', '0']],
    [['--rounds', '4']],
    [['--query-range', '0-10']],
    [['--query-range', '10-9']],
    [['--query-range', '10']],
    [['--database-size', '0']],
    [['--database-size', '1e6']],
    [['--database-size', '1000000000001']],
  ])('refuse %j', (words) => {
    expect(() => flagsOf(...words)).toThrow();
  });

  it.each([
    [[], 'pairwise_sequence_alignment'],
    [['--format', 'a3m'], 'pairwise_sequence_alignment'],
    [['--format', 'm8'], 'pairwise_sequence_alignment'],
    [['--format', 'tsv'], 'candidate_measurement'],
    [['--format', 'tsv', '--alignments'], 'pairwise_sequence_alignment'],
    [['--format', 'json', '--max-hsps'], 'pairwise_sequence_alignment'],
    [['--evidence', 'candidate_measurement'], 'candidate_measurement'],
    [['--outfmt', '5'], 'pairwise_sequence_alignment'],
    [['--outfmt', '6 qseqid sseqid evalue bitscore slen stitle'], 'candidate_measurement'],
    [['--outfmt', '6 qseqid sseqid pident'], 'pairwise_sequence_alignment'],
    [['--format-output', 'query,target,evalue,bits,tlen,prob'], 'candidate_measurement'],
    [['--format-output', 'query,target,qcov'], 'pairwise_sequence_alignment'],
    [
      ['--format-output', 'query,target,evalue', '--min-query-coverage', '0.5'],
      'pairwise_sequence_alignment',
    ],
    [['--format-output', 'query,target,evalue', '--max-hsps'], 'pairwise_sequence_alignment'],
  ])('%j computes %s, with alignments if the output has a column of them', async (words, evidence) => {
    const flags = flagsOf(...words);
    expect(evidenceOf(flags, await exportFormatOf(flags))).toBe(evidence);
  });

  it('refuse a table with columns of alignments for a search without them', async () => {
    const flags = flagsOf('--format', 'm8', '--evidence', 'candidate_measurement');
    const exported = await exportFormatOf(flags);
    expect(() => evidenceOf(flags, exported)).toThrow('The format m8 needs alignments');
  });

  it('add rows to an alignment only, and take rounds only with E-values', () => {
    const alignment = ['-f', 'a3m'];
    const bounds = { maxEValue: 1e-3, minCoverage: 0.5 };
    expect(deepRowsOf(flagsOf(...alignment))).toEqual({ rounds: 1, source: undefined, ...bounds });
    expect(deepRowsOf(flagsOf(...alignment, '--rounds', '3', '--homolog-rows', 'uniref'))).toEqual({
      rounds: 3,
      source: 'uniref',
      ...bounds,
    });
    const given = deepRowsOf(flagsOf(...alignment, '-e', '0.1', '--min-query-coverage', '0.3'));
    expect(given).toMatchObject({ maxEValue: 0.1, minCoverage: 0.3 });
    expect(() => deepRowsOf(flagsOf('-f', 'tsv', '--rounds', '2'))).toThrow('it goes with --format a3m');
    expect(() => deepRowsOf(flagsOf('--homolog-rows', 'uniref'))).toThrow('it goes with --format a3m');
    const unjudged = [...alignment, '--significance', 'not_requested'];
    expect(() => deepRowsOf(flagsOf(...unjudged, '--rounds', '2'))).toThrow('--rounds needs the E-values');
  });

  it('ask for further alignments on request only, with E-values and alignments', () => {
    expect(alignmentBoundsOf(flagsOf())).toBeUndefined();
    expect(alignmentBoundsOf(flagsOf('--max-hsps'))).toEqual({ maxCount: 10, maxEValue: 0.01 });
    expect(alignmentBoundsOf(flagsOf('--max-hsps', '3', '-e', '1'))).toEqual({ maxCount: 3, maxEValue: 1 });
    const without = flagsOf('--max-hsps', '--evidence', 'candidate_measurement');
    expect(() => evidenceOf(without, undefined)).toThrow('--max-hsps needs alignments');
    const unjudged = flagsOf('--max-hsps', '--significance', 'not_requested');
    expect(() => alignmentBoundsOf(unjudged)).toThrow('--max-hsps needs the E-values');
  });

  it('read the residues of a query range from 1, both inclusive', () => {
    expect(flagsOf('--query-range', '40-180').queryRange).toEqual({ start: 39, end: 180 });
  });

  it('rank more candidates if cut-offs select the listed ones', () => {
    expect(limitOf(flagsOf('-e', '1e-3'), undefined)).toBe(1_000);
    expect(limitOf(flagsOf('--format', 'a3m'), undefined)).toBe(1_000);
    expect(limitOf(flagsOf('-e', '1e-3', '--limit', '7'), undefined)).toBe(7);
  });

  it('list as many candidates as an approximate policy can if cut-offs select the listed ones', () => {
    expect(limitOf(flagsOf('-e', '1e-3'), cardOf('coded'))).toBe(400);
    expect(limitOf(flagsOf('-f', 'a3m'), cardOf('coded'))).toBe(400);
    expect(limitOf(flagsOf('-e', '1e-3'), cardOf('sampled'))).toBe(400);
    expect(limitOf(flagsOf('-e', '1e-3', '--limit', '900'), cardOf('coded'))).toBe(900);
    expect(limitOf(flagsOf('-e', '1e-3', '--guarantee', 'exhaustive'), cardOf('coded'))).toBe(1_000);
    expect(limitOf(flagsOf(), cardOf('coded'))).toBe(25);
  });

  it('warn of a list that the approximate policy cannot give', () => {
    const approximate = { guarantee: 'approximate', limit: 401 } as const;
    expect(describeLongList(approximate, cardOf('coded'))).toMatch(
      /limit_exceeds_qualified_policy: the policy coded .* at most 400 candidates, so lists of 401 are/,
    );
    expect(describeLongList(approximate, cardOf('sampled'))).toContain('the policy sampled');
    expect(describeLongList({ ...approximate, limit: 400 }, cardOf('coded'))).toBe('');
    expect(describeLongList({ ...approximate, guarantee: 'exhaustive' }, cardOf('coded'))).toBe('');
    expect(describeLongList(approximate, undefined)).toBe('');
  });

  it.each(['table', 'tsv', 'm8', 'a3m', 'json', 'html'])(
    'order %s by E-value unless --sort names another',
    (format) => {
      expect(selectionOf(flagsOf('-f', format))).toEqual({ cutOffs: {}, sort: 'evalue' });
      expect(selectionOf(flagsOf('-f', format, '--sort', 'score')).sort).toBe('score');
      expect(selectionOf(flagsOf('-f', format, '--sort', 'distance')).sort).toBe('rank');
    },
  );

  it('keep the former names of an order and of an option', () => {
    expect(selectionOf(flagsOf('--sort', 'rank')).sort).toBe('rank');
    expect(flagsOf('--relatives', 'none').homologs).toBe('none');
    expect(flagsOf('--homologs', 'none').homologs).toBe('none');
    expect(() => flagsOf('--relatives', 'all')).toThrow();
  });

  it('read cut-offs as ratios or per cent, and compute the alignments that these need', () => {
    const flags = flagsOf('-f', 'tsv', '-e', '1e-3', '--min-query-coverage', '50%', '--min-identity', '0.2');
    expect(selectionOf(flags).cutOffs).toEqual({
      maximum_expected_false_hits: 1e-3,
      minimum_query_coverage_ratio: 0.5,
      minimum_sequence_identity_ratio: 0.2,
    });
    expect(evidenceOf(flags, undefined)).toBe('pairwise_sequence_alignment');
    expect(evidenceOf(flagsOf('-f', 'tsv', '-e', '1'), undefined)).toBe('candidate_measurement');
    for (const ratio of ['50', '-1', '1.01', '101%', 'half', '', '%'])
      expect(() => flagsOf('--min-target-coverage', ratio)).toThrow();
    for (const evalue of ['-1', 'small', '', 'Infinity']) expect(() => flagsOf('-e', evalue)).toThrow();
    expect(() => selectionOf(flagsOf('-e', '1', '--significance', 'not_requested'))).toThrow('--max-evalue');
  });

  it('refuse --alignments together with evidence without alignments', () => {
    const flags = flagsOf('--evidence', 'candidate_measurement', '--alignments');
    expect(() => evidenceOf(flags, undefined)).toThrow('Leave out one of the two');
  });
});

describe('filter expressions', () => {
  it.each([
    ['organism=Homo sapiens', { op: 'eq', field: 'organism', value: 'Homo sapiens' }],
    ['organism != a=b', { op: 'ne', field: 'organism', value: 'a=b' }],
    ['length>=100', { op: 'gte', field: 'length', value: '100' }],
    ['length < 100', { op: 'lt', field: 'length', value: '100' }],
    ['name~kinase', { op: 'contains', field: 'name', value: 'kinase' }],
    ['EC number=1.2.3.4', { op: 'eq', field: 'EC number', value: '1.2.3.4' }],
    ['name=', { op: 'eq', field: 'name', value: '' }],
    ['taxid under 9606', { op: 'descends_from', field: 'taxid', value: '9606' }],
    ['taxid under Escherichia coli', { op: 'descends_from', field: 'taxid', value: 'Escherichia coli' }],
    ['organism in (a b, "c, d",e)', { op: 'in', field: 'organism', values: ['a b', 'c, d', 'e'] }],
    ['gene not in (x)', { op: 'not_in', field: 'gene', values: ['x'] }],
    ['name in ("say \\"no\\"")', { op: 'in', field: 'name', values: ['say "no"'] }],
    ['gene in ()', { op: 'in', field: 'gene', values: [] }],
    ['{"op":"missing","field":"gene"}', { op: 'missing', field: 'gene' }],
  ])('%s', (expression, expected) => {
    expect(readFilterExpressions([expression])).toEqual(expected);
  });

  it('must all hold where there are several; none is no filter', () => {
    const filters = [
      { op: 'eq', field: 'a', value: '1' },
      { op: 'gt', field: 'b', value: '2' },
    ];
    expect(readFilterExpressions(['a=1', 'b>2'])).toEqual({ op: 'and', filters });
    expect(readFilterExpressions([])).toBeUndefined();
  });

  it.each(['organism', '=x', '{"op":', '', 'organism in (a', 'organism in (a,,b)', 'organism in ("a)'])(
    'refuse %j and say what is expected',
    (expression) => {
      expect(() => readFilterExpressions([expression])).toThrow(/Write field=value/);
    },
  );
});
