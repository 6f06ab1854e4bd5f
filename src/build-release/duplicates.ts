import { Refusal } from '../errors.js';
import { describePlace } from '../sequence/fasta.js';
import type { DuplicateRule, SourceProtein } from './sources/protein-source.js';
import { createKeyedRows } from './sources/tables/keyed-rows.js';

/** The ids that a build has met. */
export interface IdRegister {
  /**
   * The id under which this protein goes into the release; undefined where it is left out.
   * Errors  Refusal `duplicate_id` with both places, by the rule `fail`
   */
  admit(given: SourceProtein): string | undefined;
  /** What became of ids that were given again, in a sentence; none where none was. */
  notes(): readonly string[];
  close(): void;
}

/** Ids and places are kept in the scratch file, so that an id is told from another of the same hash. */
export function createIdRegister(scratchPath: string, rule: DuplicateRule = 'fail'): IdRegister {
  const seen = createKeyedRows(scratchPath);
  /** By repeated id, the suffix given last. */
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
    admit(given) {
      const [earlier] = seen.find(given.id);
      if (earlier !== undefined) repeats += 1;
      if (earlier !== undefined && rule === 'fail') throw refuseDuplicate(given, earlier[0]);
      if (earlier !== undefined && rule === 'first') return undefined;
      const id = earlier === undefined ? given.id : suffixed(given.id);
      seen.add(id, [placeOf(given).replaceAll('\t', ' ')]);
      return id;
    },
    notes() {
      if (repeats === 0) return [];
      return [
        rule === 'first'
          ? `Proteins left out because their id was given before: ${repeats}.`
          : `Proteins renamed (_2, _3, …) because their id was given before: ${repeats}.`,
      ];
    },
    close: () => seen.close(),
  };
}

/** What refusals about a protein start with. */
export function placeOf({ id, record }: SourceProtein): string {
  return record === undefined ? `protein ${id}` : describePlace(record.place);
}

function refuseDuplicate(given: SourceProtein, earlier: string): Refusal {
  return new Refusal(
    'duplicate_id',
    `${placeOf(given)}: the id ${given.id} was given before, in ${earlier}. Ids must be unique; ` +
      '--duplicates first keeps the first of each, --duplicates suffix renames the others.',
    { ...given.record?.place, id: given.id },
  );
}
