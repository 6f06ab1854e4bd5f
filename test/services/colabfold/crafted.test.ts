import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ArchiveQueue } from '#src/services/colabfold/archive-queue.js';
import { RunRowTable } from '#src/store/tables/run-rows.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

/* Tickets that a client writes itself: the id of a ticket is not signed. */

let small: SmallAppliance;
let key: string;
let headers: Record<string, string>;
let runs: { search: string; other: string; measured: string; exported: string };

beforeAll(async () => {
  small = await startSmallAppliance({
    colabfold: { database: 'demo', max_evalue: null, min_coverage: 0.1, max_sequences: 50 },
  });
  key = await small.keyOf('lab');
  headers = { Authorization: `Bearer ${key}` };
  const input = (at: number) => ({
    query: { kind: 'protein_sequence', sequence: small.sequences[at] },
    limit: 50,
  });
  const search = await complete('homology.search', {
    ...input(0),
    evidence: 'pairwise_sequence_alignment',
  });
  runs = {
    search,
    other: await complete('homology.search', { ...input(1), evidence: 'pairwise_sequence_alignment' }),
    measured: await complete('homology.search', input(0)),
    exported: await complete('homology.export', { run_id: search, format: 'tsv' }),
  };
});
afterAll(() => small.close());
afterEach(() => vi.restoreAllMocks());

async function complete(endpoint: string, input: object): Promise<string> {
  const created = await fetch(`${small.url}/v1/runs`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json', Prefer: 'wait=30' },
    body: JSON.stringify({ endpoint, input }),
  });
  const { data } = (await created.json()) as { data: { id: string; status: string } };
  expect(data.status).toBe('completed');
  return data.id;
}

function crafted(mode: string, queries: readonly (readonly [name: string, ...runs: string[]])[]): string {
  const written = queries.map(([name, ...ids]) => [name, ...ids.map((id) => id.replaceAll('run_', ''))]);
  return Buffer.from(JSON.stringify([mode, ...written])).toString('base64url');
}

function download(id: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${small.url}/colabfold/result/download/${id}`, { headers, ...(signal && { signal }) });
}

describe('tickets that a client writes itself', () => {
  it.each([
    ['f', 'unpaired'],
    ['g', 'paired'],
  ])('read a run once, whatever names they give to it, in mode %s (%s)', async (mode) => {
    const reads = vi.spyOn(RunRowTable.prototype, 'blockAt');
    const tickets = Array.from({ length: 24 }, (_, ticket) =>
      crafted(
        mode,
        Array.from({ length: 32 }, (__, query) => [`${ticket}-${query}`, runs.search] as const),
      ),
    );
    const answers = await Promise.all(tickets.map((id) => download(id)));
    expect(answers.map(({ status }) => status)).toEqual(Array(24).fill(200));
    expect(reads.mock.calls.length).toBe(1);
  });

  it.each([
    ['an export', () => crafted('f', [['101', runs.exported]])],
    ['an export, paired', () => crafted('g', [['101', runs.exported]])],
    ['a search without alignments', () => crafted('f', [['101', runs.measured]])],
    ['a search as the run of homologs', () => crafted('f', [['101', runs.search + runs.search]])],
    ['searches of two sequences as one query', () => crafted('ef', [['101', runs.search, runs.other]])],
  ])('are absent if they name %s', async (_, id) => {
    const answer = await download(id());
    expect([answer.status, ((await answer.json()) as { status: string }).status]).toEqual([404, 'ERROR']);
  });
});

/** Work that the test resolves. */
function stubWork(key: string, organizationId = 'lab') {
  let finish: () => void = () => undefined;
  const signals: AbortSignal[] = [];
  const work = {
    key,
    organizationId,
    make: (signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<Buffer>((resolve, reject) => {
        finish = () => resolve(Buffer.from(key));
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
  };
  return { work, signals, finish: () => finish() };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const forever = new AbortController().signal;

describe('the queue of archives', () => {
  it('makes one archive of an organization at a time, two in all, in order of arrival', async () => {
    const queue = new ArchiveQueue();
    const [first, second] = [stubWork('first'), stubWork('second')];
    const [third, fourth] = [stubWork('third', 'other'), stubWork('fourth', 'more')];
    const archives = [first, second, third, fourth].map(({ work }) => queue.wait(work, forever));
    await settled();
    expect([first, second, third, fourth].map(({ signals }) => signals.length)).toEqual([1, 0, 1, 0]);
    first.finish();
    await settled();
    expect([second, fourth].map(({ signals }) => signals.length)).toEqual([1, 0]);
    for (const { finish } of [second, third]) finish();
    await settled();
    fourth.finish();
    expect((await Promise.all(archives)).map(String)).toEqual(['first', 'second', 'third', 'fourth']);
    expect(queue.count).toBe(0);
  });

  it('refuses an organization that has too many waiting archives, and no other', async () => {
    const queue = new ArchiveQueue(0);
    const leaving = new AbortController();
    const waiting = Array.from({ length: 33 }, (_, at) =>
      queue.wait(stubWork(`${at}`).work, leaving.signal).catch(() => 'left'),
    );
    await expect(queue.wait(stubWork('x').work, forever)).rejects.toMatchObject({ code: 'queue_full' });
    const other = stubWork('y', 'other');
    const made = queue.wait(other.work, forever);
    await settled();
    other.finish();
    expect(String(await made)).toBe('y');
    leaving.abort(new Error('left'));
    await Promise.all(waiting);
    await settled();
    expect(queue.count).toBe(0);
  });

  it('cancels an archive once no request has waited for it for a while', async () => {
    const queue = new ArchiveQueue(30);
    const { work, signals, finish } = stubWork('key');
    const leave = (): Promise<unknown> => {
      const leaving = new AbortController();
      const left = queue.wait(work, leaving.signal).catch((error: unknown) => error);
      leaving.abort(new Error('left'));
      return left;
    };
    await leave();
    // A client that timed out asks again at once, and shares the archive in the making.
    const again = queue.wait(work, forever);
    await new Promise((resolve) => setTimeout(resolve, 60));
    finish();
    expect(String(await again)).toBe('key');
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    const next = stubWork('next');
    const leaving = new AbortController();
    const left = queue.wait(next.work, leaving.signal).catch(() => 'left');
    await settled();
    leaving.abort(new Error('left'));
    await left;
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(next.signals[0]!.aborted).toBe(true);
    expect(queue.count).toBe(0);
  });
});
