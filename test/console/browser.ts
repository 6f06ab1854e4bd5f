import { existsSync } from 'node:fs';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import { source as axeSource } from 'axe-core';

/** Path of Chromium: GLOAMING_CHROMIUM, or that of Debian. Tests without a browser are skipped with a notice. */
export const CHROMIUM = [
  process.env.GLOAMING_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
].find((path) => path !== undefined && existsSync(path));

/** A page with its errors and its requests to other origins. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * Messages of errors and warnings in the browser's console, of uncaught exceptions, and of violations of the content
   * security policy.
   */
  readonly complaints: string[];
  /** Requests to other origins. */
  readonly strays: string[];
}

export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM as string, args: ['--no-sandbox', '--disable-gpu'] });
}

/**
 * Opens a page.
 * @param origin start of every permitted address. Data and blob URLs are permitted, too
 */
export async function watchedPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    ...options,
    viewport: { width: 1440, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const strays: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) strays.push(request.url());
  });
  return { page, context, complaints, strays };
}

interface AxeFinding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Returns the serious and critical findings of axe-core on the current page. Errors  those of the browser */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  const { violations } = (await page.evaluate('axe.run()')) as { readonly violations: readonly AxeFinding[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}
