// @module-tag fast

import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { createTransport } from '#src/clients/typescript/transport.js';

const busy: typeof fetch = async () =>
  new Response('{}', { status: 429, headers: { 'Service-Retryable': 'true', 'Retry-After': '0' } });

it('a finished pause leaves no listener on its signal', async () => {
  const { signal } = new AbortController();
  const transport = createTransport({ url: 'http://gloaming.example', fetch: busy, retries: 3 });
  await expect(transport.send('runs.list', { signal })).rejects.toMatchObject({ status: 429 });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('an abort ends a pause at once with the reason of the signal', async () => {
  const { pause } = createTransport({ url: 'http://gloaming.example' });
  const left = new Error('The user has left.');
  const controller = new AbortController();
  const paused = pause(60_000, controller.signal);
  controller.abort(left);
  await expect(paused).rejects.toBe(left);
  await expect(pause(60_000, AbortSignal.abort(left))).rejects.toBe(left);
}, 5_000);
