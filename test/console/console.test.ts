import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAM } from '../tools/paths.js';
import { CHROMIUM, seriousFindings } from './browser.js';
import { openConsole, type OpenedConsole, type ServedConsole } from './served.js';

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

const run = promisify(execFile);

describe.skipIf(CHROMIUM === undefined)('the console in a browser', () => {
  let served: ServedConsole;
  let watched: OpenedConsole;
  let page: Page;

  beforeAll(async () => {
    watched = await openConsole(20_000);
    ({ served, page } = watched);
  });
  afterAll(async () => {
    await watched?.close();
  });

  const paste = (text: string): Promise<void> => page.getByLabel('Protein', { exact: true }).fill(text);
  const openFile = (text: string): Promise<void> =>
    page
      .locator('input[type="file"]')
      .setInputFiles({ name: 'many.fasta', mimeType: 'text/plain', buffer: Buffer.from(text) });
  /** Ids of the first hits. The number of drawn rows depends on the scroll position. */
  const rowsOf = async (from: Page): Promise<string[]> =>
    (await from.locator('.hit .open-row b').allTextContents()).slice(0, 5);
  const rows = (): Promise<string[]> => rowsOf(page);
  const go = (view: string): Promise<unknown> => page.goto(`${served.url}/console/#/${view}`);

  it('refuses an unknown key with a reason, and signs in with a valid key', async () => {
    await page.goto(`${served.url}/`, { waitUntil: 'networkidle' });
    expect(page.url()).toBe(`${served.url}/console/`);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByLabel('API key').fill('glm_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('malformed, unknown or revoked').waitFor();
    // Chromium logs every 4xx as an error.
    watched.complaints.splice(0);
    await page.getByLabel('API key').fill(served.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Find the homologs of a protein' }).waitFor();
    expect(await page.evaluate('document.cookie + JSON.stringify({...localStorage})')).not.toContain('glm_');
  });

  it('shows an error beside the field if the text is not a protein', async () => {
    await paste('MKV;LAA');
    expect(await page.locator('#query-hint').textContent()).toContain('is not a residue letter');
    await paste('ACGTACGTACGTACGTACGTACGTACGTACGTACGT');
    expect(await page.locator('#query-hint').textContent()).toContain('DNA or RNA');
    expect(await page.getByRole('button', { name: 'Search', exact: true }).isDisabled()).toBe(true);
  });

  it('lists the nearest protein first, soon after the click', async () => {
    await paste(`>mine <img src=x onerror="alert(1)">\n${served.sequences[4]}`);
    expect(await seriousFindings(page)).toEqual([]);
    console.log(`first row after ${Math.round((await page.evaluate(CLICK_TO_FIRST_ROW)) as number)} ms`);
    expect(await page.locator('h1').textContent()).toBe('mine <img src=x onerror="alert(1)">');
    const [first] = await rows();
    expect(first).toBe(served.ids[4]);
    await page.locator('.hit .open-row').first().click();
    await page.locator('.alignment').waitFor();
    expect(await page.locator('.facts').textContent()).toContain('(100 %)');
    await page.getByRole('tab', { name: 'Protein' }).click();
    const shown = await page.locator('.protein .sequence').textContent();
    expect(shown?.replaceAll(/\s/g, '')).toBe(served.sequences[4]);
  });

  it('shows the closest residues, as links and as a matrix', async () => {
    await page.getByRole('tab', { name: 'Closest residues' }).click();
    await page.locator('path.link').first().waitFor({ state: 'attached' });
    expect(await page.locator('path.link').count()).toBe(served.sequences[4]!.length);
    await page.getByRole('button', { name: 'Matrix' }).click();
    await page.locator('canvas.matrix').waitFor();
    await page.locator('.hit .open-row').first().click();
  });

  it('filters by facets and by text, and sorts by any column', async () => {
    const all = await page.locator('.actions p b').textContent();
    const facet = page.locator('.facet-value').first();
    const expected = await facet.locator('.number').textContent();
    await facet.locator('input').check();
    await expect.poll(() => page.locator('.actions p b').textContent()).toBe(expected);
    await page.getByRole('button', { name: 'show all' }).click();
    expect(await page.locator('.actions p b').textContent()).toBe(all);
    await page.getByRole('button', { name: 'Identity' }).click();
    const identities = (await page.locator('.hit .column-identity').allTextContents()).map(Number.parseFloat);
    expect(identities).toEqual([...identities].sort((a, b) => b - a));
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: '#' }).click();
  });

  it('shows the same result again at its permalink, ordered by distance without E-values', async () => {
    const before = await rows();
    const other = await watched.context.newPage();
    await other.goto(page.url());
    await other.locator('.hit').first().waitFor();
    const headers = await other.locator('[aria-sort=ascending], [aria-sort=descending]').allTextContents();
    expect(headers).toEqual(['#']);
    expect(await rowsOf(other)).toEqual(before);
    await other.close();
  });

  it('prints code in four languages that runs and finds the same hits', async () => {
    const wanted = (await rows()).slice(0, 3);
    await page.getByText('As code').click();
    const codeOf = async (language: string): Promise<string> => {
      await page.getByRole('button', { name: language, exact: true }).click();
      return (await page.locator('.code-panel pre').textContent()) ?? '';
    };
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-snippets-'));
    try {
      const env = { ...process.env, ...served.environment, GLOAMING_API_KEY: served.key };
      const bash = async (code: string): Promise<string> =>
        (await run('bash', ['-c', code], { cwd: folder, env, maxBuffer: 64e6 })).stdout;
      const idsIn = (json: string): string[] =>
        JSON.parse(json)
          .candidates.map(({ target }: { target: { id: string } }) => target.id)
          .slice(0, 3);
      expect(idsIn(await bash(await codeOf('curl')))).toEqual(wanted);
      writeFileSync(join(folder, 'snippet.py'), await codeOf('Python'));
      expect(idsIn(await bash('/usr/bin/python3 snippet.py'))).toEqual(wanted);
      const typescript = await codeOf('TypeScript');
      writeFileSync(join(folder, 'snippet.mjs'), typescript);
      await bash(/^\/\/ (curl .*)$/m.exec(typescript)![1]!);
      const lines = (await bash(`${process.execPath} snippet.mjs`)).split('\n');
      expect(lines.slice(0, 3).map((line) => line.split(' ')[1])).toEqual(wanted);
      const command = (await codeOf('Command line')).replace('gloaming', `${process.execPath} ${PROGRAM}`);
      const table = await bash(command);
      for (const id of wanted) expect(table).toContain(id);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('fills the form from the address, and shows a nested filter in words', async () => {
    const condition = { op: 'gte', field: 'length', value: '10' };
    const nested = {
      op: 'not',
      filter: { op: 'and', filters: [condition, { ...condition, op: 'lt', value: '20' }] },
    };
    const filter = encodeURIComponent(JSON.stringify(nested));
    const other = await watched.context.newPage();
    await other.goto(
      `${served.url}/console/#/search?sequence=MKVLAAGIVGLLLAQWE&id=mine&limit=7&filter=${filter}`,
    );
    await other.getByText('not (length is at least 10 and length is less than 20)').waitFor();
    expect(await other.getByLabel('Hits at most').inputValue()).toBe('7');
    await other.getByRole('button', { name: 'Copy permalink' }).click();
    const copied = (await other.evaluate('navigator.clipboard.readText()')) as string;
    expect(new URLSearchParams(copied.split('?')[1]).get('filter')).toBe(JSON.stringify(nested));
    await other.goto('about:blank');
    await other.goto(
      `${served.url}/console/#/search?filter=${encodeURIComponent('{"op":"and","filters":3}')}`,
    );
    await other.getByRole('heading', { name: 'Find the homologs of a protein' }).waitFor();
    await other.close();
  });

  it('follows an address that changes before the page listens to changes', async () => {
    const other = await watched.context.newPage();
    await other.addInitScript(`{
      const listen = window.addEventListener;
      let isFirst = true;
      window.addEventListener = function (kind, ...rest) {
        // Replacing the address sends no event, as if the event had come before the listener.
        if (kind === 'hashchange' && isFirst) history.replaceState(null, '', '#/search?sequence=MKVLAAGI&limit=7');
        isFirst &&= kind !== 'hashchange';
        listen.call(this, kind, ...rest);
      };
    }`);
    await other.goto(`${served.url}/console/`);
    await other.getByLabel('Hits at most').waitFor();
    expect(await other.getByLabel('Hits at most').inputValue()).toBe('7');
    await other.close();
  });

  it('draws the alignment of all hits, and downloads its A3M', async () => {
    await page.getByRole('link', { name: 'Alignment of all' }).click();
    await page.locator('.msa-frame').waitFor();
    const text = await page.locator('.code-panel pre').first().textContent();
    expect(text).toContain(served.sequences[4]);
    const isPainted = `(() => {
      const canvas = document.querySelectorAll('.msa-window canvas')[2];
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, 40);
      return data.some((byte) => byte > 0);
    })()`;
    expect(await page.evaluate(isPainted)).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('can be operated with the keyboard alone, from the protein to an open row', async () => {
    await go('search');
    await page.getByLabel('Protein', { exact: true }).focus();
    await page.keyboard.insertText(served.sequences[9] as string);
    await page.keyboard.press('Control+Enter');
    await page.locator('.hit').first().waitFor();
    for (let step = 0; step < 120; step += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate('document.activeElement.className')) === 'open-row') break;
    }
    await page.keyboard.press('ArrowDown');
    const row = (): Promise<unknown> =>
      page.evaluate('document.activeElement.closest("[data-row]")?.dataset.row');
    await expect.poll(row).toBe('1');
    await page.keyboard.press('Enter');
    await page.locator('.alignment').waitFor();
  });

  it('completes the names of taxa, and searches below a taxon', async () => {
    await go('search');
    await paste(served.sequences[4] as string);
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Attribute').selectOption('taxid');
    expect(await page.getByLabel('Condition', { exact: true }).inputValue()).toBe('descends_from');
    const { taxon, organisms, proteins } = served.clade;
    await page.getByLabel('Value', { exact: true }).fill(taxon.slice(1, -1).toLowerCase());
    const option = page.locator(`datalist option[value="${taxon}"]`);
    await option.waitFor({ state: 'attached' });
    expect((await option.textContent())?.trim()).toBe(`${proteins} proteins`);
    await page.getByLabel('Value', { exact: true }).fill(taxon);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.locator('.hit').first().waitFor();
    expect(await page.locator('.actions p b').textContent()).toBe(String(proteins));
    const shown = await page.locator('.hit .column-organism').allTextContents();
    expect(shown.filter((organism) => !organisms.includes(organism))).toEqual([]);
    const before = await rows();
    // The address contains the release and the canonical filter: the other page shows both, as code and in the form.
    const other = await watched.context.newPage();
    await other.goto(page.url());
    await other.getByText(/^Only proteins where taxid lies below \d+\.$/).waitFor();
    expect(await rowsOf(other)).toEqual(before);
    await other.getByText('As code').click();
    expect(await other.locator('.code-panel pre').textContent()).not.toContain('target_space_id');
    await other.getByRole('link', { name: 'Change the search' }).click();
    await other.getByRole('button', { name: 'Search', exact: true }).click();
    await other.getByText(/^Only proteins where taxid/).waitFor();
    expect(await rowsOf(other)).toEqual(before);
    await other.close();
  });

  it('follows a run to its end while the server is killed and restarted', async () => {
    await go('search');
    await openFile(fastaOf(served.sequences, 600));
    await page.getByRole('button', { name: /in a run/ }).click();
    await page.locator('.badge.running, .badge.queued').first().waitFor();
    await served.kill();
    await served.start();
    await page.locator('.run .badge.completed').waitFor({ timeout: 90_000 });
    await page.locator('.queries a').first().waitFor();
    await page.getByLabel('Find a query').fill('protein_17');
    await page.locator('.queries a').first().click();
    await page.locator('.hit').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    // Requests during the restart may fail; all others must succeed.
    const others = watched.complaints
      .splice(0)
      .filter((text) => !/ERR_(CONNECTION|INCOMPLETE|EMPTY|SOCKET)/.test(text));
    expect(others).toEqual([]);
  }, 150_000);

  it('shows the first hits of a run that is too large for the page, and how to get all', async () => {
    const runId = /#\/runs\/(run_[0-9a-f]+)/.exec(page.url())![1]!;
    const headers = { authorization: `Bearer ${served.key}` };
    const real = await fetch(`${served.url}/v1/runs/${runId}/results?limit=1`, { headers });
    const [row] = ((await real.json()) as { data: [object] }).data;
    // Forty-one queries of 5,000 hits exceed the 200,000 hits of a page. Nine queries arrive at a time.
    const candidates = Array.from({ length: 5_000 }, (_, at) => ({
      rank: at + 1,
      target: { id: `T${at}`, sequence: 'MKV', attributes: {} },
      measurements: { maxsim: { bidirectional: 0.5 }, affine: { raw_score: 9 } },
      significance: { status: 'not_available', reason: '', measurements: {} },
    }));
    const results = new RegExp(`/v1/runs/${runId}/results`);
    const other = await watched.context.newPage();
    other.setDefaultTimeout(60_000);
    await other.route(results, (route) => {
      const first = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
      const data = Array.from({ length: 9 }, (_, at) => ({
        ...row,
        query_index: first + at,
        query_id: `large_${first + at}`,
        candidates,
      }));
      const json = { object: 'list', data, has_more: first < 36, next_cursor: String(first + 9) };
      return route.fulfill({ json });
    });
    await other.goto(`${served.url}/console/#/runs/${runId}?query=large_44`);
    const notice = other.locator('.notice', { hasText: 'choose Export' });
    await notice.waitFor();
    expect(await notice.textContent()).toContain('large_44 is not listed');
    expect(await notice.textContent()).toContain(`gloaming runs export ${runId}`);
    await other.locator('.hit').first().waitFor();
    expect(await other.locator('.queries a').count()).toBe(41);
    await other.close();
  }, 120_000);

  it('lists the finished queries of a run before the next page arrives', async () => {
    const runId = /#\/runs\/(run_[0-9a-f]+)/.exec(page.url())![1]!;
    const other = await watched.context.newPage();
    const results = new RegExp(`/v1/runs/${runId}/results`);
    await other.route(results, async (route) => {
      // The second page of rows never arrives.
      if (new URL(route.request().url()).searchParams.has('cursor')) return;
      const { data } = (await (await route.fetch()).json()) as { data: object[] };
      const json = { object: 'list', data: data.slice(0, 9), has_more: true, next_cursor: 'next' };
      await route.fulfill({ json });
    });
    await other.goto(`${served.url}/console/#/runs/${runId}`);
    await expect.poll(() => other.locator('.queries a').count()).toBe(9);
    await other.close();
  });

  it('cancels a run', async () => {
    await go('search');
    await openFile(fastaOf(served.sequences, 3000));
    await page.getByRole('button', { name: /in a run/ }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.run .badge.cancelled').waitFor();
    await go('runs');
    await page.locator('.run-list a').first().waitFor();
    expect(await page.locator('.run-list .badge').allTextContents()).toContain('cancelled');
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('lists databases, and shows the system and its keys to the operator', async () => {
    await go('databases');
    await page.locator('.release .plain-table').waitFor();
    expect(await page.locator('.cards h2 .badge').allTextContents()).toEqual(['default database']);
    expect(await page.locator('.cards li li .badge').allTextContents()).toEqual(['no E-values']);
    expect(await seriousFindings(page)).toEqual([]);
    await page.goto('about:blank');
    await page.goto(`${served.url}/console/#/enter/${served.link}`);
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByLabel('Purpose of the key').fill('made here');
    await page.getByRole('button', { name: 'Create a key' }).click();
    const key = await page.locator('.notice.good code').textContent();
    const answer = await fetch(`${served.url}/v1/runs`, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Revoke made here' }).click();
    await page.getByText('revoked just now').waitFor();
  });

  it('fits a phone, in dark colours, too', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: 'dark' });
    for (const view of ['search', 'runs', 'databases', 'system']) {
      await go(view);
      await page.locator('h1').waitFor();
      const [wide, seen] = (await page.evaluate(
        '[document.documentElement.scrollWidth, innerWidth]',
      )) as number[];
      expect([view, wide]).toEqual([view, seen]);
      expect([view, await seriousFindings(page)]).toEqual([view, []]);
    }
  });

  it('sends no request to another origin, violates no policy, and logs no error', () => {
    expect(watched.strays).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });
});

/** Milliseconds from the click to the frame with the first row, by the clock of the page. */
const CLICK_TO_FIRST_ROW = `new Promise((resolve) => {
  const startedAt = performance.now();
  const done = () => resolve(performance.now() - startedAt);
  const look = () =>
    requestAnimationFrame(document.querySelector('.hit') === null ? look : () => setTimeout(done));
  document.querySelector('form.search button[type="submit"]').click();
  look();
})`;

function fastaOf(sequences: readonly string[], count: number): string {
  return Array.from({ length: count }, (_, at) => `>protein_${at}\n${sequences[at % sequences.length]}`).join(
    '\n',
  );
}
