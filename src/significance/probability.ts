import { join } from 'node:path';
import { canonicalJson } from '../canonical.js';
import { Fault } from '../errors.js';
import { readCardFile, unknownFormat } from '../json/card.js';
import { referenceNullFolder } from './reference-null.js';

/*
 * The probability that two proteins are homologs, of one superfamily, given their E-value. Evidence is the E-value,
 * whose null an encoder or a release has. The prior is the share of homologs among pairs of labelled domains at equal
 * E-values. Both together are a table of log odds by ln E, which lies beside the reference null of the encoder
 * (bench/probability fits and checks it).
 */

/** The table, with the labelled pairs that it was fitted to. */
export interface ProbabilityCard {
  readonly format: typeof PROBABILITY_FORMAT;
  /** Digest of the encoder. */
  readonly encoder_sha256: string;
  /** Targets of the database that the table was fitted on. */
  readonly target_count: number;
  readonly query_count: number;
  readonly pair_count: number;
  /** ln of E-values, ascending. Shape  [knots], at least 2 */
  readonly log_e_values: readonly number[];
  /** Log odds of homology at each, not ascending. Shape  [knots] */
  readonly log_odds: readonly number[];
}

export const PROBABILITY_FORMAT = 'gloaming-probability/1';
export const PROBABILITY_FILE = 'probability.json';

/**
 * Reads the table of an encoder. Returns undefined if the encoder has none for such releases.
 * @param hasProfiles  whether the targets of the release have profiles
 * Errors  Fault if the file is damaged, has an unknown format, or is of another encoder
 */
export async function readProbabilityCard(
  encoderDirectory: string,
  encoderSha256: string,
  hasProfiles: boolean,
): Promise<ProbabilityCard | undefined> {
  const path = join(referenceNullFolder(encoderDirectory, hasProfiles), PROBABILITY_FILE);
  const read = await readCardFile<ProbabilityCard>(path, 'a table of probabilities');
  if (read === undefined) return undefined;
  const { card } = read;
  if (card?.format !== PROBABILITY_FORMAT) throw unknownFormat(path, card?.format, PROBABILITY_FORMAT);
  if (!isTable(card)) throw new Fault(`${path} does not hold log odds that fall along ascending E-values.`);
  if (card.encoder_sha256 !== encoderSha256) {
    throw new Fault(`${path} was fitted with another encoder (digest ${card.encoder_sha256}).`);
  }
  return Object.freeze(card);
}

/** Returns the only text that a card is written as: canonical JSON and a newline. */
export function probabilityText(card: ProbabilityCard): string {
  return `${canonicalJson(card)}\n`;
}

function isTable({
  log_e_values: logEValues,
  log_odds: logOdds,
  target_count: targetCount,
}: ProbabilityCard) {
  return (
    Array.isArray(logEValues) &&
    Array.isArray(logOdds) &&
    logEValues.length >= 2 &&
    logOdds.length === logEValues.length &&
    [...logEValues, ...logOdds].every(Number.isFinite) &&
    logEValues.every((value, at) => at === 0 || value > logEValues[at - 1]) &&
    logOdds.every((value, at) => at === 0 || value <= logOdds[at - 1]) &&
    Number.isSafeInteger(targetCount) &&
    targetCount > 0
  );
}

/**
 * Probability that a candidate is a homolog of the query.
 *
 * The prior assumes as many homologs of a query in a larger database as in the fitted one, and the same share of
 * homologs in a smaller one. Both assumptions err on the side of a small probability.
 *
 * Unit    probability
 * Range   0..1; log odds are linear between knots, constant below the first one, and fall as −ln E above the last one
 * @param logEValue  ln of the E-value among the searched targets
 * @param targetCount  targets that it counts. 1..
 */
export function homologyProbability(card: ProbabilityCard, logEValue: number, targetCount: number): number {
  const { log_e_values: knots, log_odds: odds } = card;
  const log = logEValue + Math.max(0, Math.log(card.target_count / targetCount));
  const last = knots.length - 1;
  if (log <= knots[0]) return probabilityOf(odds[0]);
  if (log >= knots[last]) return probabilityOf(odds[last] - (log - knots[last]));
  const upper = knots.findIndex((knot) => knot > log);
  const share = (log - knots[upper - 1]) / (knots[upper] - knots[upper - 1]);
  return probabilityOf(odds[upper - 1] + share * (odds[upper] - odds[upper - 1]));
}

function probabilityOf(logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds));
}
