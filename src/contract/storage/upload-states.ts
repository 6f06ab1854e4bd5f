/*
 * The states of an upload. The table is the contract: the store changes no state otherwise, and tests walk all of it.
 */

export const UPLOAD_TRANSITIONS = {
  initiated: ['uploading', 'aborted', 'expired'],
  uploading: ['completing', 'aborted', 'expired'],
  /** Back to uploading where the whole does not have the announced checksum. */
  completing: ['completed', 'uploading', 'aborted', 'expired'],
  completed: [],
  aborted: [],
  expired: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type UploadStatus = keyof typeof UPLOAD_TRANSITIONS;

export function canUploadBecome(from: UploadStatus, to: UploadStatus): boolean {
  return (UPLOAD_TRANSITIONS[from] as readonly UploadStatus[]).includes(to);
}

/** Whether parts are still taken. */
export function isUploadOpen(status: UploadStatus): boolean {
  return status === 'initiated' || status === 'uploading';
}

export function isUploadEnded(status: UploadStatus): boolean {
  return UPLOAD_TRANSITIONS[status].length === 0;
}
