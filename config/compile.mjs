// Compiles TypeScript into dist, and builds the console. The compiler is a development dependency, which `npm ci` brings
// along; a packed release has dist and does without. Kernels are different: every machine compiles them for itself
// (kernels/build.mjs).
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './console.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const program = join(root, 'dist', 'src', 'cli', 'main.js');
const isCompiled = existsSync(program);
const compiler = findCompiler();

if (compiler !== undefined) {
  if (!isCompiled) process.stderr.write('gloaming: compiling TypeScript\n');
  const { status } = spawnSync(process.execPath, [compiler, '--project', join(root, 'tsconfig.json')], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
  // npm makes a package's program executable when it links it, and a program compiled again after that is not.
  if (existsSync(program)) chmodSync(program, 0o755);
  await buildConsole(root);
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
