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
  description: 'Number of a part; the first is 1.',
});
const PartNumberInPath = text('Number of a part; the first is 1.', { pattern: '^[1-9][0-9]{0,4}$' });
const ContentType = text('Media type of the file; default application/octet-stream.', {
  maxLength: 255,
  chosen: true,
  pattern: '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9-]+=[A-Za-z0-9._-]+)*$',
});

export const FileUpload = named(
  'FileUpload',
  closed({
    object: constant('file_upload'),
    id: UploadId,
    path: text('Path of the file that it becomes, folders included.'),
    file_name: text('Last part of the path.'),
    content_type: text('Media type of the file.'),
    size_bytes: count('Size of the file.'),
    part_count: count('Number of parts.'),
    part_size_bytes: count('Size of every part but the last, which has the rest.'),
    part_checksum_algorithm: constant('sha256'),
    status: enumeration(
      {
        initiated: 'no part has come',
        uploading: 'parts come',
        completing: 'the whole is being checked',
        completed: 'the file is there',
        aborted: 'given up by its owner; its parts are gone',
        expired: 'not completed in time; its parts are gone',
      },
      { chosen: true },
    ),
    uploaded_parts: Type.Array(Type.Integer(), { description: 'Acknowledged part numbers, ascending.' }),
    created_at: moment('When it was initiated.'),
    expires_at: moment('Until when it must be completed.'),
    completed_at: Type.Optional(moment('When it was completed.')),
    checksum: Type.Optional(sha256('SHA-256 of the whole file.')),
    checksum_algorithm: Type.Optional(constant('sha256')),
    storage_version: Type.Optional(text('Names this version of the file.')),
    url: Type.Optional(text('Ordinary URL of the file: what runs take as input.', { format: 'uri' })),
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
    size_bytes: Type.Integer({ minimum: 1, maximum: UPLOAD_MAX_BYTES, description: 'Size of the file.' }),
    content_type: Type.Optional(ContentType),
    part_size_bytes: Type.Optional(
      Type.Integer({
        minimum: PART_MIN_BYTES,
        maximum: PART_MAX_BYTES,
        description: `Size of a part. Default ${PART_DEFAULT_BYTES}, doubled until ${UPLOAD_MAX_PARTS} parts suffice.`,
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
          url: text('Takes the bytes by PUT, without credentials.', { format: 'uri' }),
          expires_at: moment('Until when a PUT may begin.'),
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
      size_bytes: count('Bytes that came.'),
      checksum: sha256('SHA-256 of these bytes.'),
      checksum_algorithm: constant('sha256'),
      is_acknowledged: flag('True once these bytes are what the file is made of.'),
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
    'Then: ask for part URLs, PUT each part, acknowledge it, complete. A file at the same path is replaced when the ' +
    'upload is completed, not before.',
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
    'Its state and the parts that were acknowledged: what a client that was interrupted goes on from.',
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
  summary: 'Ask for part URLs',
  description: 'Short-lived signed URLs, each for the PUT of one part.',
  params: upload,
  body: named(
    'FilePartUrlsRequest',
    closed(
      {
        part_numbers: Type.Array(PartNumber, {
          minItems: 1,
          maxItems: PART_URLS_MAX_COUNT,
          uniqueItems: true,
          description: 'The parts.',
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

/** Query parameters of a signed URL, which only this server writes. */
export const SIGNATURE_QUERY = {
  version: Type.String({ maxLength: 64, description: 'Version of the file that the URL was made for.' }),
  expires: Type.Integer({
    minimum: 0,
    maximum: 99_999_999_999,
    description: 'Unix seconds until which it is good.',
  }),
  signature: Type.String({ maxLength: 64, description: 'Seal of this server.' }),
};

export const putPart = defineRoute({
  ...shared,
  operationId: 'storage.uploads.parts.put',
  method: 'PUT',
  path: '/v1/storage/uploads/{upload_id}/parts/{part_number}',
  summary: 'PUT a part at its signed URL',
  description:
    'The bytes of the part, checked against `x-amz-checksum-sha256` or `Content-Digest` where one is sent. They ' +
    'are on disk when the answer comes, and become the part when they are acknowledged. A part may be sent again.',
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
      description: 'Digests of the part; `sha-256` counts. RFC 9530.',
      chosen: true,
    }),
  },
  rawBody: { description: 'The bytes of the part, all of them and no more.', maxBytes: PART_MAX_BYTES },
  success: { status: 200, schema: FileUploadPartEnvelope, description: 'What came; `ETag` is its checksum.' },
  refusals: [
    'upload_not_found',
    'upload_not_open',
    'upload_expired',
    'signature_missing',
    'signature_invalid',
    'url_expired',
    'part_number_invalid',
    'part_size_mismatch',
    'checksum_mismatch',
    'checksum_invalid',
    'storage_full',
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
    'Makes the bytes that came last the part. With `checksum`, only where they are those; repeating it changes ' +
    'nothing.',
  params: part,
  isBodyOptional: true,
  body: named(
    'FilePartAcknowledgement',
    closed({ checksum: Type.Optional(sha256('SHA-256 of the bytes that were sent.')) }, { chosen: true }),
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
    'Joins the acknowledged parts, checks the whole and makes the file. Repeating it returns the same completed ' +
    'upload.',
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
    'Gives an upload up, frees its parts and returns it for the last time: from then on it is not found.',
  params: upload,
  success: { status: 200, schema: FileUploadEnvelope, description: 'The aborted upload.' },
  refusals: OPEN_UPLOAD,
});

export type FileUpload = Static<typeof FileUpload>;
export type FileUploadRequest = Static<typeof FileUploadRequest>;
export type FilePartUrls = Static<typeof FilePartUrls>;
export type FileUploadPart = Static<typeof FileUploadPart>;
