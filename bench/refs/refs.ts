import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert } from '../../src/errors.js';
import { openNames } from '../../src/release/names/names.js';
import { searchNames, type NameMatch } from '../../src/release/names/search.js';
import { createNamesWriter } from '../../src/release/names/writer.js';
import type { Bench } from '../main.js';
import { nameOf, namedTarget, type NamedTarget } from './targets.js';

/*
 * How fast is a target found by accession, name, prefix or misspelled name, and what does the index cost? The targets
 * have accessions, entry names, genes, names and organisms in the style of UniProt, with similar repetition.
 *
 * npm run bench -- refs [targets] [queries of each kind]; the default is 600000 500.
 */

const DEFAULT_TARGETS = 600_000;
const DEFAULT_QUERIES = 500;
const LIMIT = 20;

export const run: Bench = async ([targets = DEFAULT_TARGETS, queries = DEFAULT_QUERIES]) => {
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-refs-'));
  try {
    const startedMs = performance.now();
    const writer = await createNamesWriter(folder, folder);
    for (let at = 0; at < Number(targets); at += 1) {
      const { id, attributes } = namedTarget(at);
      await writer.add(id, attributes);
    }
    const { path } = await writer.finish();
    const buildSeconds = (performance.now() - startedMs) / 1000;
    const { size } = await stat(join(folder, path));
    console.log(`${targets} targets: ${(size / 1e6).toFixed(0)} MB, written in ${buildSeconds.toFixed(1)} s`);
    const index = await openNames(folder);
    const figures: Record<string, unknown> = {
      targets: Number(targets),
      build_s: buildSeconds,
      index_bytes: size,
    };
    console.log('query                         found            p50 ms    p99 ms    max ms   CPU ms');
    for (const [kind, question] of Object.entries(QUESTIONS)) {
      const times: number[] = [];
      let foundCount = 0;
      const cpuBefore = process.cpuUsage();
      for (let turn = 0; turn < Number(queries); turn += 1) {
        const at = (turn * 7_919 + 13) % Number(targets);
        const { query, isAnswer, match } = question(namedTarget(at), turn);
        const before = performance.now();
        const references = await searchNames(index, query, LIMIT);
        times.push(performance.now() - before);
        if (match !== undefined) assert(references[0]?.match === match, `${query} is found as ${match}`);
        if (references.some(({ names }) => isAnswer(names))) foundCount += 1;
      }
      const { user, system } = process.cpuUsage(cpuBefore);
      // Processor time approximates the latency on an idle machine and does not depend on the load.
      const cpuMs = (user + system) / 1000 / Number(queries);
      const [p50, p99, max] = quantiles(times, [0.5, 0.99, 1]);
      const cells = [p50, p99, max, cpuMs].map((value) => value.toFixed(2).padStart(10));
      console.log(`${kind.padEnd(30)}${`${foundCount} of ${queries}`.padEnd(14)}${cells.join('')}`);
      figures[kind] = {
        found: foundCount,
        of: Number(queries),
        p50_ms: p50,
        p99_ms: p99,
        max_ms: max,
        mean_cpu_ms: cpuMs,
      };
    }
    await index.close();
    return figures;
  } finally {
    await rm(folder, { recursive: true });
  }
};

interface Question {
  readonly query: string;
  readonly isAnswer: (names: readonly string[]) => boolean;
  readonly match?: NameMatch;
}

const QUESTIONS: Readonly<Record<string, (target: NamedTarget, turn: number) => Question>> = {
  'exact accession': ({ id }) => ({ query: id, isAnswer: (names) => names[0] === id, match: 'exact' }),
  'exact entry name': ({ id, attributes }) => ({
    query: attributes.entry_name.toLowerCase(),
    isAnswer: (names) => names[0] === id,
    match: 'exact',
  }),
  'first letters of an accession': ({ id }) => ({
    query: id.slice(0, -2),
    isAnswer: ([firstName]) => (firstName ?? '').startsWith(id.slice(0, -2)),
    match: 'prefix',
  }),
  'two letters': ({ id }) => ({
    query: id.slice(0, 2),
    isAnswer: ([firstName]) => firstName?.startsWith(id.slice(0, 2)) === true,
  }),
  'misspelt accession': ({ id }, turn) => ({
    query: misspelt(id, turn),
    isAnswer: (names) => names[0] === id,
  }),
  name: ({ attributes }) => ({
    query: attributes.name,
    isAnswer: (names) => names.includes(attributes.name),
    match: 'exact',
  }),
  'misspelt name': ({ attributes }, turn) => ({
    query: misspelt(attributes.name, turn),
    isAnswer: (names) => names.includes(attributes.name),
  }),
  'gene and organism': ({ attributes }) => ({
    query: `${attributes.gene} ${attributes.organism}`,
    isAnswer: (names) => names.includes(attributes.gene) && names.includes(attributes.organism),
    match: 'token',
  }),
  'nothing that is there': (_, turn) => ({
    query: nameOf(turn * 31 + 7)
      .split('')
      .reverse()
      .join('x'),
    isAnswer: () => true,
  }),
};

/** Omits, doubles, swaps or replaces one letter after the first. */
function misspelt(text: string, turn: number): string {
  const at = 1 + ((turn * 31) % (text.length - 2));
  const [before, letter, after] = [text.slice(0, at), text.charAt(at), text.slice(at + 1)];
  const forms = [
    before + after,
    before + letter + letter + after,
    before + after.charAt(0) + letter + after.slice(1),
    `${before}q${after}`,
  ];
  return forms[turn % forms.length] as string;
}

function quantiles(values: readonly number[], ranks: readonly number[]): number[] {
  const sorted = [...values].sort((a, b) => a - b);
  return ranks.map((rank) => sorted[Math.min(sorted.length - 1, Math.floor(rank * sorted.length))] as number);
}
