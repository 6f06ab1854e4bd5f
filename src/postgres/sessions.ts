import { randomInt } from 'node:crypto';
import { POSTGRES_SESSIONS_MAX_COUNT, POSTGRES_SESSIONS_PER_ORGANIZATION_MAX_COUNT } from '../limits.js';
import { ProtocolFault } from './wire/protocol-fault.js';

/** Sessions that are logged in, and the keys by which other connections may cancel their statements. */
export interface SessionTable {
  /** Errors  ProtocolFault where there are too many */
  enter(
    organizationId: string,
    cancel: () => void,
  ): { readonly processId: number; readonly secret: number; leave(): void };
  /** Does nothing where the secret is wrong, and tells nobody. */
  cancel(processId: number, secret: number): void;
  count(): number;
}

interface Entry {
  readonly organizationId: string;
  readonly secret: number;
  readonly cancel: () => void;
}

/** Largest of a random signed 32-bit number; randomInt takes a range of 2⁴⁸ at most. */
const SECRET_END = 2 ** 31;

export function createSessionTable(): SessionTable {
  const entries = new Map<number, Entry>();
  let lastId = 0;
  return {
    enter(organizationId, cancel) {
      const own = [...entries.values()].filter((entry) => entry.organizationId === organizationId).length;
      if (
        entries.size >= POSTGRES_SESSIONS_MAX_COUNT ||
        own >= POSTGRES_SESSIONS_PER_ORGANIZATION_MAX_COUNT
      ) {
        throw new ProtocolFault('53300', 'There are as many sessions as there may be.', true);
      }
      lastId = (lastId % (SECRET_END - 1)) + 1;
      const processId = lastId;
      const secret = randomInt(-SECRET_END, SECRET_END);
      entries.set(processId, { organizationId, secret, cancel });
      return { processId, secret, leave: () => void entries.delete(processId) };
    },
    cancel(processId, secret) {
      const entry = entries.get(processId);
      if (entry?.secret === secret) entry.cancel();
    },
    count: () => entries.size,
  };
}
