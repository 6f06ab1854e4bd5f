// Starts the program in a temporary folder as a newcomer does, with the demo database, for scripts that use it.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const START_MAX_MS = 600_000;

/**
 * @param root  the package's folder
 * @returns the temporary folder, an environment in which commands use the same appliance, its address and a key, and a
 *   function that stops it and removes the folder
 */
export async function serveDemo(root) {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-demo-'));
  const program = join(folder, 'bin', 'gloaming');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    program,
    `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'dist/src/cli/main.js')}" "$@"\n`,
  );
  chmodSync(program, 0o755);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_PORT: String(port),
    GLOAMING_URL: url,
    GLOAMING_LOG_LEVEL: 'warn',
  };
  const log = [];
  const server = spawn(program, ['start'], { env: environment, cwd: folder });
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (bytes) => log.push(bytes));
  const deadline = Date.now() + START_MAX_MS;
  let isReady = false;
  while (!isReady && Date.now() < deadline && server.exitCode === null) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    isReady = answer?.ok === true;
    if (!isReady) await new Promise((later) => setTimeout(later, 250));
  }
  const stop = async () => {
    if (server.exitCode === null) {
      server.kill('SIGTERM');
      await new Promise((ended) => server.once('exit', ended));
    }
    rmSync(folder, { recursive: true, force: true });
  };
  if (!isReady) {
    await stop();
    throw new Error(`The server did not start:\n${Buffer.concat(log)}`);
  }
  const print = (...words) =>
    execFileSync(program, words, { env: environment, encoding: 'utf8', stdio: 'pipe' }).trim();
  const key = print('keys', 'create', 'manual');
  return {
    folder,
    url,
    port,
    key,
    environment: { ...environment, KEY: key, GLOAMING_API_KEY: key },
    print,
    stop,
  };
}

async function freePort() {
  const probe = createServer();
  await new Promise((listening) => probe.listen(0, '127.0.0.1', listening));
  const { port } = probe.address();
  await new Promise((closed) => probe.close(closed));
  return port;
}
