import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../../canonical.js';
import { CARD_FILE } from '../../encoder/card.js';
import type { EncoderCard } from '../../encoder/encoder.js';
import { AMINO_ACIDS, BLOSUM62 } from '../../sequence/substitution.js';
import { BACKGROUND, SCALES } from '../../sequence/residue-scales.js';
import { writeOnnxModel, type OnnxGraph } from '../../../bench/tools/onnx-model.js';
import { randomOrthogonal } from '../../encoder/rotation.js';
import { symmetricEigen } from './symmetric-eigen.js';

const DIMENSION = 64;
const WINDOW_RESIDUES = 11;
const REACH = (WINDOW_RESIDUES - 1) / 2;
const EIGENVECTORS = 8;
/** Weight of a property's average over the window against one eigenvector at one place. */
const SCALE_WEIGHT = 1;
const ROTATION_SEED = 1;
const UNKNOWN = AMINO_ACIDS.length;
const PADDING = UNKNOWN + 1;
const MODEL_FILE = 'model.onnx';

/**
 * Writes the baseline encoder: nothing in it was trained. Each residue's vector holds the 64 strongest of
 * (place in a window of 11 × eigenvector of BLOSUM62) and of five properties averaged over the window, turned
 * by a fixed random rotation so that no component is much larger than others and int8 clips none, and scaled
 * to length 1. The same bytes on every machine, so a test compares the committed files with this generator.
 */
export async function writeBaselineEncoder(directory: string): Promise<void> {
  const model = writeOnnxModel(baselineGraph());
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, MODEL_FILE), model);
  await writeFile(join(directory, CARD_FILE), `${JSON.stringify(baselineCard(sha256Hex(model)), null, 2)}\n`);
}

function baselineCard(sha256: string): EncoderCard {
  const vocabulary = Object.fromEntries(Array.from(AMINO_ACIDS, (letter, id) => [letter, id]));
  return {
    id: 'baseline-1',
    name: 'Baseline window of BLOSUM62 eigenvectors',
    description:
      'An untrained placeholder: a fixed convolution over 11 residues of BLOSUM62 eigenvectors and ' +
      'physico-chemical scales. It finds close relatives only, far fewer than BLAST or MMseqs2, and is no ' +
      'basis for conclusions.',
    license: 'Apache-2.0',
    is_baseline: true,
    model: { file: MODEL_FILE, sha256 },
    inputs: { ids: 'input_ids', mask: 'attention_mask' },
    output: 'residue_vectors',
    tokenizer: { vocabulary, unknown: UNKNOWN, padding: PADDING, prefix: [], suffix: [] },
    window: null,
    projection: null,
    dimension: DIMENSION,
    inverse_step: 173,
    // 80 × (cos − 0.35), gaps 40 and 4: quarter steps of the usual 20 × (cos − 0.35), gaps 10 and 1.
    affine: { multiplier: 176, offset: 28, gap_open: 40, gap_extend: 4 },
  };
}

/** ids → channels of each residue → convolution over the window → vectors of length 1. */
function baselineGraph(): OnnxGraph {
  const channels = residueChannels();
  return {
    name: 'baseline-1',
    description: 'Fixed window of BLOSUM62 eigenvectors and physico-chemical scales; untrained.',
    inputs: [
      { name: 'input_ids', type: 'int64', dims: ['batch', 'length'] },
      { name: 'attention_mask', type: 'int64', dims: ['batch', 'length'] },
    ],
    outputs: [{ name: 'residue_vectors', type: 'float32', dims: ['batch', 'length', DIMENSION] }],
    constants: [
      { name: 'channels', dims: [PADDING + 1, channels.length], values: channelTable(channels) },
      {
        name: 'window',
        dims: [DIMENSION, channels.length, WINDOW_RESIDUES],
        values: windowWeights(channels),
      },
      { name: 'last_axis', dims: [1], values: BigInt64Array.of(-1n) },
      { name: 'least_norm', dims: [], values: Float32Array.of(1e-6) },
    ],
    nodes: [
      { operator: 'Gather', inputs: ['channels', 'input_ids'], outputs: ['residues'] },
      { operator: 'Cast', inputs: ['attention_mask'], outputs: ['mask'], attributes: { to: 1 } },
      { operator: 'Unsqueeze', inputs: ['mask', 'last_axis'], outputs: ['column_mask'] },
      { operator: 'Mul', inputs: ['residues', 'column_mask'], outputs: ['present'] },
      { operator: 'Transpose', inputs: ['present'], outputs: ['rows'], attributes: { perm: [0, 2, 1] } },
      {
        operator: 'Conv',
        inputs: ['rows', 'window'],
        outputs: ['mixed'],
        attributes: { pads: [REACH, REACH] },
      },
      { operator: 'Transpose', inputs: ['mixed'], outputs: ['features'], attributes: { perm: [0, 2, 1] } },
      {
        operator: 'ReduceL2',
        inputs: ['features'],
        outputs: ['norm'],
        attributes: { axes: [-1], keepdims: 1 },
      },
      { operator: 'Max', inputs: ['norm', 'least_norm'], outputs: ['safe_norm'] },
      { operator: 'Div', inputs: ['features', 'safe_norm'], outputs: ['residue_vectors'] },
    ],
  };
}

/** A number per amino acid, of mean 0 over the background, and how it enters the window. */
interface Channel {
  readonly values: readonly number[];
  readonly isAveraged: boolean;
}

function residueChannels(): readonly Channel[] {
  const { values, vectors } = symmetricEigen(centredBlosum());
  const eigenvectors = vectors.slice(0, EIGENVECTORS).map((vector, k) => ({
    values: vector.map((value) => value * Math.sqrt(values[k])),
    isAveraged: false,
  }));
  const scales = Object.values(SCALES).map((scale) => ({ values: standardised(scale), isAveraged: true }));
  return [...eigenvectors, ...scales];
}

/** BLOSUM62 as dot products of vectors whose mean over the background is zero. */
function centredBlosum(): number[][] {
  const rowMeans = BLOSUM62.map((row) => backgroundMean(row));
  const mean = backgroundMean(rowMeans);
  return BLOSUM62.map((row, i) => row.map((score, j) => score - rowMeans[i] - rowMeans[j] + mean));
}

function standardised(scale: readonly number[]): number[] {
  const mean = backgroundMean(scale);
  const deviation = Math.sqrt(backgroundMean(scale.map((value) => (value - mean) ** 2)));
  return scale.map((value) => (value - mean) / deviation);
}

function backgroundMean(values: readonly number[]): number {
  const total = BACKGROUND.reduce((sum, share) => sum + share, 0);
  return values.reduce((sum, value, i) => sum + value * BACKGROUND[i], 0) / total;
}

/** [letter × channel]; unknown residues and padding are all zeros. */
function channelTable(channels: readonly Channel[]): Float32Array {
  const table = new Float32Array((PADDING + 1) * channels.length);
  channels.forEach(({ values }, c) =>
    values.forEach((value, letter) => (table[letter * channels.length + c] = value)),
  );
  return table;
}

/** [dimension × channel × place]: the features' weights, turned by the rotation. */
function windowWeights(channels: readonly Channel[]): Float32Array {
  const features = windowFeatures(channels);
  const rotation = randomOrthogonal(DIMENSION, DIMENSION, ROTATION_SEED);
  const weights = new Float64Array(DIMENSION * channels.length * WINDOW_RESIDUES);
  features.forEach((feature, f) => {
    for (const { channel, place, weight } of feature) {
      for (let d = 0; d < DIMENSION; d++) {
        weights[(d * channels.length + channel) * WINDOW_RESIDUES + place] +=
          rotation[d * DIMENSION + f] * weight;
      }
    }
  });
  return Float32Array.from(weights);
}

interface Term {
  readonly channel: number;
  readonly place: number;
  readonly weight: number;
}

/** One feature per dimension: the averaged properties, then the strongest pairs of eigenvector and place. */
function windowFeatures(channels: readonly Channel[]): readonly (readonly Term[])[] {
  const places = Array.from({ length: WINDOW_RESIDUES }, (_, place) => place);
  const averaged = channels.flatMap(({ isAveraged }, channel) =>
    isAveraged
      ? [places.map((place) => ({ channel, place, weight: (SCALE_WEIGHT * taper(place)) / REACH }))]
      : [],
  );
  const single = channels.flatMap(({ values, isAveraged }, channel) => {
    if (isAveraged) return [];
    const spread = Math.sqrt(backgroundMean(values.map((value) => value * value)));
    return places.map((place) => ({ channel, place, weight: taper(place), strength: spread * taper(place) }));
  });
  single.sort((a, b) => b.strength - a.strength || a.channel - b.channel || a.place - b.place);
  return [...averaged, ...single.slice(0, DIMENSION - averaged.length).map((term) => [term])];
}

/** The middle of the window counts most: 1 there, falling evenly to 1/6 at its ends. */
function taper(place: number): number {
  return 1 - Math.abs(place - REACH) / (REACH + 1);
}
