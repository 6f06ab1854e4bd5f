import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, seriousFindings } from './browser.js';
import { openConsole, signIn, type OpenedConsole, type ServedConsole } from './served.js';

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

describe.skipIf(CHROMIUM === undefined)('a result in a browser', () => {
  let served: ServedConsole;
  let watched: OpenedConsole;
  let page: Page;

  beforeAll(async () => {
    watched = await openConsole(20_000);
    ({ served, page } = watched);
    await signIn(page, served);
  }, 300_000);
  afterAll(async () => {
    expect([watched.strays, watched.complaints]).toEqual([[], []]);
    await watched?.close();
  });

  const count = async (): Promise<number> => Number(await page.locator('.actions p b').textContent());

  it('explains the result to a first visitor, and that an uncalibrated database has no E-values', async () => {
    await page.getByRole('button', { name: 'Show me an example' }).click();
    const guide = page.getByLabel('How to read this result');
    const title = async (): Promise<string> => (await guide.locator('h2').textContent()) ?? '';
    const next = guide.getByRole('button', { name: 'Next' });
    const titles = [await title()];
    while ((await next.count()) > 0) {
      await next.click();
      titles.push(await title());
    }
    expect(titles[0]).toBe('Everything was compared');
    expect(titles).toContain('No E-values yet');
    await guide.getByRole('button', { name: 'Done' }).click();
    await guide.waitFor({ state: 'detached' });
  });

  it('lists all values of an opened facet, and selects a range of rows', async () => {
    const values = page.locator('.facet').filter({ hasText: 'Organism' }).locator('.facet-value');
    const listed = await values.count();
    const more = page.getByRole('button', { name: /^and \d+ more$/ });
    const hidden = Number(/\d+/.exec((await more.textContent()) ?? '')![0]);
    await more.click();
    await expect.poll(() => values.count()).toBe(listed + hidden);
    const boxes = page.locator('.hit input[type="checkbox"]');
    await boxes.nth(1).click();
    await boxes.nth(4).click({ modifiers: ['Shift'] });
    await page.getByText('4 selected').waitFor();
    await boxes.nth(4).click();
    await boxes.nth(1).click({ modifiers: ['Shift'] });
    await expect.poll(() => page.locator('.hit input:checked').count()).toBe(0);
  });

  it('draws the taxa as streams, whose names fit and filter', async () => {
    await page.getByRole('button', { name: 'Streams' }).click();
    const taxa = page.locator('.stream-taxon');
    const across = await page.locator('.chart.across').boundingBox();
    await taxa.first().waitFor();
    const right = (await page.evaluate(
      "Math.max(...[...document.querySelectorAll('.stream-taxon')].map((each) => each.getBoundingClientRect().right))",
    )) as number;
    expect(right).toBeLessThanOrEqual(across!.x + across!.width);
    const all = await count();
    const taxon = taxa.nth(1);
    const hits = /(\d+) hits?$/.exec((await taxon.locator('title').textContent()) ?? '')![1];
    await taxon.press('Enter');
    await expect.poll(count).toBe(Number(hits));
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'show all' }).click();
    expect(await count()).toBe(all);
    await page.getByRole('button', { name: 'Rings' }).click();
  });

  it('searches a stretch of the query that is dragged over the ruler, or set by the keyboard', async () => {
    const query = served.sequences[2];
    await page.goto(`${served.url}/console/#/search`);
    await page.getByLabel('Protein', { exact: true }).fill(query);
    await page.getByLabel('Residues of the query').fill(`5-${query.length + 1}`);
    await page.getByText(`query has ${query.length} residues.`).waitFor();
    await page.getByLabel('Residues of the query').fill('');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    const ruler = page.locator('.range-ruler');
    const { x, y, width } = (await ruler.boundingBox())!;
    await page.mouse.move(x + width / 4, y + 10);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + 10, { steps: 5 });
    await page.mouse.up();
    const [start, end] = [Math.round(query.length / 4), Math.round(query.length / 2)];
    await page.getByRole('button', { name: `Search residues ${start + 1} to ${end} alone` }).waitFor();
    const last = page.getByRole('slider', { name: 'Last residue of the stretch' });
    await last.press('PageUp');
    await last.press('ArrowLeft');
    expect(await last.getAttribute('aria-valuenow')).toBe(String(end + 9));
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: `Search residues ${start + 1} to ${end + 9} alone` }).click();
    await page.getByText(`Residues ${start + 1} to ${end + 9} of ${query.length} residues, alone`).waitFor();
    await page.reload();
    await page.getByText(`Residues ${start + 1} to ${end + 9} of ${query.length} residues, alone`).waitFor();
    const first = page.getByRole('slider', { name: 'First residue of the stretch' });
    await first.press('Home');
    await last.press('End');
    await page.getByRole('button', { name: 'Search the whole query' }).click();
    await page.getByText(`${query.length} residues against`, { exact: false }).waitFor();
  }, 60_000);

  it('counts every hit without a row in the alignment, with the reason', async () => {
    const hits = await count();
    await page.getByRole('link', { name: 'Alignment of all' }).click();
    const sentence = async (): Promise<string> => (await page.locator('.msa .lead').textContent()) ?? '';
    await page.locator('.msa-frame').waitFor();
    const [, rows, left = ''] = /^The query and (\d+) of its \d+ hits.*?(?:Left out: (.*))?$/.exec(
      await sentence(),
    )!;
    const counts = left.split(', ').map((reason) => Number(/^\d+/.exec(reason)?.[0] ?? 0));
    expect(Number(rows) + counts.reduce((sum, each) => sum + each, 0)).toBe(hits);
    expect(left).toContain("with less than 0.25 of the query's own score");
    await page.goBack();
  });

  it('lists the recent searches until sign-out', async () => {
    const link = page.url().replace(/&guide=$/, '');
    await page.goto(`${served.url}/console/#/search`);
    await page.locator('.recent a').first().click();
    await page.locator('.hit').first().waitFor();
    expect(page.url()).toBe(link);
    await page.locator('.top-end summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').fill(served.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.goto(`${served.url}/console/#/search`);
    await page.getByRole('heading', { name: 'Find the homologs of a protein' }).waitFor();
    expect(await page.locator('.recent').count()).toBe(0);
  });
});
