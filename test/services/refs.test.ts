import { readFileSync, writeFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';
import { manifestText, releaseId } from '#src/release/manifest.js';
import type { ReleaseManifest } from '#src/release/release.js';
import { Refs } from '#src/services/refs.js';
import { ask, type Json } from './storage/storage-served.js';
import { environmentOf, useAppliance, type UsedAppliance } from './backup/used-appliance.js';

let used: UsedAppliance;
let appliance: Appliance;
let server: RunningServer;
let rival: string;
beforeAll(async () => {
  used = await useAppliance();
  appliance = await openAppliance(loadConfig(environmentOf(used.folders)));
  server = await serve(appliance, pino({ level: 'silent' }), { isResponseChecked: true });
  rival = (await appliance.keys.create('test', 'rivals')).key;
}, 120_000);
afterAll(async () => {
  await server.stop(1_000);
  await appliance.close();
  used.end();
});

async function resolve(query: string, key = used.key, more: Json = {}): Promise<Json> {
  const { status, body } = await ask(`${server.url}/v1/refs/resolve`, 'POST', key, { query, ...more });
  expect(status).toBe(200);
  return body.data;
}
const idsOf = async (query: string, key?: string): Promise<string[]> =>
  (await resolve(query, key)).references.map(({ kind, id, match }: Json) => `${kind} ${id} ${match}`);

const release = () => appliance.releases.releases('demo')[0]!;
const fileId = () => used.ids.file.split('/').at(-2) as string;

describe('a look-up among thousands of files', () => {
  it('lets other tasks run, and ends with its request', async () => {
    const folder = Array.from({ length: 20 }, (_, at) => `folder${at}of${at * at}`).join('/');
    const places = Array.from({ length: 4_000 }, (_, at) => ({
      id: `fil_${at}`,
      path: `${folder}/${at}.bin`,
    }));
    const refs = new Refs({
      catalog: { databases: () => [] },
      runs: {
        get: () => undefined,
        list: function* () {
          return { runs: [] };
        },
      },
      files: { get: () => undefined, from: () => places },
    } as never);
    const query = 'foldre of many words that are alike and that no file has in its path';
    const stopped = new AbortController();
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns === 8) stopped.abort(new Error('The client is gone.'));
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const looking = refs.resolve({ query, limit: 10 }, {
      organizationId: 'lab',
      signal: stopped.signal,
    } as never);
    await expect(looking).rejects.toThrow('The client is gone.');
    clearImmediate(counting);
  });
});

describe('references', () => {
  it('find a database by slug, a release by id or the start of it, a target by id', async () => {
    const { id } = release();
    expect(await idsOf('demo')).toContain(`database ${appliance.releases.database('demo')!.id} exact`);
    expect(await idsOf(id)).toEqual([`release ${id} exact`]);
    expect((await idsOf(id.slice(0, 20)))[0]).toBe(`release ${id} prefix`);
    const engine = await appliance.engines.open(id);
    const target = engine.release.targets.id(3);
    const [first] = (await resolve(target)).references;
    expect(first).toMatchObject({
      kind: 'target',
      id: target,
      match: 'exact',
      similarity: 1,
      database_slug: 'demo',
    });
    const misspelt = `${target.slice(0, 2)}${target.slice(3)}`;
    expect((await idsOf(misspelt)).map((line) => line.split(' ')[1])).toContain(target);
  });

  it('find runs and files of the own organization, and nothing of another one', async () => {
    const { run } = used.ids;
    const typed = [run, run.slice(0, 12), fileId(), 'kept.bin', 'folder/kept', 'kpet bin'];
    for (const query of typed) {
      expect((await idsOf(query)).length, query).toBeGreaterThan(0);
      const others = await idsOf(query, rival);
      expect(
        others.filter((line) => /^(run|file) /.test(line)),
        query,
      ).toEqual([]);
    }
    expect((await idsOf('kept.bin'))[0]).toBe(`file ${fileId()} exact`);
    expect((await idsOf('folder/kept'))[0]).toBe(`file ${fileId()} prefix`);
  });

  it('reveal neither a file that is hidden from the key nor a private database', async () => {
    const key = appliance.keys.list().find(({ organizationId }) => organizationId === 'lab')!;
    const url = `${server.url}/v1/storage/files/acl?url=${encodeURIComponent(used.ids.file)}`;
    const acl = (rules: Json[]) => ask(url, 'PUT', used.key, { default: 'forbid', rules });
    await acl([{ principal: key.id, decision: 'hide' }]);
    expect(await idsOf('kept.bin')).toEqual([]);
    expect(await idsOf(fileId())).toEqual([]);
    await appliance.releases.share('demo', ['lab']);
    for (const query of ['demo', release().id, 'a', 'P'])
      expect(await idsOf(query, rival), query).toEqual([]);
    expect((await idsOf('demo')).length).toBeGreaterThan(0);
    await appliance.releases.share('demo', undefined);
  });

  it('have a stable order, and at most the requested number', async () => {
    const all = await resolve('a', used.key, { limit: 100 });
    const few = await resolve('a', used.key, { limit: 3 });
    expect(few.references).toEqual(all.references.slice(0, 3));
    expect(await resolve('a', used.key, { limit: 100 })).toEqual(all);
    for (const body of [{ query: '' }, { query: 'a', limit: 0 }, { query: 'a', limit: 101 }, {}]) {
      expect((await ask(`${server.url}/v1/refs/resolve`, 'POST', used.key, body)).status).toBe(422);
    }
  });

  it('of a release without an index find targets by exact id only, with a warning', async () => {
    const { id, slug } = release();
    const folder = join(used.folders.indexesFolder, slug);
    const manifest = JSON.parse(readFileSync(join(folder, id, 'manifest.json'), 'utf8')) as ReleaseManifest;
    const { names, ...files } = manifest.files;
    expect(names?.path).toBe('names.index');
    const older: ReleaseManifest = { ...manifest, files };
    const olderId = releaseId(older);
    const target = (await appliance.engines.open(id)).release.targets.id(3);
    renameSync(join(folder, id), join(folder, olderId));
    rmSync(join(folder, olderId, 'names.index'));
    writeFileSync(join(folder, olderId, 'manifest.json'), manifestText(older));
    await appliance.releases.publish({
      id: olderId,
      slug,
      publishedAt: new Date().toISOString(),
      manifest: older,
    });
    const answer = await resolve(target);
    expect(answer.unindexed_release_ids).toEqual([olderId]);
    expect(answer.references[0]).toMatchObject({ kind: 'target', id: target, match: 'exact' });
    expect((await idsOf(target.slice(0, -1))).filter((line) => line.startsWith('target'))).toEqual([]);
  });
});
