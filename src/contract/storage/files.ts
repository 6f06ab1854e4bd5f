import { Type, type Static, type TString } from '@sinclair/typebox';
import {
  FILE_ACL_MAX_RULES,
  FILE_URL_MAX_CHARACTERS,
  SIGNED_URL_DEFAULT_SECONDS,
  SIGNED_URL_MAX_SECONDS,
} from '../../limits.js';
import { FILE_TARGET_PATTERN } from './file-paths.js';
import { envelopeOf } from '../grammar/envelope.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import { ANY_TYPE, defineRoute } from '../grammar/route.js';
import { closed, constant, count, defaulted, enumeration, moment, named, text } from '../grammar/schema.js';
import { SIGNATURE_QUERY } from './uploads.js';

const Decision = enumeration(
  {
    allow: 'may read it',
    forbid: 'may not: 403',
    hide: 'may not, and is not told that it exists: 404',
  },
  { chosen: true },
);

export const BlobAcl = named(
  'BlobAcl',
  closed(
    {
      default: Decision,
      rules: Type.Array(
        closed({
          decision: Decision,
          principal: text('Organization, or id of an API key.', {
            pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
          }),
        }),
        {
          maxItems: FILE_ACL_MAX_RULES,
          description: 'Exceptions. A rule for the key goes before one for its organization.',
        },
      ),
    },
    { description: 'Who may read a file. Only keys of its organization may change, sign or delete it.' },
  ),
);

export const FileSignedUrl = named(
  'FileSignedUrl',
  closed({
    object: constant('file_signed_url'),
    id: text('Names the URL, in logs for example; it opens nothing.'),
    url: text('Serves the file by GET and HEAD, without credentials.', { format: 'uri' }),
    scope: Type.Array(Type.String(), { description: 'What it allows: `read`.' }),
    created_at: moment('When it was made.'),
    expires_at: moment('Until when it is good, unless the file is deleted or replaced before.'),
  }),
);

export const StorageFileMutation = named(
  'StorageFileMutation',
  closed({
    path: text('File or folder that was deleted.'),
    file_count: count('Files that were deleted.'),
    size_bytes: count('Their size together.'),
  }),
);

/** Optional address of the server, which may have a path, then the id and the escaped name of the file. */
export const FILE_URL_PATTERN =
  '^([Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+(?:/[\\w.~-]+)*)?/v1/storage/files/(fil_[0-9a-f]{24})/([^/?#\\\\\\s]+)$';

/** The permanent URL of a file from its completion, with or without the address of this server. */
export function fileUrl(description: string): TString {
  return text(description, {
    minLength: 1,
    maxLength: FILE_URL_MAX_CHARACTERS,
    // The operation refuses a violation as file_not_managed, which explains foreign URLs.
    publishedPattern: FILE_URL_PATTERN,
  });
}

const ByUrl = Type.Object(
  { url: fileUrl('Ordinary URL of a file of this server.') },
  { additionalProperties: false },
);
const shared = { tag: 'storage', successStyle: 'envelope', errorStyle: 'envelope', work: 'light' } as const;
const ONE_FILE: readonly ContractRefusalCode[] = ['file_not_managed', 'file_not_found', 'permission_denied'];
const BlobAclEnvelope = envelopeOf('BlobAclEnvelope', BlobAcl);

export const readFile = defineRoute({
  ...shared,
  operationId: 'storage.files.read',
  method: 'GET',
  path: '/v1/storage/files/{file_id}/{file_name}',
  summary: 'Read a file at its ordinary URL',
  description:
    'The bytes, whole or one range of them, to keys that its ACL allows and to holders of a signed URL. `ETag` is ' +
    'the checksum. The URL stays when the file is replaced and ends for ever when it is deleted.',
  access: 'key_or_signature',
  params: Type.Object(
    {
      file_id: text('File id.', { pattern: '^fil_[0-9a-f]{24}$' }),
      file_name: text('Last part of its path.', { minLength: 1, maxLength: 255 }),
    },
    { additionalProperties: false },
  ),
  query: Type.Partial(Type.Object(SIGNATURE_QUERY, { additionalProperties: false })),
  headers: Object.fromEntries(
    Object.entries({
      Range: 'One range of bytes; several are answered with the whole file.',
      'If-Range': 'Serves the range only while the file is this one.',
      'If-Match': '412 unless the file is one of these.',
      'If-None-Match': '304 where the file is one of these.',
      'If-Modified-Since': '304 where the file is not newer.',
      'If-Unmodified-Since': '412 where the file is newer.',
    }).map(([name, description]) => [name, Type.String({ maxLength: 4096, description })]),
  ),
  success: {
    status: 200,
    schema: Type.Unsafe<never>({ type: 'string', contentEncoding: 'binary', description: 'The bytes.' }),
    description: 'The whole file.',
    mediaType: ANY_TYPE,
  },
  otherSuccesses: { 206: 'The range, named by `Content-Range`.', 304: 'The client has it already.' },
  successStyle: 'bare',
  refusals: [
    'file_not_found',
    'permission_denied',
    'signature_invalid',
    'url_expired',
    'precondition_failed',
    'range_not_satisfiable',
  ],
});

export const createSignedUrl = defineRoute({
  ...shared,
  operationId: 'storage.file_signed_urls.create',
  method: 'POST',
  retry: 'same',
  path: '/v1/storage/file-signed-urls',
  summary: 'Sign a read-only URL',
  description:
    'A stateless URL for a recipient without credentials. It is good for this version of the file and no longer ' +
    'than it.',
  query: ByUrl,
  isBodyOptional: true,
  body: named(
    'FileSignedUrlRequest',
    closed(
      {
        expiration_seconds: defaulted(
          SIGNED_URL_DEFAULT_SECONDS,
          Type.Integer({ minimum: 1, maximum: SIGNED_URL_MAX_SECONDS, description: 'How long it is good.' }),
        ),
      },
      { chosen: true },
    ),
  ),
  success: {
    status: 201,
    schema: envelopeOf('FileSignedUrlEnvelope', FileSignedUrl),
    description: 'The URL.',
  },
  refusals: ONE_FILE,
});

export const getFileAcl = defineRoute({
  ...shared,
  operationId: 'storage.files.acl.get',
  method: 'GET',
  path: '/v1/storage/files/acl',
  summary: 'Read the access policy of a file',
  description: 'Of a file of this server; an external URL keeps the policy of its provider and is refused.',
  query: ByUrl,
  success: { status: 200, schema: BlobAclEnvelope, description: 'The policy.' },
  refusals: ONE_FILE,
});

export const setFileAcl = defineRoute({
  ...shared,
  operationId: 'storage.files.acl.set',
  method: 'PUT',
  path: '/v1/storage/files/acl',
  summary: 'Set the access policy of a file',
  description: 'Replaces the policy as a whole, at once; a new file is allowed to its own organization only.',
  query: ByUrl,
  body: BlobAcl,
  success: { status: 200, schema: BlobAclEnvelope, description: 'The policy as it stands now.' },
  refusals: ONE_FILE,
});

export const deleteFiles = defineRoute({
  ...shared,
  operationId: 'storage.files.delete',
  method: 'DELETE',
  path: '/v1/storage/files',
  summary: 'Delete a file or a folder',
  description:
    'The current file at the path, or every current file below a folder. It cannot be undone, and the URLs of ' +
    'these files, signed ones too, end at once.',
  query: Type.Object(
    {
      path: Type.String({
        minLength: 1,
        maxLength: 1025,
        publishedPattern: FILE_TARGET_PATTERN,
        description: 'Path of a file or a folder; with a slash at its end, of a folder only.',
      }),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: envelopeOf('StorageFileMutationEnvelope', StorageFileMutation),
    description: 'What was deleted.',
  },
  refusals: ['invalid_path', 'file_not_found', 'permission_denied'],
});

export type BlobAcl = Static<typeof BlobAcl>;
export type FileSignedUrl = Static<typeof FileSignedUrl>;
export type FileSignedUrlRequest = Static<typeof createSignedUrl.body>;
export type StorageFileMutation = Static<typeof StorageFileMutation>;
