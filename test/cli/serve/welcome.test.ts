import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { buildFirstDatabase } from '#src/cli/serve/first-database.js';
import { welcome } from '#src/cli/serve/welcome.js';
import type { CommandContext } from '#src/cli/terminal/command.js';
import { loadConfig } from '#src/config.js';
import { pino } from 'pino';

/* The output of a first start, on a terminal and in a file. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-welcome-'));
const environment = {
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_ENCODER: 'baseline-1',
  GLOAMING_PORT: '0',
};
let appliance: Appliance;
let server: RunningServer;

beforeAll(async () => {
  appliance = await openAppliance(loadConfig(environment));
  await buildFirstDatabase(appliance, { isSimulated: false }, contextOf(false).context);
  server = await serve(appliance, pino({ level: 'silent' }), { isResponseChecked: true });
}, 120_000);
afterAll(async () => {
  await server?.stop(2_000);
  await appliance?.close();
  rmSync(folder, { recursive: true });
});

function contextOf(isTTY: boolean): { readonly context: CommandContext; readonly text: () => string } {
  const written: string[] = [];
  const stdout = { isTTY, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  const context: CommandContext = { environment, stdin: process.stdin, stdout, stderr: stdout };
  return { context, text: () => written.join('') };
}

async function printed(isTTY: boolean): Promise<string> {
  const { context, text } = contextOf(isTTY);
  await welcome(appliance, server, context);
  return text();
}

describe('a first start', () => {
  it('shows no secret outside a terminal, and how to get a key and a link', async () => {
    const text = await printed(false);
    expect(text).not.toMatch(/glm_|#\/enter\//);
    expect(text).toContain('export GLOAMING_API_KEY=$(');
    expect(text).toContain('keys create me)');
    expect(text).toMatch(/console" prints a link that signs one browser in/);
    expect(text).toMatch(
      /^Self-check on .*: ubiquitin-like HUB1 of a malaria parasite against 2000 real proteins/m,
    );
    expect(text).toMatch(/^curl -s http:/m);
    expect(text).toMatch(/^Documentation: http/m);
  });

  it('does not wait for its own calibration, and announces that E-values follow', async () => {
    expect(await printed(false)).toContain('E-values follow within a minute');
  });

  it('prints a link that signs one browser in, once', async () => {
    const text = await printed(true);
    const [, base, link] = /^(http\S+\/console\/)#\/enter\/(\S+)$/m.exec(text) ?? [];
    const enter = (): Promise<Response> =>
      fetch(`${base}api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: server.url },
        body: JSON.stringify({ link }),
      });
    const first = await enter();
    expect(first.status).toBe(200);
    expect(await first.json()).toMatchObject({ visitor: { is_operator: true, organization: 'default' } });
    expect((await enter()).status).toBe(401);
  });

  it('shows its key once', async () => {
    await appliance.keys.revoke(appliance.keys.list().find(({ isDemo }) => isDemo)!.id);
    const [key] = /glm_\w+/.exec(await printed(true)) ?? [];
    const [, body] = /-d '(.*)'$/m.exec(await printed(true)) ?? [];
    const answer = await fetch(`${server.url}/v1/homology`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
    const { candidates } = (await answer.json()) as { candidates: { target: { id: string } }[] };
    expect(candidates).toHaveLength(5);
    expect(candidates[0]!.target.id).toBe('A0A509ATW6');
    expect(await printed(true)).not.toMatch(/glm_\w/);
  });

  it('names an example query of the command line and the table that compares other programs', async () => {
    const text = await printed(true);
    expect(text).toMatch(/search examples\/hub1\.fasta --database demo$/m);
    expect(text).toMatch(/examples\/finds\.md$/m);
  });

  it('builds a database that the first database of the lab replaces as the default of searches', async () => {
    const { releases } = appliance;
    expect(releases.defaultDatabase()?.slug).toBe('demo');
    const [{ id, manifest }] = releases.releases('demo');
    await releases.publish({ id, slug: 'lab', publishedAt: new Date().toISOString(), manifest });
    expect(releases.defaultDatabase()?.slug).toBe('lab');
  });

  it('has lineages, so that its taxa can be filtered', async () => {
    const [{ manifest }] = appliance.releases.releases('demo');
    expect(manifest.filter_schema.fields.map(({ name }) => name)).toContain('lineage');
  });
});
