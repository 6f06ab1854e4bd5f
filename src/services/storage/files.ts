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
import { etagOf, requestedRange, type Headers } from './file-ranges.js';
import { absoluteUrl, fileNameOf, filePath, findByUrl } from './file-urls.js';
import type { BytesReply, EmptyReply, Reply } from '../reply.js';
import { signedUrlId, type SignedUrls } from './signed-urls.js';
import { normaliseTarget } from './paths.js';

/** A stored file, opened as input of a run. */
export interface ManagedFile {
  readonly id: string;
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly storageVersion: string;
  /** May be read once. The bytes stay readable until then, even if the file is deleted meanwhile. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Releases the bytes if they are not read to their end. */
  readonly close: () => void;
}

interface FileReadRequest {
  readonly fileId: string;
  readonly fileName: string;
  readonly query: { readonly version?: string; readonly signature?: string };
  readonly headers: Headers;
}

interface FilesDependencies {
  readonly table: FileTable;
  readonly contents: ContentTable;
  readonly objects: Objects;
  readonly signedUrls: SignedUrls;
  readonly now: () => Date;
  /** Called after files were deleted. */
  readonly onChange: () => void;
}

/** Reads, shares and deletes stored files. */
export class Files {
  readonly #dependencies: FilesDependencies;
  readonly #table: FileTable;

  constructor(dependencies: FilesDependencies) {
    this.#dependencies = dependencies;
    this.#table = dependencies.table;
  }

  /** Errors  the refusals of storage.files.read. The caller has verified a signature in the query */
  read(
    { fileId, fileName, query, headers }: FileReadRequest,
    context: RequestContext,
  ): BytesReply | EmptyReply {
    const file = this.#table.get(fileId);
    if (file === undefined || fileNameOf(file.path) !== fileName) throw notFound('this URL');
    if (query.signature === undefined) requireReadable(file, context);
    // A URL with a version identifies exact bytes. A signed URL always has one.
    const wantsVersion = query.signature !== undefined || query.version !== undefined;
    if (wantsVersion && query.version !== file.version) {
      throw new Refusal('url_expired', 'The file has been replaced since the URL was made.');
    }
    const requested = requestedRange(file, headers, this.#dependencies.now());
    const common = { status: requested.status, headers: fileHeaders(file) };
    if (requested.status === 304) return common;
    const { start, end, status } = requested;
    const range = { 'Content-Range': `bytes ${start}-${end - 1}/${file.sizeBytes}` };
    return {
      ...common,
      headers: { ...common.headers, ...(status === 206 ? range : {}) },
      bytes: {
        contentType: file.contentType,
        sizeBytes: end - start,
        open: () => ({ ...this.#openBytes(file, start, end), release: freeBytes }),
      },
    };
  }

  /** Errors  Refusal `file_not_managed`, `file_not_found`, `permission_denied` */
  sign(url: string, request: FileSignedUrlRequest, context: RequestContext): Reply<FileSignedUrl> {
    const { signedUrls, now } = this.#dependencies;
    const file = this.#owned(url, context);
    requireReadable(file, context);
    const createdAt = now();
    const createdAtSeconds = Math.floor(createdAt.getTime() / 1000);
    const expiresAt = new Date((createdAtSeconds + request.expiration_seconds) * 1000);
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
  }

  /** Errors  as sign */
  acl(url: string, context: RequestContext): Reply<BlobAcl> {
    const file = this.#owned(url, context);
    return { value: presentAcl(file), inputRefs: [file.id], objectRefs: [file.id] };
  }

  /** Errors  as sign */
  async setAcl(url: string, acl: BlobAcl, context: RequestContext): Promise<Reply<BlobAcl>> {
    const { id } = this.#owned(url, context);
    const file = await this.#table.setAcl(id, acl);
    if (file === undefined) throw notFound('this URL');
    return { value: presentAcl(file), inputRefs: [id], outputRefs: [id] };
  }

  /**
   * Deletes a file, or all files below a folder. A crash between two transactions of a large folder leaves some of its
   * files deleted. The repeated request deletes the rest, and its count is that of the rest.
   * Errors  Refusal `invalid_path`, `file_not_found`, `permission_denied`: then no file is deleted, unless the rights
   *         of a file change meanwhile; those of FileTable.remove
   */
  async delete(text: string, context: RequestContext): Promise<Reply<StorageFileMutation>> {
    const { objects, now, onChange } = this.#dependencies;
    const { path, isFolder } = normaliseTarget(text, 'path');
    const choose = (files: readonly FileRow[]): readonly FileRow[] =>
      deletable(
        files.filter((file) => !isFolder || file.path !== path),
        context,
      );
    const deleted = await this.#table
      .remove(context.organizationId, path, choose, now())
      // A failure may come after the first files were deleted.
      .finally(onChange);
    await objects.tryCollect();
    if (deleted.length === 0) throw notFound(`the path ${JSON.stringify(text.slice(0, 128))}`);
    return {
      value: {
        path,
        file_count: deleted.length,
        size_bytes: deleted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      },
      objectRefs: deleted.slice(0, NAMED_MAX_COUNT).map(({ id }) => id),
    };
  }

  /**
   * Opens the file at a URL that is the input of a run. No other URL is ever fetched.
   * Errors  Refusal `file_not_managed`, `file_not_found`, `permission_denied`
   */
  openManagedFile(url: string, context: RequestContext): ManagedFile {
    const file = findByUrl(url, this.#table, context);
    requireReadable(file, context);
    const { id, path, contentType, sizeBytes, sha256, version: storageVersion } = file;
    const { bytes, close } = this.#openBytes(file, 0, sizeBytes);
    return { id, path, contentType, sizeBytes, sha256, storageVersion, bytes, close };
  }

  /** A URL of the file that does not depend on the server's address. */
  relativeUrl(file: Pick<ManagedFile, 'id' | 'path'>): string {
    return filePath(file);
  }

  #owned(url: string, context: RequestContext): FileRow {
    const file = findByUrl(url, this.#table, context);
    requireOwned(file, context);
    return file;
  }

  #openBytes({ sha256 }: FileRow, start: number, end: number): OpenContent {
    const opened = this.#dependencies.contents.open(sha256, start, end);
    // Deleted between look-up and open: the response is that of a later request.
    if (opened === undefined) throw notFound('this URL');
    return opened;
  }
}

/** Bound on deleted files that a response names. Its counts include all of them. */
const NAMED_MAX_COUNT = 100;

/** Returns all of the files or refuses. Files that are hidden from the key count as absent. */
function deletable(files: readonly FileRow[], context: RequestContext): readonly FileRow[] {
  return files.filter((file) => {
    try {
      requireOwned(file, context);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.code === 'file_not_found') return false;
      throw error;
    }
  });
}

/** Stored files are untrusted: a browser must neither guess their type nor run them. */
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
