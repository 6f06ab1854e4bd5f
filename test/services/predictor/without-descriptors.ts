import { spawnSync } from 'node:child_process';

const SCRIPT = `
  import { openSync } from 'node:fs';
  const [module, call] = process.argv.slice(1);
  const exports = await import(module);
  const run = new Function('exports', 'return (async () => { ' + call + ' })()');
  try {
    for (;;) openSync('/dev/null');
  } catch {
    // No descriptor is left.
  }
  const outcome = await run(exports).catch((error) => ({ error: error.message }));
  process.stdout.write(JSON.stringify(outcome));
`;

/**
 * Result of a call in a child process without free file descriptors; `{ error }` if it throws.
 * @param module URL of a compiled module
 * @param call statements that return a promise; `exports` are the module's
 */
export function withoutDescriptors(module: string, call: string): unknown {
  const limited = ['-c', 'ulimit -n 64; exec "$0" --input-type=module --eval "$1" "$2" "$3"'];
  const { status, stdout, stderr } = spawnSync('sh', [...limited, process.execPath, SCRIPT, module, call], {
    timeout: 50_000,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The process ended with ${status}: ${stderr.slice(-2_000)}`);
  return JSON.parse(stdout);
}
