// @module-tag fast

import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { linkAborts, untilAborted } from '#src/abort.js';

const never = new Promise<never>(() => undefined);

describe('waiting until a signal aborts', () => {
  it('settles as the promise does and leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    await expect(untilAborted(Promise.resolve(7), signal)).resolves.toBe(7);
    await expect(untilAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await expect(untilAborted(Promise.resolve(7))).resolves.toBe(7);
  });

  it('ends with the reason of the signal, also of one that aborted before', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(never, controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(untilAborted(never, controller.signal)).rejects.toThrow('enough');
  });

  it('handles a rejection after the abort, so that it does not end the process', async () => {
    const late = new Promise((_resolve, reject) => setTimeout(reject, 1, new Error('late')));
    await expect(untilAborted(late, AbortSignal.abort(new Error('first')))).rejects.toThrow('first');
    await expect(late).rejects.toThrow('late');
  });
});

describe('a linked abort', () => {
  it('follows whichever outer signal aborts first, with its reason', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const linked = linkAborts(one.signal, other.signal);
    other.abort('other');
    one.abort('one');
    expect(linked.signal.reason).toBe('other');
    expect(linkAborts(one.signal).signal.reason).toBe('one');
  });

  it('aborts alone without aborting the outer signal', () => {
    const outer = new AbortController();
    const linked = linkAborts(outer.signal);
    linked.abort('done');
    expect(linked.signal.reason).toBe('done');
    expect(outer.signal.aborted).toBe(false);
  });

  it('has no listener on the outer signal after its release', () => {
    const outer = new AbortController();
    const many = Array.from({ length: 100 }, () => linkAborts(outer.signal));
    expect(getEventListeners(outer.signal, 'abort')).toHaveLength(100);
    for (const { release } of many) release();
    expect(getEventListeners(outer.signal, 'abort')).toEqual([]);
    outer.abort('late');
    expect(many.some(({ signal }) => signal.aborted)).toBe(false);
  });
});
