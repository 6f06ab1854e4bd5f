import type { Storage } from '../../services/storage/storage.js';
import type { HandlersOf } from './handler.js';

export interface StorageServices {
  readonly storage: Pick<Storage, 'uploads' | 'files'>;
}

export function storageHandlers({ storage: { uploads, files } }: StorageServices): HandlersOf<'storage'> {
  return {
    'storage.uploads.create': ({ body }, context) => uploads.create(body, context),
    'storage.uploads.get': async ({ params }, context) => uploads.get(params.upload_id, context),
    'storage.uploads.part_urls.create': async ({ params, body }, context) =>
      uploads.partUrls(params.upload_id, body.part_numbers, context),
    'storage.uploads.parts.put': ({ params, rawBody, headers }) =>
      uploads.putPart(params.upload_id, params.part_number, rawBody, headers),
    'storage.uploads.parts.acknowledge': ({ params, body }, context) =>
      uploads.acknowledge(params.upload_id, params.part_number, body.checksum, context),
    'storage.uploads.complete': ({ params }, context) => uploads.complete(params.upload_id, context),
    'storage.uploads.abort': ({ params }, context) => uploads.abort(params.upload_id, context),
    'storage.files.read': async ({ params, query, headers }, context) =>
      files.read({ fileId: params.file_id, fileName: params.file_name, query, headers }, context),
    'storage.file_signed_urls.create': async ({ query, body }, context) =>
      files.sign(query.url, body, context),
    'storage.files.acl.get': async ({ query }, context) => files.acl(query.url, context),
    'storage.files.acl.set': ({ query, body }, context) => files.setAcl(query.url, body, context),
    'storage.files.delete': ({ query }, context) => files.delete(query.path, context),
  };
}
