import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '#src/clients/typescript/client.js';
import type { SearchRunSummary } from '#src/clients/typescript/types/runs.js';
import type { HomologyRequest } from '#src/contract/search/homology.js';
import type { ExportRunSummary } from '#src/contract/runs/run-files.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { recordedFetch } from '../tools/recorded.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';

/* Provenance and evidence of the real appliance. They name request, inputs, backends and outputs. */

let small: SmallAppliance;
let client: Client;
const answers = recordedFetch();
let apiKey: string;
beforeAll(async () => {
  small = await startSmallAppliance();
  apiKey = await small.keyOf('lab');
  client = createClient({ url: small.url, key: apiKey, fetch: answers.fetch });
});
afterAll(() => small.close());

const query = () => ({ kind: 'protein_sequence', sequence: small.sequences[0] as string }) as const;

async function search(more: Partial<HomologyRequest> = {}) {
  const evidence = 'pairwise_sequence_alignment' as const;
  return client.call('homology.search', { body: { query: query(), limit: 5, evidence, ...more } });
}

async function run(
  endpoint: string,
  input: unknown,
  headers: Readonly<Record<string, string>> = { Prefer: 'wait=60' },
) {
  return client.call('runs.create', { headers, body: { endpoint, input } as never });
}

const TOOLS = [
  { name: 'gloaming', version: expect.stringMatching(/^0\.1\.0\+/), path: expect.any(String) },
  { name: 'gloaming-kernels', version: expect.any(String), path: expect.any(String) },
  { name: 'encoder baseline-1', version: expect.stringMatching(/^sha256:/), path: expect.any(String) },
];
const MODEL = {
  name: 'model of baseline-1',
  version: expect.stringMatching(/^sha256:/),
  path: expect.stringMatching(/onnx$/),
};

describe('provenance', () => {
  it('of a receipt names the release, the kernels and the encoder of its search', async () => {
    const { receipt, database } = await search();
    const body = await client.call('receipts.get', { params: { receipt_id: receipt.id } });
    expect(body.provenance.tool_versions).toEqual(TOOLS);
    expect(body.provenance.database_snapshots).toEqual([
      {
        name: DEMO_SLUG,
        version: database.release_id,
        digest: database.release_id.replace('dbr_', 'sha256:'),
        kind: 'homology_release',
      },
    ]);
  });

  it('of an alignment built twice names the second as cached', async () => {
    const { receipt } = await search();
    const build = async () => client.call('sequences.msa.a3m.create', { body: { receipt_id: receipt.id } });
    const [first, second] = [await build(), await build()];
    expect(second.data).toEqual(first.data);
    expect(first.provenance).toMatchObject({ cache_hit: false, generated_object_ids: [first.data.id] });
    expect(second.provenance).toMatchObject({ cache_hit: true, generated_object_ids: [] });
    expect(first.provenance.tool_versions).toEqual([...TOOLS, MODEL]);
    expect(first.evidence.output_refs).toEqual([first.data.id]);
  });

  it('of a target space compiled twice names the second as existing', async () => {
    const { database } = await search();
    const compile = async () => {
      const Filter = { op: 'exists', field: 'organism' } as const;
      const body = { DatabaseReleaseID: database.release_id, Filter };
      return (await client.call('homology.target_space_compilations.create', { body })).provenance;
    };
    expect((await compile()).cache_hit).toBe(false);
    expect((await compile()).cache_hit).toBe(true);
  });

  it('of a run names its request, inputs, outputs, rows and warnings', async () => {
    const { database } = await search();
    const created = await run('homology.search', { query: query(), database: DEMO_SLUG, limit: 7 });
    const read = await client.call('runs.get', { params: { run_id: created.data.id } });
    const summary = read.data.result?.summary as SearchRunSummary;
    for (const { provenance, evidence, warnings } of [created, read]) {
      expect(provenance.tool_versions).toEqual([...TOOLS, MODEL]);
      expect(provenance.database_snapshots).toMatchObject([{ version: database.release_id }]);
      expect(evidence.object_refs).toEqual([database.release_id]);
      expect(evidence.output_refs).toEqual([created.data.id, summary.receipt.id]);
      expect(evidence.row_count).toBe(7);
      expect(warnings).toEqual(summary.warnings);
      expect(warnings.map(({ code }) => code)).toEqual(['simulated_database']);
      expect(evidence.warnings_count).toBe(1);
    }
    expect(created.evidence.input_refs).toEqual([DEMO_SLUG]);
    expect(read.evidence.input_refs).toEqual([created.data.id, DEMO_SLUG]);
  });
});

describe('a run', () => {
  it('has low priority unless its creator waits for it', async () => {
    const input = { query: query() };
    expect((await run('homology.search', input)).data.is_background).toBe(false);
    expect((await run('homology.search', input, {})).data.is_background).toBe(true);
    expect((await run('homology.search', input, { Prefer: 'respond-async' })).data.is_background).toBe(true);
  });

  it('is refused with places within its input', async () => {
    const filter = { op: 'eq', field: 'no.such', value: 'x' };
    await expect(run('homology.search', { query: query(), filter })).rejects.toMatchObject({
      param: 'input.filter.field',
    });
    expect(JSON.parse(answers.last()).error.errors[0]).toMatchObject({
      loc: ['body', 'input', 'filter', 'field'],
      input: 'no.such',
    });
    await expect(run('homology.search', { query: query(), database: 'nowhere' })).rejects.toMatchObject({
      param: 'input.database',
    });
  });

  it('that builds an alignment is billed, so that its cost can be estimated', async () => {
    const { receipt } = await search();
    const built = await run('sequences.msa.build', { receipt_id: receipt.id });
    expect(built.data.usage.billable_units).toBe(1);
    expect(built.evidence.input_refs).toEqual([receipt.id]);
  });

  it('that exports names its bytes by their content, at a URL for these bytes only', async () => {
    const searched = await run('homology.search', { query: query(), limit: 3 });
    const exported = await run('homology.export', {
      run_id: searched.data.id,
      format: 'fasta',
      path: 'a.fasta',
    });
    const { file } = exported.data.result?.summary as ExportRunSummary;
    expect(file.object_id).toBe(`obj_${file.checksum}`);
    expect(exported.evidence.output_refs).toContain(file.object_id);
    const read = async () =>
      fetch(file.object_url as string, { headers: { authorization: `Bearer ${apiKey}` } });
    expect((await read()).status).toBe(200);
    const other = await run('homology.search', { query: query(), limit: 4 });
    await run('homology.export', { run_id: other.data.id, format: 'fasta', path: 'a.fasta' });
    const expired = await read();
    expect([expired.status, expired.headers.get('service-error-type')]).toEqual([410, 'url_expired']);
  });
});

describe('the compilation route', () => {
  it('names its own field if the release does not exist', async () => {
    const Filter = { op: 'exists', field: 'organism' } as const;
    const body = { DatabaseReleaseID: `dbr_${'0'.repeat(64)}`, Filter };
    await expect(client.call('homology.target_space_compilations.create', { body })).rejects.toMatchObject({
      code: 'release_not_found',
      param: 'DatabaseReleaseID',
    });
  });
});

describe('a search', () => {
  it('is incomplete if significance was requested and no calibration supports it', async () => {
    expect((await search()).evidence_summary.is_requested_evidence_complete).toBe(false);
    const unjudged = await search({ significance: 'not_requested' });
    expect(unjudged.evidence_summary.is_requested_evidence_complete).toBe(true);
  });

  it('accepts the filters whose operators and limits its release publishes', async () => {
    const body = await client.call('homology.databases.releases.list', {
      params: { database: DEMO_SLUG },
    });
    const [release] = body.data;
    const limits = release?.filter_limits;
    const field = release?.filter_fields.find(({ name }) => name === 'organism');
    expect(field?.operators).toContain('prefix');
    expect(field?.operators).not.toContain('descends_from');
    const nested = (depth: number): object =>
      depth === 1 ? { op: 'exists', field: 'organism' } : { op: 'not', filter: nested(depth - 1) };
    const most = limits?.maximum_depth ?? 0;
    await search({ filter: nested(most) as never });
    const failure = await search({ filter: nested(most + 1) as never }).catch((each: unknown) => each);
    expect(failure).toMatchObject({
      code: 'invalid_filter',
      details: { errors: [{ ctx: { depth: most } }] },
    });
  });
});
