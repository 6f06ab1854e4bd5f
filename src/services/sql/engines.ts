import { untilAborted } from '../../abort.js';
import { Refusal } from '../../errors.js';
import {
  SQL_ENGINE_IDLE_MS,
  SQL_ENGINES_MAX_COUNT,
  SQL_STATEMENTS_AT_WORK_MAX_COUNT,
  SQL_STATEMENTS_WAITING_MAX_COUNT,
} from '../../limits.js';
import { startEngine, type SqlEngine } from '../../sql/engine/engine.js';
import type { EngineLimits } from '../../sql/engine/open-tables.js';
import type { NamedTables, OrganizationTables } from './organization-tables.js';

/** A turn at the SQL engine of an organization. */
export interface SqlTurn {
  readonly engine: SqlEngine;
  /** Ends the turn. A second call is a no-op. */
  leave(): void;
}

interface Seat {
  engine?: SqlEngine;
  /** Key of the tables that the engine has open, and the pending or finished opening. */
  opened?: { readonly key: string; readonly done: Promise<void> };
  turns: number;
  readonly line: (() => void)[];
  idle?: NodeJS.Timeout;
}

/** SQL engines by organization. An engine starts at the first statement and ends when idle. */
export class SqlEngines {
  readonly #tables: Pick<OrganizationTables, 'tablesOf'>;
  readonly #limits: EngineLimits;
  /** Least recently used first. */
  readonly #seats = new Map<string, Seat>();

  constructor(tables: Pick<OrganizationTables, 'tablesOf'>, limits: EngineLimits) {
    this.#tables = tables;
    this.#limits = limits;
  }

  /**
   * Waits for a turn at the organization's engine, with its present tables.
   * Errors  Refusal `sql_busy`; Fault if tables or engine cannot be opened; rejects with the signal's reason
   */
  async enter(organizationId: string, signal: AbortSignal): Promise<SqlTurn> {
    // Checked first, because an aborted signal emits no further event that could remove the caller from the queue.
    signal.throwIfAborted();
    const seat = this.#seats.get(organizationId) ?? { turns: 0, line: [] };
    this.#seats.set(organizationId, seat);
    clearTimeout(seat.idle);
    await takeTurn(seat, signal);
    let isHeld = true;
    const leave = (): void => {
      if (isHeld) this.#leave(organizationId, seat);
      isHeld = false;
    };
    try {
      // The first copy of a large release takes long. It continues after an abort, for later callers.
      const named = await untilAborted(this.#tables.tablesOf(organizationId), signal);
      return { engine: await this.#openTables(seat, named), leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  counts(): { readonly engines: number; readonly statements: number } {
    const all = [...this.#seats.values()];
    return {
      engines: all.filter(({ engine }) => engine !== undefined).length,
      statements: all.reduce((sum, { turns }) => sum + turns, 0),
    };
  }

  close(): void {
    for (const [organizationId, seat] of this.#seats) this.#end(organizationId, seat);
  }

  async #openTables(seat: Seat, { key, tables }: NamedTables): Promise<SqlEngine> {
    const engine = this.#engineOf(seat);
    if (seat.opened?.key !== key) seat.opened = { key, done: engine.open(tables) };
    try {
      await seat.opened.done;
    } catch (error) {
      if (seat.engine === engine) engine.close();
      throw error;
    }
    return engine;
  }

  #engineOf(seat: Seat): SqlEngine {
    if (seat.engine !== undefined) return seat.engine;
    this.#makeRoom();
    const engine = startEngine(this.#limits, () => {
      if (seat.engine !== engine) return;
      seat.engine = undefined;
      seat.opened = undefined;
    });
    seat.engine = engine;
    return engine;
  }

  /** Ends the engine that has been idle longest, for a new one. */
  #makeRoom(): void {
    const open = [...this.#seats].filter(([, { engine }]) => engine !== undefined);
    if (open.length < SQL_ENGINES_MAX_COUNT) return;
    const idle = open.find(([, { turns }]) => turns === 0);
    if (idle === undefined) throw busy(SQL_ENGINES_MAX_COUNT, 'SQL engines are at work');
    this.#end(...idle);
  }

  #leave(organizationId: string, seat: Seat): void {
    const next = seat.line.shift();
    if (next !== undefined) return next();
    seat.turns -= 1;
    if (seat.turns > 0) return;
    this.#seats.delete(organizationId);
    this.#seats.set(organizationId, seat);
    seat.idle = setTimeout(() => this.#end(organizationId, seat), SQL_ENGINE_IDLE_MS).unref();
  }

  #end(organizationId: string, seat: Seat): void {
    clearTimeout(seat.idle);
    seat.engine?.close();
    if (seat.turns === 0 && seat.line.length === 0) this.#seats.delete(organizationId);
  }
}

/** Takes a free slot, or waits for one in a FIFO queue. Aborting removes the caller from the queue. */
function takeTurn(seat: Seat, signal: AbortSignal): Promise<void> {
  if (seat.turns < SQL_STATEMENTS_AT_WORK_MAX_COUNT) {
    seat.turns += 1;
    return Promise.resolve();
  }
  if (seat.line.length >= SQL_STATEMENTS_WAITING_MAX_COUNT) {
    throw busy(SQL_STATEMENTS_WAITING_MAX_COUNT, 'SQL statements of the organization wait');
  }
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      seat.line.splice(seat.line.indexOf(take), 1);
      reject(signal.reason as Error);
    };
    const take = (): void => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    seat.line.push(take);
  });
}

function busy(quota: number, what: string): Refusal {
  return new Refusal('sql_busy', `${quota} ${what} already.`, {
    retryAfterSeconds: 1,
    policy: { name: 'execution', quota, quota_unit: 'concurrent-requests' },
  });
}
