// @module-tag fast

import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PredictorSlots } from '#src/services/predictor/slots.js';

/** Takes a slot for each name. The result lists the names whose turn has come. */
function takeAll(slots: PredictorSlots, names: readonly string[]) {
  const ready: string[] = [];
  const taken = names.map((name) => {
    const slot = slots.take();
    void slot.ready.then(() => ready.push(name));
    return slot;
  });
  return { ready, taken };
}

describe('the slots of the predictor', () => {
  it('are given in the order of the requests, with a limit on concurrent ones', async () => {
    const { ready, taken } = takeAll(new PredictorSlots(2), ['a', 'b', 'c', 'd']);
    await setImmediate();
    expect(ready).toEqual(['a', 'b']);
    taken[1].release();
    await setImmediate();
    expect(ready).toEqual(['a', 'b', 'c']);
  });

  it('skip a request that was cancelled while it waited', async () => {
    const { ready, taken } = takeAll(new PredictorSlots(1), ['a', 'b', 'c']);
    taken[1].release();
    await setImmediate();
    expect(ready).toEqual(['a']);
    taken[0].release();
    await setImmediate();
    expect(ready).toEqual(['a', 'c']);
  });

  it('are freed once, however often they are released', async () => {
    const { ready, taken } = takeAll(new PredictorSlots(1), ['a', 'b', 'c']);
    taken[0].release();
    taken[0].release();
    await setImmediate();
    expect(ready).toEqual(['a', 'b']);
  });
});
