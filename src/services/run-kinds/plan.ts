import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import type { CutOffs } from '../../contract/search/selection.js';
import { canonicalSha256 } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import type { SearchEngine, SearchSettings } from '../../search/search-types.js';
import { refuseWithoutSignificance } from '../../search/refusals.js';
import type { CatalogRelease } from '../search/catalog.js';
import { requestedPropagation, type Propagation } from '../search/propagation.js';
import type { RequestContext } from '../context.js';
import { evidenceOfPresented } from '../evidence.js';
import { needAlignments, pickCutOffs, propagationWithinCutOffs, selectByEvidence } from '../select.js';
import {
  resolveSearch,
  type ResolvedSearch,
  type ResolveDependencies,
  type SearchWire,
} from '../search/resolve-search.js';

/** A resolved search as JSON, fixed when its run was accepted. Later defaults and filters do not affect it. */
export interface AcceptedSearch extends Omit<SearchSettings, 'targetSpace'> {
  /** Absent if all candidates are returned. */
  readonly cutOffs?: CutOffs;
  readonly release: Pick<CatalogRelease, 'databaseId' | 'releaseId' | 'slug'>;
  readonly targetSpaceId?: string;
  /** Present if the hits of each query are propagated. */
  readonly propagation?: 'required';
}

/**
 * Accepts the settings of a search.
 * Errors  Refusal `significance_unavailable`, `propagation_unavailable`, `export_not_possible`: settings that the
 *         search itself would refuse, and a cut-off that no candidate could pass
 */
export async function acceptSearch(
  { release, settings, engine }: ResolvedSearch,
  { propagation, ...requestedCutOffs }: CutOffs & Pick<SearchWire, 'propagation'>,
  queryLengths: readonly number[],
): Promise<AcceptedSearch> {
  refuseWithoutSignificance(settings.significance, queryLengths, engine.calibration);
  const cutOffs = pickCutOffs(requestedCutOffs);
  refuseVainCutOffs(cutOffs, settings, engine);
  await requestedPropagation(propagation, settings, engine);
  const { targetSpace, ...searched } = settings;
  const { databaseId, releaseId, slug } = release;
  return {
    ...searched,
    release: { databaseId, releaseId, slug },
    targetSpaceId: targetSpace.id,
    ...(Object.keys(cutOffs).length > 0 && { cutOffs }),
    ...(propagation === 'required' && { propagation }),
  };
}

function refuseVainCutOffs(
  cutOffs: CutOffs,
  { evidence, significance }: Pick<SearchSettings, 'evidence' | 'significance'>,
  { calibration }: SearchEngine,
): void {
  if (needAlignments(cutOffs) && evidence !== 'pairwise_sequence_alignment') {
    throw new Refusal(
      'msa_alignments_missing',
      'Coverage and identity are those of alignments: ask with evidence "pairwise_sequence_alignment".',
      { param: 'evidence' },
    );
  }
  const isBounded = cutOffs.maximum_expected_false_hits !== undefined;
  if (!isBounded || (calibration !== undefined && significance !== 'not_requested')) return;
  throw new Refusal(
    'significance_unavailable',
    'maximum_expected_false_hits needs E-values: of a release with a qualified calibration, and not with ' +
      'significance "not_requested".',
    { param: 'maximum_expected_false_hits' },
  );
}

interface CandidateRow {
  readonly candidates: readonly HomologyCandidate[];
  readonly propagation?: PresentedPropagation;
}

/** Candidates and propagated hits of a row that pass the cut-offs, and the number of the other candidates. */
export function withinCutOffs<Row extends CandidateRow>(
  row: Row,
  cutOffs: CutOffs | undefined,
): Row & { readonly left_out_count?: number } {
  if (cutOffs === undefined) return row;
  const selected = selectByEvidence(row.candidates, evidenceOfPresented, { cutOffs, sort: 'rank' });
  const propagation = row.propagation && propagationWithinCutOffs(row.propagation, cutOffs);
  return {
    ...row,
    candidates: selected.selected,
    left_out_count: selected.leftOutCount,
    ...(propagation && { propagation }),
  };
}

/** Ids of the evidence that the stored rows of a run have; null where there is none. */
interface Evidence {
  readonly calibrationId: string | null;
  readonly qualificationId: string | null;
  readonly walksId: string | null;
}

/** A checkpoint of a run of many queries. */
export interface SearchCheckpoint {
  /** Absent in checkpoints of earlier versions. */
  readonly evidence?: Evidence;
}

/**
 * Returns the checkpoint from which a run continues, with the evidence of the engine.
 * @param fresh  checkpoint of a run without rows
 * Errors  Refusal `calibration_changed` if the stored rows have other evidence, because one result must not mix two
 */
export function continueFrom<Checkpoint extends SearchCheckpoint>(
  stored: Checkpoint | undefined,
  fresh: Checkpoint,
  { release: { slug }, engine: { calibration, qualification } }: Pick<ResolvedSearch, 'release' | 'engine'>,
  propagation?: Propagation,
): Checkpoint {
  const evidence: Evidence = {
    calibrationId: calibration?.id ?? null,
    qualificationId: qualification?.id ?? null,
    walksId: propagation?.walksId ?? null,
  };
  if (stored?.evidence !== undefined && canonicalSha256(stored.evidence) !== canonicalSha256(evidence)) {
    throw new Refusal(
      'calibration_changed',
      `${slug} was calibrated or qualified again since this run began, so that its rows cannot be completed: submit ` +
        'the run again.',
    );
  }
  return { ...(stored ?? fresh), evidence };
}

/**
 * Opens an accepted search again, maybe in another process. Direct searches have priority over it.
 * Errors  Refusal `release_not_found`, `permission_denied` if the release was deleted or made private meanwhile
 */
export async function reopenSearch(
  plan: AcceptedSearch,
  context: RequestContext,
  dependencies: ResolveDependencies,
): Promise<ResolvedSearch> {
  const {
    release,
    targetSpaceId,
    alignments,
    cutOffs: _,
    propagation: __,
    databaseSize,
    queryRange,
    ...settings
  } = plan;
  const selector =
    targetSpaceId === undefined
      ? { database_release_id: release.releaseId }
      : { target_space_id: targetSpaceId };
  const wire: SearchWire = {
    ...settings,
    ...selector,
    ...(databaseSize !== undefined && { database_size: databaseSize }),
    ...(queryRange !== undefined && { query_range: queryRange }),
  };
  const resolved = await resolveSearch(wire, context, dependencies);
  // Several databases may hold the release. The run keeps the database name of its request.
  return {
    ...resolved,
    settings: { ...resolved.settings, ...(alignments && { alignments }) },
    release: { ...resolved.release, ...release },
    engine: { ...resolved.engine, isLowPriority: true },
  };
}
