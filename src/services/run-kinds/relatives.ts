import { sha256Hex } from '../../canonical.js';
import type {
  ProteinRelative as ProteinHomolog,
  RelativesRunInput as HomologsRunInput,
  RelativesRunSummary as HomologsRunSummary,
} from '../../contract/runs/run-relatives.js';
import { Refusal } from '../../errors.js';
import { extendedCigar, type FoundHomolog } from '../../homologs/homolog-set.js';
import { servesQueries, type ReleaseManifest } from '../../release/release.js';
import type { ProteinQuery } from '../../search/search-types.js';
import { cigarIdentity, cigarRuns } from '../../sequence/cigar.js';
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
}

interface HomologsRunDependencies {
  readonly catalog: Pick<Catalog, 'defaultRelease' | 'release'>;
  readonly engines: Pick<Engines, 'open'>;
}

/** `sequences.relatives`: the homologs that make up a query's homolog set, with their alignments. */
export function homologsRuns({ catalog, engines }: HomologsRunDependencies): RunKind {
  return defineRunKind<'sequences.relatives', Plan>({
    key: 'sequences.relatives',
    async prepare(input, { organizationId }) {
      const query = readProteinQuery(input.query.sequence);
      const { database_release_id: requestedRelease, database, limit } = input as Required<HomologsRunInput>;
      const release =
        requestedRelease === undefined
          ? catalog.defaultRelease(database, organizationId)
          : catalog.release(requestedRelease, organizationId);
      if (!givesHomologs(release.manifest)) throw withoutHomologs(release.slug);
      const { databaseId, releaseId, slug } = release;
      const traces = {
        databaseSnapshots: [releaseSnapshot(release)],
        inputRefs: [database, requestedRelease].filter((ref) => ref !== undefined),
        objectRefs: [releaseId],
      };
      return { plan: { query, release: { databaseId, releaseId, slug }, limit }, totalCount: 1, traces };
    },
    async *execute({ query, release, limit }, { context }) {
      const { releaseId, databaseId, slug } = release;
      // The release may have been deleted or made private meanwhile.
      const { manifest } = catalog.release(releaseId, context.organizationId);
      const engine = await engines.open(releaseId);
      const homologs = await engine.profileEncoder?.list?.(query.sequence, limit, { signal: context.signal });
      if (homologs === undefined) throw withoutHomologs(slug);
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
        traces: { toolVersions: [...toolsOf(engine), ...finderTools(manifest)] },
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
  const lengthOf = (gap: 'I' | 'D'): number =>
    cigarRuns(cigar).reduce((sum, { operation, length }) => sum + (operation === gap ? 0 : length), 0);
  const targetResidues = lengthOf('I');
  return {
    id,
    expected_false_hits: expected,
    round,
    query_coverage_ratio: coverage,
    sequence_identity_ratio: cigarIdentity(cigar),
    cigar,
    query_start: start,
    query_end: start + lengthOf('D'),
    target_start: targetStart,
    target_end: targetStart + targetResidues,
    target_length: targetLength,
    residues: residues.slice(residueStart, residueStart + targetResidues),
  };
}

function finderTools({ relatives: homologs }: ReleaseManifest) {
  return homologs?.background.method === 'mmseqs'
    ? [{ name: 'mmseqs', version: homologs.background.version, path: 'mmseqs' }]
    : [];
}

function withoutHomologs(slug: string): Refusal {
  return new Refusal(
    'relatives_unavailable',
    `Queries of ${slug} get no homologs: its proteins have none, or have them from precomputed alignments. ` +
      'Build it with --homologs.',
    { param: 'database' },
  );
}
