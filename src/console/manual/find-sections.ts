/** Text below one heading of the manual. */
export interface Section {
  /** Last part of the address; empty for the index. */
  readonly page: string;
  readonly title: string;
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
}

const RESULTS_MAX_COUNT = 12;
/** A word in a heading counts as much as this many in the text. */
const HEADING_WEIGHT = 12;
const TITLE_WEIGHT = 4;
const TEXT_MAX_COUNT = 5;
const EXCERPT_CHARACTERS = 140;

/**
 * Returns the sections in which every word of the query begins a word, best first.
 * @param query  text of the search field
 */
export function findSections(sections: readonly Section[], query: string): readonly Section[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .slice(0, RESULTS_MAX_COUNT)
    .map(({ section }) => section);
}

/** Text around the first word of the query in a section. */
export function excerptOf({ text }: Section, query: string): string {
  const lower = text.toLowerCase();
  const places = wordsOf(query)
    .map((word) => lower.indexOf(word))
    .filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - EXCERPT_CHARACTERS / 3);
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1;
  const excerpt = text.slice(from, from + EXCERPT_CHARACTERS);
  return `${from > 0 ? '… ' : ''}${excerpt}${from + EXCERPT_CHARACTERS < text.length ? ' …' : ''}`;
}

function wordsOf(query: string): readonly string[] {
  return query
    .toLowerCase()
    .split(/[^\p{L}\p{N}_.-]+/u)
    .filter((word) => word !== '');
}

/** 0 if a word is nowhere in the section. A heading of the same words is what the reader looks for. */
function scoreOf({ title, heading, text }: Section, words: readonly string[]): number {
  let score = wordsOf(heading).join(' ') === words.join(' ') ? HEADING_WEIGHT : 0;
  for (const word of words) {
    const own =
      HEADING_WEIGHT * countOf(heading, word) +
      TITLE_WEIGHT * countOf(title, word) +
      Math.min(TEXT_MAX_COUNT, countOf(text, word));
    if (own === 0) return 0;
    score += own;
  }
  return score;
}

/** Number of words of a text that begin with a word of the query. */
function countOf(text: string, word: string): number {
  const lower = text.toLowerCase();
  let count = 0;
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
    const before = lower[at - 1];
    if (before === undefined || !/[\p{L}\p{N}]/u.test(before)) count += 1;
  }
  return count;
}
