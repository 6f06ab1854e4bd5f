import { defineConfig } from 'vitest/config';
import { ProcessorTimes } from './processor-times.mjs';

// Tests import the built code (`#src/…` resolves into dist), so that what is tested is what ships, workers included.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/tools/global-setup.ts'],
    setupFiles: ['test/tools/processor-time.ts'],
    reporters: ['default', new ProcessorTimes()],
    pool: 'forks',
    // Node loads the built code itself: vitest's own loader takes four times as long.
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A busy machine is slow, not wrong.
    expect: { poll: { timeout: 20_000 } },
  },
});
