import type { UsageTable } from '../store/usage.js';
import type { RequestContext } from './context.js';
import type { Reply } from './reply.js';

/** How the units of a direct search are counted: one for each request that is answered, from the cache or not. */
export const DIRECT_FORMULA_ID = 'homology.search/1';
export const DIRECT_UNITS = 1;
/** How the units of a run are counted: one for each query that was searched. */
export const RUN_FORMULA_ID = 'runs/1';

/** Adds the answers of direct searches to the ledger. */
export interface Metering {
  /**
   * The answer, billed. It does not wait for the disk, because a cached answer is faster than a disk: a power cut can
   * lose the entries of its last milliseconds, an orderly stop none. Runs are billed in their own transaction.
   * Errors  that of the ledger, once, on the request after the one whose entry could not be written
   */
  bill<Value>(reply: Reply<Value>, context: RequestContext): Reply<Value>;
  /** Waits until every entry is on disk. */
  settle(): Promise<void>;
}

export function createMetering(usage: UsageTable, now: () => Date): Metering {
  const pending = new Set<Promise<void>>();
  let failure: { readonly cause: unknown } | undefined;
  return {
    bill(reply, { requestId, organizationId }) {
      if (failure !== undefined) {
        const { cause } = failure;
        failure = undefined;
        throw cause;
      }
      const entry = {
        id: requestId,
        organizationId,
        endpoint: 'homology.search',
        units: DIRECT_UNITS,
        formulaId: DIRECT_FORMULA_ID,
        createdAt: now().toISOString(),
      };
      const written = usage
        .record(entry)
        .catch((cause: unknown) => {
          failure = { cause };
        })
        .finally(() => pending.delete(written));
      pending.add(written);
      return { ...reply, billableUnits: DIRECT_UNITS };
    },
    async settle() {
      await Promise.all(pending);
    },
  };
}
