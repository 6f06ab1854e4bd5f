import { freeBytes } from '../../buffers.js';
import type {
  BlobAcl,
  FileSignedUrl,
  FileSignedUrlRequest,
  StorageFileMutation,
} from '../../contract/storage/files.js';
import { Refusal } from '../../errors.js';
import type { ContentTable, OpenContent } from '../../store/objects/contents.js';
import type { FileRow, FileTable } from '../../store/storage/files.js';
import type { Objects } from '../../store/objects/objects.js';
import type { RequestContext } from '../context.js';
import { notFound, presentAcl, requireOwned, requireReadable } from './file-access.js';
import { etagOf, wantedOf, type Headers } from './file-ranges.js';
import { absoluteUrl, fileNameOf, filePath, findByUrl } from './file-urls.js';
import type { Reply } from '../reply.js';
import { signedUrlId, type SignedUrls } from './signed-urls.js';
import { normaliseTarget } from './storage-paths.js';

/** A stored file, opened for the work of a run. */
export interface ManagedFile {
  readonly id: string;
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly storageVersion: string;
  /** To be read once; the bytes stay readable until then, even where the file is deleted meanwhile. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Gives the bytes free where they are not read to their end. */
  close(): void;
}

export interface Files {
  /** Errors  the refusals of storage.files.read; a signature in the query has been verified before */
  read(request: FileReadRequest, context: RequestContext): Reply<never>;
  /** Errors  Refusal `file_not_managed`, `file_not_found`, `permission_denied` */
  sign(url: string, request: FileSignedUrlRequest, context: RequestContext): Reply<FileSignedUrl>;
  /** Errors  as sign */
  acl(url: string, context: RequestContext): Reply<BlobAcl>;
  /** Errors  as sign */
  setAcl(url: string, acl: BlobAcl, context: RequestContext): Promise<Reply<BlobAcl>>;
  /** Errors  Refusal `invalid_path`, `file_not_found`, `permission_denied`: then nothing is deleted */
  delete(path: string, context: RequestContext): Promise<Reply<StorageFileMutation>>;
  /**
   * What a run is given as the URL of its input. No other URL is ever fetched.
   * Errors  Refusal `file_not_managed`, `file_not_found`, `permission_denied`
   */
  openManagedFile(url: string, context: RequestContext): ManagedFile;
  /** A URL of the file that stays good where the server is reached by another address. */
  relativeUrl(file: Pick<ManagedFile, 'id' | 'path'>): string;
}

export interface FileReadRequest {
  readonly fileId: string;
  readonly fileName: string;
  readonly query: { readonly version?: string; readonly signature?: string };
  readonly headers: Headers;
}

export interface FileParts {
  readonly table: FileTable;
  readonly contents: ContentTable;
  readonly objects: Objects;
  readonly signedUrls: SignedUrls;
  readonly now: () => Date;
  /** Called when files have gone. */
  readonly onChange: () => void;
}

export function createFiles({ table, contents, objects, signedUrls, now, onChange }: FileParts): Files {
  const owned = (url: string, context: RequestContext): FileRow => {
    const file = findByUrl(url, table, context);
    requireOwned(file, context);
    return file;
  };
  const openBytes = (file: FileRow, start: number, end: number): OpenContent => {
    const opened = contents.open(file.sha256, start, end);
    // Deleted between two looks: the answer is that of a moment later.
    if (opened === undefined) throw notFound('this URL');
    return opened;
  };

  return {
    read({ fileId, fileName, query, headers }, context) {
      const file = table.get(fileId);
      if (file === undefined || fileNameOf(file.path) !== fileName) throw notFound('this URL');
      if (query.signature === undefined) requireReadable(file, context);
      else if (query.version !== file.version) {
        throw new Refusal('url_expired', 'The file has been replaced since the URL was signed.');
      }
      const wanted = wantedOf(file, headers);
      const common = { value: undefined as never, status: wanted.status, headers: fileHeaders(file) };
      if (wanted.status === 304) return common;
      const { start, end, status } = wanted;
      const range = { 'Content-Range': `bytes ${start}-${end - 1}/${file.sizeBytes}` };
      return {
        ...common,
        headers: { ...common.headers, ...(status === 206 ? range : {}) },
        bytes: {
          contentType: file.contentType,
          sizeBytes: end - start,
          open: () => ({ ...openBytes(file, start, end), release: freeBytes }),
        },
      };
    },
    sign(url, request, context) {
      const file = owned(url, context);
      requireReadable(file, context);
      const createdAt = now();
      const expiresAt = new Date(
        (Math.floor(createdAt.getTime() / 1000) + request.expiration_seconds) * 1000,
      );
      const { version } = file;
      const signed = signedUrls.sign({ method: 'GET', path: filePath(file), version, expiresAt });
      return {
        value: {
          object: 'file_signed_url',
          id: signedUrlId(signed),
          url: absoluteUrl(signed, context),
          scope: ['read'],
          created_at: createdAt.toISOString(),
          expires_at: expiresAt.toISOString(),
        },
        inputRefs: [file.id],
        objectRefs: [file.id],
      };
    },
    acl(url, context) {
      const file = owned(url, context);
      return { value: presentAcl(file), inputRefs: [file.id], objectRefs: [file.id] };
    },
    async setAcl(url, acl, context) {
      const { id } = owned(url, context);
      const file = await table.setAcl(id, acl);
      if (file === undefined) throw notFound('this URL');
      return { value: presentAcl(file), inputRefs: [id], outputRefs: [id] };
    },
    async delete(text, context) {
      const { path, isFolder } = normaliseTarget(text, 'path');
      const deleted = await table.remove(
        context.organizationId,
        path,
        (found) =>
          deletable(
            found.filter((file) => !isFolder || file.path !== path),
            context,
          ),
        now(),
      );
      if (deleted.length === 0) throw notFound(`the path ${JSON.stringify(text.slice(0, 128))}`);
      onChange();
      await objects.collect();
      return {
        value: {
          path,
          file_count: deleted.length,
          size_bytes: deleted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
        },
        objectRefs: deleted.slice(0, NAMED_MAX_COUNT).map(({ id }) => id),
      };
    },
    openManagedFile(url, context) {
      const file = findByUrl(url, table, context);
      requireReadable(file, context);
      const { id, path, contentType, sizeBytes, sha256, version: storageVersion } = file;
      const { bytes, close } = openBytes(file, 0, sizeBytes);
      return { id, path, contentType, sizeBytes, sha256, storageVersion, bytes, close };
    },
    relativeUrl: filePath,
  };
}

/** Deleted files that an answer names; the counts tell of all. */
const NAMED_MAX_COUNT = 100;

/** All or nothing, but for what is hidden from the key: that is not there for it. */
function deletable(found: readonly FileRow[], context: RequestContext): readonly FileRow[] {
  return found.filter((file) => {
    try {
      requireOwned(file, context);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.code === 'file_not_found') return false;
      throw error;
    }
  });
}

/** What is stored was written by others: a browser must neither guess its type nor run it. */
function fileHeaders(file: FileRow): Record<string, string> {
  const name = fileNameOf(file.path);
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  return {
    ETag: etagOf(file),
    'Last-Modified': new Date(file.updatedAt).toUTCString(),
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encodeRfc8187(name)}`,
    'Repr-Digest': `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:`,
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
  };
}

function encodeRfc8187(text: string): string {
  return encodeURIComponent(text).replaceAll(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
}
