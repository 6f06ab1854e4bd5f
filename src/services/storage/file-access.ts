import type { BlobAcl } from '../../contract/storage/files.js';
import { Refusal } from '../../errors.js';
import type { AclDecision, FileAcl, FileRow, FileTable } from '../../store/storage/files.js';
import type { RequestContext } from '../context.js';

/** Identity whose rights are checked. */
export type Asker = Pick<RequestContext, 'organizationId' | 'keyId'>;

/** The policy of a new file: its organization reads it, others get `permission_denied`. */
export function privateAcl(organizationId: string): FileAcl {
  return { default: 'forbid', rules: [{ principal: organizationId, decision: 'allow' }] };
}

/** Errors  Refusal `permission_denied`, or `file_not_found` if the policy hides it */
export function requireReadable(file: FileRow, asker: Asker): void {
  const decision =
    ruleFor(file.acl, asker.keyId) ?? ruleFor(file.acl, asker.organizationId) ?? file.acl.default;
  refuse(decision, file);
}

/**
 * Keys of the file's own organization may change, sign and delete it, unless a rule names the key.
 * Errors  as requireReadable
 */
export function requireOwned(file: FileRow, asker: Asker): void {
  if (file.organizationId === asker.organizationId)
    return refuse(ruleFor(file.acl, asker.keyId) ?? 'allow', file);
  requireReadable(file, asker);
  refuse('forbid', file);
}

/**
 * Checks that the path is free, or holds a file that the key may replace.
 * Errors  Refusal `path_conflict`, `permission_denied`
 */
export function requirePlace(files: FileTable, path: string, asker: Asker): void {
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

export function notFound(what: string): Refusal {
  return new Refusal('file_not_found', `No file is at ${what}.`);
}

export function presentAcl({ acl }: FileRow): BlobAcl {
  return {
    default: acl.default,
    rules: acl.rules.map(({ decision, principal }) => ({ decision, principal })),
  };
}

function ruleFor({ rules }: FileAcl, principal: string): AclDecision | undefined {
  return rules.find((rule) => rule.principal === principal)?.decision;
}

function refuse(decision: AclDecision, file: FileRow): void {
  if (decision === 'allow') return;
  if (decision === 'hide') throw notFound(`/v1/storage/files/${file.id}`);
  throw new Refusal('permission_denied', 'The access policy of the file forbids this to the key.');
}
