import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './tools/paths.js';

/* The house rules that a program can check. */

const root = ROOT;

/** A file imports from lower layers and its own folder only; folders of one layer do not import each other. */
const LAYERS: Readonly<Record<string, number>> = {
  contract: 1,
  sequence: 1,
  kernels: 1,
  release: 2,
  encoder: 2,
  calibration: 2,
  store: 2,
  search: 3,
  sql: 3,
  indexing: 4,
  calibrate: 4,
  demo: 5,
  services: 5,
  http: 6,
  postgres: 6,
  composition: 6,
  'appliance.ts': 7,
  cli: 8,
};
/** The only places that may import these packages. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  koa: ['http/'],
  '@koa/router': ['http/'],
  lmdb: ['store/'],
  'apache-arrow': [
    'release/',
    'calibration/',
    'indexing/',
    'calibrate/',
    'cli/search/arrow.ts',
    'services/export/',
    'sql/engine/arrow.ts',
  ],
  '@duckdb/node-api': ['sql/'],
  'hyparquet-writer': ['sql/', 'services/export/'],
  'onnxruntime-node': ['encoder/'],
  'onnxruntime-common': ['encoder/'],
  ajv: ['contract/', 'http/', 'config.ts', 'encoder/'],
};
const FILE_MAX_LINES = 400;
const LINE_MAX_CHARACTERS = 120;
const FORBIDDEN_FOLDERS = new Set(['util', 'utils', 'common', 'core', 'helpers', 'misc']);

interface Import {
  readonly from: string;
  readonly to: string;
}

const sources = filesBelow('src', /\.ts$/);
const written = [
  ...sources,
  ...filesBelow('bench', /\.ts$/),
  ...filesBelow('test', /\.ts$/),
  ...filesBelow('kernels', /\.(cpp|h|cu|cuh|mjs)$/),
  ...filesBelow('indexes/encoders', /\.(py|md)$/),
];
const imports = sources.flatMap(importsOf);

describe('the tree', () => {
  it('has no file over 400 lines', () => {
    expect(written.filter((path) => read(path).split('\n').length > FILE_MAX_LINES + 1)).toEqual([]);
  });

  it('has no code line over 120 characters', () => {
    const long = written.flatMap((path) =>
      read(path)
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
    expect(sources.filter((path) => /^export (default|\*)/m.test(read(path)))).toEqual([]);
  });

  it('leaves nothing to be done later', () => {
    // The words are put together here so that this file passes its own rule.
    const later = new RegExp(
      `\\b(${['TO', 'DO'].join('')}|${['FIX', 'ME'].join('')}|${['XX', 'X'].join('')})\\b`,
    );
    expect(written.filter((path) => later.test(read(path)))).toEqual([]);
  });
});

describe('the layers', () => {
  it('import downwards or within their own folder only', () => {
    const upward = imports.filter(({ from, to }) => {
      const [above, below] = [folderOf(from), folderOf(to)];
      const isGround = layerOf(above) === 0 && layerOf(below) === 0;
      return above !== below && !isGround && layerOf(below) >= layerOf(above);
    });
    expect(upward.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it('have no import cycle', () => {
    expect(cyclesIn(imports)).toEqual([]);
  });

  it('keep each foreign package in the place that owns it', () => {
    const strays = sources.flatMap((path) =>
      packagesOf(path)
        .filter((name) => OWNERS[name]?.every((place) => !path.startsWith(`src/${place}`)))
        .map((name) => `${path} imports ${name}`),
    );
    expect(strays).toEqual([]);
  });

  it('end processes in the command line only', () => {
    const exits = sources.filter(
      (path) => /process\.exit\(/.test(read(path)) && !path.startsWith('src/cli/'),
    );
    expect(exits).toEqual([]);
  });
});

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function specifiersOf(path: string): string[] {
  const pattern = /(?:from|import)\s*\(?\s*'([^']+)'/g;
  return [...read(path).matchAll(pattern)].map((match) => match[1]);
}

function importsOf(path: string): Import[] {
  return specifiersOf(path)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => ({
      from: path,
      to: join(dirname(path), specifier).split(sep).join('/').replace(/\.js$/, '.ts'),
    }));
}

function packagesOf(path: string): string[] {
  return specifiersOf(path)
    .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
    .map((specifier) =>
      specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/'),
    );
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
