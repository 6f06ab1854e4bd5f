import { Refusal } from '../errors.js';
import { printableLines } from '../printable.js';
import type { AttributeValue } from '../release/release.js';
import {
  ATTRIBUTE_MAX_CHARACTERS,
  ATTRIBUTES_MAX_CHARACTERS,
  FASTA_ID_MAX_CHARACTERS,
  RELEASE_MAX_RESIDUES,
  RELEASE_MAX_TARGETS,
} from '../limits.js';
import type { FilterField } from '../release/release.js';
import { refuseRecord } from '../sequence/fasta.js';
import { normaliseProtein, type NormalisedProtein } from '../sequence/protein.js';
import { createIdRegister, placeOf } from './duplicates.js';
import { createProteinSpool, type SpooledProtein } from './protein-spool.js';
import type { ProteinSource, SourceProtein } from './sources/protein-source.js';

/** Counts, fields and digest of a build's input after it was read and checked. */
export interface Corpus {
  readonly targets: number;
  readonly residues: number;
  readonly spoolBytes: number;
  readonly corpusSnapshotId: string;
  readonly fields: readonly FilterField[];
  /** Number of replaced residues for each letter of the input. */
  readonly replaced: Readonly<Record<string, number>>;
  /** Taxids of the proteins, ascending, without repeats. */
  readonly taxids: readonly number[];
  readonly notes: readonly string[];
}

/**
 * Reads the input once, and normalises, checks and spools every protein. Errors of the input are reported before the
 * hours of encoding, and the total number of residues is known.
 * Errors  Refusal with file, line and record: those of normaliseProtein, `duplicate_id`, `invalid_id`,
 *         `attribute_too_long`, `release_too_large`; those of the source; errors of the file system; the signal's
 *         reason
 */
export async function readProteins(
  source: ProteinSource,
  paths: { readonly spool: string; readonly ids: string },
  onBytes: (bytes: number) => void,
  signal?: AbortSignal,
): Promise<Corpus> {
  const spool = await createProteinSpool(paths.spool);
  const ids = createIdRegister(paths.ids, source.duplicates);
  try {
    const tally = createTally(source);
    for await (const read of source.proteins(onBytes)) {
      signal?.throwIfAborted();
      checkId(read);
      const id = ids.admit(read);
      if (id === undefined) continue;
      const admitted = id === read.id ? read : { ...read, id };
      if (admitted !== read) checkId(admitted);
      const normalised = normalise(admitted);
      const attributes = { ...printableAttributes(admitted), length: normalised.sequence.length };
      const { family } = admitted;
      const single = { id: admitted.id, sequence: normalised.sequence, attributes };
      const protein = family === undefined ? single : { ...single, family };
      checkAttributes(admitted, protein);
      tally.add(protein, normalised);
      await spool.append(protein);
    }
    const { size_bytes: spoolBytes, sha256 } = await spool.finish();
    const notes = [...ids.notes(), ...source.notes()];
    return { ...tally.total(), spoolBytes, corpusSnapshotId: snapshotId(sha256), notes };
  } catch (cause) {
    await spool.abandon();
    throw cause;
  } finally {
    ids.close();
  }
}

/** Returns the corpus snapshot id. @param sha256  of the spool */
export function snapshotId(sha256: string): string {
  return `corpus_${sha256}`;
}

type Tally = Pick<Corpus, 'targets' | 'residues' | 'fields' | 'replaced' | 'taxids'>;

function createTally(source: ProteinSource) {
  let [targets, residues] = [0, 0];
  const replaced: Record<string, number> = {};
  const seenFields = new Set<string>();
  const taxids = new Set<number>();
  const taxonomyField = source.fields.find(({ isTaxonomy }) => isTaxonomy)?.name;
  return {
    add({ sequence, attributes }: SpooledProtein, normalised: NormalisedProtein): void {
      targets += 1;
      residues += sequence.length;
      if (targets > RELEASE_MAX_TARGETS || residues > RELEASE_MAX_RESIDUES) throw refuseSize();
      for (const [letter, count] of Object.entries(normalised.replaced)) {
        replaced[letter] = (replaced[letter] ?? 0) + count;
      }
      for (const name of Object.keys(attributes)) seenFields.add(name);
      if (taxonomyField !== undefined && typeof attributes[taxonomyField] === 'number') {
        taxids.add(attributes[taxonomyField]);
      }
    },
    total(): Tally {
      const fields = source.fields
        .filter(({ name, isOptional }) => isOptional !== true || seenFields.has(name))
        .map(({ name, type, isTaxonomy }) =>
          isTaxonomy === true ? { name, type, isTaxonomy } : { name, type },
        );
      return { targets, residues, replaced, fields, taxids: [...taxids].sort((a, b) => a - b) };
    },
  };
}

function normalise({ id, text, record }: SourceProtein): NormalisedProtein {
  try {
    return normaliseProtein(text);
  } catch (cause) {
    if (cause instanceof Refusal && record !== undefined) throw refuseRecord(cause, record, id);
    throw cause;
  }
}

function checkId(protein: SourceProtein): void {
  const { id } = protein;
  if (id !== '' && id.length <= FASTA_ID_MAX_CHARACTERS && !/\p{Cc}/u.test(id)) return;
  const fault =
    id === '' ? 'the record has no id' : `the id ${JSON.stringify(id.slice(0, 40))}… is not valid`;
  throw new Refusal(
    'invalid_id',
    `${placeOf(protein)}: ${fault}; an id has 1 to ${FASTA_ID_MAX_CHARACTERS} characters and no control characters.`,
    { ...protein.record?.place },
  );
}

/** The attributes, of which texts may hold line feeds and tabs, but no other control or bidirectional character. */
function printableAttributes({ attributes }: SourceProtein): SourceProtein['attributes'] {
  const texts = Object.entries(attributes).map(([name, value]): [string, AttributeValue] => {
    if (typeof value === 'string') return [name, printableLines(value)];
    return [name, typeof value === 'object' ? value.map(printableLines) : value];
  });
  return Object.fromEntries(texts);
}

function checkAttributes(source: SourceProtein, { attributes }: SpooledProtein): void {
  let characters = 0;
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'number' || typeof value === 'boolean') continue;
    const length =
      typeof value === 'string' ? value.length : value.reduce((sum, item) => sum + item.length, 0);
    characters += length;
    if (length > ATTRIBUTE_MAX_CHARACTERS || characters > ATTRIBUTES_MAX_CHARACTERS) {
      throw new Refusal(
        'attribute_too_long',
        `${placeOf(source)}: the attribute ${name} has ${length} characters; the limits are ` +
          `${ATTRIBUTE_MAX_CHARACTERS} per attribute and ${ATTRIBUTES_MAX_CHARACTERS} per protein.`,
        { ...source.record?.place, attribute: name },
      );
    }
  }
}

function refuseSize(): Refusal {
  return new Refusal(
    'release_too_large',
    `A release can have ${RELEASE_MAX_TARGETS} proteins and ${RELEASE_MAX_RESIDUES} residues. ` +
      'Split the input into several databases.',
  );
}
