import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { readFilterExpressions } from '#src/cli/search/filter.js';
import { addSearchOptions, evidenceOf, limitOf, type SearchFlags } from '#src/cli/search/options.js';

function flagsOf(...words: string[]): SearchFlags {
  const command = addSearchOptions(
    new Command('search').exitOverride().configureOutput({ writeErr: () => undefined }),
  );
  return command.parse(words, { from: 'user' }).opts<SearchFlags>();
}

describe('the options of a search', () => {
  it('show the best 25 in a table and 100 elsewhere, unless told otherwise', () => {
    expect(limitOf(flagsOf())).toBe(25);
    expect(limitOf(flagsOf('--format', 'tsv'))).toBe(100);
    expect(limitOf(flagsOf('--format', 'tsv', '--limit', '10000'))).toBe(10_000);
  });

  it.each([
    [['--limit', '0']],
    [['--limit', '10001']],
    [['--limit', 'ten']],
    [['--limit', '1.5']],
    [['--format', 'xml']],
    [['--guarantee', 'maybe']],
    [['--threads', '257']],
  ])('refuse %j', (words) => {
    expect(() => flagsOf(...words)).toThrow();
  });

  it('compute alignments where the output shows something of them', () => {
    expect(evidenceOf(flagsOf())).toBe('pairwise_sequence_alignment');
    expect(evidenceOf(flagsOf('--format', 'a3m'))).toBe('pairwise_sequence_alignment');
    expect(evidenceOf(flagsOf('--format', 'tsv'))).toBe('candidate_measurement');
    expect(evidenceOf(flagsOf('--format', 'tsv', '--alignments'))).toBe('pairwise_sequence_alignment');
    expect(evidenceOf(flagsOf('--evidence', 'candidate_measurement'))).toBe('candidate_measurement');
  });

  it('refuse to show alignments that they were told to leave out', () => {
    const flags = flagsOf('--evidence', 'candidate_measurement', '--alignments');
    expect(() => evidenceOf(flags)).toThrow('Leave out one of the two');
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

  it.each(['organism', '=x', '{"op":', ''])('refuse %j and say what is expected', (expression) => {
    expect(() => readFilterExpressions([expression])).toThrow(/Write field=value/);
  });
});
