import { fork, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { StructurePredictor } from '../../config.js';
import { PREDICTOR_KILL_GRACE_MS, PREDICTOR_LOG_MAX_BYTES } from '../../limits.js';
import { BadOutput, readOutput, type OutputBounds } from './output.js';
import type { CommandEnd } from './supervisor.js';
import { signalGroup } from '../../processes.js';

export interface PredictorEnd extends CommandEnd {
  /** Present if the server ended the process. */
  readonly reason?: 'timeout' | 'output_too_large' | 'output_invalid' | 'stopped';
  readonly message?: string;
  readonly tookMs: number;
}

export const INPUT_FILE = 'input.a3m';
export const OUTPUT_FOLDER = 'output';
export const LOG_FILE = 'predictor.log';

const SUPERVISOR = fileURLToPath(new URL('supervisor.js', import.meta.url));
const LOOK_INTERVAL_MS = 500;
const PIPES_MAX_MS = 1_000;
const NO_END: CommandEnd = { code: null, signal: null, error: 'Its supervisor was killed.' };

/**
 * Starts the configured command without a shell, in its own process group. Of the server's environment it gets only
 * PATH.
 * Errors  those of the file system
 */
export async function startPredictor(
  predictor: StructurePredictor,
  folder: string,
): Promise<PredictorProcess> {
  const { command, args, environment } = predictor;
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
  return new PredictorProcess(child, folder, predictor, startedAt);
}

/** A running predictor in a folder of its own: `input.a3m`, `output/`, `tmp/`, and its log in `predictor.log`. */
export class PredictorProcess {
  /** Resolves when the process and all its descendants in the group have ended, for any reason. Never rejects. */
  readonly ended: Promise<PredictorEnd>;
  readonly #child: ChildProcess;
  readonly #timers: NodeJS.Timeout[];
  /** Set when the server ends the process. */
  #stopped: Pick<PredictorEnd, 'reason' | 'message'> = {};
  #hasEnded = false;

  constructor(
    child: ChildProcess,
    folder: string,
    { timeoutMs, output }: StructurePredictor,
    startedAt: number,
  ) {
    this.#child = child;
    const message = `The predictor did not end within ${timeoutMs / 1000} s.`;
    this.#timers = [
      setTimeout(() => this.#end({ reason: 'timeout', message }), timeoutMs),
      setInterval(() => this.#look(join(folder, OUTPUT_FOLDER), output), LOOK_INTERVAL_MS),
    ];
    this.ended = follow(child, folder).then((commandEnd): PredictorEnd => {
      this.#hasEnded = true;
      for (const timer of this.#timers) clearTimeout(timer);
      return { ...commandEnd, ...this.#stopped, tookMs: performance.now() - startedAt };
    });
  }

  /** Ends the process. A repeated call is a no-op. */
  stop(): void {
    this.#end({ reason: 'stopped' });
  }

  /** Sends SIGTERM to the group, and SIGKILL after the grace period. */
  #end(why: Pick<PredictorEnd, 'reason' | 'message'>): void {
    // The id of an ended group may belong to another group.
    if (this.#hasEnded || this.#stopped.reason !== undefined) return;
    this.#stopped = why;
    signalGroup(this.#child, 'SIGTERM');
    this.#timers.push(setTimeout(() => signalGroup(this.#child, 'SIGKILL'), PREDICTOR_KILL_GRACE_MS));
  }

  #look(outputFolder: string, bounds: OutputBounds): void {
    readOutput(outputFolder, bounds).catch((error: unknown) => {
      if (error instanceof BadOutput) this.#end({ reason: error.reason, message: error.message });
    });
  }
}

/** Writes the log, and waits until the group has ended and its output is on disk. */
async function follow(child: ChildProcess, folder: string): Promise<CommandEnd> {
  const ending = endOf(child);
  let commandEnd: CommandEnd | undefined;
  child.on('message', (end) => (commandEnd = end as CommandEnd));
  const log = createWriteStream(join(folder, LOG_FILE));
  // A failure to write the log must not end a prediction. The stream may be closed before it is ended here.
  log.on('error', () => undefined);
  let bytes = 0;
  // If the server has no file descriptors left, the child has no streams, and only its error reports that.
  for (const stream of [child.stdout, child.stderr] as readonly (Readable | undefined)[]) {
    stream?.on('data', (chunk: Buffer) => {
      const room = PREDICTOR_LOG_MAX_BYTES - bytes;
      bytes += chunk.length;
      if (room > 0) log.write(chunk.subarray(0, room));
    });
  }
  const failure = await ending;
  await finished(log.end()).catch(() => undefined);
  return commandEnd ?? { ...NO_END, ...failure };
}

/** Resolves when all output and messages of the process have arrived, with the error if it could not be started. */
function endOf(child: ChildProcess): Promise<Pick<CommandEnd, 'error'>> {
  return new Promise((resolve) => {
    const awaited = new Set(['close', 'disconnect']);
    for (const event of awaited) {
      child.once(event, () => {
        awaited.delete(event);
        if (awaited.size === 0) resolve({});
      });
    }
    // A process that left the group may hold the pipes open for ever.
    child.once('exit', () => setTimeout(() => resolve({}), PIPES_MAX_MS));
    child.once('error', ({ message }) => resolve({ error: message }));
  });
}
