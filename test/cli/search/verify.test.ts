import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HomologyCandidateSet } from '#src/contract/search/candidate-set.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';
import { PROGRAM } from '../../tools/paths.js';

/* `gloaming verify` and `gloaming index grant`, beside a running server. */

const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-verify-'));
let small: SmallAppliance;
let answer: HomologyCandidateSet;

beforeAll(async () => {
  small = await startSmallAppliance();
  answer = (await search(await small.keyOf('lab'), { filter: { op: 'gt', field: 'length', value: '100' } }))
    .body;
});
afterAll(async () => {
  await small.close();
  rmSync(folder, { recursive: true });
});

async function search(
  key: string,
  more: object = {},
): Promise<{ status: number; body: HomologyCandidateSet }> {
  const query = { kind: 'protein_sequence', sequence: small.sequences[0] };
  const response = await fetch(`${small.url}/v1/homology`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, evidence: 'pairwise_sequence_alignment', ...more }),
  });
  return { status: response.status, body: (await response.json()) as HomologyCandidateSet };
}

/** The real program in a process of its own, as beside a server: one process opens the control state once. */
async function run(...words: string[]): Promise<string> {
  const { indexesFolder, dataFolder } = small.appliance.config;
  const environment = { ...process.env, GLOAMING_INDEXES: indexesFolder, GLOAMING_DATA: dataFolder };
  const { stdout } = await execute(process.execPath, [PROGRAM, ...words], { env: environment });
  return stdout;
}

describe('gloaming verify', { timeout: 180_000 }, () => {
  it('finds the result of a receipt again, filter and alignments included', async () => {
    expect(await run('verify', answer.receipt.id)).toContain(`Verified: ${answer.result_sha256}`);
  });

  it('takes the receipt from a file, as the route answered it', async () => {
    const path = join(folder, 'receipt.json');
    const response = await fetch(`${small.url}/v1/receipts/${answer.receipt.id}`, {
      headers: { Authorization: `Bearer ${await small.keyOf('lab')}` },
    });
    writeFileSync(path, await response.text());
    expect(await run('verify', path)).toContain('bit for bit');
  });

  it('names the difference to a changed receipt', async () => {
    const path = join(folder, 'forged.json');
    const row = (await (
      await fetch(`${small.url}/v1/receipts/${answer.receipt.id}`, {
        headers: { Authorization: `Bearer ${await small.keyOf('lab')}` },
      })
    ).json()) as { data: { content: Record<string, unknown> } };
    writeFileSync(path, JSON.stringify({ ...row.data.content, result_sha256: '0'.repeat(64) }));
    await expect(run('verify', path)).rejects.toThrow(/The result differs/);
    const { parameters } = row.data.content as { parameters: Record<string, unknown> };
    for (const wrong of [{ ...parameters, limit: 0 }, { ...parameters, evidence: 'none' }, null]) {
      writeFileSync(path, JSON.stringify({ ...row.data.content, parameters: wrong }));
      await expect(run('verify', path)).rejects.toThrow(/lacks members that a receipt has/);
    }
    await expect(run('verify', `rcpt_${'0'.repeat(64)}`)).rejects.toThrow(/has no receipt/);
  });
});

describe('gloaming index grant', { timeout: 180_000 }, () => {
  it('makes a database private to organizations without a restart, and shares it again', async () => {
    const [ours, theirs] = [await small.keyOf('lab'), await small.keyOf('rivals')];
    expect(await run('index', 'grant', 'demo', '--organization', 'lab')).toBe('Only lab may search demo.\n');
    expect([(await search(ours)).status, (await search(theirs)).status]).toEqual([200, 403]);
    expect(await run('index', 'grant', 'demo', '--everyone')).toBe('Every organization may search demo.\n');
    expect((await search(theirs)).status).toBe(200);
    await expect(run('index', 'grant', 'demo')).rejects.toThrow(/Name organizations/);
  });
});
