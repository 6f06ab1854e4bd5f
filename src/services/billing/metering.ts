import type { UsageEntry, UsageTable } from '../../store/tables/usage.js';
import type { RequestContext } from '../context.js';
import type { Reply } from '../reply.js';

/** How the units of a direct search are counted: one for each request that is answered, from the cache or not. */
export const DIRECT_FORMULA_ID = 'homology.search/1';
export const DIRECT_UNITS = 1;
/** How the units of a run are counted: one for each query that was searched, or structure that was predicted. */
export const RUN_FORMULA_ID = 'runs/1';

/** Entries are written together: one commit for all of so long a time, or of so many. */
const WRITE_AFTER_MS = 90;
const WRITE_AT_COUNT = 1_000;

/** Adds the answers of direct searches to the ledger. */
export interface Metering {
  /**
   * The answer, billed. It does not wait for the disk, because a cached answer is faster than a disk: a power cut can
   * lose the entries of its last tenth of a second, an orderly stop none. Runs are billed in their own transaction.
   * Errors  that of the ledger, once, on the request after those whose entries could not be written
   */
  bill<Value>(reply: Reply<Value>, context: RequestContext): Reply<Value>;
  /** Waits until every entry is on disk. */
  settle(): Promise<void>;
}

export function createMetering(usage: Pick<UsageTable, 'record'>, now: () => Date): Metering {
  const writing = new Set<Promise<void>>();
  let entries: UsageEntry[] = [];
  let timer: NodeJS.Timeout | undefined;
  let failure: { readonly cause: unknown } | undefined;
  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (entries.length === 0) return;
    const written = usage
      .record(entries)
      .catch((cause: unknown) => {
        failure = { cause };
      })
      .finally(() => writing.delete(written));
    writing.add(written);
    entries = [];
  };
  return {
    bill(reply, { requestId, organizationId }) {
      if (failure !== undefined) {
        const { cause } = failure;
        failure = undefined;
        throw cause;
      }
      entries.push({
        id: requestId,
        organizationId,
        endpoint: 'homology.search',
        units: DIRECT_UNITS,
        formulaId: DIRECT_FORMULA_ID,
        createdAt: now().toISOString(),
      });
      if (entries.length >= WRITE_AT_COUNT) write();
      else timer ??= setTimeout(write, WRITE_AFTER_MS);
      return { ...reply, billableUnits: DIRECT_UNITS };
    },
    async settle() {
      write();
      await Promise.all(writing);
    },
  };
}
