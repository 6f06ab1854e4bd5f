import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { createClient, type Client } from '#src/clients/typescript/client.js';
import type { HomologyRequest } from '#src/contract/search/homology.js';
import { ROUTES } from '#src/contract/document/routes.js';
import { copyDemoRelease } from '../tools/fixtures.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';
import { unchangingFields } from '../tools/unchanging-fields.js';

/*
 * Every field of an answer changes between two scenarios, or has an entry here with the reason why it cannot. A field
 * that begins to change must leave the list.
 */

const ONE_BUILD = 'one build, one kernel backend, one encoder in this test';
const CONSTANT = 'a constant of the contract';
const TOO_SMALL = 'these releases are too small for an approximate policy; test/search/sampled shows it';
const NO_FAMILIES = 'a release with relatives, which test/relatives serves, has it';
const SEARCH: Readonly<Record<string, string>> = {
  '.object': CONSTANT,
  '.query.kind': CONSTANT,
  '.query.normalization_id': ONE_BUILD,
  '.ranking.comparability': CONSTANT,
  '.ranking.order': CONSTANT,
  '.ranking.primary_measurement': CONSTANT,
  '.ranking.scope': CONSTANT,
  '.ranking.tie_breakers.[].field': 'one tie breaker is needed: ids are unique',
  '.ranking.tie_breakers.[].order': 'one tie breaker is needed: ids are unique',
  '.execution.engine': ONE_BUILD,
  '.execution.engine_release': ONE_BUILD,
  '.execution.semantic_profile_id': ONE_BUILD,
  '.execution.server_version': ONE_BUILD,
  '.execution.policy.is_deterministic': 'integer arithmetic: every policy is',
  '.execution.policy.is_exhaustive': TOO_SMALL,
  '.execution.policy.outcome': TOO_SMALL,
  '.execution.policy.resolved_guarantee': TOO_SMALL,
  '.execution.policy.policy_id': TOO_SMALL,
  '.execution.policy.qualification_id': TOO_SMALL,
  '.execution.policy.nearest_count': TOO_SMALL,
  '.execution.policy.striking_count': TOO_SMALL,
  '.execution.policy.known_losses': TOO_SMALL,
  '.ranking.selection': TOO_SMALL,
  '.candidates.[].evidence_rank': TOO_SMALL,
  '.evidence_summary.significance.database_size':
    'a release with a calibration has it; services/search/database-size.test.ts shows it',
  '.query.relative_count': NO_FAMILIES,
  '.performance.relatives_search_ms': NO_FAMILIES,
  '.usage.billable_formula_id': 'one formula for direct searches',
  '.usage.billable_units': 'each direct search is one unit',
};
/** Absent without a calibration. Tests of calibrated releases show that these fields change. */
const UNCALIBRATED = '.candidates.[].significance.measurements.';
/** Of a calibrated release only. services/search/alignments-served.test.ts shows answers that have several. */
const SEVERAL_ALIGNMENTS = ['.candidates.[].alignments', '.candidates.[].is_alignment_limit_reached'];
/** Absent without a graph of neighbours. services/search/propagation-served.test.ts shows answers that have it. */
const WITHOUT_GRAPH = '.propagation.';

let small: SmallAppliance;
let client: Client;

beforeAll(async () => {
  small = await startSmallAppliance();
  client = createClient({ url: small.url, key: await small.keyOf('lab') });
  const { config, releases } = small.appliance;
  const release = await copyDemoRelease(join(small.folder, 'another'), 12, 40);
  const place = join(config.indexesFolder, 'other');
  mkdirSync(place);
  renameSync(release.directory, join(place, release.id));
  const manifest = { ...release.manifest, title: 'Another', description: 'Another one.' };
  await releases.publish({ id: release.id, slug: 'other', publishedAt: new Date().toISOString(), manifest });
});
afterAll(() => small.close());

const exists = (field: string) => ({ op: 'exists', field }) as const;

async function search(more: Partial<HomologyRequest>) {
  const query = { kind: 'protein_sequence', sequence: small.sequences[0] as string } as const;
  return await client.call('homology.search', { body: { query, ...more } });
}

describe('every field of an answer changes with its source:', () => {
  it('homology.search', async () => {
    const bodies = [
      await search({ database: DEMO_SLUG }),
      await search({ database: DEMO_SLUG }),
      await search({ database: 'other', significance: 'not_requested', guarantee: 'exhaustive' }),
      await search({ database: DEMO_SLUG, evidence: 'pairwise_sequence_alignment', limit: 3 }),
      await search({
        database: DEMO_SLUG,
        evidence: 'pairwise_sequence_alignment',
        filter: exists('organism'),
      }),
      await search({ database: DEMO_SLUG, filter: { op: 'eq', field: 'organism', value: 'Absent' } }),
      await search({
        query: { kind: 'protein_sequence', sequence: 'WWWWWWWW' },
        evidence: 'pairwise_sequence_alignment',
      }),
      await search({ database: DEMO_SLUG, query_range: { start: 0, end: 30 } }),
      await search({ database: DEMO_SLUG, query_range: { start: 5, end: 40 } }),
      // Makes queue wait and execution long enough for a clock of milliseconds.
      ...(await Promise.all(
        Array.from({ length: 12 }, (_, at) => search({ limit: at + 10, query: longQuery(at) })),
      )),
    ];
    const still = unchangingFields(ROUTES['homology.search'].success.schema, bodies);
    const isElsewhere = (path: string): boolean =>
      [UNCALIBRATED, WITHOUT_GRAPH, ...SEVERAL_ALIGNMENTS].some((start) => path.startsWith(start));
    expect(still.filter((path) => !isElsewhere(path)).sort()).toEqual(Object.keys(SEARCH).sort());
  });

  it('homology.target_space_compilations.create', async () => {
    const releases = await client.call('homology.databases.list', {});
    const compile = async (at: number, field: string) =>
      (
        await client.call('homology.target_space_compilations.create', {
          body: { DatabaseReleaseID: releases.data[at]?.default_release_id as string, Filter: exists(field) },
        })
      ).data;
    const schema = ROUTES['homology.target_space_compilations.create'].success.schema.properties.data;
    expect(unchangingFields(schema, [await compile(0, 'organism'), await compile(1, 'reviewed')])).toEqual([
      '.object', // a constant of the contract
      '.filter_schema_id', // both databases have the same fields, so the same schema
      '.semantic_profile_id', // one encoder in this test
    ]);
  });

  it('receipts.get', async () => {
    const get = async (more: Partial<HomologyRequest>) => {
      const { receipt } = await search(more);
      return (await client.call('receipts.get', { params: { receipt_id: receipt.id } })).data;
    };
    const bodies = [await get({ limit: 1 }), await get({ limit: 20, filter: exists('organism') })];
    expect(unchangingFields(ROUTES['receipts.get'].success.schema.properties.data, bodies)).toEqual([
      '.object',
    ]);
  });

  it('homology.databases.list and homology.databases.releases.list', async () => {
    const databases = await client.call('homology.databases.list', { query: { limit: 1 } });
    const rest = await client.call('homology.databases.list', {
      query: { cursor: databases.next_cursor as string },
    });
    expect(unchangingFields(ROUTES['homology.databases.list'].success.schema, [databases, rest])).toEqual([
      '.object',
      '.data.[].object',
      '.data.[].is_simulated', // both are
      '.data.[].release_count', // one each
    ]);
    const releases = await Promise.all(
      [DEMO_SLUG, 'other'].map(async (database) => {
        const body = await client.call('homology.databases.releases.list', { params: { database } });
        return body;
      }),
    );
    const still = unchangingFields(ROUTES['homology.databases.releases.list'].success.schema, releases);
    expect(
      still.filter((path) => !/filter_(fields|limits)|encoder|dimension|normalization/.test(path)),
    ).toEqual([
      '.object',
      '.data.[].object',
      '.data.[].is_default', // the only release is the default one
      '.data.[].is_simulated',
      '.data.[].filter_schema_id', // both databases have the same fields
      '.has_more', // one release each
      '.next_cursor',
    ]);
  });
});

/** A query that takes the kernels some milliseconds. */
function longQuery(at: number) {
  return { kind: 'protein_sequence', sequence: small.sequences.slice(at, at + 20).join('') } as const;
}
