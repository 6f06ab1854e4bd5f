import type { AnnotateRunSummary, ProteinAnnotation } from '../../contract/runs/run-annotations.js';
import { canonicalSha256, sha256Hex } from '../../canonical.js';
import type { AnnotatedProtein, Domain } from '../../domains/domain.js';
import { findDomains } from '../../domains/find.js';
import { Refusal } from '../../errors.js';
import { batchEnd, largestBatchSize } from '../../search/batches.js';
import { planSearch } from '../../search/plan.js';
import type { SearchEngine } from '../../search/search-types.js';
import { NORMALIZATION_ID } from '../../sequence/protein.js';
import { defineRunKind, type RunKind } from '../runs/run-kind.js';
import { presentDatabase, presentExecution, searchWarnings } from '../search/present-search.js';
import { resolveSearch } from '../search/resolve-search.js';
import { searchTraces, toolsOf } from '../search/traces.js';
import type { BatchSearchRunDependencies } from './batch.js';
import {
  acceptSearch,
  continueFrom,
  reopenSearch,
  type AcceptedSearch,
  type SearchCheckpoint,
} from './plan.js';
import {
  packedLength,
  packQueries,
  readManagedQueries,
  readPackedQuery,
  unpackQueries,
  type PackedQueries,
} from './queries.js';

interface Plan extends AcceptedSearch {
  readonly queries: PackedQueries;
  /** Largest E-value of a domain. */
  readonly maxEValue: number;
  readonly rounds: number;
}

interface Checkpoint extends SearchCheckpoint {
  readonly doneCount: number;
  readonly annotatedCount: number;
  readonly domainCount: number;
  readonly uncoveredCount: number;
  /** Chain of the digests of the finished rows. */
  readonly resultSha256: string;
}

const FRESH: Checkpoint = {
  doneCount: 0,
  annotatedCount: 0,
  domainCount: 0,
  uncoveredCount: 0,
  resultSha256: sha256Hex(''),
};
/** Proteins that are searched together. A crash loses no more of them. */
const PACK_PROTEINS = 32;

/** `homology.annotate`: the domains of many proteins, as `gloaming annotate` finds them. */
export function annotateRuns(dependencies: BatchSearchRunDependencies): RunKind {
  return defineRunKind<'homology.annotate', Plan>({
    key: 'homology.annotate',
    async prepare(input, context) {
      const { queries, fileIds } = await readManagedQueries(input, context, dependencies.files);
      const { maximum_expected_false_hits: maxEValue, rounds, guarantee, limit, ...selector } = input;
      const { database, database_release_id, filter, target_space_id } = selector;
      const wire = {
        database,
        database_release_id,
        filter,
        target_space_id,
        guarantee,
        limit,
        evidence: 'pairwise_sequence_alignment',
        significance: 'if_available',
      } as const;
      const resolved = await resolveSearch(wire, context, dependencies);
      refuseWithoutEValues(resolved.engine, resolved.release.slug);
      const lengths = queries.map(({ sequence }) => sequence.length);
      const plan = {
        ...(await acceptSearch(resolved, {}, lengths)),
        queries: await packQueries(queries),
        maxEValue,
        rounds,
      };
      return { plan, totalCount: queries.length, traces: searchTraces(wire, resolved, fileIds) };
    },
    async *execute({ queries, maxEValue, rounds, ...plan }, { context, checkpoint }) {
      const resolved = await reopenSearch(plan, context, dependencies);
      const { engine, settings, release } = resolved;
      refuseWithoutEValues(engine, release.slug);
      const lines = await unpackQueries(queries);
      const { targetSpace, limit, guarantee } = settings;
      const options = {
        maxEValue,
        rounds,
        settings: { targetSpace, limit, guarantee },
        signal: context.signal,
      };
      const size = Math.min(PACK_PROTEINS, largestBatchSize(settings));
      let done = continueFrom(checkpoint as Checkpoint | undefined, FRESH, resolved);
      while (done.doneCount < lines.length) {
        const start = done.doneCount;
        const pack = lines.slice(start, batchEnd(lines, start, size, packedLength));
        const proteins = await findDomains(
          pack.map((line) => ({ ...readPackedQuery(line), normalizationId: NORMALIZATION_ID })),
          engine,
          options,
        );
        const rows = proteins.map((protein, at) => presentProtein(protein, start + at));
        const uncovered = proteins.filter(({ hasNoEValues = false }) => hasNoEValues);
        done = advance(done, rows, uncovered.length);
        yield { rows, stage: 'annotating', doneCount: done.doneCount, checkpoint: done };
      }
      const { policy } = planSearch(engine, settings);
      const execution = presentExecution(engine, { policy }, dependencies.serverVersion);
      const summary: AnnotateRunSummary = {
        object: 'homology_annotation_summary',
        database: presentDatabase(release, engine, targetSpace),
        execution: { created_at: dependencies.now().toISOString(), ...execution },
        protein_count: lines.length,
        annotated_count: done.annotatedCount,
        domain_count: done.domainCount,
        uncovered_count: done.uncoveredCount,
        result_sha256: done.resultSha256,
        warnings: searchWarnings(engine, targetSpace, undefined),
      };
      return {
        rows: [],
        doneCount: done.doneCount,
        summarise: () => summary,
        billableUnits: lines.length,
        traces: { toolVersions: toolsOf(engine) },
      };
    },
  });
}

/** Domains are chosen by E-value. */
function refuseWithoutEValues({ calibration }: SearchEngine, slug: string): void {
  if (calibration !== undefined) return;
  throw new Refusal(
    'significance_unavailable',
    `Domains are chosen by E-value, and ${slug} has none: its operator calibrates it with "gloaming index calibrate".`,
    { param: 'database' },
  );
}

function presentProtein({ id, length, domains }: AnnotatedProtein, index: number): ProteinAnnotation {
  return {
    object: 'protein_annotation',
    query_index: index,
    query_id: id,
    length,
    domains: domains.map(presentDomain),
  };
}

function presentDomain({
  family,
  start,
  end,
  familyStart,
  familyEnd,
  logEValue,
  bitScore,
  round,
}: Domain): ProteinAnnotation['domains'][number] {
  return {
    family: { ...family },
    start,
    end,
    family_start: familyStart,
    family_end: familyEnd,
    expected_false_hits: Math.exp(logEValue),
    log_expected_false_hits: logEValue,
    bit_score: bitScore,
    round,
  };
}

function advance(done: Checkpoint, rows: readonly ProteinAnnotation[], uncoveredCount: number): Checkpoint {
  return {
    ...done,
    doneCount: done.doneCount + rows.length,
    annotatedCount: done.annotatedCount + rows.filter(({ domains }) => domains.length > 0).length,
    domainCount: rows.reduce((sum, { domains }) => sum + domains.length, done.domainCount),
    uncoveredCount: done.uncoveredCount + uncoveredCount,
    resultSha256: rows.reduce((chain, row) => sha256Hex(chain + canonicalSha256(row)), done.resultSha256),
  };
}
