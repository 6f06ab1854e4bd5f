import type { Socket } from 'node:net';

/**
 * Connections that have not authenticated yet. Their number is bounded. A new connection beyond the bound closes the
 * oldest one of the address with the most connections, so that silent clients lock no other client out.
 */
export class Door {
  readonly #maxCount: number;
  /** Oldest first. */
  readonly #waiting = new Map<Socket, string>();

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
  }

  enter(socket: Socket): void {
    this.#waiting.set(socket, socket.remoteAddress ?? '');
    if (this.#waiting.size > this.#maxCount) this.#drop();
  }

  /** Removes a connection that has authenticated or closed. */
  leave(socket: Socket): void {
    this.#waiting.delete(socket);
  }

  #drop(): void {
    const oldest = new Map<string, { readonly socket: Socket; count: number }>();
    for (const [socket, address] of this.#waiting) {
      const entry = oldest.get(address);
      if (entry === undefined) oldest.set(address, { socket, count: 1 });
      else entry.count += 1;
    }
    const [most] = [...oldest.values()].sort((a, b) => b.count - a.count);
    this.#waiting.delete(most.socket);
    most.socket.destroy();
  }
}
