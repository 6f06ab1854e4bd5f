// @module-tag fast

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ROOT } from './tools/paths.js';
import {
  forbiddenPhrases,
  incompleteDocstrings,
  longSentences,
  sentencesOf,
  type FaultsByFolder,
} from './tools/prose.js';

/*
 * The prose rule of config/STYLE.md, as far as a program can check it. config/prose.json holds a ceiling for each
 * folder that still has faults. A folder without a ceiling may have none. `npm run prose:lower` lowers ceilings to what
 * is there, and no command raises them.
 */

type Ceilings = Readonly<Record<string, number>>;

const CEILINGS = join(ROOT, 'config', 'prose.json');
const ceilings = JSON.parse(readFileSync(CEILINGS, 'utf8')) as Readonly<Record<Rule, Ceilings>>;
type Rule = 'phrases' | 'long_sentences' | 'docstrings';

/** Rooms whose functions compute numbers: a caller must know shapes, units and failures without reading the body. */
const NUMERIC_ROOMS = [
  'search',
  'significance',
  'fit-significance',
  'propagation',
  'recall',
  'neighbours',
  'measure-recall',
  'homologs',
  'find-homologs',
  'build-release',
  'kernels',
];

const faults: Readonly<Record<Rule, FaultsByFolder>> = {
  phrases: forbiddenPhrases(),
  long_sentences: longSentences(),
  docstrings: incompleteDocstrings(NUMERIC_ROOMS),
};

describe('the prose', () => {
  it('has no phrase that config/STYLE.md rules out, beyond the ceiling of each folder', () => {
    expect(beyond('phrases')).toEqual([]);
  });

  it('has no sentence of more than 35 words, beyond the ceiling of each folder', () => {
    expect(beyond('long_sentences')).toEqual([]);
  });

  it('states shape and unit of typed arrays and the errors of promises in the numeric rooms', () => {
    expect(beyond('docstrings')).toEqual([]);
  });

  it('is split into sentences at stops, fields of a docstring and list items', () => {
    const comment = [
      '/**',
      ' * Returns a sum. It is exact.',
      ' * Unit  bits',
      ' */',
      'const x = 1; // no comment',
    ];
    expect(sentencesOf('a.ts', comment.join('\n'))).toEqual(['Returns a sum.', 'It is exact.', 'Unit  bits']);
    expect(sentencesOf('a.md', '# Title\n\nOne fact.\n- an item\n\n| a | table |\n')).toEqual([
      'One fact.',
      '- an item',
    ]);
  });
});

/** Faults of the folders that have more of them than their ceiling allows. */
function beyond(rule: Rule): readonly string[] {
  return Object.entries(faults[rule]).flatMap(([folder, list]) => {
    const ceiling = ceilings[rule][folder] ?? 0;
    return list.length > ceiling ? [`${folder}: ${list.length}, at most ${ceiling}`, ...list] : [];
  });
}

if (process.env.GLOAMING_LOWER_CEILINGS === '1') {
  afterAll(() => {
    const lowered = Object.entries(ceilings).map(([rule, allowed]) => [
      rule,
      Object.fromEntries(
        Object.entries(allowed)
          .map(
            ([folder, ceiling]) =>
              [folder, Math.min(ceiling, faults[rule as Rule][folder]?.length ?? 0)] as const,
          )
          .filter(([, ceiling]) => ceiling > 0),
      ),
    ]);
    writeFileSync(CEILINGS, `${JSON.stringify(Object.fromEntries(lowered), undefined, 2)}\n`);
  });
}
