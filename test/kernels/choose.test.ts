import { expect, test } from 'vitest';
import { chooseBackend, servedOperations, whyNoGpu } from '#src/kernels/choose.js';
import { nativeVariants } from '#src/kernels/native.js';

const hasGpu = whyNoGpu('cuda') === undefined;
const runnable = nativeVariants().filter(({ isRunnable }) => isRunnable);

test('the CPU is served by the fastest kernels that this machine runs, and the reason says so', async () => {
  const operations = servedOperations(await chooseBackend({ device: 'cpu' }));
  expect(operations.map(({ operation }) => operation)).toEqual(['maxsim', 'affine score', 'affine alignment']);
  for (const { servedBy, reason } of operations) {
    expect(servedBy).toBe(`native ${runnable[0]!.name}`);
    expect(reason).toMatch(/fastest/);
  }
});

test('slower kernels serve when they are asked for, and the reason says that they were', async () => {
  const [maxsim] = servedOperations(await chooseBackend({ device: 'cpu', variant: 'reference' }));
  expect(maxsim!.servedBy).toBe('native reference');
  if (runnable.length > 1) expect(maxsim!.reason).toMatch(/GLOAMING_KERNELS/);
});

test.skipIf(hasGpu)('a GPU that is wanted but cannot serve is an error that says why', async () => {
  await expect(chooseBackend({ device: 'cuda' })).rejects.toThrow(/The device is cuda, but /);
  expect(whyNoGpu('cpu')).toMatch(/^No GPU is used: /);
});
