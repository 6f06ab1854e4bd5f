import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAppliance } from '#src/appliance.js';
import { loadConfig } from '#src/config.js';
import { copyDemoRelease } from '../../tools/fixtures.js';
import { PROGRAM } from '../../tools/paths.js';

/* `gloaming start` as it is typed, where it cannot listen. */

const MAIN = PROGRAM;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-serve-'));
const environment = {
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_ENCODER: 'baseline-1',
};
let squatter: Server;
let portCount = 0;

beforeAll(async () => {
  await copyDemoRelease(environment.GLOAMING_INDEXES, 11, 20);
  await (await openAppliance(loadConfig(environment))).close();
  squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
  portCount = (squatter.address() as AddressInfo).port;
});
afterAll(() => {
  squatter.close();
  rmSync(folder, { recursive: true });
});

it.each([
  ['HTTP', () => ({ GLOAMING_PORT: `${portCount}` }), 'GLOAMING_PORT'],
  [
    'the PostgreSQL protocol',
    () => ({ GLOAMING_PORT: '0', GLOAMING_POSTGRES_PORT: `${portCount}` }),
    'GLOAMING_POSTGRES_PORT',
  ],
])(
  'a start whose port of %s is in use ends with one line',
  async (_name, ports, setting) => {
    const child = spawn(process.execPath, [MAIN, 'start'], {
      env: { ...process.env, ...environment, ...ports() },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const output = await text(child.stderr);
    expect(await ended).toBe(2);
    expect(output).toBe(
      `gloaming: 127.0.0.1:${portCount} cannot be listened on: another program does so, perhaps another gloaming. ` +
        `Stop it, or set ${setting} to a free port.\n`,
    );
  },
  60_000,
);

const serveCommand = () =>
  spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, ...environment, GLOAMING_PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

it(
  'a second server of a data folder ends with one sentence, and starts after the first was killed',
  { timeout: 60_000 },
  async () => {
    const first = serveCommand();
    await once(createInterface({ input: first.stdout }), 'line');
    const second = serveCommand();
    const [output, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')]);
    expect(code).toBe(2);
    expect(output).toBe(
      `gloaming: ${environment.GLOAMING_DATA} is served by process ${first.pid}: stop that server, or name ` +
        'another folder by GLOAMING_DATA.\n',
    );
    first.kill('SIGKILL');
    await once(first, 'exit');
    const third = serveCommand();
    await once(createInterface({ input: third.stdout }), 'line');
    const lock = join(environment.GLOAMING_DATA, 'server.lock');
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ pid: third.pid });
    // Another shell has other settings than the server.
    const link = (...options: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> =>
      promisify(execFile)(process.execPath, [MAIN, 'console', ...options], {
        env: { ...process.env, ...environment, GLOAMING_PORT: '1' },
      });
    const url = readFileSync(join(environment.GLOAMING_DATA, 'server.url'), 'utf8');
    expect(await link()).toEqual({
      stdout: expect.stringMatching(new RegExp(`^${url}/console/#/enter/`)),
      stderr: '',
    });
    expect((await fetch(`${url}/health`)).status).toBe(200);
    third.kill('SIGTERM');
    await once(third, 'exit');
    expect(existsSync(lock)).toBe(false);
    await expect(link('--organization', 'console-open')).rejects.toThrow('reserved');
    expect(await link()).toEqual({
      stdout: expect.stringMatching(/:1\/console\/#\/enter\//),
      stderr: expect.stringMatching(/^No server runs on [^\n]*\n$/),
    });
  },
);

it('a start with too few file descriptors ends with one line', { timeout: 60_000 }, async () => {
  for (const limit of [28, 40, 64]) {
    const argv = [`--nofile=${limit}`, process.execPath, MAIN, 'serve'];
    const child = spawn('prlimit', argv, {
      env: { ...process.env, ...environment, GLOAMING_PORT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(child, 'exit');
    const timer = setTimeout(() => child.kill('SIGKILL'), 8_000);
    const output = await text(child.stderr);
    const [code] = (await ended) as [number | null];
    clearTimeout(timer);
    // With some limits it starts.
    if (code === null) continue;
    expect([code, output]).toEqual([1, expect.stringMatching(/^gloaming: [^\n]*\n$/)]);
  }
});

it(
  'a start that fails after listening reports the reason and ends the process',
  { timeout: 60_000 },
  async () => {
    const inTheWay = join(folder, 'data', 'objects', 'incoming', 'a folder');
    mkdirSync(inTheWay, { recursive: true });
    const child = spawn(process.execPath, [MAIN, 'serve'], {
      env: { ...process.env, ...environment, GLOAMING_PORT: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const output = await text(child.stderr);
    rmdirSync(inTheWay);
    expect(await ended).toBe(1);
    expect(output).toContain('a folder');
  },
);
