import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REFUSALS } from '#src/contract/grammar/refusals.js';
import { ROOT } from '../../tools/paths.js';
import { serve, type Served } from '../../tools/serve.js';

/* The manual as the appliance serves it: every page, every link, and nothing from elsewhere. */

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(() => served.close());

const fetchPage = (path: string): Promise<Response> => fetch(served.origin + path, { redirect: 'manual' });
const NAMES = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => (name === 'README.md' ? '' : name.replace(/\.md$/, '')));
/** The server of this test has no console. */
const ELSEWHERE = /^\/(console\/|openapi\.json)$/;

describe('the manual', () => {
  it('answers at /docs with its index, and has every page of docs/', async () => {
    const bare = await fetchPage('/docs');
    expect([bare.status, bare.headers.get('location')]).toEqual([302, '/docs/']);
    for (const name of NAMES) expect([name, (await fetchPage(`/docs/${name}`)).status]).toEqual([name, 200]);
    expect((await fetchPage('/docs/nothing')).status).toBe(404);
    expect((await fetchPage('/docs/files/pages.json')).status).toBe(404);
    expect((await fetchPage('/docs/files/%2e%2e%2fpackage.json')).status).toBe(404);
  });

  it('has no link that leads nowhere: pages, anchors, pictures, styles and scripts', async () => {
    const texts = new Map<string, string>();
    for (const name of [...NAMES, 'errors'])
      texts.set(`/docs/${name}`, await (await fetchPage(`/docs/${name}`)).text());
    const dead: string[] = [];
    const statuses = new Map<string, number>();
    for (const [path, text] of texts) {
      for (const [, link] of text.matchAll(/(?:href|src|data-index)="([^"]+)"/g)) {
        const { pathname, hash } = new URL(link!, `http://appliance${path}`);
        if (ELSEWHERE.test(pathname)) continue;
        if (!statuses.has(pathname)) statuses.set(pathname, (await fetchPage(pathname)).status);
        const target = texts.get(pathname);
        const isThere = hash === '' || target?.includes(`id="${decodeURIComponent(hash.slice(1))}"`) === true;
        if (statuses.get(pathname) !== 200 || !isThere) dead.push(`${path}: ${link}`);
      }
    }
    expect(dead).toEqual([]);
  });

  it('loads from this server only, runs no inline script and has no inline style', async () => {
    for (const name of NAMES) {
      const page = await fetchPage(`/docs/${name}`);
      const text = await page.text();
      expect(page.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'; /,
      );
      expect(text).not.toMatch(/<script>|<style>| style=| on\w+=|src="(https?:)?\/\//);
    }
  });

  it('serves its files for ever, under names that change with their bytes', async () => {
    const text = await (await fetchPage('/docs/evidence')).text();
    const files = [...text.matchAll(/"(files\/[^"]+)"/g)].map(([, path]) => path!);
    expect(files.length).toBeGreaterThan(6);
    for (const path of files) {
      const file = await fetchPage(`/docs/${path}`);
      expect(path).toMatch(/-[0-9A-Z]{8}\.\w+$/);
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
  });

  it('finds every heading of every page in its search index', async () => {
    const text = await (await fetchPage('/docs/')).text();
    const [, index] = /data-index="([^"]+)"/.exec(text)!;
    const sections = (await (await fetchPage(`/docs/${index}`)).json()) as readonly {
      page: string;
      heading: string;
    }[];
    for (const name of NAMES) {
      const source = readFileSync(join(ROOT, 'docs', `${name === '' ? 'README' : name}.md`), 'utf8');
      const headings = [...source.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)];
      const indexed = sections.filter(({ page }) => page === name).map(({ heading }) => heading);
      expect([name, indexed]).toEqual([name, headings.map(([, heading]) => heading!.replaceAll('`', ''))]);
    }
  });

  it('explains the error codes in the same frame', async () => {
    const text = await (await fetchPage('/docs/errors')).text();
    expect(text).toContain('aria-label="Pages"');
    for (const code of Object.keys(REFUSALS)) expect(text).toContain(`<dt id="${code}">`);
  });
});
