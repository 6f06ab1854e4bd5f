/** Where deliveries are sent one after the other: an endpoint of an organization. */
export interface Lane {
  readonly organizationId: string;
  readonly endpointId: string;
  /** Its receiver has answered, and not been silent since. */
  readonly isHeardFrom?: boolean;
}

/** How many may be at work at once: of one endpoint, of one organization, of all. */
interface Shares {
  readonly endpoint: number;
  readonly organization: number;
  /** Of an organization's, so many are kept for endpoints that are heard from. Default 0. */
  readonly heardFrom?: number;
  readonly all: number;
}

/**
 * Fair scheduler of deliveries: round-robin over organizations, and within each over its endpoints. Each has a limited
 * share of concurrent deliveries. A part is reserved for endpoints that respond, so that unresponsive ones block no
 * other.
 * Cost    a turn skips organizations and endpoints whose share is used: at most as many as deliveries are in progress,
 *         and the other endpoints of an organization that waits for responses
 */
export class Turns {
  readonly #shares: Shares;
  /** Who was served goes to the end: the order of insertion is the order of turns. */
  readonly #waiting = new Map<string, Map<string, Lane>>();
  readonly #atWork = new Map<string, number>();
  #atWorkCount = 0;

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /** The lane has something to send, until it rests. */
  want(lane: Lane): void {
    const { organizationId, endpointId } = lane;
    const lanes = this.#waiting.get(organizationId) ?? new Map<string, Lane>();
    // One that waits keeps its place.
    lanes.set(endpointId, lane);
    this.#waiting.set(organizationId, lanes);
  }

  rest({ organizationId, endpointId }: Lane): void {
    const lanes = this.#waiting.get(organizationId);
    lanes?.delete(endpointId);
    if (lanes?.size === 0) this.#waiting.delete(organizationId);
  }

  /** The lane that is to be served next: it begins, or rests. */
  next(): Lane | undefined {
    if (this.#atWorkCount >= this.#shares.all) return undefined;
    for (const [organizationId, lanes] of this.#waiting) {
      const { organization, heardFrom = 0 } = this.#shares;
      const left = organization - this.atWork(organizationId);
      if (left <= 0) continue;
      for (const lane of lanes.values()) {
        if (left <= heardFrom && lane.isHeardFrom !== true) continue;
        if (this.atWork(lane.endpointId) < this.#shares.endpoint) return lane;
      }
    }
    return undefined;
  }

  begin(lane: Lane): void {
    const { organizationId, endpointId } = lane;
    const lanes = this.#waiting.get(organizationId);
    if (lanes?.delete(endpointId)) lanes.set(endpointId, lane);
    if (lanes !== undefined && this.#waiting.delete(organizationId)) this.#waiting.set(organizationId, lanes);
    this.#count(lane, 1);
  }

  end(lane: Lane): void {
    this.#count(lane, -1);
  }

  /** @param id of an organization or an endpoint */
  atWork(id: string): number {
    return this.#atWork.get(id) ?? 0;
  }

  #count({ organizationId, endpointId }: Lane, change: 1 | -1): void {
    this.#atWorkCount += change;
    for (const id of [organizationId, endpointId]) {
      const count = this.atWork(id) + change;
      if (count === 0) this.#atWork.delete(id);
      else this.#atWork.set(id, count);
    }
  }
}
