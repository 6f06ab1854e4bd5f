// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';

export interface FileUploadRequest {
  /** Name of the file, or its relative path with "/" between folders. */
  readonly file_name: string;
  /** Size of the file. */
  readonly size_bytes: number;
  /** Media type of the file; default application/octet-stream. */
  readonly content_type?: string;
  /** Size of a part. Default 8388608, doubled until 10000 parts suffice. */
  readonly part_size_bytes?: number;
  /** SHA-256 that the whole file must have. */
  readonly checksum?: string;
}

export interface FileUploadEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: FileUpload;
  readonly evidence: Evidence;
}

export interface FileUpload {
  readonly object: 'file_upload';
  /** Upload id. */
  readonly id: string;
  /** Path of the file that it becomes, folders included. */
  readonly path: string;
  /** Last part of the path. */
  readonly file_name: string;
  /** Media type of the file. */
  readonly content_type: string;
  /** Size of the file. */
  readonly size_bytes: number;
  /** Number of parts. */
  readonly part_count: number;
  /** Size of every part but the last, which has the rest. */
  readonly part_size_bytes: number;
  readonly part_checksum_algorithm: 'sha256';
  /**
   * - `initiated`: no part has come
   * - `uploading`: parts come
   * - `completing`: the whole is being checked
   * - `completed`: the file is there
   * - `aborted`: given up by its owner; its parts are gone
   * - `expired`: not completed in time; its parts are gone
   */
  readonly status: 'initiated' | 'uploading' | 'completing' | 'completed' | 'aborted' | 'expired';
  /** Acknowledged part numbers, ascending. */
  readonly uploaded_parts: readonly number[];
  /** When it was initiated. */
  readonly created_at: string;
  /** Until when it must be completed. */
  readonly expires_at: string;
  /** When it was completed. */
  readonly completed_at?: string;
  /** SHA-256 of the whole file. */
  readonly checksum?: string;
  readonly checksum_algorithm?: 'sha256';
  /** Names this version of the file. */
  readonly storage_version?: string;
  /** Ordinary URL of the file: what runs take as input. */
  readonly url?: string;
}

export interface FilePartUrlsRequest {
  /** The parts. */
  readonly part_numbers: readonly number[];
}

export interface FilePartUrlsEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: FilePartUrls;
  readonly evidence: Evidence;
}

export interface FilePartUrls {
  readonly urls: readonly {
    /** Number of a part; the first is 1. */
    readonly part_number: number;
    /** Takes the bytes by PUT, without credentials. */
    readonly url: string;
    /** Until when a PUT may begin. */
    readonly expires_at: string;
  }[];
}

export interface FileUploadPartEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: FileUploadPart;
  readonly evidence: Evidence;
}

export interface FileUploadPart {
  readonly object: 'file_upload_part';
  /** Upload id. */
  readonly upload_id: string;
  /** Number of a part; the first is 1. */
  readonly part_number: number;
  /** Bytes that came. */
  readonly size_bytes: number;
  /** SHA-256 of these bytes. */
  readonly checksum: string;
  readonly checksum_algorithm: 'sha256';
  /** True once these bytes are what the file is made of. */
  readonly is_acknowledged: boolean;
}

export interface FilePartAcknowledgement {
  /** SHA-256 of the bytes that were sent. */
  readonly checksum?: string;
}

export interface FileSignedUrlRequest {
  /** How long it is good. Default: 3600. */
  readonly expiration_seconds?: number;
}

export interface FileSignedUrlEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: FileSignedUrl;
  readonly evidence: Evidence;
}

export interface FileSignedUrl {
  readonly object: 'file_signed_url';
  /** Names the URL, in logs for example; it opens nothing. */
  readonly id: string;
  /** Serves the file by GET and HEAD, without credentials. */
  readonly url: string;
  /** What it allows: `read`. */
  readonly scope: readonly string[];
  /** When it was made. */
  readonly created_at: string;
  /** Until when it is good, unless the file is deleted or replaced before. */
  readonly expires_at: string;
}

export interface BlobAclEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: BlobAcl;
  readonly evidence: Evidence;
}

/** Who may read a file. Only keys of its organization may change, sign or delete it. */
export interface BlobAcl {
  /**
   * - `allow`: may read it
   * - `forbid`: may not: 403
   * - `hide`: may not, and is not told that it exists: 404
   */
  readonly default: 'allow' | 'forbid' | 'hide';
  /** Exceptions. A rule for the key goes before one for its organization. */
  readonly rules: readonly {
    /**
     * - `allow`: may read it
     * - `forbid`: may not: 403
     * - `hide`: may not, and is not told that it exists: 404
     */
    readonly decision: 'allow' | 'forbid' | 'hide';
    /** Organization, or id of an API key. */
    readonly principal: string;
  }[];
}

export interface StorageFileMutationEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: StorageFileMutation;
  readonly evidence: Evidence;
}

export interface StorageFileMutation {
  /** File or folder that was deleted. */
  readonly path: string;
  /** Files that were deleted. */
  readonly file_count: number;
  /** Their size together. */
  readonly size_bytes: number;
}
