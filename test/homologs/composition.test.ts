import { describe, expect, it } from 'vitest';
import { composedEValue } from '#src/homologs/composition.js';
import type { Homolog } from '#src/homologs/homolog-set.js';

/** A homolog whose alignment begins with its third residue and the protein's second. */
function homologOf(letters: string, cigar: string, eValue = 1e-9): Homolog {
  const residues = `WW${letters}WW`;
  return {
    id: 't',
    eValue,
    identity: 0.5,
    coverage: 1,
    round: 1,
    residues,
    start: 1,
    residueStart: 2,
    cigar,
  };
}

describe('the E-value of a homolog by the compositions of the aligned stretches', () => {
  it('rises by λ times the mean score above the usual one, for each pair', () => {
    // BLOSUM62 gives N and N 6, N and K 0, K and K 5: 11 ÷ 4 on average. Usual proteins have −.952.
    const letters = 'NKNKNKNKNKNKNKNKNKNK';
    const eValue = composedEValue(homologOf(letters, '20M'), `W${letters}`);
    expect(Math.log(eValue / 1e-9)).toBeCloseTo(0.267 * 20 * (11 / 4 + 0.9521), 2);
  });

  it('is the same for the CIGARs of mmseqs and for extended ones', () => {
    const [own, other] = ['WNKNKNKNK', 'NKKKNKKNKN'];
    const asFound = composedEValue(homologOf(other, '4M2D4M'), own);
    expect(asFound).toBeGreaterThan(1e-9);
    expect(composedEValue(homologOf(other, '2=2X2D1X3='), own)).toBe(asFound);
  });

  it('stays where the compositions are usual or unlike', () => {
    const usual = 'ARNDCQEGHILKMFPSTWYV';
    expect(composedEValue(homologOf(usual, '20M'), `W${usual}`)).toBe(1e-9);
    expect(composedEValue(homologOf('NNNNNNNNNN', '10M'), 'WLLLLLLLLLL')).toBe(1e-9);
  });

  it('counts amino acids only, and only those between the ends of the alignment', () => {
    const letters = 'NKNKNKNKNKNKNKNKNKNK';
    const inside = composedEValue(homologOf(letters, '20M'), `W${letters}`);
    expect(composedEValue(homologOf(letters, '20M'), `W${letters}WWWWWWWW`)).toBe(inside);
    const unknown = composedEValue(homologOf('XXXXXXXXXX', '10M'), 'WXXXXXXXXXX');
    expect(unknown).toBeLessThan(composedEValue(homologOf('NKNKNKNKNK', '10M'), 'WNKNKNKNKNK'));
  });

  it('is Infinity beyond the largest number', () => {
    const letters = 'N'.repeat(2_000);
    expect(composedEValue(homologOf(letters, '2000M'), `W${letters}`)).toBe(Infinity);
    expect(composedEValue(homologOf(letters, '2000M', 0), `W${letters}`), 'rounded to 0').toBe(0);
  });
});
