/* The states of an upload. The store permits only the transitions of this table, and tests walk all of them. */

export const UPLOAD_TRANSITIONS = {
  initiated: ['uploading', 'aborted', 'expired'],
  uploading: ['completing', 'aborted', 'expired'],
  /** Returns to uploading if the checksum of the whole file differs from the announced one. */
  completing: ['completed', 'uploading', 'aborted', 'expired'],
  completed: [],
  aborted: [],
  expired: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type UploadStatus = keyof typeof UPLOAD_TRANSITIONS;

export function canUploadBecome(from: UploadStatus, to: UploadStatus): boolean {
  return (UPLOAD_TRANSITIONS[from] as readonly UploadStatus[]).includes(to);
}

/** Returns whether the upload accepts parts. */
export function isUploadOpen(status: UploadStatus): boolean {
  return status === 'initiated' || status === 'uploading';
}

export function isUploadEnded(status: UploadStatus): boolean {
  return UPLOAD_TRANSITIONS[status].length === 0;
}
