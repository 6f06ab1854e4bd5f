import type { HomologyCandidateSet } from '../../contract/search/candidate-set.js';
import type { Warning } from '../../contract/grammar/envelope.js';
import { sha256Hex } from '../../canonical.js';
import { inTurns, mapInTurns } from '../../turns.js';
import { emptySelectionSteps, explainEmptySelection } from '../../release/filter/near.js';
import type { TargetSpace } from '../../release/release.js';
import type { SearchEngine, SearchRequest, SearchResult } from '../../search/search-types.js';
import type { CatalogRelease } from './catalog.js';
import { presentCandidate } from './present-candidates.js';
import { summariseEvidence } from './present-evidence.js';
import { semanticProfileId } from './semantic-profile.js';

/*
 * A response in its contract form. Direct responses, results of runs and the JSON of the command line share these
 * members of a search. Each adds the members of its own request and time.
 */

type CandidateSet = HomologyCandidateSet;

/** One query and its search result. */
interface FinishedSearch {
  readonly engine: SearchEngine;
  readonly request: Pick<
    SearchRequest,
    'query' | 'targetSpace' | 'evidence' | 'significance' | 'databaseSize' | 'queryRange'
  >;
  readonly result: SearchResult;
}

/** A finished search: everything that its response is made of. */
export interface Searched extends FinishedSearch {
  readonly database: SearchedDatabase;
  readonly serverVersion: string;
}

/** The searched release and the database of the request. */
export type SearchedDatabase = Pick<CatalogRelease, 'databaseId' | 'releaseId' | 'slug'>;

/** Members of one query that equal searches share. */
type FoundAnswer = Pick<
  CandidateSet,
  'query' | 'candidates' | 'evidence_summary' | 'is_result_limit_reached' | 'result_sha256'
>;

/** Members that equal searches share. */
export interface LastingAnswer extends FoundAnswer, Pick<CandidateSet, 'database' | 'ranking' | 'warnings'> {
  readonly execution: Omit<CandidateSet['execution'], 'created_at'>;
}

/** The shared members with time and receipt of an execution. */
type ExecutedAnswer = FoundAnswer &
  Pick<CandidateSet, 'database' | 'execution' | 'ranking' | 'receipt' | 'warnings'>;

/** Members of one query of a batch. Its run has the members that all queries share. Errors  the signal's reason */
export async function presentAnswer({ engine, request, result }: FinishedSearch): Promise<FoundAnswer> {
  const { candidates, queryLength } = result;
  return {
    query: presentQuery(request, result),
    candidates: await mapInTurns(candidates, (candidate) =>
      presentCandidate(candidate, queryLength, engine.release),
    ),
    evidence_summary: summariseEvidence(request, result),
    is_result_limit_reached: result.isResultLimitReached,
    result_sha256: result.resultSha256,
  };
}

/** All members that depend neither on the caller nor on the time. Errors  the signal's reason */
export async function presentSearch(searched: Searched): Promise<LastingAnswer> {
  const { database, engine, request, result, serverVersion } = searched;
  const answer = await presentAnswer(searched);
  const { targetSpace } = request;
  const hints = isEmpty(targetSpace)
    ? await inTurns(emptySelectionSteps(targetSpace.canonicalFilter, engine.release))
    : undefined;
  return {
    candidates: answer.candidates,
    database: presentDatabase(database, engine, targetSpace),
    evidence_summary: answer.evidence_summary,
    execution: presentExecution(engine, result, serverVersion),
    is_result_limit_reached: answer.is_result_limit_reached,
    query: answer.query,
    ranking: presentRanking(result.policy),
    result_sha256: answer.result_sha256,
    warnings: searchWarnings(engine, targetSpace, result.kernelRetry?.servedBy, hints),
  };
}

/** @param createdAt end of the execution */
export async function presentExecuted(
  searched: Searched,
  createdAt: string,
  receipt: CandidateSet['receipt'],
): Promise<ExecutedAnswer> {
  const { result_sha256, warnings, ...answer } = await presentSearch(searched);
  const execution = { created_at: createdAt, ...answer.execution };
  return { ...answer, execution, receipt, result_sha256, warnings };
}

function presentRanking({ isExhaustive }: SearchResult['policy']): CandidateSet['ranking'] {
  return {
    comparability: 'within_query_only',
    order: 'ascending',
    primary_measurement: 'maxsim.bidirectional',
    scope: 'resolved_policy_frontier',
    selection: isExhaustive ? 'nearest' : 'best_evidence',
    tie_breakers: [{ field: 'target.id', order: 'ascending' }],
  };
}

/** Selection of the list by a prefilter policy, which follows its measured losses in one sentence. */
const SELECTED_BY_EVIDENCE =
  'of the targets that it measures, it lists the best by E-value, in the order of their distances';

function presentQuery(
  { query: { sequence, normalizationId }, queryRange }: Pick<SearchRequest, 'query' | 'queryRange'>,
  { relatives: homologs }: Pick<SearchResult, 'relatives'>,
): CandidateSet['query'] {
  return {
    kind: 'protein_sequence',
    normalization_id: normalizationId,
    normalized_length: sequence.length,
    ...(queryRange && { range: { ...queryRange } }),
    ...(homologs && { relative_count: homologs.count }),
    sha256: sha256Hex(sequence),
  };
}

export function presentDatabase(
  { databaseId, releaseId, slug }: SearchedDatabase,
  engine: SearchEngine,
  targetSpace: TargetSpace,
): CandidateSet['database'] {
  return {
    corpus_snapshot_id: engine.release.manifest.corpus_snapshot_id,
    id: databaseId,
    release_id: releaseId,
    searched_residue_count: targetSpace.searchedResidueCount,
    searched_target_count: targetSpace.searchedTargetCount,
    slug,
    ...(targetSpace.id !== undefined && {
      canonical_filter_sha256: targetSpace.canonicalFilterSha256,
      target_space_id: targetSpace.id,
    }),
  };
}

/** How a search was served: policy and retry. */
type Served = Pick<SearchResult, 'policy' | 'kernelRetry'>;

export function presentExecution(
  { backend, release }: SearchEngine,
  { policy, kernelRetry }: Served,
  serverVersion: string,
): LastingAnswer['execution'] {
  return {
    engine: kernelRetry?.servedBy ?? `${backend.name}:${backend.variant}`,
    engine_release: backend.version,
    semantic_profile_id: semanticProfileId(release.manifest),
    server_version: serverVersion,
    policy: {
      is_deterministic: true,
      is_exhaustive: policy.isExhaustive,
      is_fallback: policy.isFallback,
      outcome: policy.isExhaustive ? 'complete_exact' : 'complete_approximate',
      requested_guarantee: policy.requestedGuarantee,
      resolved_guarantee: policy.resolvedGuarantee,
      resolution_reason: policy.resolutionReason,
      ...(policy.sampled && {
        policy_id: policy.id,
        qualification_id: policy.sampled.qualificationId,
        nearest_count: policy.sampled.nearestCount,
        striking_count: policy.sampled.localCount,
        known_losses: `${policy.sampled.losses}; ${SELECTED_BY_EVIDENCE}`,
      }),
    },
  };
}

/** Warning about E-values if targets have homologs and the null is not the reference of databases with homologs. */
function homologWarning({ release, calibration }: SearchEngine): Warning | undefined {
  if (release.manifest.relatives === undefined || calibration === undefined) return undefined;
  const { card, pairNull } = calibration;
  const knowsProfiles = pairNull.shape.profiles !== undefined;
  if (knowsProfiles && card.reference !== undefined) return undefined;
  return {
    code: 'e_values_of_families',
    message: knowsProfiles
      ? 'The null model of this database was fitted to its own proteins. Those of 2,716 domains found .8 to 1.1 ' +
        'times the claimed false hits at E = 10 to .01 and 1.8 times at .001.'
      : 'This calibration does not know what two families share: its E-values are too small where they are ' +
        'small. Calibrate the release again.',
    details: { release_id: release.id },
  };
}

/** Warning about E-values of a database that has too few proteins to test the null of its encoder on. */
function untestedWarning({ release, calibration }: SearchEngine): Warning | undefined {
  const use = calibration?.card.reference;
  if (use === undefined || use.holdout.status === 'confirmed') return undefined;
  const factor = Math.exp(use.log_level_error).toFixed(1);
  return {
    code: 'e_values_of_few_proteins',
    message:
      `The database has too few proteins to test its E-values on. They come from ${use.level.pair_count} of its ` +
      `pairs and from the reference of its encoder, and may be wrong by a factor of ${factor}.`,
    details: { release_id: release.id },
  };
}

function isEmpty({ searchedTargetCount }: TargetSpace): boolean {
  return searchedTargetCount === 0;
}

/** Warnings about the E-values of a release. */
export function evidenceWarnings(engine: SearchEngine): readonly Warning[] {
  return [homologWarning(engine), untestedWarning(engine)].filter((warning) => warning !== undefined);
}

/** @param hints those of an empty target space. Default: they are computed without a pause */
export function searchWarnings(
  engine: SearchEngine,
  targetSpace: TargetSpace,
  retriedOn: string | undefined,
  hints?: readonly string[],
): Warning[] {
  const { release, backend, encoder } = engine;
  const warnings = [...evidenceWarnings(engine)];
  if (retriedOn !== undefined) {
    warnings.push({
      code: 'kernels_retried_on_cpu',
      message: 'A GPU failed during this search, and the CPU did its work. The result is the same.',
      details: { device: backend.name, served_by: retriedOn },
    });
  }
  if (encoder.differenceFromCpu !== undefined) {
    warnings.push({
      code: 'encoder_tokens_differ',
      message:
        'The encoder runs on a device that rounds otherwise than the CPU: other machines may find another result.',
      details: { device: encoder.device },
    });
  }
  if (isEmpty(targetSpace)) {
    const explained = hints ?? explainEmptySelection(targetSpace.canonicalFilter, release);
    warnings.push({
      code: 'target_space_empty',
      message: ['No target is eligible under this filter, so nothing was compared', ...explained].join('; '),
      details: { target_space_id: targetSpace.id, hints: explained },
    });
  }
  if (release.manifest.is_simulated) {
    warnings.push({
      code: 'simulated_database',
      message: 'The proteins of this database were simulated; candidates have no biological meaning.',
      details: { title: release.manifest.title },
    });
  }
  return warnings;
}
