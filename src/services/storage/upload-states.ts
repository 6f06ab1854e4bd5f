import { isUploadOpen } from '../../contract/storage/upload-states.js';
import type { FileUpload, FileUploadPart } from '../../contract/storage/uploads.js';
import { Refusal } from '../../errors.js';
import type { PartBytes } from '../../store/storage/upload-parts.js';
import type { UploadRow } from '../../store/storage/uploads.js';
import type { RequestContext } from '../context.js';
import { absoluteUrl, fileNameOf, filePath } from './file-urls.js';

/** An upload in its contract form. It is expired once its time is over, even before the sweep. */
export function presentUpload(
  upload: UploadRow,
  acknowledgedParts: number[],
  context: Pick<RequestContext, 'baseUrl'>,
  now: Date,
): FileUpload {
  const { completed, path } = upload;
  const isDue = isUploadOpen(upload.status) && Date.parse(upload.expiresAt) <= now.getTime();
  return {
    object: 'file_upload',
    id: upload.id,
    path,
    file_name: fileNameOf(path),
    content_type: upload.contentType,
    size_bytes: upload.sizeBytes,
    part_count: upload.partCount,
    part_size_bytes: upload.partSizeBytes,
    part_checksum_algorithm: 'sha256',
    status: isDue ? 'expired' : upload.status,
    uploaded_parts: acknowledgedParts,
    created_at: upload.createdAt,
    expires_at: upload.expiresAt,
    ...(completed && {
      completed_at: completed.at,
      checksum: completed.sha256,
      checksum_algorithm: 'sha256' as const,
      storage_version: completed.version,
      url: absoluteUrl(filePath({ id: completed.fileId, path }), context),
    }),
  };
}

export function presentPart(
  uploadId: string,
  partNumber: number,
  { sha256, sizeBytes }: PartBytes,
  isAcknowledged: boolean,
): FileUploadPart {
  return {
    object: 'file_upload_part',
    upload_id: uploadId,
    part_number: partNumber,
    size_bytes: sizeBytes,
    checksum: sha256,
    checksum_algorithm: 'sha256',
    is_acknowledged: isAcknowledged,
  };
}

/** Refusal with the state of the upload that forbids the request. */
export function notOpen({ status, expiresAt }: UploadRow): Refusal {
  if (status === 'expired') {
    return new Refusal('upload_expired', `The upload was open until ${expiresAt}. Initiate another one.`);
  }
  return new Refusal('upload_not_open', `The upload is ${status}: its state forbids this.`, { status });
}

/** An aborted upload is deleted, so requests to it are refused as for an unknown one. */
export function uploadAbsent(uploadId: string): Refusal {
  return new Refusal('upload_not_found', `No upload has the id ${uploadId}, or it was aborted.`);
}

/** Errors  Refusal `upload_not_open`, `upload_expired` */
export function requireOpen(upload: UploadRow, now: Date): void {
  if (upload.status !== 'initiated' && upload.status !== 'uploading') throw notOpen(upload);
  if (Date.parse(upload.expiresAt) <= now.getTime()) throw notOpen({ ...upload, status: 'expired' });
}
