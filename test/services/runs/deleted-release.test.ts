import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunRequest } from '#src/contract/runs/runs.js';
import { Fault } from '#src/errors.js';
import { Pages } from '#src/services/pages.js';
import { defineRunKind } from '#src/services/runs/run-kind.js';
import { Runs } from '#src/services/runs/runs.js';
import { RunTable } from '#src/store/tables/runs.js';
import { openDemoAppliance, type DemoAppliance } from '../../tools/demo-appliance.js';
import { runProgram } from '../../tools/served-process.js';
import { context } from './hands.js';

/* Runs, and the deletion of the release that they search. */

let demo: DemoAppliance;
beforeAll(async () => {
  demo = await openDemoAppliance({ seed: 7, proteins: 120 });
}, 120_000);
afterAll(async () => {
  await demo.appliance.close();
  demo.remove();
});

const request = (): RunRequest =>
  ({
    endpoint: 'homology.batch_search',
    input: {
      queries: [{ sequence: demo.sequences[0] }],
      limit: 1,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    priority: 'normal',
    background: true,
  }) as RunRequest;

describe('the release of an accepted run', () => {
  it('is deleted by no command until the run has ended', async () => {
    const { runs } = demo.appliance;
    const { id } = (await runs.create(request(), {}, context())).value;
    const remove = () => runProgram(demo.environment, ['index', 'remove', demo.release.slug, '--yes']);
    const refused = await remove();
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(
      `is searched by the unfinished run ${id}: wait until the end, or cancel`,
    );
    await runs.cancel(id, context());
    expect(await remove()).toMatchObject({ code: 0 });
  }, 60_000);
});

describe('a run whose work fails', () => {
  const faults: unknown[] = [];
  let isDeleted = false;

  /** Error code and message of a run that fails so. */
  async function failWith(cause: Error) {
    const kind = defineRunKind<'homology.batch_search', null>({
      key: 'homology.batch_search',
      async prepare() {
        const databaseSnapshots = [{ name: 'demo', version: 'dbr_1', kind: 'homology_release', digest: '' }];
        return { plan: null, totalCount: 1, traces: { databaseSnapshots } };
      },
      // oxlint-disable-next-line require-yield
      async *execute() {
        throw cause;
      },
    });
    const runs = new Runs({
      table: new RunTable(demo.appliance.store),
      kinds: [kind],
      pages: new Pages(Buffer.alloc(32, 1)),
      receipts: { get: () => expect.fail('no run here has a receipt') },
      hasRelease: () => !isDeleted,
      now: () => new Date(),
      concurrency: 1,
      requireWebhookEndpoint: () => undefined,
    });
    await runs.start((error) => faults.push(error));
    const { id } = (await runs.create(request(), {}, context())).value;
    const { error } = (await runs.get(id, { Prefer: 'wait=20' }, context())).value;
    await runs.stop();
    return error;
  }

  const missing = new Fault('The tokens cannot be read.', {
    cause: new Error("ENOENT: no such file or directory, open '/indexes/demo/dbr_1/tokens.arrow'"),
  });

  it('on a lost file of its release fails internally while the catalog has the release', async () => {
    expect(await failWith(missing)).toMatchObject({ code: 'internal_error' });
    expect(faults).toEqual([missing]);
  });

  it('on a file of a deleted release says that it was deleted', async () => {
    isDeleted = true;
    expect(await failWith(missing)).toMatchObject({
      code: 'release_not_found',
      message: expect.stringMatching(
        /^Release dbr_1 of demo was deleted before the run ended: submit the run again/,
      ),
    });
    expect(faults).toHaveLength(1);
  });

  it('for another reason after the deletion fails internally', async () => {
    expect(await failWith(new Error('secret disk'))).toMatchObject({ code: 'internal_error' });
    expect(faults).toHaveLength(2);
  });
});
