import type { Encoder } from '../encoder/encoder.js';
import { openProfileEncoder, type HomologSourceDependencies } from '../find-homologs/open.js';
import type { KernelBackend, TokenStore } from '../kernels/kernels.js';
import { openCodebookOf } from '../recall/codebook-sidecar.js';
import { openEvidence } from '../recall/evidence.js';
import type { Release } from '../release/release.js';
import { openRange, type TargetRange } from '../search/partitions/scan.js';
import type { SearchEngine } from '../search/search-types.js';
import { openCalibration } from '../significance/sidecar.js';

/** Open values that an engine is assembled from. The caller owns the encoder and the homolog sources. */
export interface EngineDependencies {
  readonly release: Release;
  /** The encoder version that made the release. */
  readonly encoder: Encoder;
  readonly backend: KernelBackend;
  /** Threads for the kernels. 1.. */
  readonly threads: number;
  readonly homologSources: HomologSourceDependencies;
}

/** An engine whose tokens are opened separately, as a partition or as a whole. */
export type EngineWithoutTokens = Omit<SearchEngine, 'store'>;

/** Members of an engine that outlive its token store and its evidence. */
export type LoadedRelease = Pick<SearchEngine, 'release' | 'encoder' | 'profileEncoder'>;

/**
 * Opens a release for searching: its evidence, the codebook of its policy, the profile encoder of its queries and all
 * of its tokens. The caller closes `store`.
 * Errors  those of openWithoutTokens and openTokens
 */
export async function openEngine(dependencies: EngineDependencies): Promise<SearchEngine> {
  const engine = await openWithoutTokens(dependencies);
  return { ...engine, store: await openTokens(dependencies.release, dependencies.backend) };
}

/**
 * Opens everything of an engine but its tokens.
 * Errors  those of withEvidence
 */
export function openWithoutTokens(dependencies: EngineDependencies): Promise<EngineWithoutTokens> {
  const { backend, threads, release } = dependencies;
  return withEvidence({ ...loadedRelease(dependencies), backend, threads }, release.directory);
}

/**
 * Opens a release for measuring its recall or its significance: with its calibration and without its approximate
 * policy, whose card the measurement replaces. The caller closes `store`.
 * Errors  Fault where the calibration or the tokens are damaged
 */
export async function openMeasuringEngine({
  release,
  ...parts
}: Omit<EngineDependencies, 'homologSources'>): Promise<SearchEngine> {
  const calibration = await openCalibration(release.directory, knownOf(release));
  return { ...parts, release, calibration, store: await openTokens(release, parts.backend) };
}

/** Adds the profile encoder, which exists where the targets of the release have homologs. */
export function loadedRelease({
  release,
  encoder,
  homologSources,
}: Pick<EngineDependencies, 'release' | 'encoder' | 'homologSources'>): LoadedRelease {
  return { release, encoder, profileEncoder: openProfileEncoder(release.manifest, encoder, homologSources) };
}

/**
 * Opens the tokens of a release, or those of one range of its targets.
 * Errors  those of the backend
 */
export function openTokens(
  release: Release,
  backend: KernelBackend,
  range?: TargetRange,
): Promise<TokenStore> {
  return range === undefined ? backend.open(release.tokens) : openRange(release, backend, range);
}

/**
 * Adds the calibration and the approximate policy that lie beside a release, with the codebook that the policy needs:
 * an engine whose policy uses a codebook always has it.
 * @param directory  of a copy of the release; its sidecar folder has the evidence
 * Errors  Fault where a card or a codebook is damaged
 */
export async function withEvidence<Engine extends Pick<SearchEngine, 'release'>>(
  engine: Engine,
  directory: string,
): Promise<Engine & Pick<SearchEngine, 'calibration' | 'qualification' | 'codebook'>> {
  const { release } = engine;
  const { calibration, qualification } = await openEvidence(directory, knownOf(release));
  const codebook = qualification && (await openCodebookOf(directory, qualification.card.codes, release));
  return Object.freeze({ ...engine, calibration, qualification, codebook });
}

/** Identities of the evidence that searches of a release rest on; null where the release has none. */
export interface EvidenceIds {
  readonly calibrationId: string | null;
  readonly qualificationId: string | null;
  /** Whether the policy scores targets by a codebook, which loses more than sampled rows do. */
  readonly usesCodebook: boolean;
}

/**
 * Reads which evidence searches of a release rest on.
 * Errors  those of openEvidence
 */
export async function readEvidenceIds(
  directory: string,
  release: { readonly id: string; readonly targetCount: number },
): Promise<EvidenceIds> {
  const { calibration, qualification } = await openEvidence(directory, release);
  return {
    calibrationId: calibration?.id ?? null,
    qualificationId: qualification?.id ?? null,
    usesCodebook: qualification?.card.codes !== undefined,
  };
}

function knownOf({ id, targets }: Release): { readonly id: string; readonly targetCount: number } {
  return { id, targetCount: targets.count };
}
