import { freeBytes } from '../../buffers.js';
import type { NamesIndex } from './names.js';
import { createTally, type Tally } from './tally.js';
import { similarity, tokensOf, trigramsOf } from './text.js';

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
/** Limits of a search, so that every query takes at most some milliseconds. */
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
 * How well one of these names matches the query: the same, a beginning of it, its first QUERY_MAX_TOKENS words in it,
 * or alike. undefined where it does not.
 * @param alikeNames  names whose words may differ from those of the query; default: all
 */
export function judgeNames(
  query: string,
  names: readonly string[],
  alikeNames = names,
): FoundName | undefined {
  const allTokens = tokensOf(query);
  const whole = allTokens.join(' ');
  if (whole === '') return undefined;
  const queryTokens = allTokens.slice(0, QUERY_MAX_TOKENS);
  const tokensOfNames = names.map((name) => tokensOf(name));
  const texts = tokensOfNames.map((tokens) => tokens.join(' ')).filter((text) => text !== '');
  if (names.includes(query) || texts.includes(whole)) return { match: 'exact', similarity: 1 };
  const longer = texts.filter((text) => text.startsWith(whole)).map((text) => whole.length / text.length);
  if (longer.length > 0) return { match: 'prefix', similarity: Math.max(...longer) };
  const words = tokensOfNames.flat();
  const begun = queryTokens.map((token) =>
    bestOf(words, (word) => (word.startsWith(token) ? token.length / word.length : 0)),
  );
  if (!begun.includes(0)) return { match: 'token', similarity: meanOf(begun) };
  const alikeWords = alikeNames === names ? words : alikeNames.flatMap((name) => tokensOf(name));
  const alike = meanOf(
    queryTokens.map((token) => bestOf(alikeWords, (word, least) => similarity(token, word, least))),
  );
  return alike >= SIMILARITY_MIN ? { match: 'similar', similarity: alike } : undefined;
}

/** @param judge may say 0 for what is not better than the least that it is given */
function bestOf(words: readonly string[], judge: (word: string, least: number) => number): number {
  return words.reduce((best, word) => Math.max(best, judge(word, best)), 0);
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
  const queryTokens = tokensOf(query).slice(0, QUERY_MAX_TOKENS);
  const matches = await Promise.all(
    queryTokens.map((token, place) => matchesOf(index, token, place === queryTokens.length - 1)),
  );
  // The rarest first: they bring the targets that the common ones then speak for.
  matches.sort((a, b) => countOf(index, a) - countOf(index, b));
  const candidates = await withTally(async (tally) => {
    for (const [place, match] of matches.entries()) await addMatches(index, match, tally, place + 1);
    return tally.best(Math.max(JUDGED_MIN_TARGETS, 2 * limit), 0);
  });
  const judged = await Promise.all(
    candidates.map(async (target): Promise<FoundTarget | undefined> => {
      const names = await index.names(target);
      const match = judgeNames(query, names);
      return match && { ...match, target, names };
    }),
  );
  return judged
    .filter((target) => target !== undefined)
    .sort((a, b) => compareFound(a, b) || (a.names[0] < b.names[0] ? -1 : 1))
    .slice(0, limit);
}

async function withTally<Result>(work: (tally: Tally) => Promise<Result>): Promise<Result> {
  const tally = createTally();
  try {
    return await work(tally);
  } finally {
    tally.release();
  }
}

interface TokenMatch {
  readonly token: number;
  readonly weight: number;
}

/** Similar tokens are searched only if the index lacks the token. */
async function matchesOf(index: NamesIndex, token: string, isLast: boolean): Promise<readonly TokenMatch[]> {
  const matches = knownTokens(index, token, isLast);
  return matches.length > 0 ? matches : similarTokens(index, token);
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
    const candidate = index.token(at);
    if (candidate === token) matches.push({ token: at, weight: 1 });
    else if (isPrefix && candidate.startsWith(token))
      matches.push({ token: at, weight: token.length / candidate.length });
    else break;
  }
  return matches;
}

/** Tokens that share trigrams with one that is not there; the most alike first. */
async function similarTokens(index: NamesIndex, token: string): Promise<readonly TokenMatch[]> {
  const trigrams = trigramsOf(token);
  const least = Math.ceil(SHARED_MIN_RATIO * trigrams.length);
  // The rare ones tell most; a list that half of all tokens are in tells nothing.
  const rarest = [...trigrams].sort((a, b) => index.tokenCountWith(a) - index.tokenCountWith(b));
  const read: Promise<Uint32Array>[] = [];
  let counted = 0;
  for (const trigram of rarest) {
    counted += index.tokenCountWith(trigram);
    if (counted > TRIGRAM_LIST_MAX_TOKENS) break;
    read.push(index.tokensWith(trigram));
  }
  const lists = await Promise.all(read);
  const sharing = await withTally(async (tally) => {
    for (const [place, list] of lists.entries()) {
      for (const at of list) tally.add(at, 1, place + 1, true);
      freeBytes(list);
    }
    return tally.best(COMPARED_MAX_TOKENS, least);
  });
  return sharing
    .map((at) => ({ token: at, weight: similarity(token, index.token(at), SIMILARITY_MIN) }))
    .filter(({ weight }) => weight >= SIMILARITY_MIN)
    .sort((a, b) => b.weight - a.weight || a.token - b.token)
    .slice(0, EXPANDED_MAX_TOKENS);
}

/** A target gains by its best match of the token, which comes first; a rare token weighs more. */
async function addMatches(
  index: NamesIndex,
  matches: readonly TokenMatch[],
  tally: Tally,
  voice: number,
): Promise<void> {
  const similar: TokenMatch[] = [];
  const lists: Promise<Uint32Array>[] = [];
  let left = POSTINGS_MAX_COUNT;
  for (const match of matches) {
    if (left <= 0) break;
    similar.push(match);
    lists.push(index.targetsOf(match.token, left));
    left -= index.targetCountOf(match.token);
  }
  let brought = 0;
  for (const [place, targets] of (await Promise.all(lists)).entries()) {
    const { token, weight } = similar[place];
    const gain = weight * (1 + Math.log2(index.targetCount / index.targetCountOf(token)));
    for (const target of targets) {
      if (tally.add(target, gain, voice, brought < BROUGHT_MAX_TARGETS)) brought += 1;
    }
    freeBytes(targets);
  }
}
