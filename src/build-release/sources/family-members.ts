import { FASTA_ID_MAX_CHARACTERS } from '../../limits.js';
import { FAMILY_ID } from '../../release/family-id.js';
import type { SourceField, SourceProtein } from './protein-source.js';

export const FAMILY_FIELD: SourceField = { name: FAMILY_ID, type: 'string', isOptional: true };

/**
 * Returns members of a family as proteins of their own, with the attributes of the family: at most `count` of those
 * that its profile would have, at even places of their order. A member has the residues from its first to its last
 * match column, and the id `<family>/<member>`. The consensus stands for a family without other members, or of which
 * only a profile exists. A single protein is returned as it is.
 * Range  count ≥ 1
 */
export function membersOf(protein: SourceProtein, count: number): readonly SourceProtein[] {
  const { family, ...consensus } = protein;
  if (family === undefined) return [protein];
  const attributes = { ...protein.attributes, [FAMILY_ID]: protein.id };
  const members = 'homologs' in family ? family.homologs : [];
  if (members.length === 0) return [{ ...consensus, attributes }];
  const chosen = Math.min(count, members.length);
  return Array.from({ length: chosen }, (_, place) => {
    const { id, residues } = members[Math.floor(((2 * place + 1) * members.length) / (2 * chosen))];
    const named = `${protein.id}/${id}`;
    const isTooLong = named.length > FASTA_ID_MAX_CHARACTERS;
    return { ...consensus, id: isTooLong ? `${protein.id}/${place + 1}` : named, text: residues, attributes };
  });
}
