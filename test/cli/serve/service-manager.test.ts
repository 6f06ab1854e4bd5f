import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from 'vitest';
import { PROGRAM } from '../../tools/paths.js';

/* `gloaming serve` as systemd starts it: a datagram socket takes what it would be told. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-notify-'));
afterAll(() => rmSync(folder, { recursive: true }));

const LISTENER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    for line in s.recv(4096).decode().splitlines():
        if line != "BARRIER=1": print(line, flush=True)
`;
const hasNotify = ['systemd-notify', 'python3'].every(
  (program) => spawnSync(program, ['--version']).status === 0,
);

it.skipIf(!hasNotify)(
  'serve notifies the service manager of ready, watchdog and stopping, builds no demo and creates no key',
  async () => {
    const socket = join(folder, 'notify');
    const listener = spawn('python3', ['-c', LISTENER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: listener.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<string> => String((await lines.next()).value);
    expect(await next()).toBe('bound');
    const server = spawn(process.execPath, [PROGRAM, 'serve'], {
      env: {
        ...process.env,
        GLOAMING_DATA: join(folder, 'data'),
        GLOAMING_INDEXES: join(folder, 'indexes'),
        GLOAMING_PORT: '0',
        NOTIFY_SOCKET: socket,
        WATCHDOG_USEC: '400000',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const notices: string[] = [];
    server.stdout.on('data', (bytes: Buffer) => notices.push(bytes.toString()));
    const ended = new Promise<number | null>((resolve) => server.once('exit', resolve));
    expect(await next()).toBe('READY=1');
    expect(await next()).toBe('WATCHDOG=1');
    server.kill('SIGTERM');
    const states: string[] = [];
    while (states.at(-1) !== 'STOPPING=1') states.push(await next());
    expect(await ended).toBe(0);
    listener.kill();
    expect(notices.join('')).toMatch(/serves on http:.*\n/);
    expect(notices.join('')).not.toMatch(/glm_|demo/);
  },
  60_000,
);
