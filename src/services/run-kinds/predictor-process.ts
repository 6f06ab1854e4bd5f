import { fork, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { StructurePredictor } from '../../config.js';
import { PREDICTOR_KILL_GRACE_MS, PREDICTOR_LOG_MAX_BYTES } from '../../limits.js';
import { BadOutput, readOutput } from './predictor-output.js';
import type { CommandEnd } from './predictor-supervisor.js';

/** A predictor at work in a folder of its own: `input.a3m`, `output/`, `tmp/`, and its log in `predictor.log`. */
export interface PredictorProcess {
  /** Resolves when it has ended, whatever the reason, and all that it started with it. Never rejects. */
  readonly ended: Promise<PredictorEnd>;
  /** Ends it. Repeating it does nothing. */
  stop(): void;
}

export interface PredictorEnd extends CommandEnd {
  /** Present where it was made to end. */
  readonly reason?: 'timeout' | 'output_too_large' | 'output_invalid' | 'stopped';
  readonly message?: string;
  readonly tookMs: number;
}

export const INPUT_FILE = 'input.a3m';
export const OUTPUT_FOLDER = 'output';
export const LOG_FILE = 'predictor.log';

const SUPERVISOR = fileURLToPath(new URL('predictor-supervisor.js', import.meta.url));
const LOOK_INTERVAL_MS = 500;
const PIPES_MAX_MS = 1_000;
const NO_END: CommandEnd = { code: null, signal: null, error: 'Its supervisor was killed.' };

/**
 * Starts the configured command, without a shell, in a process group of its own, with an environment that has nothing
 * of the server's but the PATH.
 * Errors  those of the file system
 */
export async function startPredictor(
  { command, args, environment, timeoutMs, output }: StructurePredictor,
  folder: string,
): Promise<PredictorProcess> {
  const startedAt = performance.now();
  const place = { input: join(folder, INPUT_FILE), output: join(folder, OUTPUT_FOLDER) };
  const temporary = join(folder, 'tmp');
  await mkdir(place.output);
  await mkdir(temporary);
  const filled = args.map((arg) =>
    arg.replaceAll('{input}', place.input).replaceAll('{output}', place.output),
  );
  const child = fork(SUPERVISOR, [command, ...filled], {
    cwd: folder,
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: temporary, LANG: 'C.UTF-8', ...environment },
  });
  let reason: PredictorEnd['reason'];
  let message: string | undefined;
  let killing: NodeJS.Timeout | undefined;
  const end = (why: PredictorEnd['reason'], words?: string): void => {
    if (reason !== undefined) return;
    reason = why;
    message = words;
    signalGroup(child, 'SIGTERM');
    killing = setTimeout(() => signalGroup(child, 'SIGKILL'), PREDICTOR_KILL_GRACE_MS);
  };
  const timer = setTimeout(
    () => end('timeout', `The predictor did not end within ${timeoutMs / 1000} s.`),
    timeoutMs,
  );
  const looking = setInterval(() => {
    readOutput(place.output, output).catch((error: unknown) => {
      if (error instanceof BadOutput) end(error.reason, error.message);
    });
  }, LOOK_INTERVAL_MS);
  const ended = follow(child, folder).then((commandEnd): PredictorEnd => {
    [timer, looking, killing].forEach(clearTimeout);
    const why = reason === undefined ? {} : { reason, ...(message !== undefined && { message }) };
    return { ...commandEnd, ...why, tookMs: performance.now() - startedAt };
  });
  return { ended, stop: () => end('stopped') };
}

/** Writes the log, and waits until the group is gone and its last words are on disk. */
async function follow(child: ChildProcess, folder: string): Promise<CommandEnd> {
  let told: CommandEnd | undefined;
  child.on('message', (end) => (told = end as CommandEnd));
  const log = createWriteStream(join(folder, LOG_FILE));
  // A log that cannot be written must not end a prediction.
  log.on('error', () => undefined);
  let bytes = 0;
  for (const stream of [child.stdout, child.stderr] as readonly Readable[]) {
    stream.on('data', (chunk: Buffer) => {
      const room = PREDICTOR_LOG_MAX_BYTES - bytes;
      bytes += chunk.length;
      if (room > 0) log.write(chunk.subarray(0, room));
    });
  }
  const failure = await endOf(child);
  await new Promise<void>((resolve) => log.once('close', resolve).end());
  return told ?? { ...NO_END, ...failure };
}

/** Resolves when all that the process wrote and told has come; with the reason where it could not be started. */
function endOf(child: ChildProcess): Promise<Pick<CommandEnd, 'error'>> {
  return new Promise((resolve) => {
    const awaited = new Set(['close', 'disconnect']);
    for (const event of awaited) {
      child.once(event, () => {
        awaited.delete(event);
        if (awaited.size === 0) resolve({});
      });
    }
    // What has left the group may hold its pipes open for ever.
    child.once('exit', () => setTimeout(() => resolve({}), PIPES_MAX_MS));
    child.once('error', ({ message }) => resolve({ error: message }));
  });
}

function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    // The group has ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
