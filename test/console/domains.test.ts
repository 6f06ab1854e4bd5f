import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '#src/clients/typescript/client.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { runProgram } from '../tools/served-process.js';
import { CHROMIUM, seriousFindings } from './browser.js';
import { openConsole, signIn, type OpenedConsole, type ServedConsole } from './served.js';

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

describe.skipIf(CHROMIUM === undefined)('the domains of a run in a browser', () => {
  let served: ServedConsole;
  let watched: OpenedConsole;
  let page: Page;
  let runId: string;

  beforeAll(async () => {
    watched = await openConsole(20_000, { seed: 11, proteins: 120 });
    ({ served, page } = watched);
    const words = ['index', 'calibrate', DEMO_SLUG, '--full', '--sample', '120', '--no-qualification'];
    expect(await runProgram(served.environment, words)).toMatchObject({ code: 0 });
    const client = createClient({ url: served.url, key: served.key });
    const queries = [0, 1, 2].map((at) => ({
      id: `fusion${at}`,
      sequence: served.sequences[at] + served.sequences[at + 20],
    }));
    const run = await client.submit({
      endpoint: 'homology.annotate',
      // The null model of so few simulated proteins gives no small E-values.
      input: { queries: [...queries, { id: 'short', sequence: 'MKV' }], maximum_expected_false_hits: 1e3 },
    });
    runId = run.id;
    await signIn(page, served);
  }, 300_000);
  afterAll(async () => {
    expect([watched.strays, watched.complaints]).toEqual([[], []]);
    await watched?.close();
  });

  it('stand along each protein, and name themselves on hover and by the keyboard', async () => {
    await page.goto(`${served.url}/console/#/runs/${runId}`);
    await page.getByText('3 of 4 proteins have a domain').waitFor();
    const line = page.locator('.domain-line');
    const first = page.locator('.architecture').first().locator('.domain');
    await first.first().hover();
    await expect.poll(() => line.textContent()).toMatch(/Residues \d+ to \d+, E /);
    await page.mouse.move(1, 1);
    await first.first().focus();
    await page.keyboard.press('ArrowRight');
    const second = await first.nth(1).getAttribute('aria-label');
    await expect.poll(() => line.textContent()).toBe(second);
    await page.keyboard.press('ArrowDown');
    const below = page.locator('.architecture').nth(1).locator('.domain').first();
    await expect.poll(() => line.textContent()).toBe(await below.getAttribute('aria-label'));
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('are filtered by a family, by words, and by whether a protein has any', async () => {
    const proteins = page.locator('.annotated');
    expect(await proteins.count()).toBe(3);
    await page.getByLabel('also those without a domain').check();
    await expect.poll(() => proteins.count()).toBe(4);
    await page.getByLabel('Find a protein or a family').fill('fusion2');
    await expect.poll(() => proteins.count()).toBe(1);
    await page.getByLabel('Find a protein or a family').fill('');
    const family = page.getByLabel('Families').getByRole('button').first();
    const [, count] = /(\d+)$/.exec((await family.textContent()) ?? '')!;
    await family.press('Enter');
    await expect.poll(() => proteins.count()).toBe(Number(count));
    await family.press('Enter');
    await expect.poll(() => proteins.count()).toBe(4);
  });
});
