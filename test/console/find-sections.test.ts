// @module-tag fast

import { describe, expect, it } from 'vitest';
import { excerptOf, findSections, type Section } from '../../src/console/manual/find-sections.js';

const section = (heading: string, text: string, title = 'A page'): Section => ({
  page: 'page',
  title,
  heading,
  anchor: 'anchor',
  text,
});

describe('the search of the manual', () => {
  const sections = [
    section('Backup', 'A backup is the state of one moment.'),
    section('E-value', 'Number of unrelated proteins that score as well.'),
    section('score', 'See the E-value. The E-value counts unrelated proteins.'),
  ];
  const headingsOf = (query: string): readonly string[] =>
    findSections(sections, query).map(({ heading }) => heading);

  it('puts a section whose heading has the word before those whose text has it', () => {
    expect(headingsOf('e-value')).toEqual(['E-value', 'score']);
  });

  it('puts a section whose heading is the query before one whose heading has more words', () => {
    const longer = section('No E-values', 'E-value, E-value, E-value: why a hit has no E-value.');
    const found = findSections([longer, ...sections], 'e-value');
    expect(found.map(({ heading }) => heading)).toEqual(['E-value', 'No E-values', 'score']);
  });

  it('finds the beginnings of words, in any case, and all words of the query', () => {
    expect(headingsOf('UNREL prot')).toEqual(['E-value', 'score']);
    expect(headingsOf('backup protein')).toEqual([]);
    expect(headingsOf('lated')).toEqual([]);
  });

  it('finds nothing for a query without a word', () => {
    expect(headingsOf('')).toEqual([]);
    expect(headingsOf('  – ')).toEqual([]);
  });

  it('shows the text around the first word that was found', () => {
    const long = section('Long', `${'before '.repeat(60)}the needle ${'after '.repeat(60)}`);
    expect(excerptOf(long, 'needle')).toMatch(/^… .*the needle after.* …$/);
    expect(excerptOf(sections[0]!, 'moment')).toBe('A backup is the state of one moment.');
  });
});
