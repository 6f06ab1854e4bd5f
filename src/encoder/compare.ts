import { seededRandom } from '../random.js';
import { Fault } from '../errors.js';
import type { Encoder, TokenComparison } from './encoder.js';

const BATCH_PROTEINS = 64;
const CHECKED_PROTEINS = 32;
const CHECKED_MAX_RESIDUES = 400;

/**
 * Compares the tokens of proteins, batch by batch.
 * Errors  Fault where an encoder fails; the signal's reason
 */
export async function compareTokens(
  expected: Encoder,
  installed: Encoder,
  proteins: AsyncIterable<string> | Iterable<string>,
  signal?: AbortSignal,
): Promise<TokenComparison> {
  const sums = {
    proteinCount: 0,
    residueCount: 0,
    differingProteinCount: 0,
    differingResidueCount: 0,
    largestDifference: 0,
  };
  const { dimension } = expected.card;
  const compareBatch = async (batch: readonly string[]): Promise<void> => {
    const [left, right] = await Promise.all(
      [expected, installed].map((one) => one.encode(batch, { signal })),
    );
    for (const [protein, { values, length }] of left.entries()) {
      const differing = differingRows(values, right[protein].values, dimension);
      sums.proteinCount += 1;
      sums.residueCount += length;
      sums.differingProteinCount += differing.count > 0 ? 1 : 0;
      sums.differingResidueCount += differing.count;
      sums.largestDifference = Math.max(sums.largestDifference, differing.largest);
    }
  };
  let batch: string[] = [];
  for await (const protein of proteins) {
    batch.push(protein);
    if (batch.length < BATCH_PROTEINS) continue;
    await compareBatch(batch);
    batch = [];
  }
  if (batch.length > 0) await compareBatch(batch);
  return sums;
}

/**
 * Holds an encoder on another device against the same on the CPU, over random proteins of 1 to 400 residues.
 * Errors  Fault where their tokens differ and that is not accepted
 */
export async function holdAgainstCpu(encoder: Encoder, cpu: Encoder, isAccepted: boolean): Promise<Encoder> {
  const comparison = await compareTokens(cpu, encoder, checkedProteins());
  if (comparison.differingProteinCount === 0) return encoder;
  if (isAccepted) return { ...encoder, differenceFromCpu: comparison };
  throw new Fault(
    `The encoder ${encoder.card.id} gives other tokens on ${encoder.device} than on the CPU: ` +
      `${describeComparison(comparison)}. Queries would no longer get the same result on every machine. ` +
      'Set encoder_device to cpu or, to live with it, on_encoder_difference to accept.',
  );
}

/** `12 of 32 proteins and 40 of 6,400 residues differ, components by at most 1`. */
function describeComparison(comparison: TokenComparison): string {
  const count = (value: number): string => value.toLocaleString('en-US');
  return (
    `${count(comparison.differingProteinCount)} of ${count(comparison.proteinCount)} proteins and ` +
    `${count(comparison.differingResidueCount)} of ${count(comparison.residueCount)} residues differ, ` +
    `components by at most ${comparison.largestDifference}`
  );
}

function differingRows(
  left: Int8Array,
  right: Int8Array,
  dimension: number,
): { count: number; largest: number } {
  let count = 0;
  let largest = 0;
  for (let row = 0; row < left.length; row += dimension) {
    let difference = 0;
    for (let at = row; at < row + dimension; at += 1) {
      difference = Math.max(difference, Math.abs(left[at] - right[at]));
    }
    if (difference > 0) count += 1;
    largest = Math.max(largest, difference);
  }
  return { count, largest };
}

function checkedProteins(): readonly string[] {
  const random = seededRandom(1);
  const letters = 'ACDEFGHIKLMNPQRSTVWY';
  return Array.from({ length: CHECKED_PROTEINS }, () =>
    Array.from(
      { length: 1 + random.below(CHECKED_MAX_RESIDUES) },
      () => letters[random.below(letters.length)],
    ).join(''),
  );
}
