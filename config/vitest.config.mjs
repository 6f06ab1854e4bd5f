import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { ProcessorTimes } from './processor-times.mjs';
import { filesByTier, TIERS } from '../test/tools/suite/tiers.ts';

const files = filesByTier();
const project = (name, more) => ({ extends: true, test: { name, include: files[name], ...more } });

// Tests import the built code (`#src/…` resolves into dist), so that what is tested is what ships, workers included.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    // Fast files share processes: they change no environment, working directory or global value.
    projects: TIERS.map((name) => project(name, { isolate: name !== 'fast' })),
    tags: TIERS.map((name) => ({ name })),
    globalSetup: ['test/tools/suite/global-setup.ts'],
    setupFiles: ['test/tools/suite/processor-time.ts'],
    reporters: ['default', new ProcessorTimes()],
    pool: 'forks',
    maxWorkers: availableParallelism(),
    // Node loads the built code itself: vitest's own loader takes four times as long.
    server: { deps: { external: [/\/dist\//] } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A busy machine is slow, not wrong.
    expect: { poll: { timeout: 20_000 } },
  },
});
