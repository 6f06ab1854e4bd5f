// @module-tag fast

import { describe, expect, it } from 'vitest';
import { Refusal } from '#src/errors.js';
import { isNucleotide, NORMALIZATION_ID, normaliseProtein } from '#src/sequence/protein.js';

function refusal(text: string): Refusal {
  try {
    normaliseProtein(text);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('normalising a protein', () => {
  it('removes white space and the final stop and makes letters upper case', () => {
    const { sequence, normalizationId, replaced } = normaliseProtein(' mkv\tLa\r\nWY*\n');
    expect(sequence).toBe('MKVLAWY');
    expect(normalizationId).toBe(NORMALIZATION_ID);
    expect(replaced).toEqual({});
  });

  it('maps U to C, O to K and B, Z, J and an inner stop to X, and counts each', () => {
    const { sequence, replaced } = normaliseProtein('MUuOBZJ*KX*');
    expect(sequence).toBe('MCCKXXXXKX');
    expect(replaced).toEqual({ U: 2, O: 1, B: 1, Z: 1, J: 1, '*': 1 });
  });

  it('does not change its own output', () => {
    const once = normaliseProtein('mktayiakqrUOBZJ*qisfvkshfsrq').sequence;
    expect(normaliseProtein(once)).toEqual({
      sequence: once,
      normalizationId: NORMALIZATION_ID,
      replaced: {},
    });
  });

  it('names position and character of an invalid residue', () => {
    const error = refusal('MKV LA1WY');
    expect(error.code).toBe('invalid_sequence');
    expect(error.details.position).toBe(6);
    expect(error.message).toContain('"1" at position 6');
    expect(refusal('MKV\0LA').message).toContain('U+0000 at position 4');
    expect(refusal('MK\u{1F9EC}').message).toContain('U+1F9EC');
  });

  it('refuses letters outside ASCII even where their upper case is a residue', () => {
    // Dotless i and long s become I and S.
    expect(refusal('MK\u0131').code).toBe('invalid_sequence');
    expect(refusal('MK\u017F').code).toBe('invalid_sequence');
  });

  it('explains that gap characters mean an alignment row', () => {
    expect(refusal('MKV--LA').message).toContain('remove its gaps');
    expect(refusal('MKV.LA').code).toBe('invalid_sequence');
  });

  it('refuses an empty sequence, also if only white space or a stop is left', () => {
    for (const text of ['', ' \n\t', '*', ' * *\n']) expect(refusal(text).code).toBe('sequence_empty');
  });

  it('accepts 65,535 residues and refuses one more', () => {
    expect(normaliseProtein('MK'.repeat(32_767) + 'L').sequence).toHaveLength(65_535);
    const error = refusal('MK'.repeat(32_768));
    expect(error.code).toBe('sequence_too_long');
    expect(error.details.residues).toBe(65_536);
  });

  it('refuses DNA and RNA of at least 20 letters, also if the sequence is too long', () => {
    expect(refusal('acgt'.repeat(5)).code).toBe('sequence_is_nucleotide');
    expect(refusal('AUGGCUNNNNNNACGGAUUAGC').code).toBe('sequence_is_nucleotide');
    expect(refusal('ACGTRACGTTGACCATGACGATTACGA').code).toBe('sequence_is_nucleotide');
    expect(refusal('GATTACA'.repeat(300_000)).code).toBe('sequence_is_nucleotide');
  });

  it('accepts natural proteins with few distinct letters', () => {
    expect(isNucleotide('AATAATAATAATAATAATAATAATAATAAT')).toBe(false);
    expect(isNucleotide('GAGAGAGAGAGAGAGAGAGAGAGAGAGAGA')).toBe(false);
    expect(isNucleotide('NNNNNNTNNNNNNGNNNNNANNNNNNNTNN')).toBe(false);
    expect(normaliseProtein('ACGTACGT').sequence).toBe('ACGTACGT');
    expect(normaliseProtein('GCCSLPPCAANNPDYC').sequence).toBe('GCCSLPPCAANNPDYC');
  });
});
