import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '#src/config.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import {
  runBatchTask,
  searchBatch,
  type BatchOptions,
  type BatchResult,
} from '#src/pipelines/batch/batch.js';
import { batchFolder, readEndOf } from '#src/pipelines/batch/plan.js';
import { writerName } from '#src/pipelines/cluster/slurm.js';
import type { NamedQuery } from '#src/search/search-types.js';
import { openDemoAppliance, type DemoAppliance } from '../../tools/demo-appliance.js';

/* Batches in this process whose folders were damaged, left behind or used twice. */

let demo: DemoAppliance;
let queries: readonly NamedQuery[];
/** Files of the first three queries and of the first two. */
let [three, two]: Buffer[] = [];
/** Digests of their results. */
let digests: readonly string[];

const pathOf = (name: string): string => join(demo.folder, `${name}.parquet`);
const folderOf = (name: string) => batchFolder(`${pathOf(name)}.work`);

async function* first(count: number): AsyncGenerator<NamedQuery> {
  yield* queries.slice(0, count);
}

function search(name: string, count: number, more: Partial<BatchOptions> = {}): Promise<BatchResult> {
  const settings = {
    limit: 5,
    evidence: 'candidate_measurement',
    guarantee: 'approximate',
    significance: 'if_available',
    relatives: 'as_release',
  } as const;
  const options = { database: DEMO_SLUG, output: pathOf(name), settings, filter: null, ...more };
  return searchBatch(first(count), options, loadConfig(demo.environment), {}, {});
}

/** Leaves the folder of a batch whose only task is done, before its chunk is joined. */
async function leaveFinished(name: string, count: number): Promise<void> {
  await search(name, count, { tasks: { count: 1, program: ['gloaming'] } });
  await runBatchTask(folderOf(name).path, 1, 0, loadConfig(demo.environment), {});
}

const digestOf = (result: BatchResult): string => (result.kind === 'searched' ? result.resultSha256 : '');

beforeAll(async () => {
  demo = await openDemoAppliance({ seed: 11, proteins: 120 });
  await demo.appliance.close();
  queries = demo.demo.proteins
    .slice(0, 3)
    .map(({ id, sequence }) => ({ id, sequence, normalizationId: 'test' }));
  digests = [digestOf(await search('three', 3)), digestOf(await search('two', 2))];
  [three, two] = [readFileSync(pathOf('three')), readFileSync(pathOf('two'))];
});
afterAll(() => demo.remove());

describe('the folder of a batch', () => {
  it('without a plan gives no rows to another batch', async () => {
    await leaveFinished('other', 3);
    rmSync(folderOf('other').plan);
    expect(existsSync(folderOf('other').end(0))).toBe(true);
    expect(digestOf(await search('other', 2))).toBe(digests[1]);
    expect(readFileSync(pathOf('other')).equals(two)).toBe(true);
    expect(existsSync(folderOf('other').path)).toBe(false);
  });

  it('is used by one of two batches at once, and the other one is refused', async () => {
    const ends = await Promise.allSettled([search('shared', 3), search('shared', 2)]);
    const at = ends.findIndex(({ status }) => status === 'fulfilled');
    const [done, refused] = [ends[at], ends[1 - at]] as [
      PromiseFulfilledResult<BatchResult>,
      PromiseRejectedResult,
    ];
    expect(refused.reason).toMatchObject({
      code: 'batch_running',
      message: expect.stringMatching(/^This batch is being searched by process \d+; wait until it is done/),
    });
    expect(digestOf(done.value)).toBe(digests[at]);
    expect(readFileSync(pathOf('shared')).equals([three, two][at])).toBe(true);
    expect(readdirSync(demo.folder).filter((name) => name.startsWith('shared'))).toEqual(['shared.parquet']);
  });

  it('gets temporary files of other names from each process', () => {
    expect(writerName({})).not.toBe(writerName({}));
    const task = { SLURM_ARRAY_JOB_ID: '7', SLURM_ARRAY_TASK_ID: '3' };
    expect(writerName(task)).toBe('7_3');
  });

  it.each([
    ['a changed byte', 'damaged', (path: string) => changeByte(path)],
    ['a lost end', 'damaged', (path: string) => truncateSync(path, 200)],
    ['a lost file', 'missing', (path: string) => rmSync(path)],
  ])('whose rows have %s is refused, and is searched again as the message says', async (_, state, damage) => {
    const name = `rows-${state}`;
    await leaveFinished(name, 3);
    const { rows, end } = folderOf(name);
    damage(rows(0));
    const message = `${rows(0)} is ${state}; remove ${end(0)} and run the same command again.`;
    await expect(search(name, 3)).rejects.toMatchObject({ name: 'Fault', message });
    expect(existsSync(pathOf(name))).toBe(false);
    rmSync(end(0));
    expect(digestOf(await search(name, 3))).toBe(digests[0]);
    expect(readFileSync(pathOf(name)).equals(three)).toBe(true);
    rmSync(pathOf(name));
  });

  it.each(['null', '7', '{}', '{"digests":null,"cutCount":0}', '[', ''])(
    'with the end %j of a chunk is refused in one sentence',
    async (text) => {
      const folder = batchFolder(join(demo.folder, 'ends.work'));
      mkdirSync(join(folder.path, 'results'), { recursive: true });
      writeFileSync(folder.end(0), text);
      const message = `${folder.end(0)} is damaged; remove it and run the same command again.`;
      await expect(readEndOf(folder, 0)).rejects.toMatchObject({ name: 'Fault', message });
    },
  );

  it('with the rows of a chunk that an earlier version finished is joined', async () => {
    await leaveFinished('earlier', 2);
    const { end } = folderOf('earlier');
    const { rowsSha256, ...earlier } = await readEndOf(folderOf('earlier'), 0);
    expect(rowsSha256).toMatch(/^[0-9a-f]{64}$/);
    writeFileSync(end(0), JSON.stringify(earlier));
    expect(digestOf(await search('earlier', 2))).toBe(digests[1]);
  });

  it('of a deleted release is refused with what to do', async () => {
    await search('deleted', 2, { tasks: { count: 1, program: ['gloaming'] } });
    const { directory, id } = demo.release;
    renameSync(directory, `${directory}.aside`);
    try {
      await expect(
        runBatchTask(folderOf('deleted').path, 1, 0, loadConfig(demo.environment), {}),
      ).rejects.toMatchObject({
        code: 'release_not_found',
        message:
          `Release ${id} was deleted since this work was planned, or this machine does not see ${directory}. ` +
          'Build the release again, or delete the folder of this work and begin it anew with another release.',
      });
    } finally {
      renameSync(`${directory}.aside`, directory);
    }
  });

  it('of other settings is refused and stays', async () => {
    await leaveFinished('settings', 2);
    const message = 'belongs to another batch: repeat that one to its end, name another --output, or remove';
    await expect(search('settings', 2, { parts: 2 })).rejects.toThrow(message);
    await expect(search('settings', 3)).rejects.toThrow(message);
    expect(digestOf(await search('settings', 2))).toBe(digests[1]);
  });
});

function changeByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(path, bytes);
}
