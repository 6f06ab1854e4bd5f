// Fills a folder with the program as packages have it: compiled code and kernels, and the packages that it needs at run
// time. Node is not in it.
//
//   npm run build && node config/packaging/stage.mjs FOLDER        the conda recipe does so
//
// Needs npm's registry.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
/** Dependencies that the build needs and the program does not. */
const BUILD_ONLY = [
  '@types/big.js',
  '@types/koa',
  '@types/node',
  'd3-force',
  'd3-hierarchy',
  'd3-sankey',
  'esbuild',
  'markdown-it',
  'node-addon-api',
  'node-api-headers',
  'preact',
  'prettier',
  'typescript',
];
/** Files for other systems and processors, for type checkers and for readers. */
const LEFT_OUT = [
  /^onnxruntime-node\/bin\/[^/]+\/(?!linux\/x64)[^/]+\/[^/]+$/,
  /^h5wasm\/(dist\/(esm|iife)|src|test)$/,
  /\.(d\.[cm]?ts|[cm]?ts|map)$/,
  /(^|\/)(readme|changelog|history)[^/]*$/i,
];
const NPM_QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev'];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: node config/packaging/stage.mjs FOLDER');
  stageProgram(resolve(folder));
}

/** @param folder must not exist, or be empty */
export function stageProgram(folder) {
  mkdirSync(folder, { recursive: true });
  copyProgram(folder);
  installPackages(folder);
}

/**
 * Makes the folders of the packaged settings the defaults of a program: an older /etc/gloaming/appliance.json, or one that
 * is mounted into the container, may name none.
 */
export function nameFolders(program, packaged) {
  const path = join(program, 'config', 'appliance.json');
  const defaults = JSON.parse(readFileSync(path, 'utf8'));
  const { indexes_folder, data_folder } = JSON.parse(readFileSync(packaged, 'utf8'));
  writeFileSync(path, `${JSON.stringify({ ...defaults, indexes_folder, data_folder }, undefined, 2)}\n`);
}

/** Copies what an npm package would hold, with the compiled kernels instead of their sources. */
function copyProgram(folder) {
  const kernels = join('dist', 'kernels', 'kernels.node');
  if (!existsSync(join(SOURCE, kernels))) throw new Error('npm run build comes first.');
  const { files } = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'));
  const described = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'package-lock.json'];
  const compiled = files.filter((name) => name !== 'kernels');
  for (const name of [...described, ...compiled, kernels]) {
    cpSync(join(SOURCE, name), join(folder, name), { recursive: true });
  }
  const commit = commitOf();
  if (commit !== undefined) writeFileSync(join(folder, 'COMMIT'), `${commit}\n`);
}

/** Returns the commit of the checkout; undefined in a source archive, which has no history. */
function commitOf() {
  try {
    return execFileSync('git', ['-C', SOURCE, 'rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return undefined;
  }
}

/** Installs the locked packages without those of the build. No package runs a script; all bring their binaries. */
function installPackages(folder) {
  npm(['ci', ...NPM_QUIET, '--prefix', folder]);
  npm(['uninstall', ...NPM_QUIET, '--prefix', folder, ...BUILD_ONLY]);
  const modules = join(folder, 'node_modules');
  rmSync(join(modules, '.package-lock.json'));
  rmSync(join(modules, '.bin'), { recursive: true, force: true });
  for (const entry of readdirSync(modules, { recursive: true })) {
    const path = join(modules, entry);
    if (LEFT_OUT.some((pattern) => pattern.test(entry))) rmSync(path, { recursive: true, force: true });
  }
}

function npm(parameters) {
  execFileSync('npm', parameters, { cwd: SOURCE, stdio: ['ignore', 'ignore', 'inherit'] });
}
