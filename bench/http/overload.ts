import { assert } from '../../src/errors.js';
import { searchBody, type Figures, type Server } from './child.js';
import { openLoop, type Answered } from './load.js';
import { median, percentile } from '../tools/statistics.js';

const OVERLOAD = 10;
const SECONDS = 60;
/** Time until the burst that filled the queue is served. */
const SETTLED_MS = 4_000;
/** Length of a sequence of searches that shows recovery: none is refused and their median is normal. */
const RECOVERED_COUNT = 20;

/**
 * Sends ten times as many new searches as the server can answer. Accepted ones must stay fast, and the others must be
 * refused at once.
 */
export async function overloaded(server: Server): Promise<Figures> {
  // Each body has a different query, so that the cache answers none.
  let next = 0;
  const fresh = (): string => searchBody(rotated(server.sequences, (next += 1)), 10);
  const alone = await openLoop(server, 5, 6, fresh);
  const capacity = 1_000 / median(latenciesOf(alone));
  const normal = await openLoop(server, capacity / 2, 10, fresh);
  const flood = await openLoop(server, capacity * OVERLOAD, SECONDS, fresh);
  const after = await openLoop(server, capacity / 2, 4, fresh);
  const settled = flood.filter(({ dueMs }) => dueMs > SETTLED_MS);
  const accepted = settled.filter(({ status }) => status === 200);
  const refused = settled.filter(({ status }) => status === 429);
  assert(accepted.length + refused.length === settled.length, 'an overload gives only answers and 429');
  const figures = {
    normal_p50_ms: median(latenciesOf(normal)),
    normal_p95_ms: percentile(latenciesOf(normal), 0.95),
    overload_rate_per_second: capacity * OVERLOAD,
    overload_accepted: accepted.length,
    overload_refused: refused.length,
    overload_p50_ms: median(latenciesOf(accepted)),
    overload_p95_ms: percentile(latenciesOf(accepted), 0.95),
    refusal_p50_ms: median(latenciesOf(refused)),
    refusal_p95_ms: percentile(latenciesOf(refused), 0.95),
    recovered_ms: recoveryOf(after, normal),
  };
  report(figures, accepted.length / (SECONDS - SETTLED_MS / 1000));
  return figures;
}

/** Time from the end of the flood until the server behaves normally. Unit  milliseconds */
function recoveryOf(after: readonly Answered[], normal: readonly Answered[]): number {
  const usualMs = percentile(latenciesOf(normal), 0.95);
  const first = after.findIndex((_, index) => {
    const some = after.slice(index, index + RECOVERED_COUNT);
    return some.every(({ status }) => status === 200) && median(latenciesOf(some)) <= usualMs;
  });
  return first === -1 ? Infinity : after[first].dueMs;
}

function report(figures: Figures, answeredPerSecond: number): void {
  const ms = (name: string): string => `${figures[name].toFixed(1)} ms`;
  const ratio = (share: string): string =>
    (figures[`overload_${share}_ms`] / figures[`normal_${share}_ms`]).toFixed(2);
  console.log(
    `overload at ${figures.overload_rate_per_second.toFixed(0)}/s for ${SECONDS} s: ` +
      `${answeredPerSecond.toFixed(0)}/s answered, p50 ${ms('overload_p50_ms')} (${ratio('p50')} × of ` +
      `${ms('normal_p50_ms')}), p95 ${ms('overload_p95_ms')} (${ratio('p95')} × of ${ms('normal_p95_ms')}); ` +
      `${figures.overload_refused} refused with p50 ${ms('refusal_p50_ms')}, p95 ${ms('refusal_p95_ms')}; ` +
      `recovered after ${figures.recovered_ms.toFixed(0)} ms`,
  );
}

function latenciesOf(answers: readonly Answered[]): readonly number[] {
  return answers.map(({ latencyMs }) => latencyMs);
}

/** Moves the first residues of a protein to its end: a different query of equal cost. */
function rotated(sequences: readonly string[], index: number): string {
  const sequence = sequences[index % sequences.length];
  const cut = 1 + (Math.floor(index / sequences.length) % (sequence.length - 1));
  return sequence.slice(cut) + sequence.slice(0, cut);
}
