import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { FAMILIES, familyOf } from '#bench/example/families.js';
import { selectDemo } from '#bench/example/select.js';
import { EXAMPLES, EXAMPLE_LARGEST_E, FINDS_COLUMNS, readExample } from '#src/demo/example.js';
import { parseFastaHeader } from '#src/sequence/fasta-header.js';
import { ROOT, SHARED } from '../tools/paths.js';

/* The real proteins of the demo, and the table of what programs find among them. */

const folder = join(ROOT, 'examples');
const fasta = gunzipSync(readFileSync(join(folder, 'proteins.fasta.gz'))).toString('utf8');
const headers = fasta
  .split('\n')
  .flatMap((line) => (line.startsWith('>') ? [parseFastaHeader(line.slice(1))] : []));
const data = join(SHARED, 'data');
const hasShared = existsSync(join(data, 'uniprot-sample.fasta.gz'));
if (!hasShared) console.log('skipped: the selection of the demo, without ../shared');

describe('the demo', () => {
  it('has 2,000 proteins of six organisms, the example queries among them', () => {
    expect(headers).toHaveLength(2_000);
    expect(new Set(headers.map(({ id }) => id)).size).toBe(2_000);
    expect(new Set(headers.map(({ taxid }) => taxid)).size).toBe(6);
    for (const example of EXAMPLES) expect(headers.filter(({ id }) => id === example.id)).toHaveLength(1);
  });

  it('has members of every remote family, and a random rest', () => {
    const counts = new Map(FAMILIES.map(({ name }) => [name, 0]));
    for (const { name = '' } of headers) {
      const family = familyOf(name)?.name;
      if (family !== undefined) counts.set(family, counts.get(family)! + 1);
    }
    expect(Math.min(...counts.values())).toBeGreaterThanOrEqual(10);
    const named = [...counts.values()].reduce((sum, count) => sum + count);
    expect(named).toBeGreaterThan(500);
    expect(named).toBeLessThan(1_000);
  });

  it.skipIf(!hasShared)('is what the seeded script selects, to the byte', { timeout: 60_000 }, async () => {
    const selected = await selectDemo(data);
    expect(selected.fasta === fasta).toBe(true);
    expect(selected.nodes).toBe(readFileSync(join(folder, 'nodes.dmp'), 'utf8'));
    expect(selected.names).toBe(readFileSync(join(folder, 'names.dmp'), 'utf8'));
  });
});

const tableOf = (name: string): string => readFileSync(join(folder, `${name}.tsv`), 'utf8').trim();

describe('the first example', () => {
  it('has finds of its family most of which BLASTP misses', async () => {
    const { finds, blastpCount } = await readExample(ROOT);
    expect(finds.length).toBeGreaterThanOrEqual(8);
    expect(blastpCount).toBeLessThanOrEqual(finds.length / 4);
    const names = new Map(headers.map(({ id, name = '' }) => [id, name]));
    const families = finds.map((id) => familyOf(names.get(id) ?? '')?.name);
    expect(new Set(families)).toEqual(new Set(['ubiquitin-like']));
  });
});

describe.each(EXAMPLES)('the example $name', (example) => {
  it('has a query of the demo', async () => {
    const { sequence, finds } = await readExample(ROOT, example);
    expect(sequence.length).toBeGreaterThan(50);
    expect(fasta.replaceAll('\n', '')).toContain(sequence);
    expect(finds).not.toContain(example.id);
  });

  it('has a table of proteins that at least one program finds, ordered by our E-values', () => {
    const [note, header, ...lines] = tableOf(example.name).split('\n');
    expect(note).toContain('npm run bench -- example');
    expect(header!.split('\t').slice(0, 1 + FINDS_COLUMNS.length)).toEqual(['protein', ...FINDS_COLUMNS]);
    const rows = lines.map((line) => line.split('\t').slice(1, 1 + FINDS_COLUMNS.length));
    const eValues = rows.map((cells) => cells.map((cell) => (cell === '' ? Infinity : Number(cell))));
    for (const each of eValues) expect(Math.min(...each)).toBeLessThanOrEqual(EXAMPLE_LARGEST_E);
    const ours = eValues.map(([first]) => first!);
    expect(ours).toEqual([...ours].sort((a, b) => a - b));
  });
});
