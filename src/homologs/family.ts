import { Refusal } from '../errors.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';
import { overProtein, type AlignmentRow } from './aligned-row.js';
import { CODES, NO_AMINO_ACID, rowWeights } from './alignment.js';
import type { SelectedHomologSet } from './finder.js';
import type { Family } from './homolog-set.js';
import type { HomologRules } from './rules.js';
import { averagedOf, selectHomologs } from './select.js';

/** A family and its consensus, which has one residue for each match column. */
export interface ConsensusFamily {
  readonly consensus: string;
  readonly family: Family;
}

/** Share of the weighted rows that have a residue in a match column. Source: `symfrac` of hmmbuild */
const MATCH_SHARE = 0.5;
/** A row with fewer residues than this share of the columns is a fragment. Source: `fragthresh` of hmmbuild */
const FRAGMENT_SHARE = 0.5;

/**
 * Makes a family of rows of equal width. A column is a match column if `matches` says so, or without it if at least
 * half of the rows by weight have a residue there. Gaps before the first and after the last residue of a fragment do
 * not count. The consensus has the heaviest residue of each match column.
 * Errors  Refusal `invalid_alignment` for rows without a match column
 * @param rows     every character is a column: a letter in either case, or a gap
 * @param matches  whether each column is a match column
 */
export function familyOfRows(
  rows: readonly AlignmentRow[],
  matches: ArrayLike<boolean> | undefined,
  rules: HomologRules,
  place: string,
): ConsensusFamily {
  const width = rows[0].text.length;
  const letters = rows.map(({ text }) => cleanLetters(text));
  const codes = letters.map(codesOf);
  const weights = weightsOf(codes, width);
  const isMatch = matches ?? matchColumns(letters, weights, width);
  const columns = Array.from({ length: width }, (_, column) => column).filter((column) => isMatch[column]);
  const consensus = columns.map((column) => heaviestLetter(codes, weights, column) ?? 'X').join('');
  const aligned = rows.map(({ id }, index) => ({ id, text: matchText(letters[index], columns) }));
  return aroundConsensus(consensus, aligned, rules, place);
}

/**
 * Makes a family of the rows of an A3M alignment, whose columns are the match columns. A column without a residue is
 * left out.
 * Errors  Refusal `invalid_alignment` for rows without a residue
 */
export function familyOfColumns(
  rows: readonly AlignmentRow[],
  rules: HomologRules,
  place: string,
): ConsensusFamily {
  const aligned = rows.map(({ id, text }) => ({ id, text: cleanA3m(text) }));
  const codes = aligned.map(({ text }) => codesOf(text.replace(/[a-z]/g, '')));
  const width = codes[0].length;
  const weights = weightsOf(codes, width);
  const isEmpty = new Array<boolean>(width).fill(true);
  for (const { text } of aligned) {
    const columns = text.replace(/[a-z]/g, '');
    for (let column = 0; column < width; column += 1) if (columns[column] !== '-') isEmpty[column] = false;
  }
  const letters = isEmpty.map((empty, column) =>
    empty ? '-' : (heaviestLetter(codes, weights, column) ?? 'X'),
  );
  return aroundConsensus(letters.join(''), aligned, rules, place);
}

/** @param columns  consensus with a gap in each column that is left out */
function aroundConsensus(
  columns: string,
  rows: readonly AlignmentRow[],
  rules: HomologRules,
  place: string,
): ConsensusFamily {
  const consensus = columns.replaceAll('-', '');
  if (consensus === '')
    throw new Refusal('invalid_alignment', `${place}: the alignment has no match column.`);
  const own = { id: 'consensus', text: columns };
  const homologs = rows.flatMap((row) => overProtein(row, own, consensus, place) ?? []);
  return {
    consensus,
    family: { homologs: selectHomologs({ sequence: consensus, homologs }, rules).homologs },
  };
}

/** Returns the homolog set of a family's consensus. */
export function homologSetOf(
  sequence: string,
  family: Family | undefined,
  rules: HomologRules,
): SelectedHomologSet {
  if (family === undefined) return { sequence, homologs: [], averaged: [] };
  if ('profile' in family) return { sequence, homologs: [], averaged: [], profile: family.profile };
  return { sequence, homologs: family.homologs, averaged: averagedOf(family.homologs, rules) };
}

/** Upper-case letters as the encoder reads them (sequence/protein.ts), and `-` for every gap. */
function cleanLetters(text: string): string {
  return cleanA3m(text.toUpperCase().replace(/[._~]/g, '-'));
}

/** Replaces letters as normaliseProtein does, in both cases, and removes the dots of insertions. */
function cleanA3m(text: string): string {
  return text
    .replace(/[BJZ*]/g, 'X')
    .replace(/[bjz]/g, 'x')
    .replaceAll('U', 'C')
    .replaceAll('u', 'c')
    .replaceAll('O', 'K')
    .replaceAll('o', 'k')
    .replaceAll('.', '');
}

function weightsOf(codes: readonly Uint8Array[], width: number): Float64Array {
  return rowWeights({ length: width, rows: codes, columns: [] });
}

function codesOf(letters: string): Uint8Array {
  return Uint8Array.from(letters, (letter) => CODES[letter.charCodeAt(0)]);
}

function matchColumns(letters: readonly string[], weights: Float64Array, width: number): readonly boolean[] {
  const present = new Float64Array(width);
  const spanned = new Float64Array(width);
  for (const [index, row] of letters.entries()) {
    const residues = row.replaceAll('-', '').length;
    if (residues === 0) continue;
    const isFragment = residues < FRAGMENT_SHARE * width;
    const from = isFragment ? row.search(/[^-]/) : 0;
    const to = isFragment ? row.length - /-*$/.exec(row)![0].length : width;
    for (let column = from; column < to; column += 1) {
      spanned[column] += weights[index];
      if (row[column] !== '-') present[column] += weights[index];
    }
  }
  return Array.from(present, (weight, column) => weight > 0 && weight >= MATCH_SHARE * spanned[column]);
}

/** Returns the amino acid with the largest weight in a column, the first of equal ones; undefined without one. */
function heaviestLetter(
  rows: readonly Uint8Array[],
  weights: Float64Array,
  column: number,
): string | undefined {
  const sums = new Float64Array(NO_AMINO_ACID);
  for (const [index, row] of rows.entries()) {
    if (row[column] !== NO_AMINO_ACID) sums[row[column]] += weights[index];
  }
  let best = 0;
  for (let kind = 1; kind < sums.length; kind += 1) if (sums[kind] > sums[best]) best = kind;
  return sums[best] > 0 ? AMINO_ACIDS[best] : undefined;
}

/** Writes a row as A3M: match columns in upper case or as `-`, other residues in lower case. */
function matchText(letters: string, columns: readonly number[]): string {
  let text = '';
  let next = 0;
  for (const column of columns) {
    text += letters.slice(next, column).replaceAll('-', '').toLowerCase() + letters[column];
    next = column + 1;
  }
  return text + letters.slice(next).replaceAll('-', '').toLowerCase();
}
