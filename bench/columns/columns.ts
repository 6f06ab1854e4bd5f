import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { tracePath } from '../../src/search/align.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { assert } from '../../src/errors.js';
import { pathParameters } from '../../src/search/pairs/affine.js';
import { buildBenchDatabase } from '../tools/database.js';
import { benchHomologs } from '../tools/homologs.js';
import { measureRows } from './msa-rows.js';
import {
  cigarColumns,
  readReferencePairs,
  precision,
  recovery,
  type Columns,
  type ReferencePair,
} from './references.js';
import type { Bench } from '../main.js';

/*
 * Are the alignments correct? The bench compares the appliance's alignments with those of BAliBASE, and parasail's with
 * BLOSUM62 and gaps 11/1 on the same pairs. The measures are the share of the reference's aligned residue pairs that an
 * alignment has, and the share of its own pairs that are in the reference, averaged over pairs of proteins. With a
 * homolog source, the bench also aligns the same proteins with their homologs.
 *
 *   npm run bench -- columns [FASTA of a homolog source, which mmseqs searches]
 *   npm run bench -- columns rows <FASTA>    rows of deep alignments, beside those of other tools (msa-rows.ts)
 */

const execute = promisify(execFile);
const SETS = ['RV11', 'RV12'];
const BANDS = [
  { name: 'under 20 % identity', from: 0, to: 0.2 },
  { name: '20-30 %', from: 0.2, to: 0.3 },
  { name: 'under 30 %', from: 0, to: 0.3 },
  { name: '30 % and more', from: 0.3, to: Infinity },
];
const PARASAIL_MISSING = 'apt-get install g++ libparasail-dev';

interface Aligner {
  readonly name: string;
  readonly columns: readonly Columns[];
}

export const run: Bench = async ([homologSource, background]) => {
  const { packageFolder } = loadConfig(process.env);
  const shared = process.env.GLOAMING_SHARED ?? join(packageFolder, '..', 'shared');
  const alignments = join(shared, 'data', 'alignments');
  if (!existsSync(alignments)) {
    console.log(`Skipped: no reference alignments at ${alignments}.`);
    return { skipped: 'no reference alignments' };
  }
  const pairs = (await Promise.all(SETS.map((set) => readReferencePairs(alignments, set)))).flat();
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-columns-'));
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  try {
    if (homologSource === 'rows') {
      assert(background !== undefined, 'columns rows <FASTA>');
      return await measureRows(pairs, background, appliance, folder);
    }
    const proteins = new Map(
      pairs.flatMap(({ first, second }) => [first, second].map((one) => [one.id, one])),
    );
    const list = [...proteins.values()];
    const engine = await buildBenchDatabase(appliance, list, 'references', folder);
    const ours = [{ name: appliance.config.encoder, columns: await alignAll(pairs, engine) }];
    if (homologSource !== undefined) {
      const buildHomologs = await benchHomologs(
        appliance,
        engine.encoder,
        'background',
        async () => homologSource,
      );
      const withHomologs = await buildBenchDatabase(appliance, list, 'families', folder, buildHomologs);
      ours.push({ name: 'with homologs', columns: await alignAll(pairs, withHomologs) });
    }
    const theirs = await alignWithParasail(
      pairs,
      join(packageFolder, 'bench', 'columns', 'parasail.cpp'),
      folder,
    );
    const aligners = theirs === undefined ? ours : [...ours, { name: 'parasail', columns: theirs }];
    if (theirs === undefined) console.log(`parasail skipped: ${PARASAIL_MISSING}`);
    return report(pairs, aligners);
  } finally {
    await appliance.close();
    await rm(folder, { recursive: true });
  }
};

/** Aligns each pair as a search does, with the first protein as the query. */
async function alignAll(
  pairs: readonly ReferencePair[],
  { release, encoder, profileEncoder, backend, store, threads }: SearchEngine,
): Promise<readonly Columns[]> {
  const sequences = [...new Set(pairs.map(({ first }) => first.sequence))];
  // One call for all, because the homolog finder reads its source again in each call.
  const encoded = profileEncoder && (await profileEncoder.encode(sequences));
  const tokensOfSequences = new Map(encoded?.map(({ tokens }, at) => [sequences[at], tokens]));
  const indexOf = new Map(
    Array.from({ length: release.targets.count }, (_, at) => [release.targets.id(at), at]),
  );
  const alignments: Columns[] = [];
  for (let start = 0; start < pairs.length;) {
    const query = pairs[start].first;
    let end = start;
    while (end < pairs.length && pairs[end].first === query) end += 1;
    const part = pairs.slice(start, end);
    const tokens = tokensOfSequences.get(query.sequence) ?? (await encoder.encode([query.sequence]))[0];
    const targets = Uint32Array.from(part, ({ second }) => indexOf.get(second.id)!);
    const parameters = pathParameters(release, { sequence: query.sequence, tokens }, targets);
    const aligned = await backend.affineAlign(store, tokens, targets, parameters, { threads });
    for (const [at, { second }] of part.entries()) {
      const { queryStart, targetStart, cigar } = tracePath(aligned[at], query.sequence, second.sequence);
      alignments.push(cigarColumns(queryStart, targetStart, cigar));
    }
    start = end;
  }
  return alignments;
}

/** Returns undefined if parasail or a compiler is missing. */
async function alignWithParasail(
  pairs: readonly ReferencePair[],
  source: string,
  folder: string,
): Promise<readonly Columns[] | undefined> {
  const program = join(folder, 'parasail');
  const isBuilt = await execute('g++', ['-O2', '-std=c++17', '-o', program, source, '-lparasail']).then(
    () => true,
    () => false,
  );
  if (!isBuilt) return undefined;
  const running = execute(program, { maxBuffer: 1 << 28 });
  running.child.stdin!.end(
    pairs.map(({ first, second }) => `${first.sequence}\t${second.sequence}\n`).join(''),
  );
  const { stdout } = await running;
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [first, second, cigar] = line.split('\t');
      return cigarColumns(Number(first), Number(second), cigar);
    });
}

function report(
  pairs: readonly ReferencePair[],
  aligners: readonly Aligner[],
): Readonly<Record<string, unknown>> {
  const figures: Record<string, Record<string, number>> = {};
  console.log(
    `${''.padEnd(28)}${'pairs'.padStart(7)}${aligners.map(({ name }) => name.padStart(14)).join('')}`,
  );
  for (const set of [...SETS, 'both']) {
    for (const { name, from, to } of BANDS) {
      const chosen = pairs.flatMap(({ identity, ...pair }, at) =>
        identity >= from && identity < to && (set === 'both' || set === pair.set) ? [at] : [],
      );
      if (chosen.length === 0) continue;
      const meanOf = (columns: readonly Columns[], measure: typeof recovery): number =>
        chosen.reduce((sum, at) => sum + measure(columns[at], pairs[at].columns) / chosen.length, 0);
      const key = `${set}, ${name}`;
      figures[key] = { pairs: chosen.length };
      const means = aligners.map((aligner) => {
        const [found, right] = [meanOf(aligner.columns, recovery), meanOf(aligner.columns, precision)];
        figures[key][aligner.name] = found;
        figures[key][`${aligner.name}, right`] = right;
        return `${found.toFixed(3)} ${right.toFixed(3)}`;
      });
      const cells = means.map((value) => value.padStart(14)).join('');
      console.log(`${key.padEnd(28)}${String(chosen.length).padStart(7)}${cells}`);
    }
  }
  return figures;
}
