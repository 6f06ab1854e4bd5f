import { parseArgs } from 'node:util';
import { MISFORTUNES } from './faults.js';
import { simulateSeed, type Verdict } from './seed.js';

/*
 * npm run bench -- simulate [--seconds 60] [--seed 1] [--seeds 1000000] [--calm full-disk,clock]
 *
 * Does the control state survive every fault? The bench simulates one seed after the other until the time or the number
 * of seeds is used up. The bench stops at the first violated invariant, prints the last steps, and repeats the seed to
 * the same digest. `--calm` switches off kinds of faults to find the needed ones: kill, full-disk, receivers, clock,
 * second-owner.
 */
export async function run(options: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '1000000' },
      calm: { type: 'string', default: '' },
    },
  });
  const first = Number(values.seed);
  const calm = new Set(MISFORTUNES.filter((name) => values.calm.split(',').includes(name)));
  const startedMs = performance.now();
  const elapsedSeconds = (): number => (performance.now() - startedMs) / 1_000;
  const verdicts: Verdict[] = [];
  for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
    const verdict = await simulateSeed(seed, calm);
    verdicts.push(verdict);
    if (verdict.broken !== undefined) {
      reportBroken(verdict);
      const again = await simulateSeed(seed, calm);
      process.stdout.write(
        `again: ${again.digest === verdict.digest ? 'the same' : 'ANOTHER'} digest ${again.digest}\n`,
      );
      process.exitCode = 1;
      break;
    }
    if (elapsedSeconds() > Number(values.seconds)) break;
  }
  return reportFigures(verdicts, elapsedSeconds());
}

function reportBroken({ seed, digest, stepCount, broken }: Verdict): void {
  process.stdout.write(
    `${broken?.last.join('\n')}\n\nseed ${seed} broke at step ${stepCount}, digest ${digest}:\n`,
  );
  for (let error = broken?.error; error instanceof Error; error = error.cause) {
    process.stdout.write(`${error.stack}\n`);
  }
}

function reportFigures(verdicts: readonly Verdict[], seconds: number): Readonly<Record<string, number>> {
  const sum = (count: (verdict: Verdict) => number): number =>
    verdicts.reduce((total, verdict) => total + count(verdict), 0);
  const figures = {
    seeds: verdicts.length,
    seeds_per_second: verdicts.length / seconds,
    steps_per_second: sum(({ stepCount }) => stepCount) / seconds,
    events: sum(({ eventCount }) => eventCount),
    events_per_second: sum(({ eventCount }) => eventCount) / seconds,
    commits: sum(({ commitCount }) => commitCount),
    kills: sum(({ killCount }) => killCount),
  };
  for (const [name, value] of Object.entries(figures)) {
    process.stdout.write(`${name.padEnd(18)} ${Number(value.toPrecision(4)).toLocaleString('en')}\n`);
  }
  return figures;
}
