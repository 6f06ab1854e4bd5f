/** A run that waits for its next turn. */
export interface WaitingRun {
  readonly id: string;
  readonly organizationId: string;
  readonly priority: 'high' | 'normal' | 'low';
  /** Orders runs of one organization and priority: time of acceptance and id. */
  readonly acceptedAt: string;
}

/**
 * Runs in fair order: organizations take turns, whatever they ask for; within one, higher priority goes first, then
 * the earlier run. A run that comes back for its next piece stands where it stood, its organization behind the others.
 */
export interface FairLine {
  add(run: WaitingRun): void;
  take(): WaitingRun | undefined;
  /** Takes this run out, wherever it stands. */
  remove(id: string): void;
  readonly size: number;
}

const RANKS = { high: 0, normal: 1, low: 2 } as const;

export function createFairLine(): FairLine {
  // Insertion order is the order of turns.
  const organizations = new Map<string, WaitingRun[]>();
  let size = 0;
  return {
    add(run) {
      const line = organizations.get(run.organizationId) ?? [];
      const at = line.findIndex((other) => goesBefore(run, other));
      line.splice(at === -1 ? line.length : at, 0, run);
      organizations.set(run.organizationId, line);
      size += 1;
    },
    take() {
      const [first] = organizations;
      if (first === undefined) return undefined;
      const [organizationId, line] = first;
      const run = line.shift();
      organizations.delete(organizationId);
      if (line.length > 0) organizations.set(organizationId, line);
      size -= 1;
      return run;
    },
    remove(id) {
      for (const [organizationId, line] of organizations) {
        const at = line.findIndex((run) => run.id === id);
        if (at === -1) continue;
        line.splice(at, 1);
        size -= 1;
        if (line.length === 0) organizations.delete(organizationId);
        return;
      }
    },
    get size() {
      return size;
    },
  };
}

function goesBefore(run: WaitingRun, other: WaitingRun): boolean {
  const difference = RANKS[run.priority] - RANKS[other.priority];
  return difference === 0 ? run.acceptedAt < other.acceptedAt : difference < 0;
}
