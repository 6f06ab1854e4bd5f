// Builds the native kernels with plain CMake into dist/kernels. Idempotent, and quiet after the first time: CMake does
// nothing where nothing changed. A build of more than 5 seconds says how far it is.
import { existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { availableParallelism } from 'node:os';
import { runWithHeartbeat } from '../config/heartbeat.mjs';

const source = dirname(fileURLToPath(import.meta.url));
const build = join(source, '..', 'build', 'kernels');
const require = createRequire(import.meta.url);
const headers = [
  // Relative to the working directory, which npm sets to the package's own.
  resolve(require('node-addon-api').include_dir),
  resolve(require('node-api-headers').include_dir),
];

if (!existsSync(join(source, '..', 'dist', 'kernels', 'kernels.node'))) {
  process.stderr.write('gloaming: compiling the kernels for this machine, about a minute on two cores\n');
}
const configure = [
  '-S',
  source,
  '-B',
  build,
  '-DCMAKE_BUILD_TYPE=Release',
  `-DNODE_HEADERS=${headers.join(';')}`,
];
// A build folder that was moved, or made by another CMake, fails here. Deletes it and configures again.
const CONFIGURING = 'looking at the compiler';
if ((await runWithHeartbeat(CONFIGURING, 'cmake', configure)).status !== 0) {
  rmSync(build, { recursive: true, force: true });
  await run(CONFIGURING, configure);
}
await run('compiling the kernels', ['--build', build, '--parallel', String(availableParallelism())]);

async function run(what, args) {
  const { status, error, stdout, stderr } = await runWithHeartbeat(what, 'cmake', args);
  if (status === 0) return;
  process.stderr.write(`${stdout}${stderr}`);
  const isCompilerMissing = /CMAKE_CXX_COMPILER not set|CMAKE_MAKE_PROGRAM is not set/.test(stderr);
  const reason =
    error?.code === 'ENOENT'
      ? `cmake was not found; install CMake 3.18 or newer and a C++17 compiler`
      : isCompilerMissing
        ? 'there is no C++17 compiler, or no make; Debian has both in build-essential'
        : 'cmake failed';
  process.stderr.write(`gloaming: the native kernels could not be built: ${reason}\n`);
  process.exit(1);
}
