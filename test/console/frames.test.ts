import type { Browser, CDPSession } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launch, watchedPage } from './browser.js';
import { serveConsole, signIn, type ServedConsole } from './served.js';

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

const ROWS = 10_000;
const COLUMNS = 2_000;
const FRAMES = 180;

/** Rows that differ, with gaps. */
function largeA3m(): string {
  const letters = 'ACDEFGHIKLMNPQRSTVWY';
  const row = (at: number): string =>
    Array.from({ length: COLUMNS }, (_, column) =>
      at > 0 && (at * 31 + column * 7) % 97 < 20 ? '-' : letters[(column * 13 + ((at * column) % 5)) % 20],
    ).join('');
  const distinct = Array.from({ length: 100 }, (_, at) => row(at));
  return Array.from({ length: ROWS }, (_, at) => `>row_${at}\n${distinct[at % 100]}\n`).join('');
}

interface Scrolled {
  readonly frames: number;
  readonly elapsedMs: number;
}

/** Scrolls on both axes in each frame. */
const SCROLL = `new Promise((resolve) => {
  const frame = document.querySelector('.msa-frame');
  let frames = 0;
  const startedAt = performance.now();
  const step = () => {
    if (frames === ${FRAMES}) return resolve({ frames, elapsedMs: performance.now() - startedAt });
    frames += 1;
    frame.scrollTop = (frames * 613) % (frame.scrollHeight - frame.clientHeight);
    frame.scrollLeft = (frames * 97) % (frame.scrollWidth - frame.clientWidth);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

/** Processor time of the main thread of the page so far. Other processes do not affect it. Unit  seconds */
async function threadSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')!.value;
}

describe.skipIf(CHROMIUM === undefined)(`an alignment of ${ROWS} rows and ${COLUMNS} columns`, () => {
  let served: ServedConsole;
  let browser: Browser;
  beforeAll(async () => {
    served = await serveConsole();
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  it('scrolls, and paints the visible part at every position and zoom', async () => {
    const { page, context, complaints } = await watchedPage(browser, served.url);
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const a3m = largeA3m();
    const data = {
      id: 'msa_large',
      row_count: ROWS,
      query: { length: COLUMNS },
      candidate_count: ROWS,
      filtered_count: 0,
      duplicate_count: 0,
      unaligned_count: 0,
      beyond_depth_count: 0,
      parameters: { maximum_expected_false_hits: 0.001 },
    };
    await page.route(/\/v1\/sequences\/msa\/a3m/, (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ json: { data } })
        : route.fulfill({ contentType: 'text/plain', body: a3m }),
    );
    await signIn(page, served);
    const startedAt = performance.now();
    await page.goto(`${served.url}/console/#/msa/rcpt_x?name=large`);
    await page.locator('.msa-frame').waitFor();
    console.log(`drawn after ${Math.round(performance.now() - startedAt)} ms`);
    for (const [zoom, button] of [
      ['letters', undefined],
      ['overview', 'Smaller'],
    ] as const) {
      if (button !== undefined) {
        const smaller = page.getByRole('button', { name: button });
        while (await smaller.isEnabled()) await smaller.click();
      }
      const before = await threadSeconds(session);
      const { frames, elapsedMs } = (await page.evaluate(SCROLL)) as Scrolled;
      const ofThreadMs = (1000 * ((await threadSeconds(session)) - before)) / frames;
      console.log(
        `${zoom}: ${((1000 * frames) / elapsedMs).toFixed(0)} frames/s; ` +
          `the page needs ${ofThreadMs.toFixed(1)} ms of processor time a frame`,
      );
      expect(frames).toBe(FRAMES);
      await page.evaluate(TO_THE_END);
      expect(await page.evaluate(IS_AT_THE_END)).toBe(true);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      expect(await page.evaluate(LAST_ROW_IS_PAINTED)).toBe(true);
    }
    expect(complaints).toEqual([]);
  }, 150_000);
});

const TO_THE_END = `(() => {
  const frame = document.querySelector('.msa-frame');
  frame.scrollTo(0, frame.scrollHeight);
})()`;
const IS_AT_THE_END = `(() => {
  const { scrollTop, clientHeight, scrollHeight } = document.querySelector('.msa-frame');
  return scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 1;
})()`;

/** True if the lowest line of cells has colours. */
const LAST_ROW_IS_PAINTED = `(() => {
  const canvas = document.querySelectorAll('.msa-window canvas')[2];
  const { data } = canvas.getContext('2d').getImageData(0, canvas.height - 8, canvas.width, 4);
  return data.some((byte) => byte > 0);
})()`;
