import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, type Served } from '../tools/serve.js';
import { CHROMIUM, launch, seriousFindings, watchedPage, type WatchedPage } from './browser.js';

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

describe.skipIf(CHROMIUM === undefined)('the manual in a browser', () => {
  let served: Served;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  beforeAll(async () => {
    served = await serve();
    browser = await launch();
    watched = await watchedPage(browser, served.origin);
    ({ page } = watched);
    page.setDefaultTimeout(20_000);
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  const open = (name: string): Promise<unknown> => page.goto(`${served.origin}/docs/${name}`);

  it.each(['light', 'dark'] as const)('has no serious finding of axe, in %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    for (const name of ['', 'start', 'numbers', 'evidence', 'command-line', 'errors']) {
      await open(name);
      expect([name, await seriousFindings(page)]).toEqual([name, []]);
    }
  });

  it('finds a section by the keyboard alone', async () => {
    await open('');
    await page.keyboard.press('/');
    await page.keyboard.type('e-value');
    await page.locator('#found [role=option]').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs\/numbers#e-value$/);
    await page.keyboard.press('/');
    await page.keyboard.type('qwxyz');
    await expect.poll(() => page.locator('.search-status').textContent()).toBe('0 sections');
    expect(await page.locator('#found').isHidden()).toBe(true);
  });

  it('skips to the content, and has no sideways scroll on a phone', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const name of ['', 'start', 'numbers', 'evidence', 'command-line']) {
      await open(name);
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect([name, await page.evaluate(overflow)]).toEqual([name, 0]);
    }
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('prints the article without navigation', async () => {
    await open('evidence');
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.top').isVisible()).toBe(false);
    expect(await page.locator('.pages').isVisible()).toBe(false);
    expect(await page.locator('article h1').isVisible()).toBe(true);
    expect((await page.pdf()).length).toBeGreaterThan(10_000);
    await page.emulateMedia({ media: null });
  });

  it('is readable without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(`${served.origin}/docs/start`);
    await plain.getByRole('link', { name: 'What the numbers mean' }).first().click();
    await plain.waitForURL(/\/docs\/numbers/);
    await context.close();
  });

  it('loads nothing from elsewhere and reports no error', () => {
    expect(watched.strays).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });
});
