import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Fault } from '../errors.js';
import { blosum62Scores } from '../sequence/substitution.js';
import { HOMOLOG_FORM_ID, PROFILES_FILE, TOKENS_FILE } from './format.js';
import { listedFiles, readManifest } from './manifest.js';
import { pathAffine } from './path-affine.js';
import type {
  FilterField,
  PairAffine,
  ProfileAffineManifest,
  Release,
  ReleaseAffine,
  ReleaseManifest,
  TargetTable,
} from './release.js';
import { openTargetTable } from './target-table.js';
import { lineageOf, readTaxonomy, type Taxon } from './taxonomy.js';

/**
 * Opens a release folder for searching. Sizes and the manifest's own digest are checked, the files' digests
 * are not (verify.ts does that): opening costs a read of the tables, and nothing of the tokens.
 * Errors  Fault where a file is missing, has another size, or does not hold what the manifest says
 */
export async function openRelease(directory: string): Promise<Release> {
  const folder = resolve(directory);
  const manifest = await readManifest(folder);
  for (const { path, size_bytes: expected } of listedFiles(manifest)) {
    const size = await stat(join(folder, path)).then(
      (status) => status.size,
      () => 'missing',
    );
    if (size !== expected)
      throw new Fault(`${join(folder, path)} should have ${expected} bytes; it is ${size}.`);
  }
  const taxonomy = manifest.files.taxonomy === undefined ? new Map() : await readTaxonomy(folder);
  const taxaNamed = namesOf(taxonomy);
  const fields = manifest.filter_schema.fields.map(({ name, type, is_taxonomy }): FilterField => {
    return Object.freeze(is_taxonomy ? { name, type, isTaxonomy: true, taxaNamed } : { name, type });
  });
  const { profiles } = manifest.files;
  if (profiles !== undefined && manifest.relatives?.form_id !== HOMOLOG_FORM_ID) {
    throw new Fault(`${folder} has relatives in the form of an earlier version; build it again.`);
  }
  const targets = await openTargetTable(folder, fields, manifest.counts.targets, profiles !== undefined);
  return Object.freeze({
    id: basename(folder),
    directory: folder,
    manifest,
    affine: affineOf(manifest.affine),
    pathAffine: affineOf(pathAffine(manifest)),
    fields: Object.freeze(fields),
    targets,
    tokens: Object.freeze({
      dimension: manifest.encoder.dimension,
      residueStarts: residueStarts(targets, manifest),
      tokens: { path: join(folder, TOKENS_FILE), byteOffset: manifest.files.tokens.values_byte_offset },
      profiles: profiles && { path: join(folder, PROFILES_FILE), byteOffset: profiles.values_byte_offset },
    }),
    lineage: (taxid: number) => lineageOf(taxonomy, taxid).map((taxon) => taxon.taxid),
    taxonName: (taxid: number) => taxonomy.get(taxid)?.name,
  });
}

/** Taxa by name; a genus and its subgenus can share one. Cost  a pass over the taxonomy at the first call */
function namesOf(taxonomy: ReadonlyMap<number, Taxon>): (name: string) => readonly number[] {
  let taxaOf: Map<string, number[]> | undefined;
  return (name) => {
    if (taxaOf === undefined) {
      taxaOf = new Map();
      for (const taxon of taxonomy.values()) {
        const key = taxon.name.toLowerCase();
        taxaOf.set(key, [...(taxaOf.get(key) ?? []), taxon.taxid]);
      }
    }
    return taxaOf.get(name.toLowerCase()) ?? [];
  };
}

export function affineOf({ profile, ...affine }: ReleaseManifest['affine']): ReleaseAffine {
  const withProfiles = profile && Object.freeze({ ...pairAffineOf(profile), profileWeight: profile.weight });
  return Object.freeze({ ...pairAffineOf(affine), withProfiles });
}

function pairAffineOf({
  multiplier,
  offset,
  gap_open: gapOpen,
  gap_extend: gapExtend,
  blosum62,
}: Omit<ReleaseManifest['affine'] | ProfileAffineManifest, 'profile'>): PairAffine {
  const letterScores = blosum62 === undefined ? undefined : blosum62Scores(blosum62);
  return { multiplier, offset, gapOpen, gapExtend, letterScores };
}

function residueStarts(targets: TargetTable, manifest: ReleaseManifest): Uint32Array {
  const starts = new Uint32Array(targets.count + 1);
  let total = 0;
  for (let target = 0; target < targets.count; target += 1) {
    total += targets.length(target);
    starts[target + 1] = total;
  }
  const { residues } = manifest.counts;
  if (total !== residues)
    throw new Fault(`The targets have ${total} residues; the manifest says ${residues}.`);
  return starts;
}
