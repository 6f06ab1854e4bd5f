import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { assert } from '../../src/errors.js';

const SAMPLE_MS = 250;
const START_MAX_MS = 120_000;
const KIB = 1024;

/** A server that the bench starts and kills as a process of its own. */
export interface ServerProcess {
  readonly url: string;
  start(): Promise<void>;
  /** Kills it without a warning. */
  kill(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Largest memory so far that is neither a mapped file nor shared, sampled. Unit  bytes */
  peakBytes(): number;
}

/** @param environment  folders, settings and port of the appliance */
export function serverProcess(
  packageFolder: string,
  environment: Readonly<Record<string, string>>,
): ServerProcess & { createKey(name: string): Promise<string> } {
  const program = join(packageFolder, 'dist', 'src', 'cli', 'main.js');
  const env = { ...process.env, ...environment };
  const url = `http://127.0.0.1:${environment.GLOAMING_PORT}`;
  let child: ChildProcess | undefined;
  let peak = 0;
  const sampler = setInterval(() => {
    peak = Math.max(peak, anonymousBytesOf(child?.pid));
  }, SAMPLE_MS).unref();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    if (ending === undefined || ending.exitCode !== null) return;
    child = undefined;
    const exited = once(ending, 'exit');
    ending.kill(signal);
    await exited;
  };
  return {
    url,
    async start() {
      child = spawn(process.execPath, [program, 'serve'], { env, stdio: 'ignore' });
      for (const startedAt = performance.now(); ; await wait(SAMPLE_MS)) {
        const isReady = await fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
        if (isReady) return;
        assert(child.exitCode === null, 'the server starts');
        assert(performance.now() - startedAt < START_MAX_MS, 'the server is ready in two minutes');
      }
    },
    kill: () => end('SIGKILL'),
    async stop() {
      clearInterval(sampler);
      await end('SIGTERM');
    },
    peakBytes: () => peak,
    async createKey(name) {
      const words = [program, 'keys', 'create', name, '--scope', 'submit'];
      const { stdout } = await promisify(execFile)(process.execPath, words, { env });
      const key = /glm_\S+/.exec(stdout)?.[0];
      assert(key !== undefined, 'the command prints a key');
      return key;
    },
  };
}

/** 0 for a process that has ended, and without /proc. */
function anonymousBytesOf(process: number | undefined): number {
  try {
    const line = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${process}/status`, 'utf8'));
    return Number(line?.[1] ?? 0) * KIB;
  } catch {
    return 0;
  }
}
