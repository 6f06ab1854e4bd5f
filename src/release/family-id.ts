import type { AttributeValue } from './release.js';

/** Name of the attribute of a target that is a member of a family: the id of the family. */
export const FAMILY_ID = 'family_id';

/** Returns the id of the family that a target is a member of; undefined for any other target. */
export function familyIdOf({
  [FAMILY_ID]: id,
}: Readonly<Record<string, AttributeValue>>): string | undefined {
  return typeof id === 'string' && id !== '' ? id : undefined;
}
