import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './tools/paths.js';

/* Rules of single rooms: what the command line imports, where engines are opened, what pipelines say. */

/**
 * Folders that the command line may import: it parses flags into options, calls one function and prints its value. What
 * opens releases, encoders or kernels is reached through `pipelines`, `services` and the appliance.
 */
const CLI_IMPORTS: ReadonlySet<string> = new Set([
  'cli',
  'pipelines',
  'services',
  'http',
  'postgres',
  'contract',
  'clients',
  'demo',
  'json',
  'sequence',
  'store',
  // To read and print.
  'release',
  'significance',
  'recall',
  'neighbours',
]);
/** Calls that turn files of a release into a SearchEngine, and the files outside `src/engine` that make them. */
const OPENINGS: Readonly<Record<string, readonly string[]>> = {
  // qualify.ts measures a codebook that it has just written: no release offers it yet.
  'openCodebookOf(': ['measure-recall/qualify.ts', 'recall/codebook-sidecar.ts'],
  'openEvidence(': ['recall/evidence.ts'],
  // openRange opens the tokens of one partition for the engine.
  'backend.open(': ['search/partitions/scan.ts'],
};
/** Files of `pipelines` that name standard streams. */
const STREAM_NAMES: ReadonlySet<string> = new Set([
  // It reads what sbatch, squeue and scancel print.
  'pipelines/cluster/slurm.ts',
]);

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort();
const below = (folder: string): readonly string[] => sources.filter((path) => path.startsWith(folder));

describe('the command line', () => {
  it('imports pipelines and services, and none of the folders below them', () => {
    // `../../search/plan.js` from src/cli/search/verify.ts; files beside the folders are the ground of all.
    const deep = below('cli/').flatMap((path) => {
      const up = '\\.\\./'.repeat(path.split('/').length - 1);
      const pattern = new RegExp(`from \\x27${up}([a-z-]+)/`, 'g');
      return [...read(path).matchAll(pattern)]
        .map(([, folder]) => folder)
        .filter((folder) => !CLI_IMPORTS.has(folder))
        .map((folder) => `${path} imports ${folder}`);
    });
    expect(deep).toEqual([]);
  });
});

describe('a search engine', () => {
  it('is opened in src/engine only', () => {
    const openings = Object.entries(OPENINGS).flatMap(([call, exceptions]) =>
      sources
        .filter((path) => !/^(engine|kernels)\//.test(path) && read(path).includes(call))
        .filter((path) => !exceptions.includes(path))
        .map((path) => `${path} calls ${call})`),
    );
    expect(openings).toEqual([]);
  });

  it('has no exception for a file that opens nothing', () => {
    const idle = Object.entries(OPENINGS).flatMap(([call, paths]) =>
      paths.filter((path) => !read(path).includes(call)),
    );
    expect(idle).toEqual([]);
  });
});

describe('the pipelines', () => {
  it('have no text for people, standard stream or flag', () => {
    const forbidden = /\b(stdout|stderr|toLocaleString|commander)\b/;
    const strays = below('pipelines/').filter(
      (path) => forbidden.test(read(path)) && !STREAM_NAMES.has(path),
    );
    expect(strays).toEqual([]);
  });
});

function read(path: string): string {
  return readFileSync(join(ROOT, 'src', path), 'utf8');
}
