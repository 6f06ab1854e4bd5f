// @module-tag fast

import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { writeOnnxModel, type OnnxGraph } from '#bench/tools/onnx-model.js';

const graph: OnnxGraph = {
  name: 'example',
  description: 'Twice the transposed input, clipped from below, plus whole numbers.',
  inputs: [{ name: 'x', type: 'float32', dims: ['rows', 3] }],
  outputs: [{ name: 'y', type: 'float32', dims: [3, 'rows'] }],
  constants: [
    { name: 'two', dims: [], values: Float32Array.of(2) },
    { name: 'whole', dims: [3, 1], values: BigInt64Array.of(-1n, 0n, 4_294_967_296n) },
  ],
  nodes: [
    { operator: 'Transpose', inputs: ['x'], outputs: ['t'], attributes: { perm: [1, 0] } },
    { operator: 'LeakyRelu', inputs: ['t'], outputs: ['l'], attributes: { alpha: { float: 0.5 } } },
    { operator: 'Mul', inputs: ['l', 'two'], outputs: ['m'] },
    { operator: 'Cast', inputs: ['whole'], outputs: ['w'], attributes: { to: 1 } },
    { operator: 'Add', inputs: ['m', 'w'], outputs: ['y'] },
  ],
};

describe('a written ONNX model', () => {
  it('runs in ONNX Runtime with its constants and attributes', async () => {
    const session = await InferenceSession.create(Buffer.from(writeOnnxModel(graph)));
    const { y } = await session.run({
      x: new Tensor('float32', Float32Array.of(1, 2, 3, -4, -5, -6), [2, 3]),
    });
    expect(y.dims).toEqual([3, 2]);
    expect([...(y.data as Float32Array)]).toEqual(
      [1, -5, 4, -5, 4_294_967_302, 4_294_967_290].map(Math.fround),
    );
  });

  it('states names and dynamic dimensions', async () => {
    const session = await InferenceSession.create(Buffer.from(writeOnnxModel(graph)));
    expect(session.inputMetadata).toMatchObject([{ name: 'x', type: 'float32', shape: ['rows', 3] }]);
    expect(session.outputMetadata).toMatchObject([{ name: 'y', type: 'float32', shape: [3, 'rows'] }]);
  });

  it('has equal bytes for equal graphs', () => {
    expect(
      Buffer.from(writeOnnxModel(graph)).equals(Buffer.from(writeOnnxModel(structuredClone(graph)))),
    ).toBe(true);
  });

  it('is refused if a tensor has another number of values than its shape', () => {
    const constants = [{ name: 'bad', dims: [2, 2], values: Float32Array.of(1) }];
    expect(() => writeOnnxModel({ ...graph, constants })).toThrow(/bad: 2×2 values expected, 1 given/);
  });
});
