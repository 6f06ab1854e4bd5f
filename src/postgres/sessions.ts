import { randomInt } from 'node:crypto';
import { POSTGRES_SESSIONS_MAX_COUNT, POSTGRES_SESSIONS_PER_ORGANIZATION_MAX_COUNT } from '../limits.js';
import { ProtocolFault } from './wire/protocol-fault.js';

interface Entry {
  readonly organizationId: string;
  readonly secret: number;
  readonly cancel: () => void;
}

/** Bound of a secret, a random signed 32-bit number. randomInt accepts a range of at most 2⁴⁸. */
const SECRET_END = 2 ** 31;

/** Authenticated sessions, and the secrets with which other connections may cancel their statements. */
export class SessionTable {
  readonly #entries = new Map<number, Entry>();
  #lastId = 0;

  /** Adds a session. Errors  ProtocolFault if there are too many */
  enter(
    organizationId: string,
    cancel: () => void,
  ): { readonly processId: number; readonly secret: number; readonly leave: () => void } {
    const own = [...this.#entries.values()].filter((entry) => entry.organizationId === organizationId).length;
    if (
      this.#entries.size >= POSTGRES_SESSIONS_MAX_COUNT ||
      own >= POSTGRES_SESSIONS_PER_ORGANIZATION_MAX_COUNT
    ) {
      throw new ProtocolFault('53300', 'Too many sessions.', true);
    }
    this.#lastId = (this.#lastId % (SECRET_END - 1)) + 1;
    const processId = this.#lastId;
    const secret = randomInt(-SECRET_END, SECRET_END);
    this.#entries.set(processId, { organizationId, secret, cancel });
    return { processId, secret, leave: () => void this.#entries.delete(processId) };
  }

  /** Cancels the statement of a session. A wrong secret is silently ignored. */
  cancel(processId: number, secret: number): void {
    const entry = this.#entries.get(processId);
    if (entry?.secret === secret) entry.cancel();
  }

  count(): number {
    return this.#entries.size;
  }
}
