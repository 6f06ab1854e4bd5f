import type { HomologyQueryResult, SearchRunSummary } from '../../contract/runs/run-kinds.js';
import type { Warning } from '../../contract/grammar/envelope.js';
import type { ExportRunInput, ExportRunSummary } from '../../contract/runs/run-files.js';
import { untilAborted } from '../../abort.js';
import { EXPORT_UNITS } from '../billing/metering.js';
import { Refusal } from '../../errors.js';
import { EXPORT_WRITE_MAX_BYTES } from '../../limits.js';
import type { FileRow } from '../../store/storage/files.js';
import type { RunRow, RunTable } from '../../store/tables/runs.js';
import type { RequestContext } from '../context.js';
import type { Traces } from '../reply.js';
import { formatOf, type ExportFormat } from '../export/formats.js';
import { ExportThread } from '../export/export-thread.js';
import type { ExportPiece, ExportRequest } from '../export/export-worker.js';
import {
  isBatch,
  isTableOfAnother,
  LONE_QUERY_ID,
  MISSING_WRITTEN,
  type ExportedSearch,
} from '../export/rows.js';
import { needAlignments, pickCutOffs } from '../select.js';
import { mapInTurns } from '../../turns.js';
import { realWorld, type World } from '../../world.js';
import { presentRunFile, releaseAfter, type FileWriter } from '../storage/file-writer.js';
import type { Catalog } from '../search/catalog.js';
import type { Receipts } from '../search/receipts.js';
import { defineRunKind, type PreparedRun, type RunKind, type RunSteps } from '../runs/run-kind.js';

interface ExportRunDependencies {
  readonly table: Pick<RunTable, 'get' | 'rows'>;
  readonly receipts: Receipts;
  readonly catalog: Pick<Catalog, 'requireGrant'>;
  readonly writer: FileWriter;
  /** Default realWorld. */
  readonly world?: World;
}

interface Plan extends Omit<ExportRunInput, 'path'> {
  /** Path of the finished file. */
  readonly path: string;
  /** Public address of the server; empty if unknown. */
  readonly baseUrl: string;
}

/** Interval after which an export yields to other runs. */
const PIECE_MS = 1_000;

/**
 * `homology.export`: the rows of a completed run as one file in storage. The file commits with the end of the export.
 */
export function exportRuns(dependencies: ExportRunDependencies): RunKind {
  return defineRunKind<'homology.export', Plan>({
    key: 'homology.export',
    prepare: (input, context) => prepareExport(input, context, dependencies),
    execute: (plan, { context }) => exportRun(plan, context, dependencies),
  });
}

async function prepareExport(
  { path, ...input }: ExportRunInput,
  context: RequestContext,
  dependencies: ExportRunDependencies,
): Promise<PreparedRun<Plan>> {
  const { table, receipts, writer } = dependencies;
  const run = exportableRun(input.run_id, context, dependencies);
  refuseStrayMembers(input);
  const format = formatOf(input);
  const described = await describe(run, input.query_index, table);
  requireFormat(run, described, format, input);
  if (format.needsQueries) sequenceOf(described, context, receipts);
  const place = writer.placeOf(path ?? defaultPath(input, format), context);
  const plan = { ...input, path: place, baseUrl: context.baseUrl ?? '' };
  const { databaseSnapshots = [] } = (run.traces ?? {}) as Traces;
  return {
    plan,
    totalCount: input.query_index === undefined || !isBatch(run) ? run.rowCount : 1,
    traces: { databaseSnapshots, inputRefs: [run.id], objectRefs: [run.id] },
  };
}

async function* exportRun(
  { path, baseUrl, ...options }: Plan,
  context: RequestContext,
  dependencies: ExportRunDependencies,
): RunSteps {
  const { table, receipts, writer, world = realWorld } = dependencies;
  const { run_id, format: formatName, query_index: queryIndex } = options;
  const format = formatOf(options);
  const run = exportableRun(run_id, context, dependencies);
  const described = await describe(run, queryIndex, table);
  const sequence = format.needsQueries ? sequenceOf(described, context, receipts) : undefined;
  const query = { index: 0, id: LONE_QUERY_ID, ...(sequence !== undefined && { sequence }) };
  const { propagation } = described;
  const isOfOne = !isBatch(run);
  const settings = { options, search: searchOf(run, described), ...(isOfOne && { query, propagation }) };
  const thread = new ExportThread(settings);
  const file = writer.open(context);
  const writePiece = async (request: ExportRequest): Promise<ExportPiece> => {
    const piece = await untilAborted(thread.write(request), context.signal);
    for (const bytes of slicesOf(piece.bytes)) await file.write(bytes);
    return piece;
  };
  try {
    let doneCount = 0;
    let candidateCount = 0;
    let yieldedAt = world.monotonicMs();
    const { start, end } = rowsToExport(run, queryIndex);
    for (let at = start; at < end;) {
      const block = requireBlock(run, at, end, table);
      const sequences =
        format.needsQueries && isBatch(run) && (await sequencesOf(run, at, end, context, dependencies));
      const piece = await writePiece({ ...block, ...(sequences && { sequences }) });
      if (piece.rowCount === 0) throw resultsExpired(run);
      at += piece.rowCount;
      doneCount = at - start;
      candidateCount += piece.candidateCount;
      if (world.monotonicMs() - yieldedAt < PIECE_MS) continue;
      yield { rows: [], stage: 'exporting', doneCount, checkpoint: undefined };
      yieldedAt = world.monotonicMs();
    }
    const { recordCount: record_count, writtenCount, leftOutCount, warnings } = await writePiece(null);
    const written = await file.end();
    releaseAfter(context.signal, written.release);
    const put = (at: Date): FileRow =>
      writer.put([{ written, path, contentType: format.contentType }], context, at)[0];
    const summarise = (at: Date): ExportRunSummary => ({
      object: 'homology_export_summary',
      run_id,
      format: formatName,
      ...(queryIndex !== undefined && { query_index: queryIndex }),
      record_count,
      omitted_count: candidateCount - writtenCount,
      candidate_count: candidateCount,
      left_out_count: leftOutCount,
      warnings: [...warningsOf(options, described), ...warnings],
      file: presentRunFile(put(at), baseUrl),
    });
    return { rows: [], doneCount, summarise, billableUnits: EXPORT_UNITS };
  } finally {
    await Promise.all([thread.close(), file.discard()]);
  }
}

/** Rows [start, end) of the run: those of one query of a batch, or all. */
function rowsToExport(run: RunRow, queryIndex: number | undefined) {
  if (isBatch(run) && queryIndex !== undefined) return { start: queryIndex, end: queryIndex + 1 };
  return { start: 0, end: run.rowCount };
}

/** The rows [at, end) within one block. Errors  Refusal `result_expired` if they are deleted meanwhile */
function requireBlock(
  run: RunRow,
  at: number,
  end: number,
  { rows }: Pick<RunTable, 'rows'>,
): NonNullable<ExportRequest> {
  const block = rows.packedBlockAt(run.id, at);
  if (block === undefined) throw resultsExpired(run);
  const { firstRow, packed } = block;
  return { packed: Uint8Array.from(packed), start: at - firstRow, end: end - firstRow };
}

function* slicesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += EXPORT_WRITE_MAX_BYTES)
    yield bytes.subarray(at, at + EXPORT_WRITE_MAX_BYTES);
}

/** Errors  the refusals of runs.create about runs and exports */
function exportableRun(
  runId: string,
  { organizationId }: RequestContext,
  { table, catalog }: ExportRunDependencies,
): RunRow {
  const run = table.get(runId);
  if (run === undefined)
    throw new Refusal('run_not_found', `No run has the id ${runId}.`, { param: 'run_id' });
  if (run.organizationId !== organizationId)
    throw new Refusal('permission_denied', 'The run belongs to another organization.');
  if (run.endpoint !== 'homology.search' && !isBatch(run))
    throw notPossible(
      'run_id',
      `A run of ${run.endpoint} has no candidates; runs of homology searches have.`,
    );
  if (run.status !== 'completed') {
    throw new Refusal('run_not_completed', `The run is ${run.status}; export it when it has completed.`, {
      status: run.status,
    });
  }
  if (run.areResultsGone)
    throw new Refusal('result_expired', `The results of ${run.id} expired on ${run.expiresAt}.`);
  // Results of the run stay readable after the grant of its database has ended. A file would be new.
  const { database } = run.summary as SearchRunSummary;
  catalog.requireGrant(database.release_id, organizationId);
  return run;
}

/** Metadata of a query beside its candidates. All queries of a batch share their settings. */
type Described = Pick<SearchRunSummary, 'evidence_summary' | 'receipt' | 'propagation'>;

/** Errors  Refusal `export_not_possible` if there is no such query, `result_expired` */
async function describe(run: RunRow, queryIndex = 0, { rows }: Pick<RunTable, 'rows'>): Promise<Described> {
  const queryCount = isBatch(run) ? run.rowCount : 1;
  if (queryIndex >= queryCount)
    throw notPossible(
      'query_index',
      `The run has ${queryCount} queries; the last has the index ${queryCount - 1}.`,
    );
  if (!isBatch(run)) return run.summary as SearchRunSummary;
  const block = await rows.blockAt(run.id, queryIndex);
  if (block === undefined) throw resultsExpired(run);
  return block.rows[queryIndex - block.firstRow] as HomologyQueryResult;
}

/** Errors  Refusal `export_not_possible` for members that only another format uses */
function refuseStrayMembers(input: ExportRunInput): void {
  const formats = { outfmt: 'blast', format_output: 'mmseqs', msa: 'a3m', all_queries: 'a3m' } as const;
  for (const [member, format] of Object.entries(formats) as [keyof typeof formats, string][]) {
    if (input[member] === undefined || input.format === format) continue;
    throw notPossible(
      member,
      `${member} applies to the format ${format} only, and the request names ${input.format}.`,
    );
  }
  if (input.missing !== undefined && !isTableOfAnother(input.format))
    throw notPossible('missing', 'missing applies to the formats m8, blast and mmseqs only.');
  if (input.all_queries === true && input.query_index !== undefined)
    throw notPossible('all_queries', 'Either the query of query_index is exported, or all are.');
}

function requireFormat(run: RunRow, described: Described, format: ExportFormat, input: ExportRunInput): void {
  const needsAlignments = format.needsAlignments || needAlignments(pickCutOffs(input));
  if (needsAlignments && described.evidence_summary.requested !== 'pairwise_sequence_alignment') {
    throw notPossible(
      'format',
      'The request needs alignments, and the run has none. Search with evidence "pairwise_sequence_alignment".',
    );
  }
  if (input.maximum_expected_false_hits !== undefined && hasNoEValues(described))
    throw notPossible('maximum_expected_false_hits', 'The run has no E-values that could be bounded.');
  if (format.isOfOneQuery && isBatch(run) && input.query_index === undefined)
    throw notPossible(
      'query_index',
      'A3M holds the alignment of one query: name one of the batch with query_index (--query-index), or ask for ' +
        'all_queries (--all-queries).',
    );
}

/** Tables of other tools hold a text in place of E-values that the run does not have. */
function warningsOf(
  { format, missing = 'count' }: Pick<Plan, 'format' | 'missing'>,
  described: Described,
): Warning[] {
  if (!hasNoEValues(described) || !isTableOfAnother(format)) return [];
  return [
    {
      code: 'no_e_values',
      message: `The run has no E-values; ${MISSING_WRITTEN[missing]}.`,
      details: { missing },
    },
  ];
}

/** Whether no candidate of the run can have an E-value. */
function hasNoEValues({ evidence_summary: { significance } }: Described): boolean {
  return significance.reason === 'not_requested' || significance.reason === 'no_qualified_calibration';
}

function searchOf(
  { summary }: RunRow,
  { evidence_summary: evidence, propagation }: Described,
): ExportedSearch {
  const { slug, searched_target_count, searched_residue_count } = (summary as SearchRunSummary).database;
  return {
    database: slug,
    targetCount: searched_target_count,
    residueCount: searched_residue_count,
    databaseSize: evidence.significance.database_size,
    isPropagated: propagation !== undefined,
  };
}

/** Sequences of the queries [at, end) of a batch, as far as one block has them. Errors  `result_expired` */
async function sequencesOf(
  run: RunRow,
  at: number,
  end: number,
  context: RequestContext,
  { table, receipts }: ExportRunDependencies,
): Promise<readonly string[]> {
  const block = await table.rows.blockAt(run.id, at);
  if (block === undefined) throw resultsExpired(run);
  const rows = block.rows.slice(at - block.firstRow, end - block.firstRow) as readonly HomologyQueryResult[];
  return mapInTurns(rows, (row) => sequenceOf(row, context, receipts));
}

/** The query's sequence, which only the receipt of its search holds. */
function sequenceOf(
  { receipt }: Pick<Described, 'receipt'>,
  context: RequestContext,
  receipts: Receipts,
): string {
  const { query } = receipts.get(receipt.id, context).value.content;
  return (query as { readonly sequence: string }).sequence;
}

function defaultPath(
  { run_id: id, query_index: index }: Omit<ExportRunInput, 'path'>,
  format: ExportFormat,
): string {
  return `exports/${id}${index === undefined ? '' : `.query-${index}`}.${format.extension}`;
}

function resultsExpired({ id }: RunRow): Refusal {
  return new Refusal('result_expired', `The results of ${id} were deleted meanwhile.`);
}

function notPossible(param: keyof ExportRunInput, message: string): Refusal {
  return new Refusal('export_not_possible', message, { param });
}
