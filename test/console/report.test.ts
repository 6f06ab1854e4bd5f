import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportHtml, type ReportResult } from '#src/cli/report/report.js';
import { createClient } from '#src/clients/typescript/client.js';
import { PROGRAM } from '../tools/paths.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';
import { CHROMIUM, launch, seriousFindings, watchedPage } from './browser.js';

const HOSTILE = '</script><script>document.title="taken"</script><img src=x onerror="document.title=1">';
const HITS = 10_000;

/** Ten thousand hits with E-values from 1e-60 to 1e4. The name of the first hit contains a script. */
function largeResult(): ReportResult {
  const sequence = 'MKVLAAGIVQLLKE'.repeat(10);
  const candidates = Array.from({ length: HITS }, (_, at) => ({
    rank: at + 1,
    target: {
      id: `T${at}`,
      sequence,
      attributes: {
        name: at === 0 ? HOSTILE : `protein ${(at * 7919) % HITS}`,
        organism: `species ${at % 9}`,
      },
    },
    measurements: { maxsim: { bidirectional: at / HITS }, affine: { raw_score: HITS - at } },
    significance: {
      status: 'supported_empirical',
      reason: 'within_calibration_sample',
      measurements: {
        log_expected_false_hits: (-60 + (64 * at) / HITS) * Math.LN10,
        pair_tail_surprisal_bits: (HITS - at) / 50,
      },
    },
  }));
  return {
    query: { id: HOSTILE, sequence },
    database: { slug: 'large', release_id: 'dbr_1', searched_target_count: HITS, searched_residue_count: 1 },
    limit: HITS,
    has_alignments: false,
    is_result_limit_reached: false,
    result_sha256: '',
    candidates,
  } as unknown as ReportResult;
}

async function* many<Item>(...items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

async function textOf(results: AsyncIterable<ReportResult>): Promise<string> {
  let text = '';
  const head = { title: HOSTILE, made_by: 'a test', manual_url: 'http://lab/docs/' };
  for await (const piece of reportHtml(head, results)) text += piece;
  return text;
}

it('a report has no script except its own, whatever the names of queries and proteins', async () => {
  const html = await textOf(many(largeResult()));
  expect(html.match(/<script[ >]/g)).toHaveLength(2);
  expect(html).not.toContain('<img src=x');
  expect(html).toMatch(/Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/);
});

describe.skipIf(CHROMIUM === undefined)('a report in a browser', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-report-'));
  let browser: Browser;
  let small: SmallAppliance;
  beforeAll(async () => {
    browser = await launch();
    small = await startSmallAppliance();
  });
  afterAll(async () => {
    await browser.close();
    await small.close();
    rmSync(folder, { recursive: true });
  });

  it('opens without a server, sorts and filters ten thousand hits, and sends no request', async () => {
    const file = join(folder, 'large.html');
    writeFileSync(file, await textOf(many(largeResult(), { ...largeResult(), candidates: [] })));
    const url = pathToFileURL(file).href;
    const { page, complaints, strays } = await watchedPage(browser, url);
    await page.goto(url);
    await page.locator('.hit').first().waitFor();
    expect(await page.title()).toBe(HOSTILE);
    expect(await page.locator('.hit').count()).toBeLessThan(80);
    expect(await page.locator('.actions p b').textContent()).toBe('10,000');
    const explained = page.locator('.column-links').getByRole('link', { name: 'E-value' });
    expect(await explained.getAttribute('href')).toBe('http://lab/docs/numbers#e-value');
    // Time from the click to the frame with the new order.
    const sortMs = (await page.evaluate(`(async () => {
      const times = [];
      const buttons = [...document.querySelectorAll('.table-head button')];
      for (const name of ['Protein', 'E-value', 'Distance', 'Protein', 'Organism', '#']) {
        const startedAt = performance.now();
        buttons.find((button) => button.textContent === name).click();
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        times.push(performance.now() - startedAt);
      }
      return times.sort((a, b) => a - b);
    })()`)) as number[];
    console.log(`sorting ${HITS} hits: median ${sortMs[3]!.toFixed(0)} ms, most ${sortMs[5]!.toFixed(0)} ms`);
    await page.getByRole('button', { name: 'Distance' }).click();
    await page.getByRole('button', { name: 'Distance' }).click();
    expect(await page.locator('.hit .open-row b').first().textContent()).toBe(`T${HITS - 1}`);
    await page.locator('input[type="range"]').fill('3');
    const expected = largeResult().candidates.filter(
      ({ significance }) => significance.measurements.log_expected_false_hits! <= -3 * Math.LN10,
    ).length;
    await expect.poll(() => page.locator('.actions p b').textContent()).toBe(expected.toLocaleString('en'));
    await page.getByLabel('Find a query').fill('nothing like it');
    expect(await page.locator('.queries li').count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
    expect({ complaints, strays }).toEqual({ complaints: [], strays: [] });
  });

  it('draws all alignments of a protein, with the E-value of each further one', async () => {
    const alignment = (start: number, length: number) => ({
      cigar: `${length}=`,
      query_start: start,
      query_end: start + length,
      query_coverage_ratio: length / 140,
      target_start: 70 - start,
      target_end: 70 - start + length,
      identical_residue_count: length,
      gap_opening_count: 0,
      sequence_identity_ratio: 1,
    });
    const {
      candidates: [first],
      ...result
    } = largeResult();
    const candidate = {
      ...first!,
      alignment: alignment(0, 60),
      alignments: [
        { alignment: alignment(0, 60), raw_score: 900 },
        { alignment: alignment(70, 50), raw_score: 700, log_expected_false_hits: -5 * Math.LN10 },
      ],
    };
    const file = join(folder, 'several.html');
    const several = { ...result, has_alignments: true, candidates: [candidate] } as unknown as ReportResult;
    writeFileSync(file, await textOf(many(several)));
    const url = pathToFileURL(file).href;
    const { page, complaints } = await watchedPage(browser, url);
    await page.goto(url);
    await page.locator('.hit .open-row').first().click();
    await page.locator('.detail .alignment').first().waitFor();
    expect(await page.locator('.detail .alignment').count()).toBe(2);
    expect(await page.locator('.detail .facts p').nth(1).textContent()).toMatch(
      /score 700 · E-value 1.0?e.5/,
    );
    expect(await page.locator('.coverage .track i').count()).toBe(2);
    expect(await page.locator('.coverage').first().getAttribute('title')).toBe(
      'Query residues 1 to 60, 71 to 120',
    );
    expect(await seriousFindings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('draws and lists the targets that only the neighbours of hits lead to', async () => {
    const { candidates, ...result } = largeResult();
    const stretch = { bridge_start: 0, bridge_end: 40, target_start: 10, target_end: 50 };
    const hitOf = (id: string, bridge: string, logE: number, isDirect: boolean) => ({
      target_id: id,
      expected_false_hits: Math.exp(logE),
      log_expected_false_hits: logE,
      is_candidate: false,
      bridge: {
        target_id: bridge,
        ...(isDirect && {
          from_query: { query_start: 3, query_end: 60, bridge_start: 1, bridge_end: 58 },
        }),
        to_target: { ...stretch, log_expected_false_hits: logE - 1 },
      },
    });
    // The query reaches F1 and F2 by way of hit T1, and F3 by way of F2.
    const propagation = {
      graph_id: 'graph_1',
      walks_id: 'walks_1',
      hits: [hitOf('F1', 'T1', -9, true), hitOf('F2', 'T1', -7, true), hitOf('F3', 'F2', -2, false)],
    };
    const file = join(folder, 'propagated.html');
    const propagated = { ...result, candidates: candidates.slice(0, 3), propagation };
    writeFileSync(file, await textOf(many(propagated as unknown as ReportResult)));
    const url = pathToFileURL(file).href;
    const { page, complaints, strays } = await watchedPage(browser, url);
    await page.goto(url);
    const section = page.getByRole('region', { name: 'By way of neighbours' });
    await section.waitFor();
    expect(await section.locator('tbody tr').count()).toBe(3);
    const names = await section.locator('svg circle title').allTextContents();
    expect(names.map((name) => name.split(',')[0]).slice(1)).toEqual(['F1', 'T1', 'F2', 'F3']);
    // Query and T1, T1 and F1, T1 and F2, F2 and F3.
    expect(await section.locator('svg .edge').count()).toBe(4);
    expect(await section.locator('svg .is-hit').count()).toBe(1);
    expect(await section.locator('svg').getAttribute('aria-label')).toContain('to 3 proteins');
    if (process.env.GLOAMING_LOOK) await page.screenshot({ path: process.env.GLOAMING_LOOK, fullPage: true });
    expect(await seriousFindings(page)).toEqual([]);
    expect({ complaints, strays }).toEqual({ complaints: [], strays: [] });
  });

  it('is what "search --format html" and "runs export --format html" write', async () => {
    const { config } = small.appliance;
    const environment = {
      ...process.env,
      GLOAMING_INDEXES: config.indexesFolder,
      GLOAMING_DATA: config.dataFolder,
      GLOAMING_URL: small.url,
      GLOAMING_API_KEY: await small.keyOf('lab'),
    };
    // Asynchronous, because this process runs the server that the second command calls.
    const gloaming = (...args: readonly string[]): Promise<unknown> =>
      promisify(execFile)(process.execPath, [PROGRAM, ...args], { cwd: folder, env: environment });
    const fasta = join(folder, 'two.fasta');
    writeFileSync(fasta, `>first\n${small.sequences[1]}\n>second\n${small.sequences[2]}\n`);
    await gloaming('search', fasta, '-d', 'demo', '--format', 'html', '-o', 'search.html');
    const server = createClient({ url: small.url, key: environment.GLOAMING_API_KEY });
    const queries = [{ id: 'first', sequence: small.sequences[1] as string }];
    const run = await server.submit({
      endpoint: 'homology.batch_search',
      input: { queries, database: 'demo', limit: 5 },
    });
    for await (const _event of server.watch(run.id));
    await gloaming('runs', 'export', run.id, '--format', 'html', '-o', 'run.html');
    for (const [file, listed] of [
      ['search.html', 2],
      ['run.html', 0],
    ] as const) {
      const url = pathToFileURL(join(folder, file)).href;
      const { page, complaints } = await watchedPage(browser, url);
      await page.goto(url);
      await page.locator('.hit').first().waitFor();
      expect([file, await page.locator('h1').textContent()]).toEqual([file, 'first']);
      expect([file, await page.locator('.queries li').count()]).toEqual([file, listed]);
      expect(complaints).toEqual([]);
    }
  });
});
