import { Refusal } from '../errors.js';
import { PROTEIN_MAX_RESIDUES } from '../limits.js';

/**
 * Id of the normalisation rules below, stated by every release and answer. A change of the rules needs a new id.
 *
 * 1. ASCII white space is removed, letters become upper case, asterisks at the end (stop codons) are removed.
 * 2. The twenty standard letters and X are unchanged.
 * 3. U (selenocysteine) becomes C, O (pyrrolysine) becomes K: the residues that they replace in evolution.
 *    B (D or N), Z (E or Q), J (I or L) and an asterisk inside become X. Each replacement is counted.
 * 4. Anything else is refused: gap characters, digits, punctuation, letters outside ASCII.
 * 5. DNA and RNA are refused (isNucleotide); 1 to 65,535 residues must be left.
 */
export const NORMALIZATION_ID = 'gloaming-protein/1';

/** A protein in the form that is encoded, stored and returned. */
export interface NormalisedProtein {
  readonly sequence: string;
  readonly normalizationId: string;
  /** Count of replaced letters by original letter; letters without a replacement have no entry. */
  readonly replaced: Readonly<Record<string, number>>;
}

const REPLACEMENTS: Readonly<Record<string, string>> = { B: 'X', J: 'X', O: 'K', U: 'C', Z: 'X', '*': 'X' };
const NOTHING_REPLACED: Readonly<Record<string, number>> = Object.freeze({});
/** A shorter text of A, C, G and T may be a peptide. */
const NUCLEOTIDE_MIN_LETTERS = 20;

/**
 * Returns the normalised protein of a text; queries and databases both use it.
 * Errors  Refusal `sequence_empty`, `sequence_is_nucleotide`, `sequence_too_long`, or `invalid_sequence`
 *         with the one-based position of the first invalid character, white space not counted
 * Cost    linear; a clean sequence is scanned three times and copied at most twice
 */
export function normaliseProtein(text: string): NormalisedProtein {
  const letters = withoutStops(text.replace(/[ \t\r\n\v\f]+/g, ''));
  if (letters === '') {
    throw new Refusal(
      'sequence_empty',
      'The sequence is empty: a protein of at least one residue is expected.',
    );
  }
  // Checked before upper-casing: some letters outside ASCII have an upper case inside it.
  const fault = letters.search(/[^A-Za-z*]/);
  if (fault >= 0) throw refuseCharacter(letters, fault);
  const upper = letters.toUpperCase();
  if (isNucleotide(upper)) throw refuseNucleotide(upper);
  if (upper.length > PROTEIN_MAX_RESIDUES) {
    throw new Refusal(
      'sequence_too_long',
      `The sequence has ${upper.length} residues; at most ${PROTEIN_MAX_RESIDUES} are supported. ` +
        'Split it into domains.',
      { residues: upper.length, maximum_residues: PROTEIN_MAX_RESIDUES },
    );
  }
  return replaceLetters(upper);
}

/**
 * Returns whether upper-case text is DNA or RNA. It must have at least 20 letters, all of them IUPAC nucleotide codes.
 * At least 95 % must be A, C, G, T, U or N, and at least half not N. At least three bases must have a share of 5 %
 * each: proteins of two such letters exist, such as antifreeze glycoproteins (A and T) and silk (A and G).
 */
export function isNucleotide(letters: string): boolean {
  if (letters.length < NUCLEOTIDE_MIN_LETTERS || /[^ACGTUNRYKMSWBDHV]/.test(letters)) return false;
  const counts = new Uint32Array(128);
  for (let at = 0; at < letters.length; at += 1) counts[letters.charCodeAt(at)] += 1;
  const count = (letter: string): number => counts[letter.charCodeAt(0)];
  const bases = [count('A'), count('C'), count('G'), count('T') + count('U')];
  const plain = bases.reduce((sum, base) => sum + base, 0);
  return (
    plain + count('N') >= 0.95 * letters.length &&
    plain >= 0.5 * letters.length &&
    bases.filter((base) => base >= 0.05 * letters.length).length >= 3
  );
}

function replaceLetters(upper: string): NormalisedProtein {
  if (!/[BJOUZ*]/.test(upper)) {
    return { sequence: upper, normalizationId: NORMALIZATION_ID, replaced: NOTHING_REPLACED };
  }
  const replaced: Record<string, number> = {};
  const sequence = upper.replace(/[BJOUZ*]/g, (letter) => {
    replaced[letter] = (replaced[letter] ?? 0) + 1;
    return REPLACEMENTS[letter] as string;
  });
  return { sequence, normalizationId: NORMALIZATION_ID, replaced };
}

function refuseCharacter(letters: string, index: number): Refusal {
  const character = String.fromCodePoint(letters.codePointAt(index) ?? 0);
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  const shown = /^[!-~]$/.test(character) ? `"${character}"` : `the character ${code}`;
  const isGap = character === '-' || character === '.';
  return new Refusal(
    'invalid_sequence',
    `The sequence has ${shown} at position ${index + 1}; expected are the letters of amino acids. ` +
      (isGap
        ? 'It looks like a row of an alignment: remove its gaps.'
        : 'Leave out numbers and punctuation.'),
    { position: index + 1, character: code },
  );
}

function refuseNucleotide(upper: string): Refusal {
  return new Refusal(
    'sequence_is_nucleotide',
    `The sequence looks like DNA or RNA: its ${upper.length} letters are all nucleotide codes. ` +
      'A protein is expected; translate it first.',
    { letters: upper.length },
  );
}

/** Removes trailing asterisks by a loop: a regular expression takes quadratic time on long inner runs of asterisks. */
function withoutStops(letters: string): string {
  let end = letters.length;
  while (end > 0 && letters[end - 1] === '*') end -= 1;
  return letters.slice(0, end);
}
