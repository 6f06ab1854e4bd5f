import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import type { Engines } from '#src/engine/engines.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { annotateRuns } from '#src/services/run-kinds/annotate.js';
import { batchSearchRuns } from '#src/services/run-kinds/batch.js';
import type { RunKind, RunStep } from '#src/services/runs/run-kind.js';
import { openDemoAppliance, type DemoAppliance } from '../../tools/demo-appliance.js';
import { runProgram } from '../../tools/served-process.js';
import { context } from '../runs/hands.js';

/* Runs of many queries that resume at a checkpoint, with the evidence of then or with other evidence. */

let demo: DemoAppliance;
/** By key. */
let kinds: Readonly<Record<string, RunKind>>;
let queries: readonly { readonly id: string; readonly sequence: string }[];
/** Members of the engine that differ from those of the release, as after another calibration. */
let changed: Partial<SearchEngine> = {};

beforeAll(async () => {
  demo = await openDemoAppliance({ seed: 7, proteins: 120 });
  const { appliance } = demo;
  const open: Engines['open'] = async (id) => ({ ...(await appliance.engines.open(id)), ...changed });
  const engines = { ...appliance.engines, open };
  const dependencies = { ...appliance, engines, files: appliance.storage.files, now: () => new Date() };
  const all = [batchSearchRuns(dependencies), annotateRuns(dependencies)];
  kinds = Object.fromEntries(all.map((kind) => [kind.key, kind]));
  queries = demo.sequences.slice(0, 34).map((sequence, at) => ({ id: `protein${at}`, sequence }));
  const words = ['index', 'calibrate', DEMO_SLUG, '--full', '--sample', '120', '--no-qualification'];
  expect((await runProgram(demo.environment, words)).code).toBe(0);
}, 120_000);
afterAll(async () => {
  await demo.appliance.close();
  demo.remove();
});

beforeEach(() => {
  changed = {};
});

const BATCH = {
  limit: 5,
  evidence: 'candidate_measurement',
  guarantee: 'exhaustive',
  significance: 'if_available',
};
const ANNOTATION = { limit: 5, guarantee: 'exhaustive', maximum_expected_false_hits: 1, rounds: 1 };
const RUNS = [
  ['homology.batch_search', BATCH],
  ['homology.annotate', ANNOTATION],
] as const;

describe.each(RUNS)('a run of %s', (key, members) => {
  const begin = async () => {
    const kind = kinds[key];
    const { plan } = await kind.prepare({ ...members, queries, database: DEMO_SLUG }, context());
    /** Does the next piece after a checkpoint, as a started server does. */
    const resume = async (checkpoint: unknown): Promise<RunStep> => {
      const steps = kind.execute(JSON.parse(JSON.stringify(plan)), {
        runId: 'run_1',
        context: context(),
        checkpoint,
      });
      const { value } = await steps.next();
      // Presents the rows, which reads the tokens of the release.
      for await (const row of value.rows) expect(row).toMatchObject({ query_index: expect.any(Number) });
      await steps.return(undefined as never);
      return JSON.parse(JSON.stringify({ ...value, rows: [] }));
    };
    return { first: await resume(undefined), resume };
  };

  it('continues with the calibration that it began with', async () => {
    const { first, resume } = await begin();
    const second = await resume(first.checkpoint);
    expect(second.doneCount).toBeGreaterThan(first.doneCount);
  });

  it.each(['calibration', 'qualification'] as const)('fails after another %s', async (evidence) => {
    const { first, resume } = await begin();
    changed = { [evidence]: { id: 'another' } };
    await expect(resume(first.checkpoint)).rejects.toMatchObject({
      code: 'calibration_changed',
      message: expect.stringMatching(/^demo was calibrated or qualified again .*: submit the run again\.$/),
    });
  });

  it('continues from a checkpoint of an earlier version, which names no calibration', async () => {
    const { first, resume } = await begin();
    const { evidence: _, ...earlier } = first.checkpoint as Record<string, unknown>;
    expect((await resume(earlier)).doneCount).toBeGreaterThan(first.doneCount);
  });
});
