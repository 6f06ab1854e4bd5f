import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { register as registerInit } from '#src/cli/admin/init.js';
import { examineWorkers } from '#src/cli/admin/checks.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { search } from '#src/search/search.js';
import { normaliseProtein } from '#src/sequence/protein.js';
import { connectWorker } from '#src/services/workers/worker-connection.js';
import { startRelay, type Relay } from './relay.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';
import { ask, type Answer } from '../storage/storage-served.js';

/* A coordinator made from a configuration file. One worker uses TLS; the other is behind a relay that can be cut. */

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) console.log('A front is not tested with TLS: no openssl to make certificates with.');

describe.skipIf(!hasOpenssl)('a coordinator', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-front-'));
  const authority = join(folder, 'init', 'tls', 'ca.crt');
  const keyFile = join(folder, 'worker.key');
  const logged: string[] = [];
  let worker: SmallAppliance;
  let relay: Relay;
  let coordinator: SmallAppliance;
  let key: string;

  beforeAll(async () => {
    const program = new Command();
    const { stdin, stderr } = process;
    registerInit(program, { environment: {}, stdin, stdout: new PassThrough().resume(), stderr });
    const options = ['--tls', 'self-signed', '--host', '127.0.0.1', '--port', '8080', '--name', 'node2'];
    await program.parseAsync(['init', join(folder, 'init'), ...options], { from: 'user' });
    const tls = {
      certificate_file: join(folder, 'init', 'tls', 'server.crt'),
      key_file: join(folder, 'init', 'tls', 'server.key'),
    };
    worker = await startSmallAppliance({ serve_parts: true, tls });
    relay = await startRelay(worker.url);
    writeFileSync(keyFile, await worker.keyOf('default'));
    coordinator = await startSmallAppliance(
      {
        workers: [
          { url: worker.url, key_file: keyFile, authority_file: authority, parts: [1] },
          { url: `${relay.url}/`, key_file: keyFile, parts: [2] },
        ],
      },
      pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    );
    key = await coordinator.keyOf('default');
  });
  afterAll(async () => {
    await coordinator.close();
    await relay.close();
    await worker.close();
    rmSync(folder, { recursive: true });
  });

  const body = (index: number) => ({
    query: { kind: 'protein_sequence', sequence: coordinator.sequences[index] },
    limit: 4,
    evidence: 'pairwise_sequence_alignment',
  });
  const searched = (index: number): Promise<Answer> =>
    ask(`${coordinator.url}/v1/homology`, 'POST', key, body(index));

  /** Digest of the same search without workers. */
  async function digestHere(index: number): Promise<string> {
    const { catalog, engines } = coordinator.appliance;
    const engine = await engines.open(catalog.defaultRelease(DEMO_SLUG, 'default').releaseId);
    const { sequence, normalizationId } = normaliseProtein(coordinator.sequences[index]!);
    const request = {
      query: { sequence, normalizationId },
      targetSpace: unfilteredSpace(engine.release),
      limit: 4,
      evidence: 'pairwise_sequence_alignment',
      guarantee: 'approximate',
      significance: 'if_available',
    } as const;
    return (await search(request, { ...engine, scan: undefined })).resultSha256;
  }
  const cut = (): void => relay.behave(({ response }) => void response.destroy());

  it('gives the result of a search without workers, over TLS, and counts the responses of its workers', async () => {
    const { status, body: answer } = await searched(0);
    expect(status).toBe(200);
    expect(answer.result_sha256).toBe(await digestHere(0));
    expect(answer.candidates).toHaveLength(4);
    const metrics = await (await fetch(`${coordinator.url}/metrics`)).text();
    for (const { url } of [worker, relay]) {
      expect(metrics).toContain(`gloaming_worker_parts_total{worker="${url}",outcome="answered"} 1`);
    }
    expect(await examineWorkers(coordinator.appliance.config)).toMatchObject([
      { state: 'good' },
      { state: 'good' },
    ]);
  });

  it('refuses certificates of unnamed authorities and unusable key files, and serves no partitions', async () => {
    const connection = connectWorker({ url: worker.url, keyFile, parts: [1] });
    await expect(connection.probe(AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
    expect((await ask(`${coordinator.url}/parts/surveys`, 'POST', key, {})).status).toBe(404);
    writeFileSync(join(folder, 'none.key'), '\n');
    const unusable = { url: worker.url, keyFile: join(folder, 'none.key'), parts: [1] };
    expect(() => connectWorker(unusable)).toThrow(/none\.key must contain the API key/);
    expect(() => connectWorker({ ...unusable, keyFile: join(folder, 'no') })).toThrow(
      /cannot be read \(ENOENT\)/,
    );
  });

  it('answers 503 with Retry-After if a worker is missing, and its log names the worker', async () => {
    cut();
    const { status, headers, body: answer } = await searched(1);
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(answer.error).toMatchObject({ code: 'worker_unavailable', type: 'capacity_error' });
    const line = logged.find((each) => each.includes('A worker has not answered for its part.'))!;
    expect(JSON.parse(line)).toMatchObject({ worker: relay.url, part: 2 });
    expect(logged.join('')).not.toContain('glm_');
    const [, missing] = await examineWorkers(coordinator.appliance.config);
    expect(missing).toMatchObject({
      state: 'warning',
      message: expect.stringContaining(relay.url) as string,
    });
    relay.behave();
    expect((await searched(1)).body.result_sha256).toBe(await digestHere(1));
  });

  it('reads a replaced API key without a restart', async () => {
    const { keys } = worker.appliance;
    await keys.revoke(readFileSync(keyFile, 'utf8').slice(4, 12));
    expect((await searched(3)).status).toBe(503);
    writeFileSync(keyFile, '');
    expect((await searched(3)).status).toBe(503);
    const { key: newKey } = await keys.create('front', 'default');
    writeFileSync(keyFile, `${newKey}\n`);
    expect((await searched(3)).body.result_sha256).toBe(await digestHere(3));
  });

  it('keeps runs waiting until the worker is back', { timeout: 60_000 }, async () => {
    cut();
    const input = { ...body(2), database: DEMO_SLUG };
    const run = await ask(`${coordinator.url}/v1/runs`, 'POST', key, { endpoint: 'homology.search', input });
    expect(run.status, JSON.stringify(run.body)).toBe(202);
    const { id } = run.body.data as { id: string };
    const state = async () =>
      (await ask(`${coordinator.url}/v1/runs/${id}`, 'GET', key)).body.data as Answer['body'];
    const logLines = () =>
      logged.filter((line) => line.includes(id)).map((line) => JSON.parse(line) as object);
    const msg = 'A run waits for a disk or a worker, and goes on by itself.';
    await expect.poll(logLines).toMatchObject([{ level: 40, run_id: id, msg }]);
    expect((await state()).status).not.toBe('failed');
    relay.behave();
    await expect.poll(async () => (await state()).status, { timeout: 30_000 }).toBe('completed');
    expect(JSON.stringify(await state())).toContain(await digestHere(2));
  });
});
