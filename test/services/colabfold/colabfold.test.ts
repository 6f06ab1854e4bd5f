import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';
import { colabfoldClient, gather, templatesOf } from './colabfold-client.js';

/* Proteins of a simulated database have no E-values, so rows are selected by coverage alone. */
const COLABFOLD = { database: 'demo', max_evalue: null, max_sequences: 50 };

/** Files of clients that define run_mmseqs2, such as colabfold/colabfold.py: paths separated by colons. */
const ownClients = (process.env.GLOAMING_COLABFOLD_CLIENTS ?? '').split(':').filter(Boolean);
if (ownClients.length === 0) console.log('Skipped: GLOAMING_COLABFOLD_CLIENTS names no file of a client.');

let small: SmallAppliance;
let key: string;
let hostUrl: string;

beforeAll(async () => {
  small = await startSmallAppliance({ colabfold: { ...COLABFOLD, anonymous_organization: 'here' } });
  key = await small.keyOf('lab');
  hostUrl = `${small.url}/colabfold`;
});
afterAll(() => small.close());

const client = colabfoldClient(() => hostUrl);
const basic = (password = key) => ({
  Authorization: `Basic ${Buffer.from(`x:${password}`).toString('base64')}`,
});
const withoutInsertions = (row: string) => row.replace(/[a-z]/g, '');
/** Alignment files of a ticket that also searched the environmental database. */
const ALIGNMENTS = ['uniref.a3m', 'bfd.mgnify30.metaeuk30.smag30.a3m'];
const rowsOf = (lines: readonly string[] = []) => lines.filter((_, at) => at % 2 === 1);

describe("ColabFold's MSA interface", () => {
  it('answers a query with its alignment under the name that the client gave it', async () => {
    const [query] = small.sequences as [string];
    const { files } = await client.run({ sequences: [query], mode: 'all', headers: basic() });
    expect([...files.keys()]).toEqual(['uniref.a3m', 'pdb70.m8']);
    const lines = gather(files.get('uniref.a3m')!).get(101)!;
    expect(lines.slice(0, 2)).toEqual(['>101', query]);
    expect(lines.length).toBeGreaterThan(4);
    for (const row of rowsOf(lines)) expect(withoutInsertions(row)).toHaveLength(query.length);
  });

  it('accepts only rows that cover half of the query', async () => {
    const [, query] = small.sequences as [string, string];
    const { files } = await client.run({ sequences: [query], mode: 'nofilter', headers: basic() });
    const rows = rowsOf(gather(files.get('uniref.a3m')!).get(101));
    const headers = gather(files.get('uniref.a3m')!)
      .get(101)!
      .filter((line) => line.startsWith('>'));
    const covered = headers.slice(1).map((header) => {
      const [, , , , start, end] = header.split('\t').map(Number) as number[];
      return (end! - start! + 1) / query.length;
    });
    expect(rows.length).toBeGreaterThan(1);
    expect(Math.min(...covered)).toBeGreaterThanOrEqual(0.5);
    expect(rows.length - 1).toBeLessThan(50);
  });

  it('has a block for each query in each file, which NUL ends', async () => {
    const sequences = small.sequences.slice(0, 3);
    const { files } = await client.run({ sequences, mode: 'env', headers: basic() });
    expect([...files.keys()]).toEqual([...ALIGNMENTS, 'pdb70.m8']);
    for (const text of ALIGNMENTS.map((name) => files.get(name)!)) {
      expect(text.split('\0')).toHaveLength(4);
      expect(text.endsWith('\0')).toBe(true);
      const gathered = gather(text);
      expect([...gathered.keys()]).toEqual([101, 102, 103]);
      expect(sequences.map((_, at) => gathered.get(101 + at)![1])).toEqual(sequences);
    }
    // No environmental database is set, so its file holds only the queries.
    expect(rowsOf(gather(files.get('bfd.mgnify30.metaeuk30.smag30.a3m')!).get(101))).toHaveLength(1);
  });

  it('returns no templates to a client that requests some', async () => {
    const sequences = small.sequences.slice(0, 2);
    const { files } = await client.run({ sequences, mode: 'env', headers: basic() });
    expect(templatesOf(files, sequences.length)).toEqual([undefined, undefined]);
  });

  it('pairs the chains of a complex by species, row by row', async () => {
    const sequences = small.sequences.slice(0, 2);
    const request = { sequences, isPaired: true, headers: basic() };
    const greedy = await client.run({ ...request, mode: 'pairgreedy-env' });
    expect([...greedy.files.keys()]).toEqual(['pair.a3m']);
    const chains = [...gather(greedy.files.get('pair.a3m')!).values()];
    expect(chains.map((lines) => lines.length)).toEqual([chains[0]!.length, chains[0]!.length]);
    const taxids = await taxidsOf(
      chains.flatMap((lines) => lines.filter((line) => line.startsWith('>')).slice(1)),
    );
    const ids = chains.map((lines) =>
      lines
        .filter((line) => line.startsWith('>'))
        .slice(1)
        .map(idOf),
    );
    expect(ids[0]!.length).toBeGreaterThan(0);
    expect(ids[0]!.map((id) => taxids.get(id))).toEqual(ids[1]!.map((id) => taxids.get(id)));
    expect(new Set(ids[0]!.map((id) => taxids.get(id))).size).toBe(ids[0]!.length);
    const complete = await client.run({ ...request, mode: 'paircomplete' });
    // For two chains both modes select species with proteins for both.
    expect(complete.files.get('pair.a3m')).toBe(greedy.files.get('pair.a3m'));
  });

  it('pads a chain without a protein of the species in greedy mode', async () => {
    const sequences = small.sequences.slice(0, 3);
    const request = { sequences, isPaired: true, headers: basic() };
    const greedy = gather((await client.run({ ...request, mode: 'pairgreedy' })).files.get('pair.a3m')!);
    const complete = gather((await client.run({ ...request, mode: 'paircomplete' })).files.get('pair.a3m')!);
    const depths = (of: ReadonlyMap<number, readonly string[]>) =>
      [...of.values()].map((lines) => lines.length);
    expect(new Set(depths(greedy)).size).toBe(1);
    expect(depths(complete)[0]).toBeLessThanOrEqual(depths(greedy)[0]!);
    const gaps = (of: ReadonlyMap<number, readonly string[]>) =>
      [...of.values()].flatMap((lines) => rowsOf(lines)).filter((row) => /^-+$/.test(row));
    expect(gaps(complete)).toEqual([]);
    // Protenix reads a block by its headers, and pairs rows by their index.
    for (const lines of greedy.values()) {
      const headers = lines.filter((line) => line.startsWith('>'));
      expect(new Set(headers).size).toBe(headers.length);
    }
    expect(gaps(greedy).length).toBeGreaterThan(1);
  });

  it('searches a sequence once, however often, in whatever complex and mode it is sent', async () => {
    const [first, second] = small.sequences.slice(10) as [string, string];
    const before = await runCount();
    const alone = await client.run({ sequences: [first], mode: 'env', headers: basic() });
    expect(await runCount()).toBe(before + 1);
    const again = await client.run({ sequences: [first], mode: 'env', headers: basic() });
    expect(again.id).toBe(alone.id);
    await client.run({ sequences: [second, first], mode: 'env', headers: basic() });
    await client.run({ sequences: [second, first], mode: 'pairgreedy', isPaired: true, headers: basic() });
    expect(await runCount()).toBe(before + 2);
  });

  it('searches a sequence again whose run was cancelled', async () => {
    const sequences = [small.sequences[20]!];
    const ticket = await client.submit({ sequences, mode: 'all', headers: basic() });
    const [runId] = ticket.run_ids as [string];
    const cancelled = await call('POST', `/v1/runs/${runId}/cancel`);
    if (cancelled.status === 200) expect((await client.status(ticket.id, basic())).status).toBe('ERROR');
    const { files } = await client.run({ sequences, mode: 'all', headers: basic() });
    expect(gather(files.get('uniref.a3m')!).get(101)!.length).toBeGreaterThan(2);
  });

  it('accepts the key as a Bearer token, and in the header of Boltz with a JSON content type', async () => {
    const body = new URLSearchParams({ q: `>101\n${small.sequences[0]}\n`, mode: 'env' }).toString();
    const ways: readonly Record<string, string>[] = [
      { Authorization: `Bearer ${key}` },
      { 'X-API-Key': key, 'Content-Type': 'application/json' },
    ];
    for (const headers of ways) {
      const response = await fetch(`${hostUrl}/ticket/msa`, { method: 'POST', headers, body });
      expect(await response.json()).toMatchObject({ status: 'COMPLETE', id: expect.any(String) });
    }
  });

  it('serves local requests without a key as the anonymous organization, except those of web pages', async () => {
    const body = new URLSearchParams({ q: `>101\n${small.sequences[0]}\n`, mode: 'env' });
    const ask = (headers: Record<string, string>) =>
      fetch(`${hostUrl}/ticket/msa`, { method: 'POST', headers, body });
    const { id } = (await (await ask(basic('example_password'))).json()) as { id: string };
    expect((await client.status(id)).status).not.toBe('ERROR');
    // The run belongs to the anonymous organization, not to the one with a key.
    expect(await client.status(id, basic())).toMatchObject({ status: 'ERROR' });
    for (const foreign of [
      { Origin: 'http://elsewhere.example' },
      { 'X-Forwarded-For': '192.0.2.1' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ] as Record<string, string>[]) {
      const refused = await ask(foreign);
      expect([refused.status, await refused.json()]).toMatchObject([401, { status: 'ERROR' }]);
    }
  });

  it.each([
    ['no sequence', { q: '', mode: 'env' }, /at least one residue/],
    ['letters that are no protein', { q: '>101\nMK1\n', mode: 'env' }, /"1"/],
    ['a mode that there is not', { q: '>101\nMKV\n', mode: 'magic' }, /mode .* not "magic"/],
    ['a header that is too long', { q: `>${'n'.repeat(100)}\nMKV\n`, mode: 'env' }, /header has at most 64/],
  ])('answers ERROR with the reason in a JSON body to %s', async (_, form, reason) => {
    const init = { method: 'POST', headers: basic(), body: new URLSearchParams(form) };
    const response = await fetch(`${hostUrl}/ticket/msa`, init);
    expect(response.status).toBeGreaterThanOrEqual(400);
    const answer = (await response.json()) as { status: string; reason: string };
    expect(answer.status).toBe('ERROR');
    expect(answer.reason).toMatch(reason);
  });

  it('refuses more sequences than a ticket holds, and a form that is too large', async () => {
    const q = Array.from({ length: 33 }, (_, at) => `>${at}\nMKVLAAGIVGLLLAQWE\n`).join('');
    expect(await submitText(q)).toEqual({ status: 'ERROR', reason: expect.stringContaining('at most 32') });
    const tooLarge = await submitText(`>101\n${'MKV'.repeat(400_000)}\n`);
    expect(tooLarge).toEqual({ status: 'ERROR', reason: expect.stringContaining('larger than') });
  });

  it.each(['', 'x', 'WyJlZiJd', Buffer.from('["ef",["101","zz"]]').toString('base64url'), 'a'.repeat(300)])(
    'answers ERROR to what is no ticket (%#)',
    async (id) => {
      const response = await fetch(`${hostUrl}/ticket/${id}x`, { headers: basic() });
      expect([response.status, ((await response.json()) as { status: string }).status]).toEqual([
        404,
        'ERROR',
      ]);
    },
  );

  it('is part of no contract, and not there unless the settings ask for it', async () => {
    const document = (await (await fetch(`${small.url}/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(document.paths).filter((path) => path.includes('ticket'))).toEqual([]);
    const plain = await startSmallAppliance();
    try {
      const response = await fetch(`${plain.url}/colabfold/ticket/msa`, { method: 'POST' });
      expect(response.status).toBe(404);
    } finally {
      await plain.close();
    }
  });

  it('reports missing E-values instead of returning an alignment of the query alone', async () => {
    const strict = await startSmallAppliance({ colabfold: { database: 'demo' } });
    try {
      const headers = basic(await strict.keyOf('lab'));
      const asking = colabfoldClient(() => `${strict.url}/colabfold`);
      await expect(asking.run({ sequences: [strict.sequences[0]!], mode: 'env', headers })).rejects.toThrow(
        /E-values/,
      );
    } finally {
      await strict.close();
    }
  });

  it('writes an archive that tar reads', async () => {
    const { id } = await client.run({ sequences: [small.sequences[0]!], mode: 'env', headers: basic() });
    const archive = await (
      await fetch(`${hostUrl}/result/download/${id}`, { headers: basic() })
    ).arrayBuffer();
    const listed = execFileSync('tar', ['-tvzf', '-'], { input: Buffer.from(archive), encoding: 'utf8' });
    expect(
      listed
        .trim()
        .split('\n')
        .map((line) => line.split(' ').at(-1)),
    ).toEqual([...ALIGNMENTS, 'pdb70.m8']);
  });
});

describe.skipIf(ownClients.length === 0)("clients' own files", () => {
  it.each(ownClients)('%s gets alignments and pairs through its own function', async (file) => {
    const sequences = small.sequences.slice(0, 3);
    const program = fileURLToPath(new URL('run-client.py', import.meta.url));
    const url = hostUrl.replace('://', `://x:${key}@`);
    const { stdout } = await promisify(execFile)('/usr/bin/python3', [program, file, url, ...sequences]);
    const { alone, templates, paired } = JSON.parse(stdout) as Record<
      'alone' | 'templates' | 'paired',
      readonly (string | null)[]
    >;
    expect(templates.filter((template) => template !== null)).toEqual([]);
    expect([alone.length, paired.length]).toEqual([3, 3]);
    for (const [at, text] of [...alone.entries(), ...paired.entries()]) {
      // Protenix uses this name for each query in its files.
      expect([`>${101 + at}`, '>query']).toContain(text!.split('\n')[0]);
      expect(text!.split('\n')[1]).toBe(sequences[at]);
      expect(text!.split('\n').length).toBeGreaterThan(4);
    }
    expect(new Set(paired.map((text) => text!.split('\n').length)).size).toBe(1);
  });
});

async function submitText(q: string): Promise<unknown> {
  const body = new URLSearchParams({ q, mode: 'env' });
  return (await fetch(`${hostUrl}/ticket/msa`, { method: 'POST', headers: basic(), body })).json();
}

async function call(method: string, path: string): Promise<Response> {
  return fetch(small.url + path, { method, headers: { Authorization: `Bearer ${key}` } });
}

async function runCount(): Promise<number> {
  const page = (await (await call('GET', '/v1/runs?limit=100')).json()) as { data: readonly object[] };
  return page.data.length;
}

function idOf(header: string): string {
  return header.slice(1).split('\t')[0] as string;
}

/** Species of the proteins in these headers, by id. */
async function taxidsOf(headers: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
  const wanted = new Set(headers.map(idOf));
  const rows = new Map<string, unknown>();
  for (const sequence of small.sequences.slice(0, 3)) {
    const body = JSON.stringify({ query: { kind: 'protein_sequence', sequence }, limit: 60 });
    const response = await fetch(`${small.url}/v1/homology`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body,
    });
    const { candidates } = (await response.json()) as { candidates: readonly any[] };
    for (const { target } of candidates)
      if (wanted.has(target.id)) rows.set(target.id, target.attributes.taxid);
  }
  return rows;
}
