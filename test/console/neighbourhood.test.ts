import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HomologyCandidateSet } from '#src/contract/search/candidate-set.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { runProgram } from '../tools/served-process.js';
import { CHROMIUM, seriousFindings } from './browser.js';
import { openConsole, signIn, type OpenedConsole, type ServedConsole } from './served.js';

/* Propagated hits and the graph of neighbours in a browser. */

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

describe.skipIf(CHROMIUM === undefined)('the graph of neighbours in a browser', () => {
  let served: ServedConsole;
  let watched: OpenedConsole;
  let page: Page;

  beforeAll(async () => {
    watched = await openConsole(20_000, { seed: 7, proteins: 120 });
    ({ served, page } = watched);
    query = served.sequences[5].slice(4);
    await signIn(page, served);
  }, 300_000);
  afterAll(async () => {
    // A database without a graph answers with an error, which the page says in a sentence and the browser logs.
    const complaints = watched.complaints.filter((each) => !each.includes('422'));
    expect([watched.strays, complaints]).toEqual([[], []]);
    await watched?.close();
  });

  async function index(...words: readonly string[]): Promise<void> {
    expect(await runProgram(served.environment, ['index', ...words])).toMatchObject({ code: 0 });
  }

  let query: string;

  /** Returns the number of targets whose propagated E-value is below the direct one, or that have no direct one. */
  async function betterCount(): Promise<number> {
    const response = await fetch(`${served.url}/v1/homology`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${served.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        query: { kind: 'protein_sequence', sequence: query },
        evidence: 'pairwise_sequence_alignment',
        propagation: 'required',
        limit: 25,
      }),
    });
    const { candidates, propagation } = (await response.json()) as HomologyCandidateSet;
    const direct = new Map(
      candidates.map(({ target, significance: { measurements } }) => [
        target.id,
        measurements.log_expected_false_hits ?? Infinity,
      ]),
    );
    return propagation!.hits.filter(
      ({ target_id: id, log_expected_false_hits: logE }) => logE < (direct.get(id) ?? Infinity),
    ).length;
  }

  async function search(): Promise<void> {
    await page.goto(`${served.url}/console/#/search?id=own&sequence=${query}`);
    await page.getByRole('button', { name: 'Search', exact: true }).waitFor();
  }

  // The list of propagated hits has a picture of the same class, without actions.
  const graph = () => page.locator('.detail .neighbourhood');
  const dots = () => graph().locator('circle');
  const openNeighbourhood = async (): Promise<void> => {
    await page.locator('.hit [aria-expanded]').first().click();
    await page.getByRole('tab', { name: 'Neighbourhood' }).click();
  };

  it('says what a database without a graph lacks, and does not offer propagation', async () => {
    await search();
    expect(await page.getByLabel('Also by way of neighbours').count()).toBe(0);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await openNeighbourhood();
    await page.getByText('This database has no graph of neighbours yet').waitFor();
  });

  it('lists propagated hits with their bridges, also when the address is opened again', async () => {
    await index('calibrate', DEMO_SLUG, '--full', '--sample', '120', '--no-qualification');
    await index('neighbours', DEMO_SLUG);
    await index('propagation', DEMO_SLUG, '--sample', '100');
    await search();
    await page.reload();
    await search();
    await page.getByLabel('Hits at most').selectOption('25');
    await page.getByLabel('Also by way of neighbours').check();
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    const section = page.getByRole('region', { name: 'By way of neighbours' });
    await section.waitFor();
    const better = await betterCount();
    expect(better).toBeGreaterThan(0);
    expect(await section.locator('tbody tr').count()).toBe(better);
    const shown = await section.textContent();
    await page.reload();
    await section.waitFor();
    expect(await section.textContent()).toBe(shown);
  }, 240_000);

  it('draws the neighbourhood of a hit, and walks by click and by keyboard', async () => {
    await openNeighbourhood();
    await dots().first().waitFor();
    const centre = async (): Promise<string> => (await dots().first().getAttribute('aria-label'))!;
    const first = await centre();
    expect(await graph().locator('.edge').count()).toBeGreaterThan(0);
    await dots().nth(1).click();
    const back = page.getByRole('button', { name: /^Back to / });
    await back.waitFor();
    await expect.poll(centre).not.toBe(first);
    await back.click();
    await expect.poll(centre).toBe(first);
    expect(await graph().locator('circle[tabindex="0"]').count()).toBe(1);
    await dots().first().focus();
    let moved = '0';
    for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowUp', 'ArrowDown']) {
      await page.keyboard.press(key);
      moved = (await page.evaluate('document.activeElement.dataset.at')) as string;
      if (moved !== '0') break;
    }
    expect(moved).not.toBe('0');
    await page.keyboard.press('Enter');
    await back.waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('has a table for those who do not see the picture', async () => {
    await page.getByRole('button', { name: 'Table' }).click();
    const rows = graph().locator('tbody tr');
    const id = (await rows.first().locator('button').textContent())!;
    await rows.first().locator('button').click();
    await expect.poll(() => dots().first().getAttribute('aria-label')).toContain(id);
    expect(await seriousFindings(page)).toEqual([]);
  });
});
