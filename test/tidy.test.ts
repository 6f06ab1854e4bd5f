// @module-tag fast

import { existsSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './tools/paths.js';
import { filesBelow, readText } from './tools/repository-files.js';

/* The rules of the repository that a program can check. */

const root = ROOT;

/**
 * A file imports from lower layers and its own folder only. Folders of one layer do not import each other. Files beside
 * the folders are layer 0, except those named here.
 */
const LAYERS: Readonly<Record<string, number>> = {
  clients: 1,
  contract: 1,
  json: 1,
  sequence: 1,
  kernels: 1,
  release: 2,
  encoder: 2,
  homologs: 2,
  significance: 2,
  store: 2,
  console: 2,
  recall: 3,
  neighbours: 3,
  propagation: 4,
  search: 4,
  sql: 4,
  'build-release': 5,
  'fit-significance': 5,
  'measure-recall': 5,
  'find-homologs': 5,
  domains: 5,
  engine: 6,
  demo: 7,
  services: 7,
  http: 8,
  postgres: 8,
  composition: 8,
  pipelines: 8,
  'appliance.ts': 9,
  'searcher.ts': 9,
  cli: 10,
};
/** The only places that may import these packages. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  koa: ['http/'],
  '@koa/router': ['http/'],
  lmdb: ['store/'],
  'apache-arrow': [
    'release/',
    'significance/',
    'neighbours/',
    'build-release/',
    'fit-significance/',
    'services/export/',
    'sql/engine/arrow.ts',
  ],
  '@duckdb/node-api': ['sql/'],
  'hyparquet-writer': ['sql/', 'services/export/'],
  'onnxruntime-node': ['encoder/'],
  'onnxruntime-common': ['encoder/'],
  preact: ['console/'],
  'd3-force': ['console/result/charts/'],
  'd3-hierarchy': ['console/result/charts/'],
  'd3-sankey': ['console/result/charts/'],
  h5wasm: ['build-release/embeddings/'],
  saxes: ['build-release/sources/formats/'],
  ajv: ['contract/', 'http/', 'config.ts', 'encoder/'],
};
/** Files inside a package that are no secret of it, each with the reason. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  // Documented: the library as Node reads files with it.
  'h5wasm/node',
  // ajv's documented entry for JSON Schema 2020-12, the draft that OpenAPI 3.1 uses.
  'ajv/dist/2020.js',
  // Exported by the package: the messages of Arrow's format, for reading a file's places without its data.
  'apache-arrow/ipc/metadata/file',
  'apache-arrow/ipc/metadata/message',
  // Documented: the hooks of the library.
  'preact/hooks',
  // Documented.
  'vitest/config',
  // Documented: types of a global setup.
  'vitest/node',
]);
const FILE_MAX_LINES = 400;
const FOLDER_MAX_FILES = 20;
const LINE_MAX_CHARACTERS = 120;
const FORBIDDEN_FOLDERS = new Set(['util', 'utils', 'common', 'core', 'helpers', 'misc']);

interface Import {
  readonly from: string;
  readonly to: string;
}

const sources = filesBelow('src', /\.tsx?$/);
const programs = [...sources, ...filesBelow('bench', /\.ts$/), ...filesBelow('test', /\.ts$/)];
const written = [
  ...programs,
  ...filesBelow('kernels', /\.(cpp|h|cu|cuh|mjs)$/),
  ...filesBelow('indexes/encoders', /\.(py|md)$/),
];
const imports = programs.flatMap(importsOf);
const sourceImports = imports.filter(({ from }) => from.startsWith('src/'));

/** Subfolders that import files of the folder around them, and that these files import. None may be added. */
const CIRCLES_LEFT: ReadonlySet<string> = new Set([
  'src/build-release/embeddings',
  'src/build-release/shards',
  'src/build-release/sources/formats',
  'src/build-release/sources/formats/families',
  'src/build-release/sources/formats/structures',
  'src/build-release/sources/tables',
  'src/cli/index/releases',
  'src/console/result/charts',
  'src/http/pages',
  'src/pipelines/cluster',
  'src/http/steps',
  'src/services/search',
  'src/services/storage',
]);

describe('the tree', () => {
  it('has no file over 400 lines, but those that a program has written', () => {
    const isByHand = (path: string): boolean => !readText(path).startsWith('// Written by ');
    const long = written.filter((path) => readText(path).split('\n').length > FILE_MAX_LINES + 1);
    expect(long.filter(isByHand)).toEqual([]);
  });

  it('has no folder of more than 20 programs', () => {
    const counts = new Map<string, number>();
    for (const folder of programs.map((path) => dirname(path))) {
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    const crowded = [...counts].filter(([, count]) => count > FOLDER_MAX_FILES);
    expect(crowded).toEqual([]);
  });

  it('has no code line over 120 characters', () => {
    const long = written.flatMap((path) =>
      readText(path)
        .split('\n')
        .flatMap((line, index) =>
          [...line].length > LINE_MAX_CHARACTERS && !path.endsWith('.md') ? [`${path}:${index + 1}`] : [],
        ),
    );
    expect(long).toEqual([]);
  });

  it('has no folder whose name says nothing', () => {
    expect(written.filter((path) => path.split('/').some((part) => FORBIDDEN_FOLDERS.has(part)))).toEqual([]);
  });

  it('has no default export and no barrel', () => {
    expect(sources.filter((path) => /^export (default|\*)/m.test(readText(path)))).toEqual([]);
  });

  it('has no note of unfinished work', () => {
    // The words are put together here so that this file passes its own rule.
    const later = new RegExp(
      `\\b(${['TO', 'DO'].join('')}|${['FIX', 'ME'].join('')}|${['XX', 'X'].join('')})\\b`,
    );
    expect(written.filter((path) => later.test(readText(path)))).toEqual([]);
  });
});

describe('the lockfile', () => {
  it('does not let onnxruntime-node download CUDA libraries that are not used', () => {
    // Its install script can be told by a key of .npmrc, which npm 11 warns about, or by allowScripts of package.json,
    // which npm 10 does not know. Neither runs a script of which the lockfile does not say that it is there; npm
    // writes the line again when the version changes: delete it then.
    const { packages } = JSON.parse(readText('package-lock.json')) as {
      packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
    };
    expect(packages['node_modules/onnxruntime-node']?.hasInstallScript ?? false).toBe(false);
  });
});

describe('the linter', () => {
  it('has no exception for a file that is not there', () => {
    const excepted = [...readText('config/oxlint.json').matchAll(/"\*\*\/(src\/[^"*]+)/g)].map(
      ([, path]) => path,
    );
    expect(excepted.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('the layers', () => {
  it('name every folder of src, and nothing that is not there', () => {
    const folders = new Set(sources.filter((path) => path.split('/').length > 2).map(folderOf));
    expect([...folders].filter((folder) => !Object.hasOwn(LAYERS, folder))).toEqual([]);
    expect(Object.keys(LAYERS).filter((name) => !existsSync(join(root, 'src', name)))).toEqual([]);
  });

  it('import downwards or within their own folder only', () => {
    const upward = sourceImports.filter(({ from, to }) => {
      const [above, below] = [folderOf(from), folderOf(to)];
      const isGround = layerOf(above) === 0 && layerOf(below) === 0;
      return above !== below && !isGround && layerOf(below) >= layerOf(above);
    });
    expect(upward.map(sentenceOf)).toEqual([]);
  });

  it('import in one direction: bench from src, tests from both', () => {
    const order = ['src', 'bench', 'test'];
    const upward = imports.filter(({ from, to }) => order.indexOf(topOf(to)) > order.indexOf(topOf(from)));
    expect(upward.map(sentenceOf)).toEqual([]);
  });

  it('import nothing that is not there', () => {
    const names = new Set(programs);
    const lost = imports.filter(({ to }) => /\.tsx?$/.test(to) && !names.has(to));
    expect(lost.map(sentenceOf)).toEqual([]);
  });

  it('have no import cycle, in src, bench and test', () => {
    expect(cyclesIn(imports)).toEqual([]);
  });

  it('have no circle between the subfolders of a folder', () => {
    const circles = [...new Set(programs.flatMap(parentsOf))].flatMap((parent) =>
      cyclesIn(subfolderImports(parent)).map((circle) => `${parent}: ${circle}`),
    );
    expect(circles).toEqual([]);
  });

  it('have no arrow from the files of a folder into a subfolder that imports them back', () => {
    const circles = imports.flatMap(({ from, to }) => {
      const folder = folderAround(from);
      if (folder === topOf(from) || !to.startsWith(`${folder}/`)) return [];
      const [child, ...rest] = to.slice(folder.length + 1).split('/');
      const isBack = (edge: Import): boolean =>
        edge.from.startsWith(`${folder}/${child}/`) && folderAround(edge.to) === folder;
      return rest.length > 0 && imports.some(isBack) ? [`${folder}/${child}`] : [];
    });
    expect([...new Set(circles)].filter((folder) => !CIRCLES_LEFT.has(folder))).toEqual([]);
  });

  it('keep each foreign package in the place that owns it', () => {
    const strays = sources.flatMap((path) =>
      packagesOf(path)
        .filter((name) => OWNERS[name]?.every((place) => !path.startsWith(`src/${place}`)))
        .map((name) => `${path} imports ${name}`),
    );
    expect(strays).toEqual([]);
    const places = Object.values(OWNERS).flat();
    expect(places.filter((place) => !existsSync(join(root, 'src', place)))).toEqual([]);
  });

  it('import packages by their public names', () => {
    const inside = new Set(
      programs.flatMap(specifiersOf).filter((name) => isForeign(name) && name !== packageOf(name)),
    );
    expect([...inside].filter((name) => !PUBLIC_PATHS.has(name))).toEqual([]);
  });

  it('end processes in the command line only', () => {
    const exits = sources.filter(
      (path) => /process\.exit\(/.test(readText(path)) && !path.startsWith('src/cli/'),
    );
    expect(exits).toEqual([]);
  });
});

function specifiersOf(path: string): string[] {
  const pattern = /\b(?:from|import)\s*\(?\s*'([^'\s]+)'/g;
  return [...readText(path).matchAll(pattern)].map((match) => match[1]);
}

/** Imports of our own files: relative, or `#src/…` and `#bench/…` as tests have it. */
function importsOf(path: string): Import[] {
  return specifiersOf(path)
    .filter((specifier) => /^(\.|#)/.test(specifier))
    .map((specifier) => ({
      from: path,
      to: (specifier.startsWith('#') ? specifier.slice(1) : join(dirname(path), specifier))
        .split(sep)
        .join('/')
        .replace(/\.js$/, '.ts')
        .replace(/^(src\/console\/.*)\.ts$/, (path, stem: string) =>
          existsSync(join(root, path)) ? path : `${stem}.tsx`,
        ),
    }));
}

function sentenceOf({ from, to }: Import): string {
  return `${from} imports ${to}`;
}

function isForeign(specifier: string): boolean {
  return !/^(\.|#|node:)/.test(specifier);
}

/** `@koa/router` for itself and for all that lies in it. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function packagesOf(path: string): string[] {
  return specifiersOf(path).filter(isForeign).map(packageOf);
}

function topOf(path: string): string {
  return path.split('/')[0];
}

/** Every folder around a file: `src` and `src/search` for src/search/rank.ts. */
function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, depth) => parts.slice(0, depth + 1).join('/'));
}

/** Imports between the subfolders of a folder, as if each were one file. */
function subfolderImports(parent: string): Import[] {
  const childOf = (path: string): string | undefined =>
    path.startsWith(`${parent}/`) && path.slice(parent.length + 1).includes('/')
      ? path.slice(parent.length + 1).split('/')[0]
      : undefined;
  return imports.flatMap(({ from, to }) => {
    const [above, below] = [childOf(from), childOf(to)];
    return above === undefined || below === undefined || above === below ? [] : [{ from: above, to: below }];
  });
}

function folderAround(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** `search` for src/search/rank.ts, `appliance.ts` for a file beside the folders. */
function folderOf(path: string): string {
  return path.split('/')[1];
}

/** Files beside the folders (errors, ids, limits, config) are the ground that all stand on. */
function layerOf(folder: string): number {
  return LAYERS[folder] ?? 0;
}

function cyclesIn(edges: readonly Import[]): string[] {
  const next = grouped(edges);
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const { to } of next.get(path) ?? []) visit(to, [...trail, path]);
    done.add(path);
  };
  for (const path of next.keys()) visit(path, []);
  return cycles;
}

function grouped(edges: readonly Import[]): Map<string, Import[]> {
  const groups = new Map<string, Import[]>();
  for (const edge of edges) groups.set(edge.from, [...(groups.get(edge.from) ?? []), edge]);
  return groups;
}
