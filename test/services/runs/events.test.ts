// @module-tag fast

import { afterEach, describe, expect, it } from 'vitest';
import { RUN_STREAMS_MAX_COUNT, RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT } from '#src/limits.js';
import { EventStreams, streamEvents } from '#src/services/runs/events.js';
import { RunWatch } from '#src/services/runs/watch.js';
import type { RunRow, RunTable } from '#src/store/tables/runs.js';

/* Streams of a queued run, from a stub table that has its first event. */

const QUEUED = { sequence: 1, type: 'run.queued', timestamp: '2026-01-01T00:00:00Z', data: {} };
const table = {
  get: () => ({ id: 'run_1', status: 'queued' }),
  events: { after: () => [QUEUED] },
} as unknown as RunTable;

const opened: AsyncIterator<string>[] = [];
afterEach(async () => {
  for (const stream of opened.splice(0)) await stream.return?.();
});

function served() {
  const sources = { table, watch: new RunWatch(), streams: new EventStreams(), now: () => new Date() };
  const { signal } = new AbortController();
  const open = async (organizationId: string): Promise<AsyncIterator<string>> => {
    const run = { id: 'run_1', organizationId } as RunRow;
    const stream = streamEvents(run, undefined, sources, signal)[Symbol.asyncIterator]();
    opened.push(stream);
    expect((await stream.next()).value).toContain('event: run.queued');
    return stream;
  };
  const fill = async (organizationId: string): Promise<void> => {
    for (let at = 0; at < RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT; at += 1) await open(organizationId);
  };
  return { open, fill, watch: sources.watch };
}

describe('the event streams of an organization', () => {
  it('are bounded, and leave room for those of others', async () => {
    const { open, fill } = served();
    const first = await open('lab');
    for (let at = 1; at < RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT; at += 1) await open('lab');
    await expect(open('lab')).rejects.toMatchObject({
      code: 'queue_full',
      message: 'No more than 100 streams of events of the organization may be open.',
      details: { policy: { name: 'streams', quota: 100 } },
    });
    await fill('other');
    await first.return?.();
    await open('lab');
    await expect(open('lab')).rejects.toMatchObject({ code: 'queue_full' });
  });

  it('are refused, too, when all organizations together have the most', async () => {
    const { open, fill } = served();
    const full = RUN_STREAMS_MAX_COUNT / RUN_STREAMS_PER_ORGANIZATION_MAX_COUNT;
    for (let at = 0; at < full; at += 1) await fill(`lab-${at}`);
    await expect(open('last')).rejects.toMatchObject({
      code: 'queue_full',
      message: 'No more than 1000 streams of events may be open.',
    });
  });

  it('have their share whatever number of requests wait for runs', async () => {
    const { open, watch } = served();
    for (let at = 0; at < RUN_STREAMS_MAX_COUNT; at += 1) watch.open('run_1');
    await open('lab');
  });
});
