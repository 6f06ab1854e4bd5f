import { untilAborted } from '../../abort.js';
import { Refusal } from '../../errors.js';
import {
  SQL_ENGINE_IDLE_MS,
  SQL_ENGINES_MAX_COUNT,
  SQL_STATEMENTS_AT_WORK_MAX_COUNT,
  SQL_STATEMENTS_WAITING_MAX_COUNT,
} from '../../limits.js';
import { startEngine, type SqlEngine } from '../../sql/engine/engine.js';
import type { EngineLimits } from '../../sql/engine/world.js';
import type { NamedWorld, SqlWorlds } from './worlds.js';

/** A turn at the engine of an organization. */
export interface SqlTurn {
  readonly engine: SqlEngine;
  /** Gives the turn back; a second call does nothing. */
  leave(): void;
}

/** Engines by organization: started at the first statement, ended when they have been idle. */
export interface SqlEngines {
  /**
   * Waits for a turn at the organization's engine, with its world as it is now.
   * Errors  Refusal `sql_busy`; Fault where world or engine cannot be opened; rejects with the signal's reason
   */
  enter(organizationId: string, signal: AbortSignal): Promise<SqlTurn>;
  counts(): { readonly engines: number; readonly statements: number };
  close(): void;
}

interface Seat {
  engine?: SqlEngine;
  /** Of the world that the engine has open, and the opening itself. */
  opened?: { readonly key: string; readonly done: Promise<void> };
  turns: number;
  readonly line: (() => void)[];
  idle?: NodeJS.Timeout;
}

export function createSqlEngines(worlds: SqlWorlds, limits: EngineLimits): SqlEngines {
  const seats = new Map<string, Seat>();

  const end = (organizationId: string, seat: Seat): void => {
    clearTimeout(seat.idle);
    seat.engine?.close();
    if (seat.turns === 0 && seat.line.length === 0) seats.delete(organizationId);
  };
  /** Makes room for one more by ending the engine that has been idle longest. */
  const makeRoom = (): void => {
    const open = [...seats].filter(([, { engine }]) => engine !== undefined);
    if (open.length < SQL_ENGINES_MAX_COUNT) return;
    const idle = open.find(([, { turns }]) => turns === 0);
    if (idle === undefined) throw busy(SQL_ENGINES_MAX_COUNT, 'SQL engines are at work');
    end(...idle);
  };
  const engineOf = (seat: Seat): SqlEngine => {
    if (seat.engine !== undefined) return seat.engine;
    makeRoom();
    const engine = startEngine(limits, () => {
      if (seat.engine !== engine) return;
      seat.engine = undefined;
      seat.opened = undefined;
    });
    seat.engine = engine;
    return engine;
  };
  const openWorld = async (seat: Seat, { key, world }: NamedWorld): Promise<SqlEngine> => {
    const engine = engineOf(seat);
    if (seat.opened?.key !== key) seat.opened = { key, done: engine.open(world) };
    try {
      await seat.opened.done;
    } catch (error) {
      if (seat.engine === engine) engine.close();
      throw error;
    }
    return engine;
  };
  const leave = (organizationId: string, seat: Seat): void => {
    const next = seat.line.shift();
    if (next !== undefined) return next();
    seat.turns -= 1;
    if (seat.turns > 0) return;
    // Last in the map is the one that was used last.
    seats.delete(organizationId);
    seats.set(organizationId, seat);
    seat.idle = setTimeout(() => end(organizationId, seat), SQL_ENGINE_IDLE_MS).unref();
  };

  return {
    async enter(organizationId, signal) {
      const seat = seats.get(organizationId) ?? { turns: 0, line: [] };
      seats.set(organizationId, seat);
      clearTimeout(seat.idle);
      await takeTurn(seat, signal);
      let isHeld = true;
      const leaveOnce = (): void => {
        if (isHeld) leave(organizationId, seat);
        isHeld = false;
      };
      try {
        // The first look at a large release takes its time, and goes on for those who come later.
        const named = await untilAborted(worlds.worldOf(organizationId), signal);
        return { engine: await openWorld(seat, named), leave: leaveOnce };
      } catch (error) {
        leaveOnce();
        throw error;
      }
    },
    counts() {
      const all = [...seats.values()];
      return {
        engines: all.filter(({ engine }) => engine !== undefined).length,
        statements: all.reduce((sum, { turns }) => sum + turns, 0),
      };
    },
    close() {
      for (const [organizationId, seat] of seats) end(organizationId, seat);
    },
  };
}

/** Takes a turn at once, or stands in line for one; whoever gives up leaves the line. */
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
