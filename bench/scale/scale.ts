import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.js';
import { findEncoder } from '../../src/encoder/find.js';
import { loadEncoder } from '../../src/encoder/load.js';
import { backendChoiceOf, chooseBackend } from '../../src/kernels/choose.js';
import { RELEASE_MAX_RESIDUES } from '../../src/limits.js';
import type { Bench } from '../main.js';
import { encodeSeconds, measureRelease, type Measured, type Place } from './measure.js';
import { lineThrough, predict, type Prediction, type Rates, type Shape } from './model.js';

/*
 * What do databases of UniRef's size cost, on one node and on several? The bench builds and searches small random
 * releases and extrapolates lines through their costs. With a number of proteins and their mean length, the bench also
 * builds and searches such a release and prints the costs beside the prediction.
 *
 *   npm run bench -- scale [proteins, 10000000] [mean residues, 60] [folder]
 *
 * The default takes a minute. 10 million proteins of 60 residues take 40 GB of disk.
 */

/** No two are proportional, so that the costs of a protein, of a residue and the constant can be separated. */
const SMALL: readonly Shape[] = [
  { proteins: 20_000, residues: 6_000_000 },
  { proteins: 60_000, residues: 18_000_000 },
  { proteins: 100_000, residues: 6_000_000 },
];

const LARGE: Readonly<Record<string, Shape>> = {
  'UniRef50, 60 M proteins': { proteins: 60e6, residues: 18e9 },
  '400 M proteins': { proteins: 400e6, residues: 120e9 },
};
const NODES = [1, 4, 16];
const GIB = 1024 ** 3;

export const run: Bench = async ([proteins, mean = '60', keptFolder]) => {
  const config = loadConfig(process.env);
  const directory = await findEncoder(config.encoder, config);
  const encoder = await loadEncoder(directory, { threads: config.threads, device: config.encoderDevice });
  const backend = await chooseBackend(backendChoiceOf(config));
  const folder = keptFolder ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-scale-')));
  const place: Place = { folder, encoder, backend, config };
  try {
    console.log(`kernels ${backend.variant}, ${config.threads} threads, encoder ${encoder.card.id}`);
    const rates = await measureRates(place);
    const large = Object.entries(LARGE).flatMap(([name, shape]) =>
      NODES.map((nodes) => ({ name, nodes, ...predict(shape, nodes, rates) })),
    );
    console.log(`\nA release holds at most ${RELEASE_MAX_RESIDUES} residues; a larger database is several.`);
    console.table(large.map(({ name, nodes, ...row }) => ({ name, nodes, ...inUnits(row) })));
    if (proteins === undefined) return { rates, large };
    const size = { proteins: Number(proteins), residues: Number(proteins) * Number(mean) };
    const { shape, ...measured } = await measureRelease('large', size, place, 1);
    const predicted = predict(shape, 1, rates);
    console.log(`\n${shape.proteins} proteins, ${shape.residues} residues, without the encoder:`);
    const compared = compare(measured, predicted, shape, rates);
    console.table(compared);
    return { rates, large, shape, compared };
  } finally {
    await encoder.close();
    if (keptFolder === undefined) await rm(folder, { recursive: true });
  }
};

async function measureRates(place: Place): Promise<Rates> {
  const encode = await encodeSeconds(place);
  const rows: Measured[] = [];
  for (const [index, shape] of SMALL.entries())
    rows.push(await measureRelease(`small-${index}`, shape, place));
  console.table(rows.map(({ shape, ...row }) => ({ ...shape, ...row })));
  const shapes = rows.map(({ shape }) => shape);
  const line = (value: (row: Measured) => number) => lineThrough(shapes, rows.map(value));
  return {
    encode,
    write: line(({ writeSeconds }) => writeSeconds),
    disk: line(({ diskBytes }) => diskBytes),
    memory: line(({ memoryBytes }) => memoryBytes),
    exhaustive: line(({ exhaustiveSeconds }) => exhaustiveSeconds),
    sampled: line(({ sampledSeconds }) => sampledSeconds),
  };
}

function inUnits(row: Prediction): Readonly<Record<string, string>> {
  return {
    'disk, GiB': (row.diskBytes / GIB).toFixed(0),
    'memory at least, GiB': (row.leastMemoryBytes / GIB).toFixed(1),
    'memory for these times, GiB': (row.memoryBytes / GIB).toFixed(0),
    'build, h': (row.buildSeconds / 3600).toFixed(1),
    'exhaustive, s': row.exhaustiveSeconds.toFixed(1),
    'sampled, s': row.sampledSeconds.toFixed(1),
    'node-seconds a query': row.nodeSeconds.toFixed(1),
  };
}

function compare(
  measured: Omit<Measured, 'shape'>,
  predicted: Prediction,
  shape: Shape,
  { encode }: Rates,
): readonly Readonly<Record<string, string | number>>[] {
  const rows: readonly (readonly [string, number, number])[] = [
    ['disk, bytes', predicted.diskBytes, measured.diskBytes],
    ['memory, bytes', predicted.leastMemoryBytes, measured.memoryBytes],
    ['build, s', predicted.buildSeconds - shape.residues * encode, measured.writeSeconds],
    ['exhaustive, s', predicted.exhaustiveSeconds, measured.exhaustiveSeconds],
    ['sampled, s', predicted.sampledSeconds, measured.sampledSeconds],
  ];
  return rows.map(([what, predicted, took]) => ({
    what,
    predicted,
    measured: took,
    share: took / predicted,
  }));
}
