import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '#src/clients/typescript/client.js';
import { openJob } from '#src/services/jobs.js';
import { CHROMIUM, seriousFindings } from './browser.js';
import { openConsole, type OpenedConsole, type ServedConsole } from './served.js';

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

describe.skipIf(CHROMIUM === undefined)("the operator's page", () => {
  let served: ServedConsole;
  let watched: OpenedConsole;
  let page: Page;

  beforeAll(async () => {
    watched = await openConsole(60_000);
    ({ served, page } = watched);
    await page.goto(`${served.url}/console/#/enter/${served.link}`);
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
  }, 300_000);
  afterAll(async () => {
    expect([watched.strays, watched.complaints]).toEqual([[], []]);
    await watched?.close();
  });

  it('shows the operator the last backup, and sends a delivery again', async () => {
    const received: unknown[] = [];
    const receiver = createServer((request, response) => {
      received.push(request.headers['webhook-id']);
      response.end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    try {
      const gloaming = createClient({ url: served.url, key: served.key });
      const { port } = receiver.address() as AddressInfo;
      await gloaming.call('webhooks.endpoints.create', {
        body: { url: `http://127.0.0.1:${port}/`, event_types: ['run.completed'] },
      });
      const query = { kind: 'protein_sequence', sequence: served.sequences[0] as string } as const;
      await gloaming.submit({ endpoint: 'homology.search', input: { query, limit: 2 } });
      await expect.poll(() => received.length).toBe(1);
      writeFileSync(
        join(served.environment.GLOAMING_DATA!, 'last-fsck.json'),
        JSON.stringify({ at: new Date().toISOString(), outcome: 'no damage' }),
      );
      await page.reload();
      const facts = page.locator('dl.pairs');
      await facts.getByText('just now, no damage').waitFor();
      expect(await facts.textContent()).toContain('none recorded: gloaming backup');
      await page.getByRole('button', { name: 'Send again' }).click();
      await expect.poll(() => received.length).toBe(2);
      expect(received[1]).toBe(received[0]);
      await page.locator('article').getByText('delivered').waitFor();
      expect(await seriousFindings(page)).toEqual([]);
    } finally {
      receiver.close();
    }
  });

  it('shows the operator each running command until it ends', async () => {
    const job = openJob(served.environment.GLOAMING_DATA!, { command: 'index build', database: 'lab' });
    const panel = page.locator('.jobs li', { hasText: 'gloaming index build' });
    const tasks = [
      { done: 500, total: 500 },
      { done: 0, total: 500 },
    ];
    job.update({ stage: 'Encoding', unit: 'residues', done: 500, total: 1_000, tasks });
    await page.reload();
    await panel.getByText('Encoding · 500 of 1,000 residues').waitFor();
    await panel.getByText('1 of 2 tasks done').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('link', { name: 'Databases' }).click();
    await panel.getByText('1 of 2 tasks done').waitFor();
    job.update({ stage: 'Writing', unit: 'proteins', done: 3, total: 4 });
    await panel.getByText('Writing · 3 of 4 proteins').waitFor();
    expect(await panel.getByRole('progressbar').getAttribute('aria-valuenow')).toBe('75');
    expect(await seriousFindings(page)).toEqual([]);
    // When the build has ended, the page loads the list of databases again.
    const readAgain = page.waitForRequest(/\/v1\/homology\/databases/);
    job.close();
    await panel.waitFor({ state: 'detached' });
    await readAgain;
  });
});
