// Takes the pictures of docs/images that show the console: searches the demo with the example query, in a real browser.
//
//   npm run screenshots [folder]      default: docs/images; needs chromium (GLOAMING_CHROMIUM, or Debian's)
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serveDemo } from './served-demo.mjs';

const WIDTH = 1280;
const HEIGHT = 960;
/** In per cent. Text stays sharp, and each picture far below 200 kB. */
const QUALITY = 82;
const WAIT_MAX_MS = 60_000;
/** Charts measure their room before they draw. */
const SETTLE_MS = 1_500;

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const folder = resolve(process.argv[2] ?? join(root, 'docs', 'images'));
const executablePath = [process.env.GLOAMING_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
);
if (executablePath === undefined)
  throw new Error('There is no chromium: apt-get install chromium, or GLOAMING_CHROMIUM.');

const served = await serveDemo(root);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  mkdirSync(folder, { recursive: true });
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: HEIGHT },
    deviceScaleFactor: 1.5,
    reducedMotion: 'reduce',
    colorScheme: 'light',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MAX_MS);
  const [link] = /http\S+/.exec(served.print('console')) ?? [];
  await page.goto(link);
  const query = readFileSync(join(root, 'examples', 'thioredoxin.fasta'), 'utf8');
  const [, ...lines] = query.split('\n');
  await page.getByLabel('Protein', { exact: true }).fill(`>Thioredoxin 1 of E. coli\n${lines.join('\n')}`);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.locator('.hit').first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(SETTLE_MS);
  await take(page, 'result.webp');
  // A homolog of another kind: a disulfide isomerase.
  await page.getByPlaceholder('id, name, organism').fill('disulfide-isomerase');
  const distant = page.locator('.hit .open-row').first();
  await distant.click();
  await page.locator('.alignment').first().waitFor();
  await page.getByRole('tab', { name: 'Closest residues' }).click();
  await page.locator('path.link').first().waitFor({ state: 'attached' });
  await distant.evaluate((row) => row.scrollIntoView({ block: 'start' }));
  await page.evaluate('scrollBy(0, -140)');
  await page.waitForTimeout(SETTLE_MS);
  await take(page, 'closest-residues.webp');
} finally {
  await browser.close();
  await served.stop();
}

/** Playwright itself writes no WebP. */
async function take(page, name) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  const bytes = Buffer.from(data, 'base64');
  writeFileSync(join(folder, name), bytes);
  process.stdout.write(`${name}: ${Math.ceil(bytes.length / 1000)} kB\n`);
}
