import type { RunFile } from '../../contract/runs/run-files.js';
import type { FileRow } from '../../store/storage/files.js';
import { absoluteUrl, filePath } from '../storage/file-urls.js';

/** A file that a run has written. @param baseUrl where the client that created the run reached the server */
export function presentRunFile(file: FileRow, baseUrl: string): RunFile {
  return {
    file_id: file.id,
    path: file.path,
    url: absoluteUrl(filePath(file), { baseUrl }),
    content_type: file.contentType,
    size_bytes: file.sizeBytes,
    checksum: file.sha256,
    checksum_algorithm: 'sha256',
    storage_version: file.version,
  };
}

/** Written bytes stay until the end of the run, which ends the signal, has counted its reference to them. */
export function releaseAfter(signal: AbortSignal, release: () => void): void {
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
}
