import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Objects } from '#src/store/objects/objects.js';
import { buildBench, call, type Bench, type Json, type Serving } from '../runs/runs-served.js';

/* Predictions by a stub command. The first line of its alignment selects its behaviour. */

const COMMAND = fileURLToPath(new URL('stand-in-predictor.sh', import.meta.url));
const SERVER = fileURLToPath(new URL('../../tools/served-appliance.mjs', import.meta.url));
/** Must not be interpreted by a shell. */
const LITERAL = '$(touch escaped); "quoted" *';

let bench: Bench;
let serving: Serving;
let settings: Record<string, string>;

/** Settings of a server with this timeout for its predictor. */
function settingsOf(timeout_seconds: number): Record<string, string> {
  const config = join(bench.folder, `appliance-${timeout_seconds}.json`);
  const structure_predictor = {
    command: COMMAND,
    args: ['{input}', '{output}', LITERAL],
    environment: { GREETING: 'hello' },
    timeout_seconds,
    output_max_mib: 1,
    output_max_files: 8,
  };
  writeFileSync(config, JSON.stringify({ structure_predictor }));
  return { GLOAMING_CONFIG: config };
}

async function restart(changed?: Record<string, string>): Promise<void> {
  await serving.stop();
  serving = await bench.start(changed);
}

beforeAll(async () => {
  bench = await buildBench(60);
  settings = settingsOf(300);
  serving = await bench.start(settings);
});
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

/** Uploads an alignment that selects a behaviour of the stub, and returns its URL. */
function alignment(behaviour: string): Promise<string> {
  return uploaded(`${behaviour.replaceAll(' ', '-')}.a3m`, `>${behaviour}\n${bench.sequences[0]}\n`);
}

async function uploaded(fileName: string, text: string): Promise<string> {
  const bytes = Buffer.from(text);
  const path = '/v1/storage/uploads';
  const body = { file_name: fileName, size_bytes: bytes.length };
  const { id } = (await serving.call('POST', path, { body })).body.data;
  const urls = await serving.call('POST', `${path}/${id}/part-urls`, { body: { part_numbers: [1] } });
  await fetch(urls.body.data.urls[0].url, { method: 'PUT', body: bytes as never });
  await serving.call('POST', `${path}/${id}/parts/1/acknowledge`, { body: {} });
  return (await serving.call('POST', `${path}/${id}/complete`)).body.data.url;
}

async function create(input: Json): Promise<Json> {
  const body = { endpoint: 'structure.predict', input };
  const answer = await serving.call('POST', '/v1/runs', { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return answer.body.data;
}

async function endOf({ id }: Json): Promise<Json> {
  const { body } = await serving.call('GET', `/v1/runs/${id}`, { headers: { Prefer: 'wait=50' } });
  return body.data;
}

const predict = async (behaviour: string): Promise<Json> =>
  endOf(await create({ a3m_url: await alignment(behaviour) }));

async function bytesOf({ url }: Json): Promise<Buffer> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${bench.keys.lab}` } });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

const textOf = async (file: Json): Promise<string> => (await bytesOf(file)).toString();
const pidsIn = (log: string): number[] => [...log.matchAll(/^pid (\d+)$/gm)].map(([, pid]) => Number(pid));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** New processes of a running prediction, once its log has this number of process ids. */
async function processesOf({ id }: Json, count: number, before: readonly number[] = []): Promise<number[]> {
  const log = join(bench.environment.GLOAMING_DATA, 'predictions', id, 'predictor.log');
  for (let tries = 0; tries < 400; tries += 1) {
    const pids = existsSync(log) ? pidsIn(readFileSync(log, 'utf8')) : [];
    if (pids.length >= count && !pids.some((pid) => before.includes(pid))) return pids;
    await pause(50);
  }
  throw new Error(`The prediction ${id} has not started.`);
}

async function untilGone(pids: readonly number[]): Promise<void> {
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
}

const foldersLeft = (): string[] => readdirSync(join(bench.environment.GLOAMING_DATA, 'predictions'));

describe('a prediction', () => {
  it('passes the alignment to the predictor and stores its output and log', async () => {
    const body = {
      query: { kind: 'protein_sequence', sequence: bench.sequences[0] },
      evidence: 'pairwise_sequence_alignment',
    };
    const { receipt } = (await serving.call('POST', '/v1/homology', { body })).body;
    const msa = (await serving.call('POST', '/v1/sequences/msa/a3m', { body: { receipt_id: receipt.id } }))
      .body;
    const run = await endOf(await create({ a3m_object_id: msa.data.id, folder: 'folded/first/' }));
    expect(run.status, JSON.stringify(run.error)).toBe('completed');
    expect(run.usage.billable_units).toBe(1);
    const { summary } = run.result;
    expect(summary.a3m_sha256).toBe(msa.data.a3m_sha256);
    expect(summary.files.map(({ path, content_type }: Json) => [path, content_type])).toEqual([
      ['folded/first/environment.txt', 'text/plain; charset=utf-8'],
      ['folded/first/ranked/input-as-it-came.a3m', 'text/plain; charset=utf-8'],
      ['folded/first/ranked/model_1.pdb', 'chemical/x-pdb'],
    ]);
    const [environment, input, model] = summary.files;
    expect(
      createHash('sha256')
        .update(await bytesOf(input))
        .digest('hex'),
    ).toBe(msa.data.a3m_sha256);
    expect(await textOf(model)).toBe('ATOM\n');
    const names = (await textOf(environment)).match(/^\w+(?==)/gm);
    // The stub's shell sets the last three itself.
    expect(names?.filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name))).toEqual([
      'GREETING',
      'HOME',
      'LANG',
      'PATH',
      'TMPDIR',
    ]);
    const log = await textOf(summary.log);
    expect(log).toContain(`argument ${LITERAL}\n`);
    expect(log).toContain('working in ');
    expect(foldersLeft()).toEqual([]);
  });

  it('stores an archive with names outside its folder as bytes, and extracts nothing', async () => {
    const run = await predict('packed');
    expect(run.status, JSON.stringify(run.error)).toBe('completed');
    const names = run.result.summary.files.map(({ path }: Json) => path);
    expect(names).toContain(`structures/${run.id}/models.tar`);
    expect(names.filter((name: string) => name.includes('escaped'))).toEqual([]);
  });

  it('ends processes that the predictor leaves running', async () => {
    const { status, result } = await predict('leaves');
    expect(status).toBe('completed');
    await untilGone(pidsIn(await textOf(result.summary.log)));
  });

  it('keeps its output and waits while the disk has no room for it', async () => {
    const a3m_url = await alignment('fine');
    const freeBytes = vi.spyOn(Objects.prototype, 'freeBytes');
    const marks: string[] = [];
    const fill = async (): Promise<number> => {
      const [name] = foldersLeft();
      marks.push(`mark-${marks.length}.txt`);
      const output = join(bench.environment.GLOAMING_DATA, 'predictions', name, 'output');
      writeFileSync(join(output, marks.at(-1)!), 'not lost');
      return 0;
    };
    // Full before the copy of the log, and in the next attempt after it.
    freeBytes.mockImplementationOnce(fill).mockResolvedValueOnce(1e12).mockImplementationOnce(fill);
    const run = await endOf(await create({ a3m_url }));
    freeBytes.mockRestore();
    expect(run.status, JSON.stringify(run.error)).toBe('completed');
    expect(run.attempt_count).toBe(1);
    const names = run.result.summary.files.map(({ path }: Json) => path.split('/').at(-1));
    expect(names).toEqual(expect.arrayContaining(['mark-0.txt', 'mark-1.txt', 'model_1.pdb']));
    expect(foldersLeft()).toEqual([]);
  });

  it('keeps the beginning of a log that is too long', async () => {
    const { status, result } = await predict('chatter');
    expect(status).toBe('completed');
    expect(result.summary.log.size_bytes).toBe(4 * 1024 * 1024);
  });
});

describe('a prediction that fails', () => {
  /** The behaviour must fail the run, which keeps only the log. */
  async function expectFailed(behaviour: string, reason: string, facts: object): Promise<void> {
    const run = await predict(behaviour);
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'prediction_failed', details: { reason, ...facts } },
      usage: { billable_units: 0 },
    });
    const { log } = run.error.details;
    expect(log.path).toBe(`structures/${run.id}/predictor.log`);
    const text = await textOf(log);
    expect(text).toContain(`behaviour >${behaviour}`);
    if (behaviour === 'fail') expect(text).toContain('the model did not converge');
    await untilGone(pidsIn(text));
    const { appliance } = serving;
    const files = [
      ...appliance.store
        .table<Json>('files')
        .getRange()
        .map(({ value }) => value.path as string),
    ];
    expect(files.filter((path) => path.startsWith(`structures/${run.id}/`))).toEqual([log.path]);
    expect(foldersLeft()).toEqual([]);
  }

  it.each([
    ['fail', 'exit', { exit_code: 3 }],
    ['flood', 'output_too_large', {}],
    ['many', 'output_too_large', {}],
    ['link', 'output_invalid', {}],
    ['pipe', 'output_invalid', {}],
    ['swap', 'output_invalid', {}],
    ['nested', 'output_invalid', {}],
    ['archive', 'output_invalid', {}],
    ['backslash', 'output_invalid', {}],
  ])('in the way %s fails its run, and only its log is stored', expectFailed);

  it('and replaces its log by a link has nothing stored of what the link names', async () => {
    const run = await predict('log-theft');
    expect(run).toMatchObject({ status: 'failed', error: { details: { reason: 'exit', exit_code: 3 } } });
    expect(await textOf(run.error.details.log)).toBe('The predictor removed or replaced its log.\n');
    expect(foldersLeft()).toEqual([]);
  });

  it('because it exceeds its time fails its run, too', async () => {
    await restart(settingsOf(6));
    await expectFailed('hang', 'timeout', {});
    await restart(settings);
  });
});

describe('cancelling a prediction', () => {
  it.each(['hang', 'stubborn'])('ends its whole process group, also one that is %s', async (behaviour) => {
    const run = await create({ a3m_url: await alignment(behaviour) });
    const pids = await processesOf(run, 2);
    const { body } = await serving.call('POST', `/v1/runs/${run.id}/cancel`);
    expect(body.data.status).toBe('cancelled');
    await untilGone(pids);
    expect((await endOf(run)).status).toBe('cancelled');
  });
});

describe('predictions that wait', () => {
  it('take turns, and take none from searches', async () => {
    const url = await alignment('hang');
    const first = await create({ a3m_url: url });
    const second = await create({ a3m_url: url });
    const third = await create({ a3m_url: url });
    await processesOf(first, 2);
    const input = { query: { kind: 'protein_sequence', sequence: bench.sequences[1] } };
    const search = await serving.call('POST', '/v1/runs', {
      body: { endpoint: 'homology.search', input, background: false },
    });
    expect(search.body.data.status).toBe('completed');
    const { body } = await serving.call('GET', `/v1/runs/${second.id}`);
    expect(body.data.progress.stage).toBe('waiting for the predictor');
    await serving.call('POST', `/v1/runs/${second.id}/cancel`);
    await serving.call('POST', `/v1/runs/${first.id}/cancel`);
    const pids = await processesOf(third, 2);
    await serving.call('POST', `/v1/runs/${third.id}/cancel`);
    await untilGone(pids);
  });
});

describe('a prediction is refused', () => {
  const codeOf = async (input: Json, as: 'lab' | 'other' = 'lab'): Promise<string | null> => {
    const body = { endpoint: 'structure.predict', input };
    return (await serving.call('POST', '/v1/runs', { body, as })).headers.get('Service-Error-Type');
  };

  it('before it is accepted where its alignment cannot be read or its folder is none', async () => {
    const a3m_url = await alignment('fine');
    expect(await codeOf({ a3m_object_id: `msa_${'0'.repeat(64)}` })).toBe('msa_not_found');
    expect(await codeOf({ a3m_url: 'http://127.0.0.1:1/a.a3m' })).toBe('file_not_managed');
    expect(await codeOf({ a3m_url }, 'other')).toBe('permission_denied');
    expect(await codeOf({ a3m_url, folder: '../outside' })).toBe('invalid_path');
    expect(await codeOf({})).toBe('validation_failed');
  });

  it.each(['no alignment', '>name\n<html>', '{"a": 1}', '\0\0', '#1\n\n', 'MKV\n>name\n'])(
    'before it is accepted where its alignment is no A3M: %j',
    async (text) => {
      expect(await codeOf({ a3m_url: await uploaded('no.a3m', text) })).toBe('invalid_sequence');
    },
  );

  it('where the operator has configured no predictor', async () => {
    const a3m_url = await alignment('fine');
    await restart();
    const [, path] = /^http:\/\/[^/]+(.*)$/.exec(a3m_url)!;
    expect(await codeOf({ a3m_url: path })).toBe('endpoint_not_configured');
    await restart(settings);
  });
});

describe('a server that is killed', () => {
  it('ends its predictions, and the next server starts them again', async () => {
    const run = await create({ a3m_url: await alignment('hang') });
    const before = await processesOf(run, 2);
    await serving.stop();
    await untilGone(before);
    const child = spawn(process.execPath, [SERVER], {
      env: { ...process.env, ...bench.environment, ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(createInterface({ input: child.stdout }), 'line');
    const during = await processesOf(run, 2, before);
    expect(during.every(isAlive)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await untilGone(during);
    serving = await bench.start(settings);
    const after = await processesOf(run, 2, during);
    const { body } = await call(`${serving.server.url}/v1/runs/${run.id}`, 'GET', bench.keys.lab, {});
    expect(body.data).toMatchObject({ status: 'running', attempt_count: 3 });
    await serving.call('POST', `/v1/runs/${run.id}/cancel`);
    await untilGone(after);
  });
});
