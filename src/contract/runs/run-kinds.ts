import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { RETAINED_MAX_CANDIDATES } from '../../limits.js';
import { HomologyCandidate, HomologyCandidateSet } from '../search/candidate-set.js';
import { CUT_OFFS } from '../search/selection.js';
import { ONE_SELECTOR, ProteinQuery, SEARCH_SETTINGS } from '../search/homology.js';
import { AnnotateRunInput, AnnotateRunSummary, ProteinAnnotation } from './run-annotations.js';
import { ExportRunInput, ExportRunSummary } from './run-files.js';
import { ONE_SOURCE, QUERY_SOURCES } from './run-queries.js';
import { ProteinRelative, RelativesRunInput, RelativesRunSummary } from './run-relatives.js';
import { StructureRunInput, StructureRunSummary } from './run-structures.js';
import { Msa, MsaRequest } from '../msa.js';
import { closed, constant, count, defaulted, named, sha256, text } from '../grammar/schema.js';

/*
 * The operations that a run can execute. A new endpoint is one entry of RUN_ENDPOINTS and one RunEndpoint of the
 * services, which appliance.ts lists.
 */

const LIMIT = defaulted(
  100,
  Type.Integer({
    minimum: 1,
    maximum: RETAINED_MAX_CANDIDATES,
    description: 'Maximum number of candidates that are kept for each query.',
  }),
);

const SearchRunInput = named(
  'SearchRunInput',
  closed(
    { query: ProteinQuery, ...SEARCH_SETTINGS, limit: LIMIT, ...CUT_OFFS },
    {
      description:
        'One protein against one release, with the members of `POST /v1/homology`. Cut-offs remove rows ' +
        'from the result. The remaining rows keep their ranks.',
      ...ONE_SELECTOR,
    },
  ),
);

export const BatchSearchRunInput = named(
  'BatchSearchRunInput',
  closed(
    {
      ...QUERY_SOURCES,
      ...SEARCH_SETTINGS,
      limit: LIMIT,
      ...CUT_OFFS,
    },
    {
      description:
        'Up to 100,000 proteins against one release, in exactly one of `queries`, `fasta` and ' +
        '`fasta_url`. An uploaded file is read when the run is created, and later changes of the file ' +
        'have no effect. Cut-offs remove candidates from the rows. The remaining candidates keep their ' +
        'ranks.',
      allOf: [...ONE_SELECTOR.allOf, ...ONE_SOURCE.allOf],
      anyOf: ONE_SOURCE.anyOf,
      chosen: true,
    },
  ),
);

const answerProperties = HomologyCandidateSet.properties;
/** The digest and the receipt cover the whole result, including the candidates that cut-offs left out. */
const LEFT_OUT = Type.Optional(
  count(
    'Number of candidates that cut-offs left out. Present if the request has a cut-off. ' +
      '`result_sha256` covers all candidates.',
  ),
);

/** Summary of a retained search. Its candidates are its rows. */
export const SearchRunSummary = named(
  'SearchRunSummary',
  closed(
    {
      object: constant('homology_search_summary'),
      database: answerProperties.database,
      evidence_summary: answerProperties.evidence_summary,
      execution: answerProperties.execution,
      is_result_limit_reached: answerProperties.is_result_limit_reached,
      query: answerProperties.query,
      ranking: answerProperties.ranking,
      receipt: answerProperties.receipt,
      result_sha256: answerProperties.result_sha256,
      left_out_count: LEFT_OUT,
      propagation: answerProperties.propagation,
      warnings: answerProperties.warnings,
    },
    { chosen: true },
  ),
);

export const BatchSearchRunSummary = named(
  'BatchSearchRunSummary',
  closed(
    {
      object: constant('homology_batch_search_summary'),
      database: answerProperties.database,
      execution: answerProperties.execution,
      query_count: count('Number of queries. Each query is one row of the results.'),
      candidate_count: count('Number of candidates of all queries.'),
      left_out_count: LEFT_OUT,
      result_sha256: sha256('SHA-256 chained over the `result_sha256` of the queries, in order.'),
      warnings: answerProperties.warnings,
    },
    { chosen: true },
  ),
);

/** Result of a run that builds an alignment. `GET /v1/sequences/msa/a3m/{id}` downloads it. */
export const MsaRunSummary = named(
  'MsaRunSummary',
  closed(
    { object: constant('msa_build_summary'), msa: Msa, warnings: answerProperties.warnings },
    { chosen: true },
  ),
);

/** One row of a batch: the response of the direct route for this query. */
export const HomologyQueryResult = named(
  'HomologyQueryResult',
  closed(
    {
      object: constant('homology_query_result'),
      query_index: count('Zero-based position of the query in the input.'),
      query_id: text('Id of the query in the input. Its zero-based position if the input has no id.'),
      query: answerProperties.query,
      candidates: answerProperties.candidates,
      evidence_summary: answerProperties.evidence_summary,
      is_result_limit_reached: answerProperties.is_result_limit_reached,
      receipt: answerProperties.receipt,
      result_sha256: answerProperties.result_sha256,
      left_out_count: LEFT_OUT,
      propagation: answerProperties.propagation,
    },
    { chosen: true },
  ),
);

/** Priority within one organization. Between organizations, runs alternate regardless of priority. */
export type RunPriority = 'high' | 'normal' | 'low';

export interface EndpointContract {
  readonly meaning: string;
  readonly input: TSchema;
  /** Schema of `result.summary`. */
  readonly summary: TSchema;
  /** Schema of one row; absent if the result is not a list. */
  readonly row?: TSchema;
  readonly defaultPriority: RunPriority;
}

export const RUN_ENDPOINTS = {
  'homology.search': {
    meaning: 'search of one protein against one release, with up to 10,000 retained candidates',
    input: SearchRunInput,
    summary: SearchRunSummary,
    row: HomologyCandidate,
    defaultPriority: 'normal',
  },
  'homology.batch_search': {
    meaning: 'search of up to 100,000 proteins against one release',
    input: BatchSearchRunInput,
    summary: BatchSearchRunSummary,
    row: HomologyQueryResult,
    // A proteome that takes hours must not delay single searches of its own organization.
    defaultPriority: 'low',
  },
  'homology.annotate': {
    meaning: 'domains of up to 100,000 proteins, by a search against a release of families',
    input: AnnotateRunInput,
    summary: AnnotateRunSummary,
    row: ProteinAnnotation,
    defaultPriority: 'low',
  },
  'homology.export': {
    meaning: 'rows of a run as a file: FASTA, tables of several tools, A3M, Parquet or Arrow',
    input: ExportRunInput,
    summary: ExportRunSummary,
    defaultPriority: 'normal',
  },
  'sequences.msa.build': {
    meaning: 'multiple sequence alignment of the candidates of a receipt',
    input: MsaRequest,
    summary: MsaRunSummary,
    defaultPriority: 'normal',
  },
  'sequences.relatives': {
    meaning:
      'homologs of one protein, in the homolog source of a release and on request in the release itself ' +
      'or in another homolog source',
    input: RelativesRunInput,
    summary: RelativesRunSummary,
    row: ProteinRelative,
    defaultPriority: 'normal',
  },
  'structure.predict': {
    meaning:
      "structure prediction from an alignment by the operator's own predictor; refused if the server " +
      'has no predictor',
    input: StructureRunInput,
    summary: StructureRunSummary,
    defaultPriority: 'normal',
  },
} as const satisfies Readonly<Record<string, EndpointContract>>;

export type RunEndpointKey = keyof typeof RUN_ENDPOINTS;
export type RunInput<Key extends RunEndpointKey> = Static<(typeof RUN_ENDPOINTS)[Key]['input']>;
export type SearchRunInput = Static<typeof SearchRunInput>;
export type BatchSearchRunInput = Static<typeof BatchSearchRunInput>;
export type SearchRunSummary = Static<typeof SearchRunSummary>;
export type BatchSearchRunSummary = Static<typeof BatchSearchRunSummary>;
export type MsaRunSummary = Static<typeof MsaRunSummary>;
export type HomologyQueryResult = Static<typeof HomologyQueryResult>;
