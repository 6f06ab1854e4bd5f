import { Refusal } from '../../errors.js';

/**
 * Calls the work with a signal that the first SIGINT or SIGTERM aborts: the work ends between two steps. A second one
 * ends the process at once.
 * Errors  those of the work; Refusal `interrupted` where it was aborted
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  message = 'Interrupted. The same command goes on from here.',
): Promise<Result> {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort(new Refusal('interrupted', message));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
