import { Refusal } from '../errors.js';

/** Retry interval after which a deletion or a sweep may have freed space. */
const RETRY_AFTER_SECONDS = 10;
/** No space, no write permission, a disk that fails, or a file system that is no longer there. */
const REFUSING = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE']);
const CAUSES_MAX_DEPTH = 8;

/** Refusal for a disk that accepts no write at the moment. The request may be retried. */
export function storageUnavailable(message: string, cause?: unknown): Refusal {
  const refusal = new Refusal('storage_unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  refusal.cause = cause;
  return refusal;
}

/** Whether a disk that accepts no write caused this failure. */
export function isStorageUnavailable(error: unknown): boolean {
  let link = error;
  for (let depth = 0; link instanceof Error && depth < CAUSES_MAX_DEPTH; depth += 1) {
    if (link instanceof Refusal && link.code === 'storage_unavailable') return true;
    if (REFUSING.has(String((link as NodeJS.ErrnoException).code))) return true;
    link = link.cause;
  }
  return false;
}

/** Returns the refusal if the file system reported a disk that accepts no write, otherwise the same error. */
export function asStorageFailure(error: unknown): unknown {
  if (error instanceof Refusal || !isStorageUnavailable(error)) return error;
  return storageUnavailable('The disk refuses writes; nothing was written.', error);
}
