import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BASE, isAnswering, isInstalled, NGINX } from '../http/proxy-examples.js';
import { CHROMIUM, launch, watchedPage } from './browser.js';
import { serveConsole, type ServedConsole } from './served.js';

const isThere = CHROMIUM !== undefined && isInstalled('nginx') && isInstalled('openssl');
if (!isThere)
  console.log('skipped: no chromium, nginx or openssl (apt-get install chromium nginx-light openssl)');

describe.skipIf(!isThere)('the console behind a proxy that serves it at a path, by TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-proxied-'));
  let served: ServedConsole;
  let proxy: ChildProcess;
  let browser: Browser;
  let url = '';

  /** Starts server and proxy. Returns false if another process took the port of the proxy before the proxy started. */
  async function servedBehindProxy(): Promise<boolean> {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    url = `https://127.0.0.1:${port}${BASE}`;
    served = await serveConsole({ public_url: url, trusted_proxies: ['127.0.0.1'] });
    await new Promise((resolve) => holder.close(resolve));
    proxy = NGINX.start(port, Number(new URL(served.url).port), folder);
    if (await isAnswering(`${url}/readyz`, proxy)) return true;
    await served.close();
    return false;
  }

  beforeAll(async () => {
    for (let tries = 0; !(await servedBehindProxy()); tries += 1) expect(tries).toBeLessThan(3);
    browser = await launch();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    proxy?.kill();
    await served?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('serves redirect, sign-in, search and runs, and requests nothing outside its path', async () => {
    const { page, context, strays, complaints } = await watchedPage(browser, `${url}/`, {
      ignoreHTTPSErrors: true,
    });
    page.setDefaultTimeout(60_000);
    await page.goto(`${url}/`);
    await page.getByLabel('API key').fill(served.key);
    expect(page.url()).toBe(`${url}/console/`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Protein', { exact: true }).fill(served.sequences[4]!);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Strict' });

    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.locator('.hit').first().waitFor();
    await page.getByText('As code').click();
    await page.getByRole('button', { name: 'curl', exact: true }).click();
    expect(await page.locator('.code-panel pre').textContent()).toContain(`${url}/v1/homology`);

    await page.goto(`${url}/console/#/search`);
    const fasta = served.sequences.slice(0, 3).map((sequence, at) => `>q${at}\n${sequence}\n`);
    await page
      .locator('input[type="file"]')
      .setInputFiles({ name: 'three.fasta', mimeType: 'text/plain', buffer: Buffer.from(fasta.join('')) });
    await page.getByRole('button', { name: /in a run/ }).click();
    await page.locator('.run .badge.completed').waitFor();

    await page.goto('about:blank');
    await page.goto(`${url}/console/#/enter/${served.link}`);
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    expect({ strays, complaints }).toEqual({ strays: [], complaints: [] });
  }, 180_000);
});
