// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairLine, RunQueue, type WaitingRun } from '#src/services/runs/queue.js';

const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));

let count = 0;
function waiting(organizationId: string, priority: WaitingRun['priority'] = 'normal'): WaitingRun {
  count += 1;
  return {
    id: `${organizationId}${count}`,
    organizationId,
    priority,
    acceptedAt: String(count).padStart(6, '0'),
  };
}

function drain(line: FairLine): WaitingRun[] {
  const taken: WaitingRun[] = [];
  for (let run = line.take(); run !== undefined; run = line.take()) taken.push(run);
  return taken;
}

describe(`the fair line (seed ${seed})`, () => {
  it('lets organizations take turns, however many runs each has', () => {
    const line = new FairLine();
    for (const organization of ['a', 'a', 'a', 'a', 'b', 'c', 'b']) line.add(waiting(organization));
    expect(
      drain(line)
        .map(({ organizationId }) => organizationId)
        .join(''),
    ).toBe('abcabaa');
  });

  it('puts higher priority before lower and earlier before later within one organization', () => {
    const line = new FairLine();
    const [low, normal, high, second] = (['low', 'normal', 'high', 'high'] as const).map((p) =>
      waiting('a', p),
    );
    for (const run of [low, normal, second, high]) line.add(run);
    expect(drain(line)).toEqual([high, second, normal, low]);
  });

  it('gives no organization the turn of another by priority', () => {
    const line = new FairLine();
    for (const run of [waiting('a', 'low'), waiting('b', 'high'), waiting('b', 'high')]) line.add(run);
    expect(drain(line).map(({ organizationId }) => organizationId)).toEqual(['a', 'b', 'b']);
  });

  it('returns every run that was added and not removed exactly once', () => {
    const organization = fc.constantFrom('a', 'b', 'c', 'd');
    const priority = fc.constantFrom('high' as const, 'normal' as const, 'low' as const);
    fc.assert(
      fc.property(fc.array(fc.tuple(organization, priority, fc.boolean()), { maxLength: 40 }), (entries) => {
        const line = new FairLine();
        const runs = entries.map(([name, rank, isRemoved]) => ({ run: waiting(name, rank), isRemoved }));
        for (const { run } of runs) line.add(run);
        for (const { run, isRemoved } of runs) if (isRemoved) line.remove(run.id);
        const left = runs.filter(({ isRemoved }) => !isRemoved).map(({ run }) => run);
        expect(line.size).toBe(left.length);
        const taken = drain(line);
        expect(new Set(taken)).toEqual(new Set(left));
        expect(taken).toHaveLength(left.length);
        // While an organization waits, no other one gets two more turns than it.
        for (let end = 1; end <= taken.length; end += 1) {
          const turns = (name: string) => taken.slice(0, end).filter((r) => r.organizationId === name).length;
          const stillWaiting = new Set(taken.slice(end).map((r) => r.organizationId));
          for (const name of stillWaiting) {
            for (const other of ['a', 'b', 'c', 'd'])
              expect(turns(other) - turns(name)).toBeLessThanOrEqual(1);
          }
        }
      }),
      { seed },
    );
  });
});

describe('the queue', () => {
  it('never exceeds its limit of concurrent turns, and gives a returning run its next turn', async () => {
    let atWork = 0;
    let most = 0;
    const turns = new Map<string, number>();
    const finished = new Set<string>();
    const queue = new RunQueue(async ({ id }) => {
      atWork += 1;
      most = Math.max(most, atWork);
      await new Promise((resolve) => setTimeout(resolve, 1));
      atWork -= 1;
      turns.set(id, (turns.get(id) ?? 0) + 1);
      if (turns.get(id)! < 3) return {};
      finished.add(id);
      return undefined;
    }, 2);
    for (let index = 0; index < 20; index += 1) queue.add(waiting(`o${index % 4}`));
    while (finished.size < 20) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(most).toBe(2);
    expect([...turns.values()].every((value) => value === 3)).toBe(true);
    await queue.stop();
  });

  it('gives a waiting run its turn when its wait is over, and others theirs meanwhile', async () => {
    const turns: string[] = [];
    let come = (): void => undefined;
    const after = new Promise<void>((resolve) => (come = resolve));
    const waitingRun = waiting('a');
    const queue = new RunQueue(async ({ id }) => {
      turns.push(id === waitingRun.id ? 'waits' : 'other');
      return id === waitingRun.id && turns.length === 1 ? { after } : undefined;
    }, 1);
    queue.add(waitingRun);
    queue.add(waiting('a'));
    while (turns.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    come();
    while (turns.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(turns).toEqual(['waits', 'other', 'waits']);
    await queue.stop();
  });

  it('starts no turn after its stop, and waits for running ones', async () => {
    let ended = 0;
    const queue = new RunQueue(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      ended += 1;
      return {};
    }, 1);
    queue.add(waiting('a'));
    queue.add(waiting('a'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await queue.stop();
    expect(ended).toBe(1);
    await queue.stop();
  });
});
