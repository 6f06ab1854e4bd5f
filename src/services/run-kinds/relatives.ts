import { sha256Hex } from '../../canonical.js';
import type {
  ProteinRelative as ProteinHomolog,
  RelativesRunInput as HomologsRunInput,
  RelativesRunSummary as HomologsRunSummary,
} from '../../contract/runs/run-relatives.js';
import type { ApplianceConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { mmseqsVersion } from '../../find-homologs/mmseqs-process.js';
import { listByRounds } from '../../find-homologs/rounds.js';
import { openHomologRows, type ListSourceRows } from '../../find-homologs/source-rows.js';
import { extendedCigar, type FoundHomolog } from '../../homologs/homolog-set.js';
import { listHomologs } from '../../homologs/select.js';
import { MSA_DEFAULT_EXPECTED_FALSE_HITS } from '../../limits.js';
import { servesQueries, type ReleaseManifest } from '../../release/release.js';
import type { ProteinQuery } from '../../search/search-types.js';
import { cigarIdentity, cigarRuns, spanOf } from '../../sequence/cigar.js';
import { RELATIVES_UNITS } from '../billing/metering.js';
import { releaseSnapshot, type Catalog, type CatalogRelease } from '../search/catalog.js';
import type { Engines } from '../../engine/engines.js';
import { readProteinQuery } from '../search/protein-query.js';
import { toolsOf } from '../search/traces.js';
import { defineRunKind, type RunKind } from '../runs/run-kind.js';

interface Plan {
  readonly query: ProteinQuery;
  readonly release: Pick<CatalogRelease, 'databaseId' | 'releaseId' | 'slug'>;
  readonly limit: number;
  readonly rounds: number;
  /** Name of a homolog source; undefined for none. */
  readonly source: string | undefined;
}

interface HomologsRunDependencies {
  readonly config: Pick<ApplianceConfig, 'indexesFolder' | 'threads'>;
  readonly catalog: Pick<Catalog, 'defaultRelease' | 'release'>;
  readonly engines: Pick<Engines, 'open'>;
}

/** Rules for relatives beside those of the release's own background, as for rows of an alignment. */
const LISTED_RULES = { maxEValue: MSA_DEFAULT_EXPECTED_FALSE_HITS, minCoverage: 0 };

/**
 * `sequences.relatives`: the homologs that make up a query's homolog set, with their alignments. On request also those
 * that a search of the release in rounds finds, and those in a homolog source.
 */
export function homologsRuns({ catalog, engines, config }: HomologsRunDependencies): RunKind {
  return defineRunKind<'sequences.relatives', Plan>({
    key: 'sequences.relatives',
    async prepare(input, { organizationId }) {
      const query = readProteinQuery(input.query.sequence);
      const { database_release_id: requestedRelease, database, limit } = input as Required<HomologsRunInput>;
      const { rounds = 1, homolog_source: source } = input;
      const release =
        requestedRelease === undefined
          ? catalog.defaultRelease(database, organizationId)
          : catalog.release(requestedRelease, organizationId);
      const isDeep = rounds > 1 || source !== undefined;
      if (!isDeep && !givesHomologs(release.manifest)) throw withoutHomologs(release.slug);
      if (source !== undefined) await openSource(config, source);
      const { databaseId, releaseId, slug } = release;
      const traces = {
        databaseSnapshots: [releaseSnapshot(release)],
        inputRefs: [database, requestedRelease].filter((ref) => ref !== undefined),
        objectRefs: [releaseId],
      };
      const plan = { query, release: { databaseId, releaseId, slug }, limit, rounds, source };
      return { plan, totalCount: 1, traces };
    },
    async *execute({ query, release, limit, rounds, source }, { context }) {
      const { releaseId, databaseId, slug } = release;
      const { signal } = context;
      // The release may have been deleted or made private meanwhile.
      const { manifest } = catalog.release(releaseId, context.organizationId);
      const engine = { ...(await engines.open(releaseId)), isLowPriority: true };
      const options = { signal, isLowPriority: true };
      const inRounds =
        rounds > 1 ? await listByRounds(query, { ...LISTED_RULES, rounds, limit }, engine, signal) : [];
      const lists: (readonly FoundHomolog[])[] = rounds > 1 ? [inRounds] : [];
      const own = await engine.profileEncoder?.list?.(query.sequence, limit, options);
      if (own !== undefined) lists.push(own);
      if (source !== undefined) {
        const list = await openSource(config, source);
        lists.push(await list({ sequence: query.sequence, homologs: inRounds }, limit, options));
      }
      if (lists.length === 0) throw withoutHomologs(slug);
      const homologs = mergeLists(lists);
      const { sequence, normalizationId } = query;
      const summary: HomologsRunSummary = {
        object: 'protein_relatives_summary',
        database: { id: databaseId, release_id: releaseId, slug },
        query: {
          kind: 'protein_sequence',
          normalization_id: normalizationId,
          normalized_length: sequence.length,
          relative_count: homologs.length,
          sha256: sha256Hex(sequence),
        },
        warnings: [],
      };
      return {
        rows: homologs.map((homolog) => presentHomolog(homolog, sequence)),
        doneCount: 1,
        summarise: () => summary,
        billableUnits: RELATIVES_UNITS,
        traces: { toolVersions: [...toolsOf(engine), ...(await finderTools(manifest, source))] },
      };
    },
  });
}

/** Whether queries of the release get homologs. With precomputed alignments and families, only targets have any. */
export function givesHomologs({ relatives: homologs }: Pick<ReleaseManifest, 'relatives'>): boolean {
  return homologs !== undefined && servesQueries(homologs.background);
}

/** A homolog in its contract form. */
export function presentHomolog(homolog: FoundHomolog, query: string): ProteinHomolog {
  const {
    id,
    eValue: expected,
    coverage,
    round,
    start,
    residues,
    residueStart,
    targetStart,
    targetLength,
  } = homolog;
  const cigar = extendedCigar(homolog, query);
  const span = spanOf(cigarRuns(cigar));
  return {
    id,
    expected_false_hits: expected,
    round,
    query_coverage_ratio: coverage,
    sequence_identity_ratio: cigarIdentity(cigar),
    cigar,
    query_start: start,
    query_end: start + span.query,
    target_start: targetStart,
    target_end: targetStart + span.target,
    target_length: targetLength,
    residues: residues.slice(residueStart, residueStart + span.target),
  };
}

/** Errors  Refusal `relatives_unavailable` if the source or mmseqs is missing */
function openSource(config: HomologsRunDependencies['config'], source: string): Promise<ListSourceRows> {
  return openHomologRows(config, source, LISTED_RULES).catch((cause: Error) => {
    if (!(cause instanceof Refusal)) throw cause;
    throw new Refusal('relatives_unavailable', cause.message, { param: 'homolog_source' });
  });
}

/** The mmseqs that searched a source, if any. */
async function finderTools({ relatives: homologs }: ReleaseManifest, source: string | undefined) {
  const own = homologs?.background.method === 'mmseqs' ? homologs.background.version : undefined;
  const version = own ?? (source === undefined ? undefined : await mmseqsVersion());
  return version === undefined ? [] : [{ name: 'mmseqs', version, path: 'mmseqs' }];
}

/** Merges lists of homologs in ascending order of E-value. Of several homologs with one id, the first list's counts. */
function mergeLists(lists: readonly (readonly FoundHomolog[])[]): readonly FoundHomolog[] {
  if (lists.length === 1) return lists[0];
  return listHomologs(lists.flat(), { maxEValue: Infinity, minCoverage: 0 });
}

function withoutHomologs(slug: string): Refusal {
  return new Refusal(
    'relatives_unavailable',
    `Queries of ${slug} get no homologs: its proteins have none, or have them from precomputed alignments. ` +
      'Build it with --homologs, or ask for rounds or a homolog source.',
    { param: 'database' },
  );
}
