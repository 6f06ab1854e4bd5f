import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Encoder } from '../encoder/encoder.js';
import { canonicalJson } from '../canonical.js';
import { PROFILE_WIDTH } from '../kernels/kernels.js';
import { REUSED_RELEASES_MAX_COUNT } from '../limits.js';
import { ifAbsent } from '../errors.js';
import type { FoundRelease } from '../release/catalog.js';
import { textColumn } from '../release/columns.js';
import { MANIFEST_FILE, PROFILES_FILE, TARGETS_FILE, TOKENS_FILE } from '../release/format.js';
import { hashFile } from '../release/hashed-file.js';
import {
  servesQueries,
  type HomologsManifest,
  type ReleaseManifest,
  type RowsEntry,
  type TargetHomologs,
} from '../release/release.js';
import { openRowReader, type RowReader } from '../release/rows/row-reader.js';
import { readTableBatches } from '../release/table-file.js';
import { targetHomologsOf } from '../release/target-table.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';
import { readProteinSpool } from './protein-spool.js';
import type { BuiltTokens, ProteinTokens } from './protein-tokens.js';
import { describedBy } from './release-stages.js';
import { createSequenceTable, type SequenceTable } from './sequence-table.js';

/** Tokens of a build's sequences that earlier releases have. */
export interface KnownTokens {
  readonly isEmpty: boolean;
  /** Whether earlier releases have the tokens of every sequence of the build. */
  readonly isComplete: boolean;
  readonly has: (sequence: string) => boolean;
  /** Reads the tokens of a sequence; undefined if no release has them. Errors  Fault or errors of the file system */
  read(sequence: string): Promise<BuiltTokens | undefined>;
  /** One sentence for each release that could not be used. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

export interface ReuseOptions {
  readonly spoolPath: string;
  /** Number of residues in the build. */
  readonly residues: number;
  readonly slug: string;
  readonly encoder: Pick<Encoder, 'digest'>;
  /** Homolog source and rules of the tokens; undefined for tokens of the encoder alone. */
  readonly relatives?: Omit<HomologsManifest, 'counts'>;
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

/** A release is not read if the build shares less than this part of its residues. */
const LEAST_SHARE = 1 / 100;
const UNKNOWN = 0;
/** A place is (source + 1) × 2³² + target, exact in a double. */
const SOURCE_UNIT = 2 ** 32;

/**
 * Finds the sequences of a build in earlier releases: those of its own database first, newest first.
 *
 * Tokens depend only on the sequence, the encoder, the homolog source and the rules. All of them are compared by
 * digest, and the files of a release are hashed before use, so reused tokens equal new ones. Releases from precomputed
 * embeddings or from alignments and families are never used, because their tokens depend on more than the sequence.
 * Errors  errors of the file system; the signal's reason
 * Cost    a digest for each protein of the build and of the examined releases; a read of the releases that are used;
 *         memory of 32 to 64 bytes per distinct sequence, and 8 to 24 per target of these releases
 */
export async function findKnownTokens(
  releases: readonly FoundRelease[],
  options: ReuseOptions,
): Promise<KnownTokens> {
  const candidates = await inOrder(releases.filter(isCandidateFor(options)), options.slug);
  const search: Search = { places: createSequenceTable(), sources: [] };
  const notes: string[] = [];
  if (candidates.length > 0) await notePlaces(options.spoolPath, search.places);
  let missingCount = search.places.count;
  for (const release of candidates) {
    if (missingCount === 0) break;
    options.signal?.throwIfAborted();
    const { source, note } = await openSource(release, search, options).catch(ifAbsent(REMOVED));
    search.sources.push(source);
    missingCount -= source?.sequenceCount ?? 0;
    if (note !== undefined) notes.push(note);
  }
  const sources = search.sources.filter((source) => source !== undefined);
  return {
    isEmpty: sources.length === 0,
    isComplete: sources.length > 0 && missingCount === 0,
    notes,
    has: (sequence) => !isMissing(search, search.places.get(sequence)),
    async read(sequence) {
      const place = search.places.get(sequence) ?? UNKNOWN;
      if (isMissing(search, place)) return undefined;
      return search.sources[sourceOf(place)]!.read(place % SOURCE_UNIT, sequence.length);
    },
    close: async () => void (await Promise.all(sources.map((source) => source.close()))),
  };
}

/** Wraps an encoder so that it encodes only sequences without known tokens. */
export function reusingEncoder(encoder: Encoder, tokensOfReleases: KnownTokens): Encoder {
  if (tokensOfReleases.isEmpty) return encoder;
  return {
    ...encoder,
    async encode(sequences, options) {
      // Calls the encoder before the first await, so that concurrent calls reach it in order.
      const missing = sequences.filter((sequence) => !tokensOfReleases.has(sequence));
      const [encoded, reused] = await Promise.all([
        missing.length === 0 ? [] : encoder.encode(missing, options),
        Promise.all(sequences.map((sequence) => tokensOfReleases.read(sequence))),
      ]);
      let next = 0;
      return reused.map((built) => built?.tokens ?? encoded[next++]);
    },
  };
}

/** Wraps a token source so that it encodes only proteins without known tokens. */
export function reusingTokens(source: ProteinTokens, tokensOfReleases: KnownTokens): ProteinTokens {
  if (tokensOfReleases.isEmpty) return source;
  return {
    ...source,
    async encode(proteins, signal) {
      const missing = proteins.filter(({ sequence }) => !tokensOfReleases.has(sequence));
      const [encoded, reused] = await Promise.all([
        missing.length === 0 ? [] : source.encode(missing, signal),
        Promise.all(proteins.map(({ sequence }) => tokensOfReleases.read(sequence))),
      ]);
      let next = 0;
      return reused.map((built) => built ?? encoded[next++]);
    },
  };
}

/** Places of the build's sequences in the releases examined so far. */
interface Search {
  readonly places: SequenceTable;
  /** One item for each examined release; undefined for a release that is not used. */
  readonly sources: (Source | undefined)[];
}

interface Source extends TokenRows {
  /** Distinct sequences that come from this release. */
  readonly sequenceCount: number;
}

/** Reads tokens by the index of their target. */
interface TokenRows {
  read(target: number, length: number): Promise<BuiltTokens>;
  close(): Promise<void>;
}

async function notePlaces(spoolPath: string, places: SequenceTable): Promise<void> {
  for await (const { protein } of readProteinSpool(spoolPath)) places.set(protein.sequence, UNKNOWN);
}

function sourceOf(place: number): number {
  return Math.floor(place / SOURCE_UNIT) - 1;
}

/** Whether no release examined so far provides the sequence. */
function isMissing({ sources }: Search, place: number | undefined): boolean {
  if (place === undefined || place === UNKNOWN) return true;
  const source = sourceOf(place);
  return source < sources.length && sources[source] === undefined;
}

function isCandidateFor({
  encoder,
  residues,
  relatives: homologs,
}: ReuseOptions): (release: FoundRelease) => boolean {
  if (homologs !== undefined && !servesQueries(homologs.background)) return () => false;
  const expected = homologs && canonicalJson(homologs);
  return ({ manifest }) =>
    manifest.encoder.sha256 === encoder.digest &&
    manifest.normalization_id === NORMALIZATION_ID &&
    homologsOf(manifest) === expected &&
    manifest.embeddings === undefined &&
    manifest.counts.residues * LEAST_SHARE <= residues;
}

function homologsOf(manifest: ReleaseManifest): string | undefined {
  const { relatives: homologs } = describedBy(manifest);
  return homologs && canonicalJson(homologs);
}

async function inOrder(releases: readonly FoundRelease[], slug: string): Promise<readonly FoundRelease[]> {
  const dated = await Promise.all(
    releases.map(async (release) => ({
      release,
      isOwn: release.slug === slug,
      builtMs: await builtMsOf(release),
    })),
  );
  return dated
    .sort((a, b) => Number(b.isOwn) - Number(a.isOwn) || b.builtMs - a.builtMs)
    .slice(0, REUSED_RELEASES_MAX_COUNT)
    .map(({ release }) => release);
}

async function builtMsOf({ directory }: FoundRelease): Promise<number> {
  const { mtimeMs } = await stat(join(directory, MANIFEST_FILE)).catch(ifAbsent({ mtimeMs: 0 }));
  return mtimeMs;
}

/** A release may be removed after the scan that found it. Then its files are absent until they are opened. */
const REMOVED: { readonly source?: Source; readonly note?: string } = {};

/** Places the still missing sequences that the release has, and opens it. A damaged release gives a note instead. */
async function openSource(
  release: FoundRelease,
  search: Search,
  { onBytes }: ReuseOptions,
): Promise<{ readonly source?: Source; readonly note?: string }> {
  const { directory, manifest, slug, id } = release;
  const { targets, tokens, profiles } = manifest.files;
  const note = `Release ${id.slice(0, 16)} of ${slug} is damaged and was not reused (gloaming index verify).`;
  if (!(await isIntact(join(directory, TARGETS_FILE), targets.sha256))) return { note };
  const placed = await placeSequences(directory, search, profiles !== undefined);
  if (placed.residues < manifest.counts.residues * LEAST_SHARE) return {};
  // The files are opened now and stay readable even if the release is removed during the build.
  const rows = await openRows(directory, manifest, placed);
  const files = [
    { name: TOKENS_FILE, entry: tokens },
    ...(profiles ? [{ name: PROFILES_FILE, entry: profiles }] : []),
  ];
  const total = files.reduce((sum, { entry }) => sum + entry.size_bytes, 0);
  let done = 0;
  const report = (bytes: number): void => onBytes?.((done += bytes), total);
  for (const { name, entry } of files) {
    if (await isIntact(join(directory, name), entry.sha256, report)) continue;
    await rows.close();
    return { note };
  }
  return { source: { ...rows, sequenceCount: placed.sequences } };
}

async function openRows(
  directory: string,
  { encoder, files: { tokens, profiles } }: ReleaseManifest,
  { starts, homologSets }: Placed,
): Promise<TokenRows> {
  const open = (
    name: string,
    { values_byte_offset: byteOffset }: RowsEntry,
    dimension: number,
  ): Promise<RowReader> => openRowReader({ tokens: { path: join(directory, name), byteOffset }, dimension });
  const values = await open(TOKENS_FILE, tokens, encoder.dimension);
  const profile = profiles && (await open(PROFILES_FILE, profiles, PROFILE_WIDTH));
  return {
    async read(target, length) {
      const start = starts[target];
      const plain = { values: await values.read(start, length), length };
      if (profile === undefined) return { tokens: plain, relatives: 0 };
      const { relatives: homologs, effectiveSequences } = homologSets[target];
      return {
        tokens: { ...plain, profile: await profile.read(start, length), effectiveSequences },
        relatives: homologs,
      };
    },
    async close() {
      await values.close();
      await profile?.close();
    },
  };
}

/** Sequences and residues that a release provides; by target, the row of its first residue and its homolog counts. */
interface Placed {
  readonly sequences: number;
  readonly residues: number;
  readonly starts: readonly number[];
  /** Empty for a release without homologs. */
  readonly homologSets: readonly TargetHomologs[];
}

/** Sets the place of each sequence of the build that this release has and no earlier source provides. */
async function placeSequences(directory: string, search: Search, hasProfiles: boolean): Promise<Placed> {
  const { places, sources } = search;
  const [starts, homologSets]: [number[], TargetHomologs[]] = [[], []];
  let [sequences, residues, nextRow] = [0, 0, 0];
  for await (const batch of readTableBatches(join(directory, TARGETS_FILE))) {
    const sequenceAt = textColumn([batch.column('sequence')], 'latin1');
    const targetHomologs = hasProfiles ? targetHomologsOf((name) => [batch.column(name)]) : undefined;
    for (let row = 0; row < batch.rowCount; row += 1) {
      const sequence = sequenceAt(row);
      const place = places.get(sequence);
      if (place !== undefined && isMissing(search, place)) {
        places.set(sequence, (sources.length + 1) * SOURCE_UNIT + starts.length);
        sequences += 1;
        residues += sequence.length;
      }
      starts.push(nextRow);
      if (targetHomologs !== undefined) homologSets.push(targetHomologs(row));
      nextRow += sequence.length;
    }
  }
  return { sequences, residues, starts, homologSets };
}

async function isIntact(path: string, sha256: string, onBytes?: (bytes: number) => void): Promise<boolean> {
  return hashFile(path, onBytes).then(
    (digest) => digest.sha256 === sha256,
    () => false,
  );
}
