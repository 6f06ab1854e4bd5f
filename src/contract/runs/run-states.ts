/* The states of a run. The store permits only the transitions of this table, and tests walk all of them. */

export const RUN_TRANSITIONS = {
  queued: ['running', 'cancelled', 'failed'],
  running: ['completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type RunStatus = keyof typeof RUN_TRANSITIONS;
/** States without a transition. */
export type FinalRunStatus = 'completed' | 'failed' | 'cancelled';

export function canBecome(from: RunStatus, to: RunStatus): boolean {
  return (RUN_TRANSITIONS[from] as readonly RunStatus[]).includes(to);
}

export function isFinal(status: RunStatus): status is FinalRunStatus {
  return RUN_TRANSITIONS[status].length === 0;
}
