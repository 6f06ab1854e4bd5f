import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from './tools/paths.js';
import { filesBelow, readText } from './tools/repository-files.js';

/* How the program comes onto a machine: from a checkout, from a release, by conda; and the command that starts it. */

const PYTHON = '/usr/bin/python3';
const hasYaml = spawnSync(PYTHON, ['-c', 'import yaml']).status === 0;
if (!hasYaml) console.log('Skipped: python3-yaml is not installed here.');

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(readText('package.json')) as Manifest;

function readYaml(path: string): unknown {
  const program = 'import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1])), default=str))';
  return JSON.parse(execFileSync(PYTHON, ['-c', program, join(ROOT, path)], { encoding: 'utf8' }));
}

/** Foreign packages that the files import, also by `import()`, types included. */
function packagesOf(paths: readonly string[]): Set<string> {
  const names = paths.flatMap((path) =>
    [
      ...readText(path).matchAll(/(?:\bfrom |\bimport\(|^import )'((?:@[\w-]+\/)?[a-z][\w.-]*)[^'\s]*'/gm),
    ].map(([, name]) => name!),
  );
  return new Set(names.filter((name) => !isBuiltin(name)));
}

describe('a checkout', () => {
  const sources = filesBelow('src', /\.tsx?$/);
  const console = sources.filter((path) => path.startsWith('src/console/'));
  const build = ['compile', 'console', 'manual', 'python-client', 'settings-type', 'typescript-client'].map(
    (name) => `config/${name}.mjs`,
  );

  it('compiles and starts without development dependencies', () => {
    const needed = packagesOf([...sources, ...filesBelow('bench', /\.ts$/), ...build, 'kernels/build.mjs']);
    const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
    expect([...needed].filter((name) => name !== 'node' && !Object.hasOwn(declared, name))).toEqual([]);
    const types = Object.keys(manifest.devDependencies).filter((name) => name.startsWith('@types/'));
    // esbuild bundles the console without looking at types.
    expect(types.every((name) => packagesOf(console).has(name.replace('@types/', '')))).toBe(true);
  });

  it('has packages in dependencies that the program needs, or that the packages leave out', () => {
    const served = new Set(['swagger-ui-dist']);
    const running = packagesOf(sources.filter((path) => !console.includes(path)));
    const others = Object.keys(manifest.dependencies).filter(
      (name) => !running.has(name) && !served.has(name),
    );
    const [, list = ''] = /const BUILD_ONLY = \[([^\]]*)\]/.exec(readText('config/packaging/stage.mjs'))!;
    expect([...list.matchAll(/'([^']+)'/g)].map(([, name]) => name)).toEqual(others.sort());
  });

  it('gives no advice that would fetch a package from the registry', () => {
    const advice = `${'np'}x ${'gloaming'}`;
    const pages = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', '.ci/run'];
    const tops = ['src', 'bench', 'test', 'kernels', 'indexes', 'config', 'docs'];
    const files = [...pages, ...tops.flatMap((top) => filesBelow(top, /\.(tsx?|mjs|md|json|py|sh|ipynb)$/))];
    expect(files.filter((path) => readText(path).includes(advice))).toEqual([]);
  });
});

describe('bin/gloaming', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gloaming-bin-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const run = (path: string, args: readonly string[]) =>
    spawnSync(path, args, { cwd: '/', encoding: 'utf8' });

  it('starts from any folder and through a link', () => {
    const link = join(folder, 'any-name');
    symlinkSync(join(ROOT, 'bin/gloaming'), link);
    expect(run(link, ['--version'])).toMatchObject({ status: 0, stdout: `${manifest.version}\n` });
  });

  it('prefers the Node of its package, and names the build command if nothing is built', () => {
    const program = join(folder, 'the lab', 'bin', 'gloaming');
    mkdirSync(join(folder, 'the lab', 'bin'), { recursive: true });
    copyFileSync(join(ROOT, 'bin/gloaming'), program);
    const unbuilt = run(program, ['--version']);
    expect(unbuilt).toMatchObject({ status: 1, stdout: '' });
    expect(unbuilt.stderr).toContain(`"npm ci --omit=dev" in ${folder}/the lab`);
    mkdirSync(join(folder, 'the lab/dist/src/cli'), { recursive: true });
    writeFileSync(join(folder, 'the lab/dist/src/cli/main.js'), '');
    mkdirSync(join(folder, 'the lab/node/bin'), { recursive: true });
    writeFileSync(join(folder, 'the lab/node/bin/node'), '#!/bin/sh\nprintf "%s|" "$@"\n', { mode: 0o755 });
    expect(run(program, ['a b', 'c']).stdout).toBe(`${folder}/the lab/dist/src/cli/main.js|a b|c|`);
  });
});

describe('the build', () => {
  it('prints the progress of a program every five seconds', async () => {
    const module = JSON.stringify(join(ROOT, 'config/heartbeat.mjs'));
    const script = `import(${module}).then(({ runWithHeartbeat }) =>
      runWithHeartbeat('compiling', 'sh', ['-c', 'echo "[ 12%] one"; printf half; sleep 5.6; exit 3']))
      .then(({ status, stdout }) => console.log(status, stdout))`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', script]);
    expect(stderr).toBe('gloaming: compiling, 5 s: [ 12%] one\n');
    expect(stdout).toBe('3 [ 12%] one\nhalf\n');
  });
});

describe('the packages', () => {
  const packaged = 'config/packaging/appliance.json';
  const folders = { indexes_folder: '/var/lib/gloaming/indexes', data_folder: '/var/lib/gloaming/data' };

  it('name the folders in the settings file alone, so that server, timers and commands use the same', () => {
    expect(JSON.parse(readText(packaged))).toMatchObject(folders);
    const files = [...filesBelow('config/packaging', /\.service$/), 'config/packaging/Containerfile'];
    expect(files.length).toBeGreaterThan(4);
    for (const path of files) {
      expect(readText(path), path).toContain('GLOAMING_CONFIG=/etc/gloaming/appliance.json');
      expect(readText(path), path).not.toMatch(/GLOAMING_(INDEXES|DATA)=/);
    }
  });

  it('keep these folders where the settings of an older package name none', () => {
    const program = mkdtempSync(join(tmpdir(), 'gloaming-packaged-'));
    try {
      mkdirSync(join(program, 'config'));
      const path = join(program, 'config', 'appliance.json');
      copyFileSync(join(ROOT, 'config/appliance.json'), path);
      const script = `import(${JSON.stringify(join(ROOT, 'config/packaging/stage.mjs'))})
        .then(({ nameFolders }) => nameFolders(...process.argv.slice(1)))`;
      execFileSync(process.execPath, ['-e', script, program, join(ROOT, packaged)]);
      const shipped = JSON.parse(readText('config/appliance.json')) as object;
      expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ ...shipped, ...folders });
    } finally {
      rmSync(program, { recursive: true });
    }
    expect(readText('config/packaging/build.mjs')).toContain('nameFolders(');
  });
});

describe('the release', () => {
  const workflow = readText('.github/workflows/release.yml');

  it('is made by scripts that CI runs', () => {
    const scripts = [...workflow.matchAll(/run: (config\/\S+)/g)].map(([, path]) => path!);
    expect(scripts).toEqual(['config/packaging/release.sh', 'config/packaging/image.sh']);
    const reached = new Set(['.ci/run']);
    for (const path of reached) {
      for (const [script] of readText(path).matchAll(/(?:config\/packaging|\.ci)\/[\w.-]+/g)) {
        if (existsSync(join(ROOT, script))) reached.add(script);
      }
    }
    expect(scripts.filter((path) => !reached.has(path))).toEqual([]);
    for (const path of scripts) accessSync(join(ROOT, path), constants.X_OK);
  });

  it('takes actions and the image by digest, and the image is that of the container', () => {
    const actions = [...workflow.matchAll(/uses: (\S+)/g)].map(([, action]) => action!);
    expect(actions.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
    const [, image] = /image: (\S+@sha256:[0-9a-f]{64})/.exec(workflow)!;
    expect(readText('config/packaging/Containerfile')).toContain(image);
  });

  it.skipIf(!hasYaml)('may write releases and nothing else', () => {
    const { permissions, jobs } = readYaml('.github/workflows/release.yml') as {
      readonly permissions: object;
      readonly jobs: Readonly<Record<string, { readonly permissions: object }>>;
    };
    expect(permissions).toEqual({});
    expect(Object.values(jobs).map((job) => job.permissions)).toEqual([{ contents: 'write' }]);
  });
});

describe.skipIf(!hasYaml)('the conda recipe', () => {
  interface Recipe {
    readonly schema_version: number;
    readonly context: { readonly version: string };
    readonly package: { readonly name: string };
    readonly source: { readonly path: string };
    readonly build: { readonly number: number; readonly script: readonly string[] };
    readonly requirements: { readonly build: readonly string[]; readonly run: readonly string[] };
    readonly tests: readonly object[];
    readonly about: Readonly<Record<string, string>>;
    readonly extra: { readonly 'recipe-maintainers': readonly string[] };
  }
  const folder = 'config/packaging/conda';
  const recipe = hasYaml ? (readYaml(`${folder}/recipe.yaml`) as Recipe) : ({} as Recipe);

  it('has the sections of its schema, the version of the package and its licence', () => {
    const sections = 'schema_version context package source build requirements tests about extra';
    expect(Object.keys(recipe)).toEqual(sections.split(' '));
    expect(recipe.schema_version).toBe(1);
    expect(recipe.context.version).toBe(manifest.version);
    expect(recipe.package).toEqual({ name: 'gloaming', version: '${{ version }}' });
    expect(recipe.build.number).toBe(0);
    expect(recipe.about.license).toBe('Apache-2.0');
    expect(recipe.about.summary).not.toMatch(/\.$/);
    expect(recipe.tests.length).toBeGreaterThan(0);
    expect(recipe.extra['recipe-maintainers'].length).toBeGreaterThan(0);
    const checkout = join(ROOT, folder, recipe.source.path);
    expect(existsSync(join(checkout, 'package.json'))).toBe(true);
    expect(existsSync(join(checkout, recipe.about.license_file!))).toBe(true);
  });

  it('asks for the Node and the CMake that the package asks for, and runs a script that exists', () => {
    const node = `nodejs ${manifest.engines.node}`;
    expect(recipe.requirements.run).toEqual([node]);
    const [, cmake] = /cmake_minimum_required\(VERSION ([\d.]+)\)/.exec(readText('kernels/CMakeLists.txt'))!;
    expect(recipe.requirements.build).toEqual(
      expect.arrayContaining([node, `cmake >=${cmake}`, 'make', "${{ compiler('cxx') }}"]),
    );
    const scripts = recipe.build.script.join('\n').match(/config\/\S+\.mjs/g)!;
    expect(scripts.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

it('every part has the version of package.json', () => {
  expect(readText('src/cli/program/program.ts')).toContain(`const VERSION = '${manifest.version}';`);
  expect(readText('src/clients/python/pyproject.toml')).toContain(`version = "${manifest.version}"`);
});
