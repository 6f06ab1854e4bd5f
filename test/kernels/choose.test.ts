// @module-tag fast

import { expect, test } from 'vitest';
import { chooseBackend, describeGpus, servedOperations, whyNoGpu } from '#src/kernels/choose.js';
import { CUDA_IS_VERIFIED, gpuReport } from '#src/kernels/cuda.js';
import { nativeVariants } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { randomSource, randomTokens } from './random-tokens.js';

const hasGpu = gpuReport().obstacle === undefined;
const runnable = nativeVariants().filter(({ isRunnable }) => isRunnable);

test('the CPU runs the fastest kernels of this machine, and the reason names them', async () => {
  const operations = servedOperations(await chooseBackend({ device: 'cpu' }));
  expect(operations.map(({ operation }) => operation)).toEqual([
    'maxsim',
    'sampled sweep',
    'sweep of pools',
    'affine score',
    'affine alignment',
  ]);
  for (const { servedBy, reason } of operations) {
    expect(servedBy).toBe(`native ${runnable[0]!.name}`);
    expect(reason).toMatch(/fastest/);
  }
});

test('slower kernels serve if they are configured, and the reason names the setting', async () => {
  const [maxsim] = servedOperations(await chooseBackend({ device: 'cpu', variant: 'reference' }));
  expect(maxsim!.servedBy).toBe('native reference');
  if (runnable.length > 1) expect(maxsim!.reason).toMatch(/GLOAMING_KERNELS/);
});

test.skipIf(hasGpu)('a required GPU that cannot be used is an error with the reason', async () => {
  await expect(chooseBackend({ device: 'cuda' })).rejects.toThrow(/^The device is cuda, but .+\.$/);
  await expect(chooseBackend({ device: 'tensorflow' })).rejects.toThrow(
    /^The device is tensorflow, but .+\.$/,
  );
  expect(whyNoGpu('cpu')).toMatch(/^No GPU is used: /);
  expect(whyNoGpu('cuda')).toMatch(/^No GPU is used: /);
  expect(describeGpus()).toEqual([]);
});

test.skipIf(CUDA_IS_VERIFIED)(
  'until CUDA is verified on a GPU, auto chooses the CPU and gives the reason',
  async () => {
    const backend = await chooseBackend({ device: 'auto' });
    expect(backend.name).toBe('native');
    expect(whyNoGpu('auto')).toMatch(hasGpu ? /is not verified on a GPU yet/ : /^No GPU is used: /);
  },
);

test.runIf(hasGpu)('a requested GPU gives the bits of the CPU', async () => {
  const random = seededRandom(7);
  const source = randomSource(random, [1, 350, 17, 64, 900], 128);
  const queries = [3, 300].map((length) => randomTokens(random, length, 128));
  const parameters = { multiplier: 300, offset: 3, gapOpen: 20, gapExtend: 3 };
  const answers = await Promise.all(
    (['cpu', 'cuda'] as const).map(async (device) => {
      const backend = await chooseBackend({ device });
      const store = await backend.open(source);
      const sums = await backend.maxsim(store, queries, undefined);
      const swept = await backend.sweep(store, queries, undefined, 900);
      const measures = await backend.measure(store, queries[1]!, Uint32Array.of(4, 0, 1), parameters);
      store.close();
      return { sums, swept, measures };
    }),
  );
  expect(answers[1]).toEqual(answers[0]);
});
