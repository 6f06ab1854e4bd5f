// @module-tag fast

import { describe, expect, it } from 'vitest';
import { createMarks, wordsOf } from '#bench/calibration/connections.js';

describe('marks', () => {
  it('connect two proteins if one finds the other, in either direction, or both find a third', () => {
    const marks = createMarks();
    for (const id of ['query', 'found', 'finder', 'cousin', 'stranger']) marks.add(id, id);
    marks.add('query', 'found');
    marks.add('finder', 'query');
    marks.add('query', 'third');
    marks.add('cousin', 'third');
    marks.add('stranger', 'another');
    const targets = new Set(['found', 'finder', 'cousin', 'stranger']);
    expect(marks.sharing('query', targets)).toEqual(new Set(['found', 'finder', 'cousin']));
    expect(marks.sharing('stranger', targets)).toEqual(new Set(['stranger']));
    expect(marks.sharing('unknown', targets)).toEqual(new Set());
  });
});

describe('words of a name', () => {
  it('exclude words in the names of unrelated proteins', () => {
    expect(wordsOf('Probable ABC transporter ATP-binding protein YheS')).toEqual(['transporter', 'yhes']);
    expect(wordsOf('Uncharacterized protein')).toEqual([]);
    expect(wordsOf('')).toEqual([]);
  });
});
