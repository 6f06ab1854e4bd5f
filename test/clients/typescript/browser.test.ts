import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, launch } from '../../console/browser.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

if (CHROMIUM === undefined)
  console.log('skipped: no chromium (apt-get install chromium, or GLOAMING_CHROMIUM)');

/* The client, loaded from the appliance by pages of other origins. */

describe.skipIf(CHROMIUM === undefined)('the TypeScript client in a browser', () => {
  let named: { readonly server: Server; readonly origin: string };
  let other: typeof named;
  let small: SmallAppliance;
  let browser: Browser;
  beforeAll(async () => {
    [named, other] = [await emptyPages(), await emptyPages()];
    small = await startSmallAppliance({ cors_origins: [named.origin] });
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await small?.close();
    named.server.close();
    other.server.close();
  });

  /** Results in a page of the origin that searches, watches a run and reads a refusal. */
  async function useFrom(origin: string): Promise<unknown> {
    const page = await browser.newPage();
    await page.goto(origin);
    const key = await small.keyOf('lab');
    return page.evaluate(`(async () => {
      const { createClient } = await import(${JSON.stringify(`${small.url}/client/typescript/gloaming.mjs`)});
      const gloaming = createClient({ url: ${JSON.stringify(small.url)}, key: '${key}', retries: 0 });
      const query = { kind: 'protein_sequence', sequence: '${small.sequences[7]}' };
      const { candidates } = await gloaming.search({ query, limit: 3 });
      const run = await gloaming.submit({ endpoint: 'homology.search', input: { query, limit: 3 } });
      let last;
      for await (const event of gloaming.watch(run.id)) last = event.type;
      const refused = await gloaming.run('run_' + '0'.repeat(24)).catch(({ code, requestId }) => ({ code, requestId }));
      return { found: candidates.length, first: candidates[0].target.sequence, last, refused };
    })()`);
  }

  it('searches, watches and reads refusals from a page of an allowed origin', async () => {
    expect(await useFrom(named.origin)).toEqual({
      found: 3,
      first: small.sequences[7],
      last: 'run.completed',
      refused: { code: 'run_not_found', requestId: expect.stringMatching(/^req_/) },
    });
  });

  it('does not load in a page of another origin', async () => {
    await expect(useFrom(other.origin)).rejects.toThrow(/Failed to fetch/);
  });
});

async function emptyPages(): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>another origin</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
