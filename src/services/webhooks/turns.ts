/** A queue whose deliveries are sent one after the other: an endpoint of an organization. */
export interface Lane {
  readonly organizationId: string;
  readonly endpointId: string;
  /** Whether its receiver responded to the latest attempt. */
  readonly hasAnswered?: boolean;
}

/** Bounds on concurrent deliveries: per endpoint, per organization, in total. */
interface Shares {
  readonly endpoint: number;
  readonly organization: number;
  /** Share of an organization's deliveries that is reserved for responsive endpoints. Default 0. */
  readonly ofAnswering?: number;
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
  /** Insertion order is the order of turns. A served organization moves to the end. */
  readonly #waiting = new Map<string, Map<string, Lane>>();
  readonly #atWork = new Map<string, number>();
  #atWorkCount = 0;

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /** The lane has a delivery to send, until it rests. */
  want(lane: Lane): void {
    const { organizationId, endpointId } = lane;
    const lanes = this.#waiting.get(organizationId) ?? new Map<string, Lane>();
    // A waiting lane keeps its place.
    lanes.set(endpointId, lane);
    this.#waiting.set(organizationId, lanes);
  }

  rest({ organizationId, endpointId }: Lane): void {
    const lanes = this.#waiting.get(organizationId);
    lanes?.delete(endpointId);
    if (lanes?.size === 0) this.#waiting.delete(organizationId);
  }

  /** The next lane to be served. The caller begins or rests it. */
  next(): Lane | undefined {
    if (this.#atWorkCount >= this.#shares.all) return undefined;
    for (const [organizationId, lanes] of this.#waiting) {
      const { organization, ofAnswering = 0 } = this.#shares;
      const left = organization - this.atWork(organizationId);
      if (left <= 0) continue;
      for (const lane of lanes.values()) {
        if (left <= ofAnswering && lane.hasAnswered !== true) continue;
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
