import type { UsageEntry, UsageTable } from '../../store/tables/usage.js';
import { realWorld, type World } from '../../world.js';
import type { RequestContext } from '../context.js';
import type { Reply } from '../reply.js';

/** Formula of the units of a direct search: one for each answered request, cached or not. */
export const DIRECT_FORMULA_ID = 'homology.search/1';
export const DIRECT_UNITS = 1;
/** Formula of the units of a run: one for each searched query, homolog set, alignment, structure or export. */
export const RUN_FORMULA_ID = 'runs/3';
/** An export is one unit, regardless of format and length, so that its price can be estimated. */
export const EXPORT_UNITS = 1;
/** An alignment is one unit, built by a run or a request, new or existing. */
export const MSA_UNITS = 1;

/** All homologs of one protein are one unit, regardless of their number. */
export const RELATIVES_UNITS = 1;

/** Bill of a response. */
interface Charge {
  /** Name of the endpoint in prices and usage. */
  readonly endpoint: string;
  readonly units: number;
  readonly formulaId: string;
}

const DIRECT_CHARGE: Charge = {
  endpoint: 'homology.search',
  units: DIRECT_UNITS,
  formulaId: DIRECT_FORMULA_ID,
};
export const MSA_CHARGE: Charge = {
  endpoint: 'sequences.msa.build',
  units: MSA_UNITS,
  formulaId: 'sequences.msa.build/1',
};

/** Interval and number of entries after which they are written in one commit. */
const WRITE_AFTER_MS = 90;
const WRITE_AT_COUNT = 1_000;
const RETRY_AFTER_MS = 1_000;

type Ledger = Pick<UsageTable, 'record' | 'add' | 'requireRoom'>;

/** Adds the responses of requests that compute to the ledger. */
export class Metering {
  readonly #usage: Ledger;
  readonly #now: () => Date;
  readonly #world: World;
  readonly #writing = new Set<Promise<unknown>>();
  #entries: UsageEntry[] = [];
  #cancel: (() => void) | undefined;

  constructor(usage: Ledger, now: () => Date, world = realWorld) {
    this.#usage = usage;
    this.#now = now;
    this.#world = world;
  }

  /**
   * Bills a response and returns it. The response does not wait for the disk, because a cached response is faster than
   * a disk. A power cut can lose the entries of the last tenth of a second; an orderly stop loses none. The entry of a
   * keyed request is written with its response, so that a retry is billed once. Runs are billed in their own
   * transaction.
   * Errors  Refusal `storage_unavailable` while the ledger accepts no entries: a response that cannot be billed is not
   *         sent
   */
  bill<Value>(
    reply: Reply<Value>,
    { requestId, organizationId, keyed }: RequestContext,
    charge = DIRECT_CHARGE,
  ): Reply<Value> {
    this.#usage.requireRoom();
    const entry: UsageEntry = {
      id: requestId,
      organizationId,
      ...charge,
      createdAt: this.#now().toISOString(),
    };
    if (keyed === undefined) this.#add(entry);
    else keyed.writeWithAnswer(() => this.#usage.add(entry));
    return { ...reply, billableUnits: charge.units };
  }

  /** Waits until every entry is on disk. */
  async settle(): Promise<void> {
    this.#write();
    await Promise.all(this.#writing);
  }

  #add(entry: UsageEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length >= WRITE_AT_COUNT) this.#write();
    else this.#cancel ??= this.#world.setTimer(WRITE_AFTER_MS, () => this.#write());
  }

  #write(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#entries.length === 0) return;
    const entries = this.#entries;
    this.#entries = [];
    const written = this.#usage
      .record(entries)
      .catch(() => this.#persist(entries))
      .finally(() => this.#writing.delete(written));
    this.#writing.add(written);
  }

  /** Retries until the disk accepts the entries. Meanwhile the ledger refuses new ones. */
  #persist(entries: readonly UsageEntry[]): void {
    this.#entries = [...entries, ...this.#entries];
    this.#cancel ??= this.#world.setTimer(RETRY_AFTER_MS, () => this.#write());
  }
}
