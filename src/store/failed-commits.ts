import { constants } from 'node:os';
import type { RootDatabase } from 'lmdb';
import { storageUnavailable } from './unavailable.js';

/*
 * A failed commit rejects three kinds of promises (lmdb 3, write.js): those of the callers, that of the commit itself,
 * and `commitError` of each error, which rejects with LMDB's reason. No caller handles the last two. They are handled
 * here, so that every other unhandled rejection still ends the process.
 */
interface FailedCommit extends Error {
  readonly commitError: Promise<never>;
}

/** LMDB has seen a page that cannot be written, and closes the environment for further writes. */
const MDB_PANIC = -30_795;
/** Limit on waiting for LMDB's reason, which normally arrives directly after the rejection. */
const CAUSE_WAIT_MS = 100;

/** Watches the promise of each turn's commit. lmdb creates it after it has called the `beforecommit` listeners. */
export function attendToCommits(root: RootDatabase<unknown, string>): void {
  const attend = (error: unknown): void => {
    if (isFailedCommit(error)) error.commitError.catch(() => undefined);
  };
  root.on('beforecommit', () => queueMicrotask(() => void root.committed.then(() => undefined, attend)));
}

/**
 * Returns the error to report for a failed transaction: the refusal `storage_unavailable` for a failed commit, and
 * every other error unchanged.
 * Errors  none
 */
export async function failureOfTransaction(error: unknown): Promise<unknown> {
  if (!isFailedCommit(error)) return error;
  const cause = await causeOf(error);
  const code = (cause as { readonly code?: number } | undefined)?.code;
  const [name] = Object.entries(constants.errno).find(([, number]) => number === code) ?? [];
  const what =
    code === MDB_PANIC ? 'the control state is to be opened again by a restart' : (name ?? String(code));
  return storageUnavailable(`The disk refuses writes (${what}); nothing was written.`, cause ?? error);
}

function isFailedCommit(error: unknown): error is FailedCommit {
  return error instanceof Error && (error as Partial<FailedCommit>).commitError instanceof Promise;
}

async function causeOf({ commitError }: FailedCommit): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CAUSE_WAIT_MS);
  });
  try {
    return await Promise.race([commitError.catch((cause: unknown) => cause), late]);
  } finally {
    clearTimeout(timer);
  }
}
