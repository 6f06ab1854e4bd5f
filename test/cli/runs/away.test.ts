import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { PROGRAM } from '../../tools/paths.js';

/* `gloaming runs` as a process, against a server that is away for a while, or refuses. */

const ID = `run_${'a'.repeat(24)}`;
const run = {
  id: ID,
  endpoint: 'homology.search',
  status: 'completed',
  progress: { total_count: 1 },
  result: { row_count: 3 },
  started_at: '2026-01-01T00:00:00Z',
  finished_at: '2026-01-01T00:00:02Z',
};
const message = (type: string, id: number): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, data: { endpoint: 'homology.search' } })}\n\n`;

let server: Server | undefined;
afterEach(() => server?.close());

async function listen(port: number, handler: Parameters<typeof createServer>[1]): Promise<number> {
  server = createServer(handler);
  await new Promise<void>((resolve) => server!.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function gloaming(port: number, ...words: readonly string[]): Promise<Ended> {
  const env = { ...process.env, GLOAMING_URL: `http://127.0.0.1:${port}`, GLOAMING_API_KEY: 'glm_test' };
  const child = spawn(process.execPath, [PROGRAM, 'runs', ...words], { env });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => (stderr += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
}

it('a run is watched to its end though its server breaks off and is away for a while', async () => {
  // The relay keeps its port while it refuses connections, so that no other process takes it.
  let [isAway, turnedAwayCount] = [false, 0];
  const port = await listen(0, ({ url = '' }, response) => {
    if (turnedAwayCount === 0) {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(message('run.running', 1), () => {
        isAway = true;
        response.destroy();
      });
    } else if (url.endsWith('/events')) response.end(message('run.completed', 2));
    else response.end(JSON.stringify({ data: run }));
  });
  server!.on('connection', (socket) => {
    if (!isAway) return;
    socket.destroy();
    turnedAwayCount += 1;
    isAway = turnedAwayCount < 2;
  });
  const watching = gloaming(port, 'watch', ID);
  const { code, stderr } = await watching;
  expect([code, stderr.trim().split('\n').at(-1)]).toEqual([0, `${ID} completed: 1 query, 3 rows, 2.0 s.`]);
  expect(turnedAwayCount).toBe(2);
}, 180_000);

it('a refusal of the server is one line with the places in the request, and exit status 2', async () => {
  const errors = [
    { location: 'body.input.limit', message: 'must be >= 1' },
    { location: 'body.label', message: 'must be string' },
  ];
  const body = JSON.stringify({ detail: 'Two members are wrong.', errors });
  const headers = { 'Service-Error-Type': 'validation_failed', 'Service-Retryable': 'false' };
  const port = await listen(0, (_request, response) => response.writeHead(422, headers).end(body));
  expect(await gloaming(port, 'list')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'gloaming: Two members are wrong.\n  body.input.limit: must be >= 1\n  body.label: must be string\n',
  });
  expect(await gloaming(port, 'export', ID, '--format', 'html', '-o', '-')).toMatchObject({ code: 2 });
});

it.each([
  ['cancelled', undefined, `gloaming: ${ID} was cancelled\n`],
  [
    'failed',
    { code: 'internal_error', message: 'A disk failed.' },
    `gloaming: ${ID} failed: A disk failed.\n`,
  ],
])(
  'the rows of a %s run are written, then one sentence, and exit status 2',
  async (status, error, sentence) => {
    const rows = { data: [{ query_id: 'q0' }], has_more: false, next_cursor: null };
    const ended = { data: { ...run, status, result: null, error } };
    const port = await listen(0, ({ url = '' }, response) => {
      response.end(JSON.stringify(url.includes('/results') ? rows : ended));
    });
    expect(await gloaming(port, 'results', ID)).toEqual({
      code: 2,
      stdout: '{"query_id":"q0"}\n',
      stderr: sentence,
    });
  },
);

it('an unreachable server gives one line without delay, and exit status 1', async () => {
  const { code, stderr } = await gloaming(1, 'list');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^gloaming: The server at http:\/\/127\.0\.0\.1:1 cannot be reached/);
});
