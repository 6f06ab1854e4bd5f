import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { neighboursDirectory, type NeighboursCard } from '#src/neighbours/card.js';
import { PROGRAM, ROOT } from '../../tools/paths.js';

/* A release that extends another keeps rows of its graph. The encoder has a reference null. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-extended-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);
const env = { ...process.env, GLOAMING_INDEXES: path('indexes'), GLOAMING_DATA: path('data') };
const proteins = gunzipSync(readFileSync(join(ROOT, 'examples', 'proteins.fasta.gz')))
  .toString()
  .split(/^(?=>)/m);

function gloaming(...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [PROGRAM, ...args], {
    env,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  return stdout;
}

/** Builds and calibrates a release of these proteins, and returns its folder. */
function build(list: readonly string[]): string {
  const fasta = path('proteins.fasta');
  writeFileSync(fasta, list.join(''));
  const stdout = gloaming(
    'index',
    'build',
    fasta,
    '--name',
    'db',
    '--encoder',
    'gloaming-1',
    '--homologs',
    'none',
  );
  const [, id] = /release +(dbr_[0-9a-f]{64})/.exec(stdout)!;
  return path(join('indexes', 'db', id));
}

function graphOf(directory: string): { readonly card: NeighboursCard; readonly bytes: Buffer } {
  const place = neighboursDirectory(directory);
  const card = JSON.parse(readFileSync(join(place, 'card.json'), 'utf8')) as NeighboursCard;
  expect(readdirSync(place)).toHaveLength(2);
  return { card, bytes: readFileSync(join(place, card.edges.path)) };
}

it('a release that extends another, in other order, has the edges that searches of all its proteins give', () => {
  const list = proteins.slice(0, 150);
  const first = build(list.slice(0, 120));
  gloaming('index', 'neighbours', 'db');
  expect(graphOf(first).card.extends).toBeNull();
  // One protein is gone, and the order is another one.
  const second = build(list.slice(1).reverse());
  gloaming('index', 'neighbours', 'db');
  const extended = graphOf(second);
  expect(extended.card.extends?.release_id).toMatch(/^dbr_/);
  gloaming('index', 'neighbours', 'db', '--full');
  const full = graphOf(second);
  expect(full.card.extends).toBeNull();
  expect(full.card.counts.edges).toBeGreaterThan(149);
  expect(extended.bytes.equals(full.bytes)).toBe(true);
}, 600_000);
