import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '#src/config.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { buildSimulated } from '#src/demo/simulated.js';
import { findEncoder } from '#src/encoder/find.js';
import { loadEncoder } from '#src/encoder/load.js';
import { readManifest } from '#src/release/manifest.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';

/* A database with more targets than one answer, and than one stored search, may list. */

const TARGETS = 10_050;

let small: SmallAppliance;
let key: string;

beforeAll(async () => {
  small = await startSmallAppliance();
  key = await small.keyOf('lab');
  const { config, releases } = small.appliance;
  // Every protein is a window of a simulated one.
  const windows = [16, 24].flatMap((length) =>
    small.demo.proteins.flatMap((protein) =>
      Array.from({ length: Math.max(0, protein.sequence.length - length) }, (_, start) => ({
        ...protein,
        id: `${protein.id}_${length}_${start}`,
        sequence: protein.sequence.slice(start, start + length),
      })),
    ),
  );
  expect(windows.length).toBeGreaterThanOrEqual(TARGETS);
  const encoder = await loadEncoder(await findEncoder('baseline-1', loadConfig({})));
  const folder = join(small.folder, 'making');
  const demo = { ...small.demo, proteins: windows.slice(0, TARGETS) };
  await buildSimulated(demo, encoder, folder, { slug: DEMO_SLUG });
  await encoder.close();
  const [id] = readdirSync(join(folder, DEMO_SLUG)).filter((name) => name.startsWith('dbr_'));
  const place = join(config.indexesFolder, 'large');
  mkdirSync(place);
  renameSync(join(folder, DEMO_SLUG, id!), join(place, id!));
  const manifest = await readManifest(join(place, id!));
  await releases.publish({ id: id!, slug: 'large', publishedAt: new Date().toISOString(), manifest });
}, 240_000);
afterAll(() => small.close());

async function ask(method: string, path: string, body?: unknown) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Prefer: 'wait=50' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(small.url + path, { method, headers, ...sent });
  return { status: response.status, body: (await response.json()) as any };
}

const search = (limit: number) => ({
  query: { kind: 'protein_sequence', sequence: small.sequences[0]!.slice(0, 64) },
  database: 'large',
  limit,
});
const idsOf = (rows: readonly { readonly target: { readonly id: string } }[]) =>
  rows.map(({ target }) => target.id);

describe('a database of 10,050 targets', () => {
  it('answers 5,000 targets inline and reports that more exist; a limit of 5,001 is refused', async () => {
    const { status, body } = await ask('POST', '/v1/homology', search(5_000));
    expect(status).toBe(200);
    expect(body.candidates).toHaveLength(5_000);
    expect(body.is_result_limit_reached).toBe(true);
    expect(body.database.searched_target_count).toBe(TARGETS);
    expect(body.candidates.map(({ rank }: { rank: number }) => rank)).toEqual(
      Array.from({ length: 5_000 }, (_, above) => above + 1),
    );
    expect(new Set(idsOf(body.candidates)).size).toBe(5_000);
    const { body: shorter } = await ask('POST', '/v1/homology', search(100));
    expect(idsOf(shorter.candidates)).toEqual(idsOf(body.candidates).slice(0, 100));
    expect((await ask('POST', '/v1/homology', search(5_001))).status).toBe(422);
  }, 120_000);

  it('stores 10,000 of them, each once over all pages, in the inline order; 10,001 are refused', async () => {
    const { body: inline } = await ask('POST', '/v1/homology', search(5_000));
    const { body: createdRun } = await ask('POST', '/v1/runs', {
      endpoint: 'homology.search',
      input: search(10_000),
    });
    const { body: run } = await ask('GET', `/v1/runs/${createdRun.data.id}`);
    expect(run.data).toMatchObject({ status: 'completed', result: { row_count: 10_000 } });
    expect(run.data.result.summary.is_result_limit_reached).toBe(true);
    const rows: any[] = [];
    for (let cursor = ''; ;) {
      const { body: page } = await ask('GET', `/v1/runs/${run.data.id}/results?limit=1000${cursor}`);
      rows.push(...page.data);
      if (!page.has_more) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(new Set(idsOf(rows)).size).toBe(10_000);
    expect(rows.map(({ rank }) => rank)).toEqual(Array.from({ length: 10_000 }, (_, above) => above + 1));
    expect(idsOf(rows).slice(0, 5_000)).toEqual(idsOf(inline.candidates));
    const refused = await ask('POST', '/v1/runs', { endpoint: 'homology.search', input: search(10_001) });
    expect([refused.status, refused.body.code]).toEqual([422, 'validation_failed']);
  }, 240_000);

  it('does not report a reached limit if the filter leaves as many targets as the limit', async () => {
    const value = String(small.demo.proteins[0]!.organism);
    const filter = { op: 'eq', field: 'organism', value };
    const { body } = await ask('POST', '/v1/homology', { ...search(5_000), filter });
    const { searched_target_count: count } = body.database;
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(5_000);
    expect([body.candidates.length, body.is_result_limit_reached]).toEqual([count, false]);
    const { body: exact } = await ask('POST', '/v1/homology', { ...search(count), filter });
    expect([exact.candidates.length, exact.is_result_limit_reached]).toEqual([count, false]);
    const { body: fewer } = await ask('POST', '/v1/homology', { ...search(count - 1), filter });
    expect([fewer.candidates.length, fewer.is_result_limit_reached]).toEqual([count - 1, true]);
  }, 120_000);
});
