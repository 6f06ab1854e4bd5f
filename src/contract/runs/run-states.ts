/*
 * The states of a run. The table is the contract: the store changes no state otherwise, and tests walk all of it.
 */

export const RUN_TRANSITIONS = {
  queued: ['running', 'cancelled', 'failed'],
  running: ['completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type RunStatus = keyof typeof RUN_TRANSITIONS;
/** States without a way out. */
export type FinalRunStatus = 'completed' | 'failed' | 'cancelled';

export function canBecome(from: RunStatus, to: RunStatus): boolean {
  return (RUN_TRANSITIONS[from] as readonly RunStatus[]).includes(to);
}

export function isFinal(status: RunStatus): status is FinalRunStatus {
  return RUN_TRANSITIONS[status].length === 0;
}
