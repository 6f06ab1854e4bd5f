import { defineConfig } from 'vitest/config';

// Tests import the built code (`#src/…` resolves into dist), so that what is tested is what ships, workers included.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A busy machine is slow, not wrong.
    expect: { poll: { timeout: 20_000 } },
  },
});
