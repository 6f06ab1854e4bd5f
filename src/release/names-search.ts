import type { NamesIndex } from './names.js';
import { similarity, tokensOf, trigramsOf } from './names-text.js';

/** How a name was found, best first. */
export type NameMatch = 'exact' | 'prefix' | 'token' | 'similar';

export interface FoundName {
  readonly match: NameMatch;
  /** 1 for the same name, 0 for nothing in common. */
  readonly similarity: number;
}

export interface FoundTarget extends FoundName {
  readonly target: number;
  /** Id first, then as NAME_FIELDS says. */
  readonly names: readonly string[];
}

const MATCHES: readonly NameMatch[] = ['exact', 'prefix', 'token', 'similar'];
/** What a search looks at, so that no query costs more than some milliseconds. */
const QUERY_MAX_TOKENS = 8;
const EXPANDED_MAX_TOKENS = 64;
const COMPARED_MAX_TOKENS = 1_024;
/** Targets that one token brings, and that it can speak for where others have brought them. */
const BROUGHT_MAX_TARGETS = 20_000;
const POSTINGS_MAX_COUNT = 120_000;
const TRIGRAM_LIST_MAX_TOKENS = 200_000;
const JUDGED_MIN_TARGETS = 64;
/** Share of a token's trigrams that a misspelt one keeps at least, and how alike the two must be. */
const SHARED_MIN_RATIO = 0.3;
const SIMILARITY_MIN = 0.5;

/**
 * How well one of these names matches the query: the same, a beginning of it, all words of the query in it, or alike.
 * undefined where it does not.
 */
export function judgeNames(query: string, names: readonly string[]): FoundName | undefined {
  const wanted = tokensOf(query);
  const whole = wanted.join(' ');
  if (whole === '') return undefined;
  const known = names.map((name) => tokensOf(name));
  const texts = known.map((tokens) => tokens.join(' ')).filter((text) => text !== '');
  if (names.includes(query) || texts.includes(whole)) return { match: 'exact', similarity: 1 };
  const longer = texts.filter((text) => text.startsWith(whole)).map((text) => whole.length / text.length);
  if (longer.length > 0) return { match: 'prefix', similarity: Math.max(...longer) };
  const words = known.flat();
  const begun = wanted.map((token) =>
    bestOf(words, (word) => (word.startsWith(token) ? token.length / word.length : 0)),
  );
  if (!begun.includes(0)) return { match: 'token', similarity: meanOf(begun) };
  const alike = meanOf(wanted.map((token) => bestOf(words, (word) => similarity(token, word))));
  return alike >= SIMILARITY_MIN ? { match: 'similar', similarity: alike } : undefined;
}

function bestOf(words: readonly string[], judge: (word: string) => number): number {
  return words.reduce((best, word) => Math.max(best, judge(word)), 0);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Better matches first, then closer ones, then by the text that the caller gives. */
export function compareFound(a: FoundName, b: FoundName): number {
  return MATCHES.indexOf(a.match) - MATCHES.indexOf(b.match) || b.similarity - a.similarity;
}

/**
 * Targets whose names match the query, best first; the order depends on nothing but names and query.
 * Cost    bounded by the constants above: a few milliseconds whatever the release's size
 */
export async function searchNames(
  index: NamesIndex,
  query: string,
  limit: number,
): Promise<readonly FoundTarget[]> {
  const wanted = tokensOf(query).slice(0, QUERY_MAX_TOKENS);
  const matches = await Promise.all(
    wanted.map((token, place) => matchesOf(index, token, place === wanted.length - 1)),
  );
  const tally = createTally(index.targetCount);
  // The rarest first: they bring the targets that the common ones then speak for.
  for (const match of matches.sort((a, b) => countOf(index, a) - countOf(index, b)))
    await addMatches(index, match, tally);
  const candidates = tally.best(Math.max(JUDGED_MIN_TARGETS, 2 * limit));
  const judged = await Promise.all(
    candidates.map(async (target): Promise<FoundTarget | undefined> => {
      const names = await index.names(target);
      const found = judgeNames(query, names);
      return found && { ...found, target, names };
    }),
  );
  return judged
    .filter((found) => found !== undefined)
    .sort((a, b) => compareFound(a, b) || (a.names[0] < b.names[0] ? -1 : 1))
    .slice(0, limit);
}

interface TokenMatch {
  readonly token: number;
  readonly weight: number;
}

/** What is known as it stands needs no guess. */
async function matchesOf(index: NamesIndex, token: string, isLast: boolean): Promise<readonly TokenMatch[]> {
  const known = knownTokens(index, token, isLast);
  return known.length > 0 ? known : similarTokens(index, token);
}

function countOf(index: NamesIndex, matches: readonly TokenMatch[]): number {
  return matches.reduce((sum, { token }) => sum + index.targetCountOf(token), 0);
}

/** The token itself, and of the last one, which may not be written to its end, those that begin with it. */
function knownTokens(index: NamesIndex, token: string, isPrefix: boolean): readonly TokenMatch[] {
  const matches: TokenMatch[] = [];
  for (
    let at = index.firstToken(token);
    at < index.tokenCount && matches.length < EXPANDED_MAX_TOKENS;
    at += 1
  ) {
    const found = index.token(at);
    if (found === token) matches.push({ token: at, weight: 1 });
    else if (isPrefix && found.startsWith(token))
      matches.push({ token: at, weight: token.length / found.length });
    else break;
  }
  return matches;
}

/** Tokens that share trigrams with one that is not there; the most alike first. */
async function similarTokens(index: NamesIndex, token: string): Promise<readonly TokenMatch[]> {
  const trigrams = trigramsOf(token);
  const lists = await Promise.all(trigrams.map((trigram) => index.tokensWith(trigram)));
  const shared = createTally(index.tokenCount);
  let counted = 0;
  // The rare ones tell most; a list that half of all tokens are in tells nothing.
  for (const list of lists.sort((a, b) => a.length - b.length)) {
    counted += list.length;
    if (counted > TRIGRAM_LIST_MAX_TOKENS) break;
    for (const at of list) shared.add(at, 1);
  }
  const least = Math.ceil(SHARED_MIN_RATIO * trigrams.length);
  return shared
    .best(COMPARED_MAX_TOKENS)
    .filter((at) => shared.of(at) >= least)
    .map((at) => ({ token: at, weight: similarity(token, index.token(at)) }))
    .filter(({ weight }) => weight >= SIMILARITY_MIN)
    .sort((a, b) => b.weight - a.weight || a.token - b.token)
    .slice(0, EXPANDED_MAX_TOKENS);
}

/** A target gains by its best match of the token, which comes first; a rare token weighs more. */
async function addMatches(index: NamesIndex, matches: readonly TokenMatch[], tally: Tally): Promise<void> {
  const spoken = new Uint8Array(matches.length > 1 ? index.targetCount : 0);
  let [read, brought] = [0, 0];
  for (const { token, weight } of matches) {
    if (read >= POSTINGS_MAX_COUNT) return;
    const gain = weight * (1 + Math.log2(index.targetCount / index.targetCountOf(token)));
    const targets = await index.targetsOf(token, POSTINGS_MAX_COUNT - read);
    read += targets.length;
    for (const target of targets) {
      if (spoken[target] === 1) continue;
      if (tally.of(target) === 0 && (brought += 1) > BROUGHT_MAX_TARGETS) continue;
      spoken[target] = 1;
      tally.add(target, gain);
    }
  }
}

interface Tally {
  add(place: number, gain: number): void;
  of(place: number): number;
  /** Places with the highest sums, the highest first, equal ones ascending. */
  best(count: number): readonly number[];
}

function createTally(places: number): Tally {
  const sums = new Float32Array(places);
  const touched: number[] = [];
  return {
    add(place, gain) {
      if (sums[place] === 0) touched.push(place);
      sums[place] += gain;
    },
    of: (place) => sums[place],
    best(count) {
      const least = Float32Array.from(touched, (place) => sums[place]).sort()[
        Math.max(0, touched.length - count)
      ];
      return touched
        .filter((place) => sums[place] >= least)
        .sort((a, b) => sums[b] - sums[a] || a - b)
        .slice(0, count);
    },
  };
}
