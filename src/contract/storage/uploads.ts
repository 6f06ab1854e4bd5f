import { Type, type Static } from '@sinclair/typebox';
import {
  PART_DEFAULT_BYTES,
  PART_MAX_BYTES,
  PART_MIN_BYTES,
  PART_URLS_MAX_COUNT,
  UPLOAD_MAX_BYTES,
  UPLOAD_MAX_PARTS,
} from '../../limits.js';
import { FILE_PATH_PATTERN } from './file-paths.js';
import { envelopeOf } from '../grammar/envelope.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import { defineRoute } from '../grammar/route.js';
import {
  closed,
  constant,
  count,
  enumeration,
  flag,
  moment,
  named,
  sha256,
  text,
} from '../grammar/schema.js';

const UploadId = text('Upload id.', { pattern: '^upl_[0-9a-f]{24}$' });
const PartNumber = Type.Integer({
  minimum: 1,
  maximum: UPLOAD_MAX_PARTS,
  description: 'Number of the part, from 1.',
});
const PartNumberInPath = text('Number of the part, from 1.', { pattern: '^[1-9][0-9]{0,4}$' });
const ContentType = text('Media type of the file. Default: application/octet-stream.', {
  maxLength: 255,
  chosen: true,
  pattern: '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9-]+=[A-Za-z0-9._-]+)*$',
});

export const FileUpload = named(
  'FileUpload',
  closed({
    object: constant('file_upload'),
    id: UploadId,
    path: text('Path of the file that the upload creates, including folders.'),
    file_name: text('Last part of the path.'),
    content_type: text('Media type of the file.'),
    size_bytes: count('Size of the file in bytes.'),
    part_count: count('Number of parts.'),
    part_size_bytes: count(
      'Size of every part in bytes, except the last part, which has the remaining bytes.',
    ),
    part_checksum_algorithm: constant('sha256'),
    status: enumeration(
      {
        initiated: 'no part has arrived',
        uploading: 'at least one part has arrived',
        completing: 'the server checks the whole file',
        completed: 'the file exists',
        aborted: 'aborted by a request; its parts are deleted',
        expired: 'not completed before `expires_at`; its parts are deleted',
      },
      { chosen: true },
    ),
    uploaded_parts: Type.Array(Type.Integer(), {
      description: 'Numbers of the acknowledged parts, ascending.',
    }),
    created_at: moment('Time when the upload was initiated.'),
    expires_at: moment('Time when the upload expires unless it is completed.'),
    completed_at: Type.Optional(moment('Time when the upload was completed.')),
    checksum: Type.Optional(sha256('SHA-256 of the whole file.')),
    checksum_algorithm: Type.Optional(constant('sha256')),
    storage_version: Type.Optional(text('Version of the file.')),
    url: Type.Optional(text('Ordinary URL of the file, which runs accept as input.', { format: 'uri' })),
  }),
);

export const FileUploadRequest = named(
  'FileUploadRequest',
  closed({
    file_name: text('Name of the file, or its relative path with "/" between folders.', {
      minLength: 1,
      maxLength: 1024,
      publishedPattern: FILE_PATH_PATTERN,
    }),
    size_bytes: Type.Integer({
      minimum: 1,
      maximum: UPLOAD_MAX_BYTES,
      description: 'Size of the file in bytes.',
    }),
    content_type: Type.Optional(ContentType),
    part_size_bytes: Type.Optional(
      Type.Integer({
        minimum: PART_MIN_BYTES,
        maximum: PART_MAX_BYTES,
        description:
          `Size of a part in bytes. Default: ${PART_DEFAULT_BYTES}, doubled until ${UPLOAD_MAX_PARTS} parts ` +
          'suffice.',
        chosen: true,
      }),
    ),
    checksum: Type.Optional(sha256('SHA-256 that the whole file must have.')),
  }),
);

export const FilePartUrls = named(
  'FilePartUrls',
  closed(
    {
      urls: Type.Array(
        closed({
          part_number: PartNumber,
          url: text('Signed URL that accepts the bytes of the part by PUT, without credentials.', {
            format: 'uri',
          }),
          expires_at: moment('Latest time at which a PUT may begin.'),
        }),
      ),
    },
    { chosen: true },
  ),
);

export const FileUploadPart = named(
  'FileUploadPart',
  closed(
    {
      object: constant('file_upload_part'),
      upload_id: UploadId,
      part_number: PartNumber,
      size_bytes: count('Size of the received part in bytes.'),
      checksum: sha256('SHA-256 of the received bytes.'),
      checksum_algorithm: constant('sha256'),
      is_acknowledged: flag('True if the part is acknowledged. The file consists of acknowledged parts.'),
    },
    { chosen: true },
  ),
);

const upload = Type.Object({ upload_id: UploadId }, { additionalProperties: false });
const part = Type.Object(
  { upload_id: UploadId, part_number: PartNumberInPath },
  { additionalProperties: false },
);
const shared = { tag: 'storage', successStyle: 'envelope', errorStyle: 'envelope', work: 'light' } as const;
const ONE_UPLOAD: readonly ContractRefusalCode[] = ['upload_not_found', 'permission_denied'];
const OPEN_UPLOAD: readonly ContractRefusalCode[] = [...ONE_UPLOAD, 'upload_not_open', 'upload_expired'];
const ROOM: readonly ContractRefusalCode[] = ['storage_full', 'storage_quota_exceeded'];
const FileUploadEnvelope = envelopeOf('FileUploadEnvelope', FileUpload);
const FileUploadPartEnvelope = envelopeOf('FileUploadPartEnvelope', FileUploadPart);

export const createUpload = defineRoute({
  ...shared,
  operationId: 'storage.uploads.create',
  method: 'POST',
  retry: 'stored',
  path: '/v1/storage/uploads',
  summary: 'Initiate a multipart upload',
  description:
    'Initiates an upload. The next steps are: request part URLs, PUT each part, acknowledge each ' +
    'part, complete the upload. An existing file at the same path is replaced when the upload is ' +
    'completed, not before.',
  body: FileUploadRequest,
  success: { status: 201, schema: FileUploadEnvelope, description: 'The upload.' },
  refusals: ['permission_denied', 'invalid_path', 'path_conflict', 'part_size_too_small', ...ROOM],
});

export const getUpload = defineRoute({
  ...shared,
  operationId: 'storage.uploads.get',
  method: 'GET',
  path: '/v1/storage/uploads/{upload_id}',
  summary: 'Read an upload',
  description:
    'Returns the state and the acknowledged parts of an upload. An interrupted client continues from ' +
    'this response.',
  params: upload,
  success: { status: 200, schema: FileUploadEnvelope, description: 'The upload.' },
  refusals: ONE_UPLOAD,
});

export const createPartUrls = defineRoute({
  ...shared,
  operationId: 'storage.uploads.part_urls.create',
  method: 'POST',
  retry: 'same',
  path: '/v1/storage/uploads/{upload_id}/part-urls',
  summary: 'Request part URLs',
  description: 'Returns short-lived signed URLs, each for the PUT of one part.',
  params: upload,
  body: named(
    'FilePartUrlsRequest',
    closed(
      {
        part_numbers: Type.Array(PartNumber, {
          minItems: 1,
          maxItems: PART_URLS_MAX_COUNT,
          uniqueItems: true,
          description: 'Numbers of the parts.',
        }),
      },
      { chosen: true },
    ),
  ),
  success: {
    status: 200,
    schema: envelopeOf('FilePartUrlsEnvelope', FilePartUrls),
    description: 'One URL for each part, in the order of the request.',
  },
  refusals: [...OPEN_UPLOAD, 'part_number_invalid'],
});

/** Query parameters of a signed URL. Only this server writes them. */
export const SIGNATURE_QUERY = {
  version: Type.String({
    maxLength: 64,
    description: 'Version of the file, or id of the upload, for which the URL was signed.',
  }),
  expires: Type.Integer({
    minimum: 0,
    maximum: 99_999_999_999,
    description: 'Time when the URL expires, in Unix seconds.',
  }),
  signature: Type.String({ maxLength: 64, description: 'Signature of this server.' }),
};

export const putPart = defineRoute({
  ...shared,
  operationId: 'storage.uploads.parts.put',
  method: 'PUT',
  path: '/v1/storage/uploads/{upload_id}/parts/{part_number}',
  summary: 'PUT a part at its signed URL',
  description:
    'Stores the bytes of a part. The server checks them against `x-amz-checksum-sha256` or ' +
    '`Content-Digest` if the request has such a header. The bytes are on disk before the response is ' +
    'sent, and belong to the file once they are acknowledged. A part may be sent again. This ends an ' +
    'earlier request for the part that still sends bytes.',
  access: 'signature',
  params: part,
  query: Type.Object(SIGNATURE_QUERY, { additionalProperties: false }),
  headers: {
    'x-amz-checksum-sha256': Type.String({
      pattern: '^[A-Za-z0-9+/]{43}=$',
      description: 'SHA-256 of the part in base64.',
      chosen: true,
    }),
    'Content-Digest': Type.String({
      maxLength: 1024,
      examples: ['sha-256=:…:'],
      description: 'Digests of the part. `sha-256` is required, and other algorithms are ignored. RFC 9530.',
      chosen: true,
    }),
  },
  rawBody: { description: 'Exactly the bytes of the part.', maxBytes: PART_MAX_BYTES },
  success: {
    status: 200,
    schema: FileUploadPartEnvelope,
    description: 'The received part. `ETag` is its checksum.',
  },
  refusals: [
    'upload_not_found',
    'upload_not_open',
    'upload_expired',
    'signature_missing',
    'signature_invalid',
    'url_expired',
    'part_number_invalid',
    'part_size_mismatch',
    'part_superseded',
    'checksum_mismatch',
    'checksum_invalid',
    ...ROOM,
  ],
});

export const acknowledgePart = defineRoute({
  ...shared,
  operationId: 'storage.uploads.parts.acknowledge',
  method: 'POST',
  retry: 'same',
  path: '/v1/storage/uploads/{upload_id}/parts/{part_number}/acknowledge',
  summary: 'Acknowledge a part',
  description:
    'Makes the last received bytes the content of the part. With `checksum`, only bytes with this ' +
    'SHA-256 are acknowledged. A repeated acknowledgement changes nothing.',
  params: part,
  isBodyOptional: true,
  body: named(
    'FilePartAcknowledgement',
    closed(
      { checksum: Type.Optional(sha256('SHA-256 of the bytes that the client sent.')) },
      { chosen: true },
    ),
  ),
  success: { status: 200, schema: FileUploadPartEnvelope, description: 'The part.' },
  refusals: [...OPEN_UPLOAD, 'part_number_invalid', 'part_not_uploaded', 'checksum_mismatch'],
});

export const completeUpload = defineRoute({
  ...shared,
  operationId: 'storage.uploads.complete',
  method: 'POST',
  retry: 'same',
  path: '/v1/storage/uploads/{upload_id}/complete',
  summary: 'Complete an upload',
  description:
    'Joins the acknowledged parts, checks the whole file and creates it. A repeated completion ' +
    'returns the same completed upload.',
  params: upload,
  success: { status: 200, schema: FileUploadEnvelope, description: 'The completed upload with its URL.' },
  refusals: [...OPEN_UPLOAD, 'parts_missing', 'checksum_mismatch', 'path_conflict'],
});

export const abortUpload = defineRoute({
  ...shared,
  operationId: 'storage.uploads.abort',
  method: 'DELETE',
  path: '/v1/storage/uploads/{upload_id}',
  summary: 'Abort an upload',
  description:
    'Aborts an upload, deletes its parts and returns the aborted upload. Later requests for this ' +
    'upload get 404.',
  params: upload,
  success: { status: 200, schema: FileUploadEnvelope, description: 'The aborted upload.' },
  refusals: OPEN_UPLOAD,
});

export type FileUpload = Static<typeof FileUpload>;
export type FileUploadRequest = Static<typeof FileUploadRequest>;
export type FilePartUrls = Static<typeof FilePartUrls>;
export type FileUploadPart = Static<typeof FileUploadPart>;
