import { writing } from '../build-release/writing.js';
import type { ApplianceConfig } from '../config.js';
import type { Encoder } from '../encoder/encoder.js';
import { readEvidenceIds } from '../engine/open-engine.js';
import { assert, Refusal } from '../errors.js';
import { openAlignments } from '../find-homologs/alignments.js';
import {
  addHomologSource as addSource,
  estimateHomologSource,
  homologSourceDatabase,
} from '../find-homologs/homolog-sources.js';
import { findKeptIndex, indexBytes, keepIndex } from '../find-homologs/kept-index.js';
import { requireSource } from '../find-homologs/source-rows.js';
import { sampleHomologs } from '../find-homologs/sample.js';
import { releaseDirectory, type FoundRelease } from '../release/catalog.js';
import { openRelease } from '../release/open.js';
import type { HomologSource } from '../release/release.js';
import { readCalibrationCard } from '../significance/sidecar.js';
import type { IndexCatalog } from './catalog.js';
import { openHomologs, type OpenHomologs } from './cluster/homologs.js';
import type { HomologsSampled, PipelineEvents } from './events/notices.js';

export { homologOf } from '../find-homologs/search.js';
export { openHomologRows } from '../find-homologs/source-rows.js';
export { listUnindexedSources } from '../find-homologs/homolog-sources.js';

/** Homolog source of a build's proteins. */
export interface HomologOptions {
  /** Name of a database or homolog source, `self`, `none`, or `auto`: a sample decides between `self` and `none`. */
  readonly homologs: string;
  /** Folder of given alignments; excludes any other source. */
  readonly alignments?: string;
  /** Digest of an input of families, whose members are the homologs; excludes any other source. */
  readonly families?: string;
}

/**
 * Refuses options that name two sources.
 * Errors  Refusal `invalid_option`
 */
export function checkHomologOptions({ homologs, alignments, families }: HomologOptions): void {
  if (families !== undefined && (alignments !== undefined || homologs !== 'none')) {
    throw new Refusal(
      'invalid_option',
      'The input has families, whose members are the homologs: leave out --homologs and --alignments.',
    );
  }
  if (alignments === undefined || homologs === 'none') return;
  throw new Refusal(
    'invalid_option',
    'Homologs come from --homologs or from --alignments; name one of them.',
  );
}

/** Whether homologs are searched among the proteins themselves: then a release without homologs is built first. */
export function isOfItself({ homologs }: Pick<HomologOptions, 'homologs'>): boolean {
  return homologs === 'self' || homologs === 'auto';
}

/** Replaces `auto` by `none` where alignments or families are given, or where no search with E-values is possible. */
export function settledHomologs(
  { homologs, alignments, families }: HomologOptions,
  {
    embeddings,
    calibrates,
    shards,
  }: { readonly embeddings?: string; readonly calibrates: boolean; readonly shards?: unknown },
): string {
  const isSettled =
    alignments !== undefined ||
    families !== undefined ||
    embeddings !== undefined ||
    !calibrates ||
    shards !== undefined;
  return homologs === 'auto' && isSettled ? 'none' : homologs;
}

/*
 * Thresholds of `auto`. Measured on development domains, as the share of family pairs before the first false one, of
 * superfamily pairs likewise, and of pairs at one error per query by E-value. The first triple is without homologs.
 * - 560 domains, a fifth with homologs: .41 .06 .17 and .41 .08 .20.
 * - 2,239 domains, nearly half with homologs: .45 .07 .16 and .51 .11 .24.
 * - 8,953 domains, two thirds with homologs: .60 .07 .14 and .71 .16 .22.
 *
 * A small share is enough. Where no domain has a homolog, .07 becomes .06.
 */
const SAMPLED_PROTEINS = 100;
const LEAST_PROTEINS = 1_000;
const LEAST_RELATED_SHARE = 0.25;
/** `auto` never starts a longer search. Unit: ms */
const LONGEST_MS = 3_600_000;

/**
 * Decides whether enough proteins of a database have homologs among the others, and whether the search for all of them
 * takes at most an hour. Notice: `homologs_sampled`.
 * Errors  those of openBuildHomologs but `significance_unavailable`: a release without calibration has no homologs
 */
export async function haveOwnHomologs(
  plain: FoundRelease,
  slug: string,
  encoder: Encoder,
  catalog: IndexCatalog,
  events: PipelineEvents,
): Promise<boolean> {
  const { signal, onNotice } = events;
  const { directory, manifest } = plain;
  const { targets } = manifest.counts;
  if (targets < LEAST_PROTEINS || (await readCalibrationCard(directory)) === undefined) return false;
  const opened = await openBuildHomologs({ homologs: 'self' }, plain, encoder, catalog, events);
  assert(opened !== undefined, 'a database that is its own homolog source has one');
  try {
    const release = await openRelease(directory);
    const { finder } = opened.buildHomologs;
    const sample = await sampleHomologs(release.targets, finder, SAMPLED_PROTEINS, signal);
    const decision = decisionOf(sample);
    onNotice?.({ kind: 'homologs_sampled', slug, ...sample, decision });
    return decision === 'search_all';
  } finally {
    await opened.close();
  }
}

function decisionOf({
  proteins,
  related,
  allMs,
}: Pick<HomologsSampled, 'proteins' | 'related' | 'allMs'>): HomologsSampled['decision'] {
  if (related < LEAST_RELATED_SHARE * proteins) return 'too_few';
  return allMs > LONGEST_MS ? 'too_slow' : 'search_all';
}

/**
 * Rounds of mmseqs. A third round finds 4 % more pairs at one error, .013 more before the first false hit. But of 971
 * domains, two then drift to an inserted neighbour: 13 times the claimed false hits at E = .001.
 */
const MMSEQS_ROUNDS = 2;

/**
 * Opens the homolog source of a build; undefined where its proteins are encoded without homologs. A source for mmseqs
 * gets its indexes here, before tasks share them. Notice: `homolog_index`.
 * @param own  the release without homologs that the build has made or found: the meaning of `self`
 * Errors  Refusal `background_not_found`, `encoder_changed`, `significance_unavailable`, `tool_missing`,
 *         `invalid_alignment`
 */
export async function openBuildHomologs(
  { homologs, alignments, families }: HomologOptions,
  own: FoundRelease | undefined,
  encoder: Encoder,
  catalog: IndexCatalog,
  events: PipelineEvents,
): Promise<OpenHomologs | undefined> {
  const { config } = catalog;
  if (alignments !== undefined) {
    const { sha256 } = await openAlignments(alignments);
    return openHomologs({ method: 'alignments', sha256 }, { encoder, config, alignments });
  }
  if (families !== undefined)
    return openHomologs({ method: 'families', sha256: families }, { encoder, config });
  if (homologs === 'none') return undefined;
  const isSelf = isOfItself({ homologs });
  assert(own !== undefined || !isSelf, 'a build of itself has made or found its release');
  const plain = isSelf ? own : plainReleaseOf(homologs, encoder, catalog);
  const homologSource =
    plain === undefined ? await nameSource(homologs, encoder, config) : await nameRelease(plain);
  if (homologSource.method === 'mmseqs') await keepHomologIndex(config, homologSource.name, events);
  return openHomologs(homologSource, { encoder, config });
}

/** A homolog source to make of FASTA files. */
interface HomologSourceRequest {
  readonly fasta: readonly string[];
  readonly name: string;
  readonly isEstimate: boolean;
  /** Whether to keep its k-mer indexes beside it. */
  readonly keepsIndex: boolean;
}

/**
 * Makes a homolog source of FASTA files. Returns its number of sequences, or undefined where only the estimate was
 * asked for. Notices: `homolog_source_estimated`, `homolog_index`.
 * Errors  those of estimateHomologSource, addHomologSource and `writing`; the signal's reason
 */
export async function addHomologSource(
  config: Pick<ApplianceConfig, 'indexesFolder' | 'threads'>,
  { fasta, name, isEstimate, keepsIndex }: HomologSourceRequest,
  events: PipelineEvents,
): Promise<number | undefined> {
  const { bytes } = await estimateHomologSource(fasta);
  events.onNotice?.({
    kind: 'homolog_source_estimated',
    bytes,
    indexBytes: keepsIndex ? indexBytes(bytes) : 0,
  });
  if (isEstimate) return undefined;
  const { sequences } = await writing(config.indexesFolder, () =>
    addSource(config.indexesFolder, name, fasta, events.signal),
  );
  if (keepsIndex) await keepHomologIndex(config, name, events);
  return sequences;
}

/**
 * Makes the k-mer indexes of a homolog source if it has none for the installed mmseqs. Without them, every search makes
 * its own. Notice: `homolog_index`, unless the indexes are there already.
 * Errors  Refusal `background_not_found`, `tool_missing`; the signal's reason. Too little disk and a failure of mmseqs
 *         are values of the notice
 * @returns whether the indexes were there already
 */
export async function keepHomologIndex(
  { indexesFolder, threads }: Pick<ApplianceConfig, 'indexesFolder' | 'threads'>,
  name: string,
  { signal, onNotice }: PipelineEvents,
): Promise<boolean> {
  const { version } = await requireSource(name, indexesFolder, `There is no homolog source ${name}. `);
  const database = homologSourceDatabase(indexesFolder, name);
  if ((await findKeptIndex(database, version)) !== undefined) return true;
  const outcome = await keepIndex(database, version, { threads, signal });
  onNotice?.({ kind: 'homolog_index', name, outcome });
  return false;
}

/** Returns the newest release of a database whose tokens are those of the encoder alone. */
function plainReleaseOf(
  name: string,
  { digest }: Encoder,
  { table, config }: IndexCatalog,
): FoundRelease | undefined {
  const row = table
    .releases(name)
    .find(({ manifest }) => manifest.relatives === undefined && manifest.encoder.sha256 === digest);
  return row && { ...row, slug: name, directory: releaseDirectory(config.indexesFolder, name, row.id) };
}

async function nameRelease({ id, directory, manifest }: FoundRelease): Promise<HomologSource> {
  const measured = { id, targetCount: manifest.counts.targets };
  const { calibrationId, qualificationId, usesCodebook } = await readEvidenceIds(directory, measured);
  if (calibrationId === null) {
    throw new Refusal(
      'significance_unavailable',
      `Homologs are selected by E-value, and release ${id} has none: calibrate it with ` +
        `"gloaming index calibrate ${id}".`,
    );
  }
  return {
    method: 'search',
    release_id: id,
    calibration_id: calibrationId,
    // A codebook prefilter loses distant homologs, which profiles are made of.
    ...(qualificationId !== null && !usesCodebook && { qualification_id: qualificationId }),
  };
}

async function nameSource(
  name: string,
  { card }: Encoder,
  { indexesFolder }: ApplianceConfig,
): Promise<HomologSource> {
  const { sha256, version } = await requireSource(
    name,
    indexesFolder,
    `There is no database ${name} by the encoder ${card.id} and no homolog source of that name. ` +
      '"gloaming index list" lists the databases; ',
  );
  return { method: 'mmseqs', name, sha256, version, rounds: MMSEQS_ROUNDS };
}
