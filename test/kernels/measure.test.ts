import { expect, test } from 'vitest';
import { measureKernels } from '#src/kernels/measure.js';

test('the bench of the kernels checks its answers and gives figures for this machine', async () => {
  const { kernels, maxsim, affine } = await measureKernels('reference');
  expect(kernels).toBe('reference');
  // There is no register loop to measure the peak of plain code.
  expect(maxsim.d64.peak_share).toBe(0);
  for (const figure of [maxsim.d64.gops, maxsim.d128.gops, maxsim.two_core_scaling, affine.ms_1000x350]) {
    expect(figure).toBeGreaterThan(0);
  }
});

test('kernels that cannot run here cannot be measured', async () => {
  await expect(measureKernels('abacus')).rejects.toThrow('The bench of the native kernels failed.');
});
