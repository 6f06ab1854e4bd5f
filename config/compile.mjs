// Writes the generated client code, compiles TypeScript into dist and builds the console and the manual. The compiler is
// a development dependency, which `npm ci` installs. A packed release contains dist and the client code and needs no
// compiler. Kernels are different: every machine compiles its own (kernels/build.mjs).
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './console.mjs';
import { buildManual } from './manual.mjs';
import { writePythonClient } from './python-client.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const program = join(root, 'dist', 'src', 'cli', 'main.js');
const isCompiled = existsSync(program);
const compiler = findCompiler();

if (compiler !== undefined) {
  if (!isCompiled) process.stderr.write('gloaming: compiling TypeScript\n');
  // prettier formats generated types and is a development dependency, as the compiler is.
  const { writeTypeScriptClient } = await import('./typescript-client.mjs');
  await writeTypeScriptClient(root);
  const { writeSettingsType } = await import('./settings-type.mjs');
  await writeSettingsType(root);
  const { status } = spawnSync(process.execPath, [compiler, '--project', join(root, 'tsconfig.json')], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
  // npm makes a package's program executable when it links the package; tsc writes the program without that permission.
  if (existsSync(program)) chmodSync(program, 0o755);
  if (status === 0) await writePythonClient(root);
  await buildConsole(root);
  await buildManual(root);
} else if (!isCompiled) {
  process.stderr.write(
    'gloaming: there is no TypeScript compiler to build with: it is a development dependency. Install with ' +
      '"npm ci"; "npm prune --omit=dev" afterwards removes what only building and testing need.\n',
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
