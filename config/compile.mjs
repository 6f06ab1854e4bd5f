// Writes the generated client code, compiles TypeScript into dist and builds the console and the manual. `npm ci
// --omit=dev` installs all that this needs. A package contains dist and the client code and leaves the compiler out.
// Kernels are different: every machine compiles its own (kernels/build.mjs).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './console.mjs';
import { startHeartbeat } from './heartbeat.mjs';
import { buildManual } from './manual.mjs';
import { writePythonClient } from './python-client.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const program = join(root, 'dist', 'src', 'cli', 'main.js');
const isCompiled = existsSync(program);
const compiler = findCompiler();

if (compiler !== undefined) {
  if (!isCompiled) process.stderr.write('gloaming: compiling TypeScript\n');
  const stop = startHeartbeat('compiling TypeScript');
  // prettier formats generated types; a package leaves it out, as the compiler.
  const { writeTypeScriptClient } = await import('./typescript-client.mjs');
  await writeTypeScriptClient(root);
  const { writeSettingsType } = await import('./settings-type.mjs');
  await writeSettingsType(root);
  const project = ['--project', join(root, 'tsconfig.json')];
  const [status] = await once(spawn(process.execPath, [compiler, ...project], { stdio: 'inherit' }), 'exit');
  process.exitCode = status ?? 1;
  // npm makes a package's program executable when it links the package; tsc writes the program without that permission.
  if (existsSync(program)) chmodSync(program, 0o755);
  if (status === 0) await writePythonClient(root);
  await buildConsole(root);
  await buildManual(root);
  stop();
  if (!isCompiled && status === 0) {
    process.stderr.write(`gloaming: compiled. For this shell:  export PATH="${join(root, 'bin')}:$PATH"\n`);
  }
} else if (!isCompiled) {
  process.stderr.write(
    'gloaming: there is no TypeScript compiler to build with; "npm ci --omit=dev" installs it.\n',
  );
  process.exitCode = 1;
}

function findCompiler() {
  try {
    const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
    return join(dirname(manifest), 'bin', 'tsc');
  } catch {
    return undefined;
  }
}
