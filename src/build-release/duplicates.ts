import { Refusal } from '../errors.js';
import { describePlace } from '../sequence/fasta.js';
import type { DuplicateRule, SourceProtein } from './sources/protein-source.js';
import { createKeyedRows } from './sources/tables/keyed-rows.js';

/** The ids of the proteins read so far. */
export interface IdRegister {
  /**
   * Returns the protein's id in the release; undefined if the protein is left out.
   * Errors  Refusal `duplicate_id` with the places of both proteins, by the rule `fail`
   */
  admit(protein: SourceProtein): string | undefined;
  /** One sentence on the treatment of repeated ids; empty without repeats. */
  notes(): readonly string[];
  close(): void;
}

/**
 * The scratch file has ids and their places, so that ids with equal hashes can be distinguished.
 * @param named  rule that the user may choose. Default: `fail`, where the user has no choice
 */
export function createIdRegister(scratchPath: string, named?: DuplicateRule): IdRegister {
  const rule = named ?? 'fail';
  const seen = createKeyedRows(scratchPath);
  /** Last suffix of each repeated id. */
  const suffixes = new Map<string, number>();
  let repeats = 0;
  const isKnown = (id: string): boolean => seen.find(id).length > 0;
  const suffixed = (id: string): string => {
    let suffix = suffixes.get(id) ?? 1;
    do suffix += 1;
    while (isKnown(`${id}_${suffix}`));
    suffixes.set(id, suffix);
    return `${id}_${suffix}`;
  };
  return {
    admit(protein) {
      const [earlier] = seen.find(protein.id);
      if (earlier !== undefined) repeats += 1;
      if (earlier !== undefined && rule === 'fail') throw refuseDuplicate(protein, earlier[0], named);
      if (earlier !== undefined && rule === 'first') return undefined;
      const id = earlier === undefined ? protein.id : suffixed(protein.id);
      seen.add(id, [placeOf(protein).replaceAll('\t', ' ')]);
      return id;
    },
    notes() {
      if (repeats === 0) return [];
      return [
        rule === 'first'
          ? `Proteins left out because of a repeated id: ${repeats}.`
          : `Proteins renamed (_2, _3, …) because of a repeated id: ${repeats}.`,
      ];
    },
    close: () => seen.close(),
  };
}

/** Returns the place of a protein, with which messages about it begin. */
export function placeOf({ id, record }: SourceProtein): string {
  return record === undefined ? `protein ${id}` : describePlace(record.place);
}

function refuseDuplicate(protein: SourceProtein, earlier: string, named: DuplicateRule | undefined): Refusal {
  const remedy =
    named === undefined
      ? 'Remove or rename one of the two proteins.'
      : 'Use --duplicates first to drop the later proteins, or --duplicates suffix to rename them.';
  return new Refusal(
    'duplicate_id',
    `${placeOf(protein)}: the id ${protein.id} is already used in ${earlier}. Ids must be unique. ${remedy}`,
    { ...protein.record?.place, id: protein.id },
  );
}
