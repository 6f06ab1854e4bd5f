import type { Socket } from 'node:net';

/**
 * Connections whose client has yet to say who it is. They are few, so that who says nothing shuts nobody out: for one
 * that comes, another goes, the oldest of the address that has the most.
 */
export class Door {
  readonly #maxCount: number;
  /** The oldest first. */
  readonly #waiting = new Map<Socket, string>();

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
  }

  enter(socket: Socket): void {
    this.#waiting.set(socket, socket.remoteAddress ?? '');
    if (this.#waiting.size > this.#maxCount) this.#drop();
  }

  /** It has said who it is, or is gone. */
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
