import { Refusal } from '../../errors.js';
import type { FileTable } from '../../store/storage/files.js';
import type { RequestContext } from '../context.js';
import { requireOwned } from './file-access.js';

/**
 * The path must be free, or hold a file that the key may replace.
 * Errors  Refusal `path_conflict`, `permission_denied`
 */
export function requirePlace(
  files: FileTable,
  path: string,
  asker: Pick<RequestContext, 'organizationId' | 'keyId'>,
): void {
  const obstacle = files.obstacle(asker.organizationId, path);
  if (obstacle !== undefined) {
    throw new Refusal(
      'path_conflict',
      `A path is a file or a folder, not both: ${JSON.stringify(obstacle)} exists.`,
      {
        param: 'file_name',
        path: obstacle,
      },
    );
  }
  const present = files.at(asker.organizationId, path);
  if (present !== undefined) requireOwned(present, asker);
}
