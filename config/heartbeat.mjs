// Runs a program of the build and says every few seconds how far it is, so that an installation is never silent.
import { spawn } from 'node:child_process';

const EVERY_MS = 5_000;
/** Length of what is shown of the program's last line, such as "[ 38%] Building CXX object …". Unit: characters. */
const DETAIL_MAX_CHARACTERS = 80;

/**
 * Runs the command and returns status and output. Writes a line to standard error every 5 seconds while it runs.
 * @param what what the lines say, such as "compiling the kernels"
 * @returns `error` is set, and `status` null, if the command could not be started
 */
export function runWithHeartbeat(what, command, args) {
  return new Promise((resolve) => {
    let stdout = '';
    let stderr = '';
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const stop = startHeartbeat(what, () => detailOf(stdout));
    const end = (outcome) => {
      stop();
      resolve({ stdout, stderr, ...outcome });
    };
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.on('error', (error) => end({ status: null, error }));
    child.on('close', (status) => end({ status }));
  });
}

/**
 * Writes a line to standard error every 5 seconds until the returned function is called.
 * @param detail end of the line
 */
export function startHeartbeat(what, detail = () => '') {
  const startedAt = Date.now();
  const heart = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    process.stderr.write(`gloaming: ${what}, ${seconds} s${detail()}\n`);
  }, EVERY_MS);
  return () => clearInterval(heart);
}

/** Returns the last complete line of the output after a colon; empty if there is none. */
function detailOf(output) {
  const line = output.slice(0, output.lastIndexOf('\n') + 1).trimEnd();
  const last = line.slice(line.lastIndexOf('\n') + 1).slice(0, DETAIL_MAX_CHARACTERS);
  return last === '' ? '' : `: ${last}`;
}
