import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';
import { colabfoldClient } from '../services/colabfold/colabfold-client.js';

const COLABFOLD = { database: 'demo', max_evalue: null, max_sequences: 50, rounds: 1, path: '/lab/msa' };

let small: SmallAppliance;
let key: string;

beforeAll(async () => {
  small = await startSmallAppliance({ colabfold: COLABFOLD, requests_per_minute: 1_234 });
  key = await small.keyOf('lab');
});
afterAll(() => small.close());

const load = async (): Promise<string> => (await fetch(`${small.url}/lab/msa`)).text();
/** Cell of the table beside this name. */
const cell = (html: string, name: string) =>
  new RegExp(`<th scope="row">${name}</th><td>([^<]*)</td>`).exec(html)?.[1];

describe('the page of the MSA server', () => {
  it('says its address, rates and limits to a browser without a key', async () => {
    const response = await fetch(`${small.url}/lab/msa`);
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    const html = await response.text();
    expect(html).toContain(`<code>${small.url}/lab/msa</code>`);
    expect(cell(html, 'requests of a key')).toBe('1,234 in 60 s');
    expect(cell(html, 'sequences of a ticket')).toBe('32');
    expect(cell(html, 'E-value')).toBe('any');
    expect(html).not.toContain('demo');
  });

  it('counts the runs of tickets, and not those of other requests', async () => {
    expect(cell(await load(), 'runs that wait')).toBe('0');
    const headers = { Authorization: `Bearer ${key}` };
    const other = {
      endpoint: 'homology.search',
      input: { query: { kind: 'protein_sequence', sequence: small.sequences[9] }, database: 'demo' },
    };
    await small.appliance.runs.stop();
    await fetch(`${small.url}/v1/runs`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', Prefer: 'respond-async' },
      body: JSON.stringify(other),
    });
    const client = colabfoldClient(() => `${small.url}/lab/msa`);
    const sequences = small.sequences.slice(0, 3);
    const ticket = await client.submit({ sequences, mode: 'env', headers });
    expect(ticket).toMatchObject({ status: 'PENDING' });
    await expect.poll(async () => cell(await load(), 'runs that wait'), { timeout: 5_000 }).toBe('3');
    expect(cell(await load(), 'runs at work')).toBe('0');
  });

  it('answers GET alone', async () => {
    const response = await fetch(`${small.url}/lab/msa`, { method: 'POST' });
    expect(response.status).toBe(405);
  });
});
