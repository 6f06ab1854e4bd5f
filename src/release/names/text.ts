/*
 * Splits names into tokens. The writer of the index and the search share these functions, so their tokens agree.
 */

/** Limit on tokens of one name. The first words of a long description are the most specific. */
const TOKENS_MAX_COUNT = 32;
const TOKEN_MAX_CHARACTERS = 32;

/** Classes of characters in a trigram: an edge, 26 letters, 10 digits, and 27 for everything else. */
const CLASSES_LOG2 = 6;
export const TRIGRAM_COUNT = 1 << (3 * CLASSES_LOG2);

/** Words of letters and digits, in lower case and without accents: `P69905`, `HBA_HUMAN` → p69905, hba, human. */
export function tokensOf(text: string): readonly string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.slice(0, TOKENS_MAX_COUNT).map((word) => word.slice(0, TOKEN_MAX_CHARACTERS));
}

/** Distinct trigrams of a token with an edge at each end, as numbers. */
export function trigramsOf(token: string): readonly number[] {
  const codes = [0, ...Array.from(token, (_, at) => classOf(token.charCodeAt(at))), 0];
  const trigrams = new Set<number>();
  for (let at = 2; at < codes.length; at += 1) {
    trigrams.add((codes[at - 2] << (2 * CLASSES_LOG2)) | (codes[at - 1] << CLASSES_LOG2) | codes[at]);
  }
  return [...trigrams];
}

function classOf(unit: number): number {
  if (unit >= 97 && unit <= 122) return unit - 96;
  if (unit >= 48 && unit <= 57) return unit - 21;
  return 37 + (unit % 27);
}

/** Three rows of the table, taken in turn; longer texts than this are rare and get their own. */
const ROW_MAX_LENGTH = 256;
const sharedRows = [0, 1, 2].map(() => new Uint16Array(ROW_MAX_LENGTH + 1));

/**
 * 1 − edits ÷ length of the longer: 1 for equal texts, 0 for texts that share nothing. May say 0 for what cannot reach
 * the least that is asked for.
 * Source  Damerau–Levenshtein distance in its restricted form (optimal string alignment)
 */
export function similarity(left: string, right: string, least = 0): number {
  const longer = Math.max(left.length, right.length);
  if (left === right) return 1;
  // Each letter that one has more is an edit.
  if (Math.min(left.length, right.length) < least * longer) return 0;
  const width = right.length + 1;
  const rows = width <= ROW_MAX_LENGTH + 1 ? sharedRows : sharedRows.map(() => new Uint16Array(width));
  for (let j = 0; j < width; j += 1) rows[1][j] = j;
  for (let i = 1; i <= left.length; i += 1) {
    const [before, row, next] = [rows[(i - 1) % 3], rows[i % 3], rows[(i + 1) % 3]];
    next[0] = i;
    const letter = left.charCodeAt(i - 1);
    for (let j = 1; j < width; j += 1) {
      const other = right.charCodeAt(j - 1);
      let edits = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (letter === other ? 0 : 1));
      const isSwapped =
        i > 1 && j > 1 && letter === right.charCodeAt(j - 2) && left.charCodeAt(i - 2) === other;
      if (isSwapped) edits = Math.min(edits, before[j - 2] + 1);
      next[j] = edits;
    }
  }
  return 1 - rows[(left.length + 1) % 3][width - 1] / longer;
}
