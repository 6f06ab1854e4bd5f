import { Refusal } from '../../errors.js';
import { isStorageUnavailable } from '../../store/unavailable.js';

const PASSING_CODES = new Set(['storage_full', 'worker_unavailable']);

/**
 * Whether the disk has too little room or accepts no write, or a worker is missing. The run is not at fault and waits
 * in place.
 */
export function isPassing(error: unknown): error is Error {
  return isStorageUnavailable(error) || (error instanceof Refusal && PASSING_CODES.has(error.code));
}
