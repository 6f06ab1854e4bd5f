import { Refusal } from '../errors.js';

/** Retry interval after which a deletion or a sweep may have freed space. */
const RETRY_AFTER_SECONDS = 10;
/** No room, no permission to write, a disk that fails, or nothing there any more where the data was. */
const REFUSING = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE']);
const CAUSES_MAX_DEPTH = 8;

/** The disk takes nothing at the moment: what was asked may be asked again. */
export function storageUnavailable(message: string, cause?: unknown): Refusal {
  const refusal = new Refusal('storage_unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  refusal.cause = cause;
  return refusal;
}

/** Whether a disk that takes nothing is at the bottom of this failure. */
export function isStorageUnavailable(error: unknown): boolean {
  let link = error;
  for (let depth = 0; link instanceof Error && depth < CAUSES_MAX_DEPTH; depth += 1) {
    if (link instanceof Refusal && link.code === 'storage_unavailable') return true;
    if (REFUSING.has(String((link as NodeJS.ErrnoException).code))) return true;
    link = link.cause;
  }
  return false;
}

/** The same error, or the refusal where the file system gave it for a disk that takes nothing. */
export function asStorageFailure(error: unknown): unknown {
  if (error instanceof Refusal || !isStorageUnavailable(error)) return error;
  return storageUnavailable('The disk refuses writes; nothing was kept.', error);
}
