// Runs a program of the build and says every few seconds how far it is, so that an installation is never silent.
import { spawn } from 'node:child_process';

const EVERY_MS = 5_000;
/** CMake's lines begin with the share that is done: "[ 38%]" of make, "[3/8]" of Ninja. */
const PERCENT = /\[ *(\d+)%\]/g;
const FRACTION = /\[(\d+)\/(\d+)\]/g;

/**
 * Runs the command and returns status and output. Writes a line to standard error every 5 seconds while it runs.
 * @param what what the lines say, such as "compiling the kernels"
 * @returns `error` is set, and `status` null, if the command could not be started
 */
export function runWithHeartbeat(what, command, args) {
  return new Promise((resolve) => {
    const startedAt = Date.now();
    let stdout = '';
    let stderr = '';
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const heart = setInterval(() => {
      const seconds = Math.round((Date.now() - startedAt) / 1000);
      const percent = percentOf(stdout);
      process.stderr.write(
        `gloaming: ${what}: ${percent === undefined ? '' : `${percent} %, `}${seconds} s\n`,
      );
    }, EVERY_MS);
    const end = (outcome) => {
      clearInterval(heart);
      resolve({ stdout, stderr, ...outcome });
    };
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.on('error', (error) => end({ status: null, error }));
    child.on('close', (status) => end({ status }));
  });
}

/** Returns the share in the last line of CMake that has one; undefined if none has. */
function percentOf(output) {
  const [, percent] = [...output.matchAll(PERCENT)].at(-1) ?? [];
  if (percent !== undefined) return Number(percent);
  const [, done, all] = [...output.matchAll(FRACTION)].at(-1) ?? [];
  return all === undefined ? undefined : Math.floor((100 * Number(done)) / Number(all));
}
