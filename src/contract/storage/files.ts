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
    allow: 'read access',
    forbid: 'no read access; status 403',
    hide: 'no read access; status 404, as for a file that does not exist',
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
          principal: text('Id of an organization or of an API key.', {
            pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
          }),
        }),
        {
          maxItems: FILE_ACL_MAX_RULES,
          description:
            'Exceptions to `default`. A rule for an API key takes precedence over a rule for its organization.',
        },
      ),
    },
    {
      description:
        'ACL of a file: the organizations and API keys that may read it. Only keys of the organization of ' +
        'the file may replace, sign or delete it. A rule that names such a key also applies to these ' +
        'operations.',
    },
  ),
);

export const FileSignedUrl = named(
  'FileSignedUrl',
  closed({
    object: constant('file_signed_url'),
    id: text('Id of the signed URL, for logs. It grants no access.'),
    url: text('Signed URL. GET and HEAD return the file without credentials.', { format: 'uri' }),
    scope: Type.Array(Type.String(), { description: 'Permissions of the URL: `read`.' }),
    created_at: moment('Time when the URL was created.'),
    expires_at: moment('Time when the URL expires. The URL ends earlier if the file is deleted or replaced.'),
  }),
);

export const StorageFileMutation = named(
  'StorageFileMutation',
  closed({
    path: text('Path of the deleted file or folder.'),
    file_count: count('Number of deleted files.'),
    size_bytes: count('Total size of the deleted files in bytes.'),
  }),
);

/** Pattern of the URL of a file: optional address of the server, which may have a path, then id and escaped name. */
export const FILE_URL_PATTERN =
  '^([Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+(?:/[\\w.~-]+)*)?/v1/storage/files/(fil_[0-9a-f]{24})/([^/?#\\\\\\s]+)$';

/** Schema of the ordinary URL of a file, with or without the address of this server. */
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
    'Returns the whole file or one range of its bytes. Access requires an API key that the ACL ' +
    'allows, or a signed URL. `ETag` is the checksum of the file. The URL stays the same when the ' +
    'file is replaced. It becomes permanently invalid when the file is deleted.',
  access: 'key_or_signature',
  params: Type.Object(
    {
      file_id: text('File id.', { pattern: '^fil_[0-9a-f]{24}$' }),
      file_name: text('Name of the file: the last part of its path.', { minLength: 1, maxLength: 255 }),
    },
    { additionalProperties: false },
  ),
  query: Type.Partial(Type.Object(SIGNATURE_QUERY, { additionalProperties: false })),
  headers: Object.fromEntries(
    Object.entries({
      Range: 'One range of bytes. A request for several ranges gets the whole file.',
      'If-Range':
        'Serves the range only if this entity tag or date identifies the current file. Otherwise serves ' +
        'the whole file.',
      'If-Match': 'Status 412 if none of these entity tags identifies the file.',
      'If-None-Match': 'Status 304 if one of these entity tags identifies the file.',
      'If-Modified-Since': 'Status 304 if the file was not changed after this time.',
      'If-Unmodified-Since': 'Status 412 if the file was changed after this time.',
    }).map(([name, description]) => [name, Type.String({ maxLength: 4096, description })]),
  ),
  success: {
    status: 200,
    schema: Type.Unsafe<never>({
      type: 'string',
      contentEncoding: 'binary',
      description: 'The bytes of the file.',
    }),
    description: 'The whole file.',
    mediaType: ANY_TYPE,
  },
  otherSuccesses: {
    206: 'The range of bytes that `Content-Range` states.',
    304: 'The copy of the client is up to date.',
  },
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
    'Creates a stateless URL for a recipient without credentials. The URL is valid for the current ' +
    'version of the file only.',
  query: ByUrl,
  isBodyOptional: true,
  body: named(
    'FileSignedUrlRequest',
    closed(
      {
        expiration_seconds: defaulted(
          SIGNED_URL_DEFAULT_SECONDS,
          Type.Integer({
            minimum: 1,
            maximum: SIGNED_URL_MAX_SECONDS,
            description: 'Lifetime of the URL in seconds.',
          }),
        ),
      },
      { chosen: true },
    ),
  ),
  success: {
    status: 201,
    schema: envelopeOf('FileSignedUrlEnvelope', FileSignedUrl),
    description: 'The signed URL.',
  },
  refusals: ONE_FILE,
});

export const getFileAcl = defineRoute({
  ...shared,
  operationId: 'storage.files.acl.get',
  method: 'GET',
  path: '/v1/storage/files/acl',
  summary: 'Read the ACL of a file',
  description:
    'Returns the ACL of a file of this server. An external URL keeps the access policy of its ' +
    'provider and is refused.',
  query: ByUrl,
  success: { status: 200, schema: BlobAclEnvelope, description: 'The ACL.' },
  refusals: ONE_FILE,
});

export const setFileAcl = defineRoute({
  ...shared,
  operationId: 'storage.files.acl.set',
  method: 'PUT',
  path: '/v1/storage/files/acl',
  summary: 'Set the ACL of a file',
  description:
    'Replaces the whole ACL with immediate effect. A new file is readable by its own organization only.',
  query: ByUrl,
  body: BlobAcl,
  success: { status: 200, schema: BlobAclEnvelope, description: 'The new ACL.' },
  refusals: ONE_FILE,
});

export const deleteFiles = defineRoute({
  ...shared,
  operationId: 'storage.files.delete',
  method: 'DELETE',
  path: '/v1/storage/files',
  summary: 'Delete a file or a folder',
  description:
    'Deletes the current file at the path, or every current file below a folder. The deletion is ' +
    'irreversible. All URLs of these files, including signed URLs, become invalid at once.',
  query: Type.Object(
    {
      path: Type.String({
        minLength: 1,
        maxLength: 1025,
        publishedPattern: FILE_TARGET_PATTERN,
        description: 'Path of a file or a folder. With a trailing slash, the path of a folder only.',
      }),
    },
    { additionalProperties: false },
  ),
  success: {
    status: 200,
    schema: envelopeOf('StorageFileMutationEnvelope', StorageFileMutation),
    description: 'Path, number and size of the deleted files.',
  },
  refusals: ['invalid_path', 'file_not_found', 'permission_denied'],
});

export type BlobAcl = Static<typeof BlobAcl>;
export type FileSignedUrl = Static<typeof FileSignedUrl>;
export type FileSignedUrlRequest = Static<typeof createSignedUrl.body>;
export type StorageFileMutation = Static<typeof StorageFileMutation>;
