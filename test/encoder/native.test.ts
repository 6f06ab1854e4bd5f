// @module-tag fast

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { byteModelOf } from '#src/encoder/byte-model.js';
import type { EncoderCard } from '#src/encoder/encoder.js';
import { openEncoderModel, openOnnx } from '#src/encoder/model.js';
import { readOnnxGraph, type OnnxGraph, type OnnxNode } from '#src/encoder/onnx-graph.js';
import { unitVectors } from '#src/encoder/vectors.js';
import { loadAddon } from '#src/kernels/addon.js';
import type { ByteModel } from '#src/kernels/byte-model.js';
import { openByteEncoder } from '#src/kernels/encode.js';
import { ROOT } from '../tools/paths.js';

/* Encoders of int8 weights in the native kernels, against ONNX Runtime. */

const LETTERS = 'ACDEFGHIKLMNPQRSTVWYX';
const pathOf = (id: string, file: string): string => join(ROOT, 'indexes', 'encoders', id, file);
const cardOf = (id: string): EncoderCard =>
  JSON.parse(readFileSync(pathOf(id, 'card.json'), 'utf8')) as EncoderCard;
const graphOf = (id: string): OnnxGraph => readOnnxGraph(readFileSync(pathOf(id, 'model.onnx')));

function modelOf(id: string): ByteModel {
  const model = byteModelOf(graphOf(id), cardOf(id));
  if (model === undefined) throw new Error(`The graph of ${id} is not known.`);
  return model;
}

/** A protein of a length, with all letters. */
function proteinOf(length: number): string {
  let state = length;
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return LETTERS[Math.floor(state / 2 ** 16) % LETTERS.length];
  }).join('');
}

/** Vectors of a protein in ONNX Runtime and in the native kernels of this instruction set. */
async function bothVectors(id: string, variant: string, lengths: readonly number[]) {
  const card = cardOf(id);
  const onnx = await openOnnx(pathOf(id, 'model.onnx'), card, 'cpu');
  const native = openByteEncoder(modelOf(id), variant);
  if (native === undefined) throw new Error(`The kernels ${variant} do not take ${id}.`);
  const both = [];
  for (const protein of lengths.map(proteinOf)) {
    const rows = native.encode(Uint8Array.from(protein, (letter) => card.tokenizer.vocabulary[letter]));
    const found = unitVectors(rows, card.dimension, card.dimension, undefined);
    both.push({ length: protein.length, found, expected: await onnx.vectors(protein) });
  }
  await onnx.close();
  return both;
}

const runnable = loadAddon()
  .variants()
  .filter(({ isRunnable }) => isRunnable)
  .map(({ name }) => name);
const fast = runnable.filter((name) => name !== 'reference' && openByteEncoder(modelOf('gloaming-5'), name));

describe.each(['gloaming-4', 'gloaming-5'])('the native kernels with %s', (id) => {
  it('compute the vectors of ONNX Runtime in the reference, bit for bit', async () => {
    for (const { found, expected } of await bothVectors(id, 'reference', [1, 2, 40]))
      expect(found).toEqual(expected);
  });

  it.skipIf(fast.length === 0)(
    `compute the vectors of ONNX Runtime by ${fast.join(' and ') || 'AVX-512, which this machine lacks'}`,
    async () => {
      const lengths = [1, 2, 15, 16, 17, 63, 64, 65, 128, 350, 1_000, 4_096];
      for (const variant of fast) {
        for (const { length, found, expected } of await bothVectors(id, variant, lengths))
          expect([length, found]).toEqual([length, expected]);
      }
    },
  );
});

describe('the model of a card', () => {
  it.each([
    ['gloaming-5', fast.length === 0 ? 'onnxruntime' : 'native'],
    ['gloaming-3', 'onnxruntime'],
  ])('%s runs in the engine that serves it', async (id, engine) => {
    const model = await openEncoderModel(join(ROOT, 'indexes', 'encoders', id), cardOf(id), 'cpu');
    const onnx = await openOnnx(pathOf(id, 'model.onnx'), cardOf(id), 'cpu');
    expect([model.engine, onnx.engine]).toEqual([engine, 'onnxruntime']);
    const protein = proteinOf(77);
    expect(await model.vectors(protein)).toEqual(await onnx.vectors(protein));
    await Promise.all([model.close(), onnx.close()]);
  });
});

describe('an encoder in the native kernels', () => {
  const encoder = openByteEncoder(modelOf('gloaming-5'), fast[0] ?? 'reference');

  it('gives a protein the same vectors after other proteins', () => {
    const encode = (length: number) => encoder?.encode(new Uint8Array(length).fill(3));
    const first = encode(20);
    encode(90);
    encode(1);
    expect(encode(20)).toEqual(first);
  });

  it('refuses no letters, letters that the model lacks, and too many', () => {
    expect(() => encoder?.encode(new Uint8Array(0))).toThrow('length');
    expect(() => encoder?.encode(Uint8Array.of(1, 23))).toThrow('letters');
    expect(() => encoder?.encode(new Uint8Array(65_536))).toThrow('length');
  });

  it('is refused with numbers that could overflow, and with arrays of other sizes', () => {
    const model = modelOf('gloaming-5');
    const [first, ...others] = model.blocks;
    const layer = { ...first.down, scales: first.down.scales.map(() => 1e9) };
    const wrong: readonly ByteModel[] = [
      { ...model, gamma: model.gamma.map(() => Number.NaN) },
      { ...model, gamma: model.gamma.subarray(1) },
      { ...model, width: 192 },
      { ...model, blocks: [{ ...first, down: layer }, ...others] },
      { ...model, blocks: [{ ...first, dilation: 0 }, ...others] },
      { ...model, blocks: [{ ...first, up: { ...first.up, bias: new Float32Array(3) } }, ...others] },
    ];
    for (const each of wrong) expect(openByteEncoder(each, 'reference')).toBeUndefined();
  });
});

describe('a graph of int8 weights', () => {
  const graph = graphOf('gloaming-5');
  const card = cardOf('gloaming-5');
  /** The graph with one node changed. */
  const changed = (at: number, change: (node: OnnxNode) => Partial<OnnxNode>): OnnxGraph => ({
    ...graph,
    nodes: graph.nodes.map((node, place) => (place === at ? { ...node, ...change(node) } : node)),
  });

  it('is known only as the recipe writes it: with another operator, input or attribute it is not', () => {
    graph.nodes.forEach(({ outputs }, at) => {
      // All blocks are read alike.
      if (/^blocks\.([2-9]|1\d)/.test(outputs[0])) return;
      const others = [
        changed(at, () => ({ kind: 'Identity' })),
        changed(at, ({ domain }) => ({ domain: `${domain}.other` })),
        changed(at, ({ inputs }) => ({ inputs: [...inputs.slice(0, -1), 'another'] })),
        changed(at, ({ attributes }) => ({ attributes: new Map([...attributes, ['another', 1]]) })),
      ];
      for (const other of others) expect(byteModelOf(other, card)).toBeUndefined();
    });
  });

  it('is not known with other constants than the recipe gives to a step', () => {
    const fixed = [
      'sides',
      'one',
      'start.3',
      'blocks.2.down.step',
      'blocks.2.mix.zeros',
      'blocks.2.down.none',
    ];
    for (const name of fixed) {
      const tensor = graph.constants.get(name);
      const values = Float32Array.from(tensor?.values ?? [], () => 7);
      const constants = new Map([...graph.constants, [name, { shape: tensor?.shape ?? [], values }]]);
      expect([name, byteModelOf({ ...graph, constants }, card)]).toEqual([name, undefined]);
    }
  });

  it('is not known after its last node, or before it has all', () => {
    const { nodes } = graph;
    expect(byteModelOf({ ...graph, nodes: [...nodes, nodes[0]] }, card)).toBeUndefined();
    expect(byteModelOf({ ...graph, nodes: nodes.slice(0, -1) }, card)).toBeUndefined();
    expect(byteModelOf({ ...graph, nodes: [] }, card)).toBeUndefined();
  });

  it('is not known with letters beyond its tables, or another output', () => {
    const tokenizer = { ...card.tokenizer, unknown: 23 };
    expect(byteModelOf(graph, { ...card, tokenizer })).toBeUndefined();
    expect(byteModelOf(graph, { ...card, output: 'project' })).toBeUndefined();
  });

  it.each(['gloaming-1', 'gloaming-3', 'baseline-1'])('is not that of %s, which ONNX Runtime runs', (id) => {
    expect(byteModelOf(graphOf(id), cardOf(id))).toBeUndefined();
  });
});
