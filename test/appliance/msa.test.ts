import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '#src/clients/typescript/client.js';
import type { HomologyCandidateSet } from '#src/clients/typescript/types/homology.js';
import type { MsaRunSummary } from '#src/clients/typescript/types/runs.js';
import type { MsaRequest } from '#src/contract/msa.js';
import { a3mRow } from '#src/sequence/a3m.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';

const REFORMAT = '/usr/share/hhsuite/scripts/reformat.pl';
/** Settings under which small simulated proteins all become rows. */
const EVERYTHING = {
  minimum_query_coverage_ratio: 0,
  minimum_normalized_score: 0,
  maximum_pairwise_identity_ratio: 1,
};
const hasHhsuite = existsSync('/usr/bin/hhfilter') && existsSync(REFORMAT);
if (!hasHhsuite) console.log('Skipped: hhsuite (hhfilter, hhmake, reformat.pl) is not installed here.');

let small: SmallAppliance;
let key: string;
let client: Client;
let stranger: Client;
let query: string;
let answer: HomologyCandidateSet;

beforeAll(async () => {
  small = await startSmallAppliance();
  key = await small.keyOf('lab');
  client = createClient({ url: small.url, key });
  stranger = createClient({ url: small.url, key: await small.keyOf('strangers') });
  query = small.sequences[0] as string;
  answer = await search(client);
});
afterAll(() => small.close());

async function search(who: Client, more: object = {}): Promise<HomologyCandidateSet> {
  return who.call('homology.search', {
    body: {
      query: { kind: 'protein_sequence', sequence: query },
      evidence: 'pairwise_sequence_alignment',
      limit: 60,
      ...more,
    },
  });
}

function build(more: Partial<MsaRequest> = {}, who = client) {
  const body = { receipt_id: answer.receipt.id, ...EVERYTHING, ...more };
  return who.call('sequences.msa.a3m.create', { body });
}

function download(id: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  const url = `${small.url}/v1/sequences/msa/a3m/${id}`;
  return fetch(url, { method, headers: { Authorization: `Bearer ${key}`, ...headers } });
}

interface Entry {
  readonly header: string;
  readonly row: string;
}

async function entriesOf(id: string): Promise<Entry[]> {
  const lines = (await (await download(id)).text()).split('\n').slice(0, -1);
  return lines.flatMap((line, at) =>
    at % 2 === 0 ? [{ header: line.slice(1), row: lines[at + 1] as string }] : [],
  );
}

describe('a multiple sequence alignment', () => {
  it('has the query first, then every aligned candidate by rank, as in its CIGAR', async () => {
    const { data, warnings } = await build();
    expect(warnings).toMatchObject([{ code: 'msa_without_e_values' }]);
    const [first, ...rest] = await entriesOf(data.id);
    expect(first).toEqual({ header: 'query', row: query });
    const expected = answer.candidates.flatMap(({ target, alignment }) =>
      alignment === undefined || alignment.cigar === ''
        ? []
        : [
            {
              id: target.id,
              row: a3mRow({
                cigar: alignment.cigar,
                queryStart: alignment.query_start,
                targetStart: alignment.target_start,
                queryLength: query.length,
                target: target.sequence,
              }),
            },
          ],
    );
    const seen = new Set([query]);
    const distinct = expected.filter(({ row }) => !seen.has(row) && seen.add(row));
    expect(rest.map(({ header, row }) => ({ id: header.split(' ')[0], row }))).toEqual(distinct);
    expect(data).toMatchObject({
      candidate_count: 60,
      duplicate_count: expected.length - distinct.length,
      row_count: distinct.length + 1,
    });
    // The database contains the query, so one row would repeat the query.
    expect(data.duplicate_count).toBeGreaterThan(0);
  });

  it('has headers with the measurements of each row, and no unsupported number', async () => {
    const { data } = await build();
    const [, entry] = await entriesOf(data.id);
    const [id, ...facts] = (entry as Entry).header.split(' ');
    const candidate = answer.candidates.find(({ target }) => target.id === id);
    const alignment = candidate?.alignment as NonNullable<typeof candidate>['alignment'] & object;
    expect(facts).toEqual([
      `identity=${alignment.sequence_identity_ratio.toFixed(3)}`,
      `coverage=${alignment.query_coverage_ratio.toFixed(3)}`,
      ...(candidate?.target.attributes['taxid'] === undefined
        ? []
        : [`taxid=${String(candidate.target.attributes['taxid'])}`]),
      `score=${candidate?.measurements.affine.raw_score}`,
      `query=${alignment.query_start + 1}-${alignment.query_end}`,
      `target=${alignment.target_start + 1}-${alignment.target_end}/${candidate?.target.sequence.length}`,
    ]);
  });

  it('has, by default, only rows that cover half of the query, pass the score bound and differ', async () => {
    const cutOffs = { minimum_query_coverage_ratio: undefined, minimum_normalized_score: undefined };
    const { data } = await build({ ...cutOffs, maximum_pairwise_identity_ratio: undefined });
    const rows = (await entriesOf(data.id)).slice(1);
    expect(rows.length).toBeGreaterThan(0);
    for (const { header } of rows) {
      const candidate = answer.candidates.find(({ target }) => target.id === header.split(' ')[0]);
      expect(candidate?.alignment?.query_coverage_ratio).toBeGreaterThanOrEqual(0.5);
      expect(candidate?.measurements.affine.normalized_score).toBeGreaterThanOrEqual(0.25);
    }
    expect(data.filtered_count).toBeGreaterThan(0);
  });

  it('is ordered by score on request', async () => {
    const { data } = await build({ sort: 'score' });
    const scores = (await entriesOf(data.id))
      .slice(1)
      .map(({ header }) => Number(/score=(\d+)/.exec(header)?.[1]));
    expect(scores).toEqual(scores.toSorted((left, right) => right - left));
    expect(scores).not.toEqual(
      (await entriesOf((await build()).data.id))
        .slice(1)
        .map(({ header }) => Number(/score=(\d+)/.exec(header)?.[1])),
    );
  });

  it('has one id for the same inputs from any caller, and another for other inputs', async () => {
    const { data } = await build();
    const foreign = await search(stranger);
    expect(foreign.receipt.id).toBe(answer.receipt.id);
    const again = await build({}, stranger);
    expect(again.data).toEqual(data);
    const other = await build({ maximum_depth: 5 });
    expect(other.data.id).not.toBe(data.id);
  });

  it('is text with a strong constant tag, and a JSON string if the client prefers JSON', async () => {
    const { data } = await build();
    const text = await download(data.id);
    const body = await text.text();
    expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(createHash('sha256').update(body).digest('hex')).toBe(data.a3m_sha256);
    expect(text.headers.get('etag')).toBe(`"${data.a3m_sha256}"`);
    expect(text.headers.get('cache-control')).toContain('immutable');
    const json = await download(data.id, { Accept: 'application/json' });
    expect(json.headers.get('content-type')).toBe('application/json');
    expect(json.headers.get('etag')).not.toBe(text.headers.get('etag'));
    expect(await json.json()).toBe(body);
    const unchanged = await download(data.id, { 'If-None-Match': `"x", ${text.headers.get('etag')}` });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
    const head = await download(data.id, {}, 'HEAD');
    expect(head.headers.get('content-length')).toBe(String(data.a3m_bytes));
  });

  it('applies coverage, identity and depth, and counts the rows that each removed', async () => {
    const { data } = await build({ minimum_query_coverage_ratio: 0.5, maximum_sequence_identity_ratio: 0.9 });
    const rows = (await entriesOf(data.id)).slice(1);
    expect(rows.length).toBeGreaterThan(0);
    for (const { header } of rows) {
      const [, identity, coverage] = /identity=(\S+) coverage=(\S+)/.exec(header) ?? [];
      expect(Number(identity)).toBeLessThanOrEqual(0.9);
      expect(Number(coverage)).toBeGreaterThanOrEqual(0.5);
    }
    expect(data.filtered_count).toBeGreaterThan(0);
    const shallow = await build({ maximum_depth: 3, selection: 'rank' });
    const whole = await build();
    expect(await entriesOf(shallow.data.id)).toEqual((await entriesOf(whole.data.id)).slice(0, 3));
    expect(shallow.data.beyond_depth_count).toBe(whole.data.row_count - 3);
  });

  it('of the query alone has a warning', async () => {
    const { data, warnings } = await build({ maximum_depth: 1 });
    expect(warnings.map(({ code }) => code)).toEqual(['msa_without_e_values', 'msa_query_only']);
    expect(await entriesOf(data.id)).toEqual([{ header: 'query', row: query }]);
  });

  it('consists of its components in their order', async () => {
    const targets = answer.candidates.slice(1, 4).map(({ target }) => target.id);
    const ids: string[] = [];
    for (const target_id of targets.reverse()) {
      const body = { receipt_id: answer.receipt.id, target_id };
      const component = await client.call('sequences.msa.components.create', { body });
      const again = await client.call('sequences.msa.components.create', { body });
      expect(again.data).toEqual(component.data);
      ids.push(component.data.id);
    }
    const { data } = await build({ component_ids: ids });
    const names = (await entriesOf(data.id)).map(({ header }) => header.split(' ')[0]);
    expect(names).toEqual(['query', ...targets]);
    const foreign = build({ component_ids: ids }, stranger);
    await expect(foreign).rejects.toMatchObject({ status: 403, code: 'permission_denied' });
  });
});

describe('a refused alignment request', () => {
  it('names a receipt without alignments', async () => {
    const measured = await search(client, { evidence: 'candidate_measurement' });
    await expect(build({ receipt_id: measured.receipt.id })).rejects.toMatchObject({
      status: 422,
      code: 'msa_alignments_missing',
    });
  });

  it('names a target outside the receipt, or a component of another query', async () => {
    const body = { receipt_id: answer.receipt.id, target_id: 'absent' };
    await expect(client.call('sequences.msa.components.create', { body })).rejects.toMatchObject({
      code: 'msa_target_not_in_receipt',
    });
    const other = await client.call('homology.search', {
      body: {
        query: { kind: 'protein_sequence', sequence: small.sequences[1] as string },
        evidence: 'pairwise_sequence_alignment',
        limit: 3,
      },
    });
    const target_id = other.candidates[0]?.target.id as string;
    const component = await client.call('sequences.msa.components.create', {
      body: { receipt_id: other.receipt.id, target_id },
    });
    await expect(build({ component_ids: [component.data.id] })).rejects.toMatchObject({
      code: 'msa_components_mismatch',
    });
  });

  it('has a bound on E-values without a calibration', async () => {
    await expect(build({ maximum_expected_false_hits: 1 })).rejects.toMatchObject({
      code: 'significance_unavailable',
    });
  });

  it('answers 404 with a problem body for an alignment that is absent or of another organization', async () => {
    const { data } = await build({ maximum_depth: 7 });
    await expect(
      stranger.call('sequences.msa.a3m.get', { params: { a3m_object_id: data.id } }),
    ).rejects.toMatchObject({ status: 403, code: 'permission_denied' });
    const absent = await download(`msa_${'0'.repeat(64)}`);
    expect(absent.status).toBe(404);
    expect(absent.headers.get('content-type')).toBe('application/problem+json');
    expect(await absent.json()).toMatchObject({ type: 'about:blank', status: 404 });
  });
});

describe('an alignment that a run builds', () => {
  const create = (input: object, who = client) =>
    who.call('runs.create', {
      headers: { Prefer: 'wait=60' },
      body: { endpoint: 'sequences.msa.build', input } as never,
    });

  it('equals that of the route, with its warnings', async () => {
    const { data, warnings: built } = await build({ maximum_depth: 9 });
    const { data: run } = await create({ receipt_id: answer.receipt.id, ...EVERYTHING, maximum_depth: 9 });
    expect(run).toMatchObject({ status: 'completed', usage: { billable_units: 1 } });
    expect(run.result?.summary).toEqual({ object: 'msa_build_summary', msa: data, warnings: built });
    const lonely = await create({ receipt_id: answer.receipt.id, maximum_depth: 1 });
    const { warnings } = lonely.data.result?.summary as MsaRunSummary;
    expect(warnings.map(({ code }) => code)).toEqual(['msa_without_e_values', 'msa_query_only']);
  });

  it('is refused before it is accepted if its receipt or a component cannot be used', async () => {
    const code = (input: object, who = client) =>
      create(input, who).then(
        () => 'accepted',
        (failure: { code: string }) => failure.code,
      );
    const receipt_id = answer.receipt.id;
    expect(await code({ receipt_id: `rcpt_${'0'.repeat(64)}` })).toBe('receipt_not_found');
    const visitor = createClient({ url: small.url, key: await small.keyOf('visitors') });
    expect(await code({ receipt_id }, visitor)).toBe('permission_denied');
    expect(await code({ receipt_id, component_ids: [`msac_${'0'.repeat(64)}`] })).toBe(
      'msa_component_not_found',
    );
    const measured = await search(client, { evidence: 'candidate_measurement' });
    expect(await code({ receipt_id: measured.receipt.id })).toBe('msa_alignments_missing');
  });
});

describe.skipIf(!hasHhsuite)('the tools of the HH-suite', () => {
  it('read the A3M: reformat.pl writes rows as long as the query, hhfilter and hhmake accept it', async () => {
    const { data } = await build();
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-hhsuite-'));
    try {
      const path = join(folder, 'query.a3m');
      writeFileSync(path, await (await download(data.id)).text());
      const run = (program: string, ...options: string[]): string =>
        execFileSync(program, options, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
      run('perl', REFORMAT, 'a3m', 'fas', path, join(folder, 'query.fas'), '-r', '-M', 'first');
      const fasta = readFileSync(join(folder, 'query.fas'), 'utf8').split('>').slice(1);
      const rows = fasta.map((entry) => entry.slice(entry.indexOf('\n')).replaceAll('\n', ''));
      expect(rows).toEqual((await entriesOf(data.id)).map(({ row }) => row.replace(/[a-z]/g, '')));
      run(
        'hhfilter',
        '-i',
        path,
        '-o',
        join(folder, 'filtered.a3m'),
        '-id',
        '100',
        '-diff',
        '0',
        '-qid',
        '0',
      );
      const filtered = readFileSync(join(folder, 'filtered.a3m'), 'utf8').match(/^>/gm);
      expect(filtered?.length).toBeGreaterThan(1);
      expect(filtered?.length).toBeLessThanOrEqual(data.row_count);
      run('hhmake', '-i', path, '-o', join(folder, 'query.hhm'), '-M', 'a2m');
      const model = readFileSync(join(folder, 'query.hhm'), 'utf8');
      expect(model).toMatch(new RegExp(`^LENG +${query.length} match states`, 'm'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
