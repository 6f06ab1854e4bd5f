import { describe, expect, it } from 'vitest';
import type { FoundHomolog } from '#src/homologs/homolog-set.js';
import { blosumScores, profileScores, withoutWeakEnds } from '#src/homologs/weak-ends.js';

const PROTEIN = 'MKWVTFISLLLLFSSAYSRGVFRRDTHKSEIAHRFKDLGE';

/** A homolog whose aligned letters are `residues` from the first pair on. */
function homologOf(residues: string, cigar: string, start = 0): FoundHomolog {
  return {
    id: 't',
    eValue: 1e-9,
    identity: 0.5,
    coverage: 1,
    round: 1,
    residues,
    start,
    residueStart: 0,
    cigar,
    targetStart: 100,
    targetLength: 400,
  };
}

describe('an alignment without its weak ends', () => {
  it('is the same object if no end is weak', () => {
    const homolog = homologOf(PROTEIN, '40M');
    expect(withoutWeakEnds(homolog, PROTEIN, blosumScores(PROTEIN))).toBe(homolog);
  });

  it('ends before a gap behind which a few residues are alike by chance', () => {
    // Behind the gap, GVF is alike, which is 16 half bits.
    const homolog = homologOf(`${PROTEIN.slice(0, 19)}GPGPGVF`, '19M4D3M');
    const cut = withoutWeakEnds(homolog, PROTEIN, blosumScores(PROTEIN));
    expect(cut).toMatchObject({ start: 0, residueStart: 0, targetStart: 100, cigar: '19=', identity: 1 });
    expect(cut?.coverage).toBeCloseTo(19 / 40);
    // What is left out is context for the encoder.
    expect(cut?.residues).toBe(homolog.residues);
  });

  it('keeps a part behind a long gap that is alike beyond chance', () => {
    const inserted = 'GP'.repeat(100);
    const residues = PROTEIN.slice(0, 19) + inserted + PROTEIN.slice(19);
    const homolog = homologOf(residues, `19M${inserted.length}D21M`);
    expect(withoutWeakEnds(homolog, PROTEIN, blosumScores(PROTEIN))).toBe(homolog);
  });

  it('begins behind residues that differ, with the places of both proteins', () => {
    const residues = `MK${'P'.repeat(8)}${PROTEIN.slice(12)}`;
    const homolog = homologOf(residues, '2M2I8M28M');
    const cut = withoutWeakEnds(homolog, PROTEIN, blosumScores(PROTEIN));
    expect(cut).toMatchObject({ start: 12, residueStart: 10, targetStart: 110, cigar: '28=', identity: 1 });
    expect(cut?.coverage).toBeCloseTo(28 / 40);
  });

  it('begins with a pair where a gap was cut', () => {
    const inserted = homologOf(`MKPPPPP${PROTEIN.slice(12)}`, '2M5D28M', 10);
    const cut = withoutWeakEnds(inserted, PROTEIN, blosumScores(PROTEIN));
    expect(cut).toMatchObject({ start: 12, residueStart: 7, targetStart: 107, cigar: '28=' });
    const missing = homologOf(`MK${PROTEIN.slice(12)}`, '2M10I28M');
    expect(withoutWeakEnds(missing, PROTEIN, blosumScores(PROTEIN))).toMatchObject({
      start: 12,
      residueStart: 2,
      targetStart: 102,
      cigar: '28=',
    });
  });

  it('is nothing where the whole alignment is weak', () => {
    const homolog = homologOf('MKWPPPPPPPPPPPPPPPPPPPPP', '24M');
    expect(withoutWeakEnds(homolog, PROTEIN.replace('MKW', 'MRA'), blosumScores(PROTEIN))).toBeUndefined();
  });

  it('counts letters that are no amino acid as BLOSUM62 does', () => {
    const unknown = `${PROTEIN.slice(0, 20)}${'X'.repeat(12)}`;
    const cut = withoutWeakEnds(homologOf(unknown, '32M'), PROTEIN, blosumScores(PROTEIN));
    expect(cut).toMatchObject({ cigar: '20=' });
  });

  it('follows the profile of the homologs before', () => {
    // The protein's own letters differ from those of the homologs in the last twelve columns.
    const family = `${PROTEIN.slice(0, 28)}WWCCPPWWCCPP`;
    const before = Array.from({ length: 6 }, (_, at) => ({ ...homologOf(family, '40M'), id: `t${at}` }));
    const scores = profileScores({ sequence: PROTEIN, homologs: before });
    const homolog = homologOf(family, '40M');
    expect(withoutWeakEnds(homolog, PROTEIN, scores)).toBe(homolog);
    expect(withoutWeakEnds(homolog, PROTEIN, blosumScores(PROTEIN))).toMatchObject({ cigar: '28=' });
  });
});
