import { openSearcher } from '../../searcher.js';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { assert, Refusal } from '../../errors.js';
import { ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS } from '../../limits.js';
import { explainEmptySelection } from '../../release/filter/near.js';
import { compileFilter } from '../../release/filter/filter.js';
import type { Release, TargetSpace } from '../../release/release.js';
import { compileTargetSpace, unfilteredSpace } from '../../release/filter/target-space.js';
import { unpack } from '../../sequence/unpack.js';
import type { AlignmentBounds, SearchEngine, SearchSettings } from '../../pipelines/search.js';
import type { ExportFormat } from '../../services/export/formats.js';
import { isTableOfAnother, MISSING_WRITTEN } from '../../services/export/rows.js';
import { openPropagation } from '../../services/search/propagation.js';
import { evidenceWarnings, type SearchedDatabase } from '../../services/search/present-search.js';
import type { CommandContext } from '../terminal/command.js';
import { alignmentBoundsOf, describeCutAlignments } from '../terminal/search-settings.js';
import { manualUrl, serverUrl } from '../terminal/server-url.js';
import { formatArrow, formatAsExport, formatFasta, formatTsv, writeAlignments } from './encoded.js';
import { addHomologRows, deepRowsOf, refuseRoundsWithoutCalibration } from './deep-rows.js';
import { readFilterExpressions } from './filter.js';
import { formatHtml, formatJson } from './json.js';
import { describeLongList, limitOf, tableLimitOf } from './limit.js';
import {
  evidenceOf,
  exportFormatOf,
  formatIn,
  hasProbability,
  isPropagated,
  isArchive,
  selectionOf,
  type FormatName,
  type SearchFlags,
} from './options.js';
import { interruptible } from '../terminal/interrupt.js';
import { refuseOverwrite } from '../terminal/overwrite.js';
import { warningLine } from '../terminal/warning.js';
import { isFolder, layoutFor, writeOutput } from './output.js';
import { propagateReports } from './propagation.js';
import {
  cutCountOf,
  onlyQuery,
  readQueries,
  readQueryFile,
  searchAll,
  type NamedQuery,
  type SearchedQuery,
} from '../../pipelines/search.js';
import { alignmentOf, type Layout, type SearchFormat, type SearchReport } from './report.js';
import { warnOfRepeatedIds } from './repeated-ids.js';
import { refuseBoundWithoutCalibration, selectReports } from './selection.js';
import { reportUnsupported } from './unsupported.js';
import { selectRelease } from './select-release.js';
import { formatTables } from './table.js';

/** Formats of the command line. All other formats are those of the exports. */
const FORMATTERS: Readonly<Partial<Record<FormatName, SearchFormat>>> = {
  table: formatTables,
  json: formatJson,
  tsv: formatTsv,
  fasta: formatFasta,
  arrow: formatArrow,
  html: formatHtml,
};

/** Returns the configuration of this command. A search ends before a GPU holds the database, so `auto` is the CPU. */
function ownConfig(config: ApplianceConfig, { threads = config.threads }: SearchFlags): ApplianceConfig {
  return { ...config, device: config.device === 'auto' ? 'cpu' : config.device, threads };
}

/** What the options ask for. It is read before anything is opened. */
interface Asked {
  readonly format: FormatName;
  readonly exported: ExportFormat | undefined;
  readonly evidence: SearchSettings['evidence'];
  readonly filter: ReturnType<typeof readFilterExpressions>;
  readonly selection: ReturnType<typeof selectionOf>;
  readonly propagates: boolean;
  readonly bounds: AlignmentBounds | undefined;
  readonly deep: ReturnType<typeof deepRowsOf>;
}

/** Errors  Refusals of options and filter */
async function askedBy(flags: SearchFlags): Promise<Asked> {
  const exported = await exportFormatOf(flags);
  return {
    format: formatIn(flags),
    exported,
    evidence: evidenceOf(flags, exported),
    filter: readFilterExpressions(flags.filter),
    selection: selectionOf(flags),
    propagates: isPropagated(flags),
    bounds: alignmentBoundsOf(flags),
    deep: deepRowsOf(flags),
  };
}

/**
 * Searches without a server, and writes the answers.
 * Errors  Refusals of options, queries and filter; Fault if the release or its encoder cannot be opened
 */
export async function runSearch(fasta: string, given: SearchFlags, context: CommandContext): Promise<void> {
  const flags = given.output === '-' ? { ...given, output: undefined } : given;
  refuseOverwrite(fasta, flags.output);
  const asked = await askedBy(flags);
  const { format, exported, selection, deep } = asked;
  refuseBinaryOnTerminal(flags, context);
  const config = loadConfig(context.environment);
  const own = ownConfig(config, flags);
  const searcher = await openSearcher(own);
  try {
    const { releases, engines } = searcher;
    // Only JSON names the build.
    const serverVersion = format === 'json' ? await searcher.serverVersion() : '';
    const database = selectRelease(releases, flags.database);
    const engine = await engines.open(database.releaseId);
    refuseBoundWithoutCalibration(selection, engine);
    const propagation = asked.propagates ? await openPropagation(engine) : undefined;
    const settings = settingsOf(flags, asked, engine);
    warnOfEmptySelection(settings.targetSpace, engine.release, format, context);
    warnOfEvidence(engine, flags, context);
    warnOfMissingEValues(engine, database, flags, context);
    const card = engine.qualification?.card;
    context.stderr.write(describeLongList(settings, card));
    const queries = warnOfRepeatedIds(queriesOf(fasta, context), context);
    const isSingle = format === 'a3m' && !isArchive(flags.output) && !isFolder(flags.output);
    const usedQueries = isSingle ? onlyQuery(queries) : queries;
    refuseRoundsWithoutCalibration(deep, engine);
    const stopping = new AbortController();
    const rounds = deep.rounds > 1 ? deep : undefined;
    const searched = searchAll(usedQueries, settings, engine, stopping.signal, rounds);
    const reports = reportsOf(searched, settings, { engine, database, serverVersion });
    const shownCount = tableLimitOf(flags, card);
    const shown = shownReports(reports, flags, { ...asked, shownCount }, propagation, context);
    const search = { ...own, limit: settings.limit, signal: stopping.signal };
    const deepened = await addHomologRows(shown, deep, search);
    const answers = format === 'a3m' ? warnOfLoneQuery(deepened, context) : deepened;
    const layout = layoutFor(context, {
      // Rows of one target differ by their places.
      hasAlignments: flags.alignments === true || (asked.bounds !== undefined && format !== 'table'),
      hasFurther: asked.bounds !== undefined,
      hasProbability: flags.probability === true,
      path: flags.output,
      manual: manualUrl(serverUrl(config)),
    });
    try {
      await interruptible((signal) => {
        signal.addEventListener('abort', () => stopping.abort(signal.reason));
        return writeAnswers(answers, exported, layout, flags, context);
      }, 'Interrupted.');
    } finally {
      // If the output is closed early, the search in progress is cancelled before its engine is closed.
      stopping.abort();
      await reports.return(undefined);
    }
  } finally {
    await searcher.close();
  }
}

/** Errors  Refusals of the filter */
function settingsOf(
  flags: SearchFlags,
  { format, evidence, filter, selection, propagates, bounds, deep }: Asked,
  { release, qualification }: SearchEngine,
): SearchSettings {
  return {
    targetSpace: spaceOf(release, filter),
    limit: limitOf(flags, qualification?.card),
    evidence,
    guarantee: flags.guarantee ?? 'approximate',
    significance: flags.significance ?? 'if_available',
    relatives: flags.homologs ?? 'as_release',
    ...(bounds && { alignments: bounds }),
    ...(flags.queryRange && { queryRange: flags.queryRange }),
    ...usedEValuesOf(format, propagates, selection, bounds !== undefined),
    ...(deep.rounds > 1 && { alignedMaxEValue: deep.maxEValue }),
    ...(flags.databaseSize !== undefined && { databaseSize: flags.databaseSize }),
    ...(hasProbability(flags) && { probability: 'required' as const }),
  };
}

/** Takes reports of all candidates to those that are written, and says on standard error what is left out. */
function shownReports(
  reports: AsyncIterable<SearchReport>,
  flags: SearchFlags,
  { format, selection, bounds, shownCount }: Asked & { readonly shownCount: number | undefined },
  propagation: Awaited<ReturnType<typeof openPropagation>> | undefined,
  context: CommandContext,
): AsyncIterable<SearchReport> {
  const reported = flags.verbose === true ? reportFunnels(reports, context) : reports;
  const explained = reportUnsupported(reported, format, context);
  const whole =
    propagation === undefined ? explained : propagateReports(explained, propagation, selection.cutOffs);
  const shown = selectReports(whole, { ...selection, shownCount }, format, context);
  return bounds === undefined ? shown : reportCutAlignments(shown, bounds, context);
}

/**
 * Settings by which no work is done for candidates that the cut-off leaves out. JSON and HTML have the digest of the
 * whole list, with its alignments, and walks start from more hits than the output shows. Tables of other programs show
 * no ranks, which count candidates that are left out. Refined alignments can pass a cut-off that their pair does not.
 */
function usedEValuesOf(
  format: FormatName,
  propagates: boolean,
  { cutOffs }: ReturnType<typeof selectionOf>,
  hasAlignments: boolean,
): Pick<SearchSettings, 'alignedMaxEValue' | 'usedMaxEValue'> {
  const { maximum_expected_false_hits: bound } = cutOffs;
  if (bound === undefined || propagates || format === 'json' || format === 'html') return {};
  const largest = hasAlignments ? Math.max(bound, ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS) : bound;
  return { alignedMaxEValue: largest, ...(isTableOfAnother(format) && { usedMaxEValue: largest }) };
}

/** Writes the answers in the format of the options: alignments of many queries into a folder, others as one text. */
async function writeAnswers(
  answers: AsyncIterable<SearchReport>,
  exported: ExportFormat | undefined,
  layout: Layout,
  flags: SearchFlags,
  context: CommandContext,
): Promise<void> {
  const { output } = flags;
  const format = formatIn(flags);
  if (isFolder(output)) {
    if (exported === undefined || format !== 'a3m')
      throw new Refusal(
        'invalid_option',
        `${output} is a folder: only --format a3m writes a file for each query.`,
      );
    return writeAlignments(answers, exported, output, context);
  }
  const text =
    exported === undefined
      ? FORMATTERS[format]?.(answers, layout)
      : formatAsExport(answers, exported, context);
  assert(text !== undefined, 'a format is ours or one of the exports');
  return writeOutput(text, output, context.stdout);
}

/** Adds to each result the values that its formats need. */
async function* reportsOf(
  searched: AsyncIterable<SearchedQuery>,
  { targetSpace, ...request }: SearchSettings,
  place: Pick<SearchReport, 'engine' | 'database' | 'serverVersion'>,
): AsyncGenerator<SearchReport> {
  const { release } = place.engine;
  for await (const { query, result } of searched) {
    yield { ...place, query, result, request, release, targetSpace, sort: 'rank', leftOutCount: 0 };
  }
}

/** Skipped for tables, which contain this warning. */
function warnOfEmptySelection(
  { searchedTargetCount, canonicalFilter }: TargetSpace,
  release: Release,
  format: FormatName,
  { stderr }: CommandContext,
): void {
  if (searchedTargetCount > 0 || format === 'table') return;
  const hints = explainEmptySelection(canonicalFilter, release);
  const message = `${['No protein passes the filter, so nothing was compared', ...hints].join('; ')}.`;
  stderr.write(warningLine({ code: 'target_space_empty', message }));
}

function warnOfEvidence(engine: SearchEngine, flags: SearchFlags, { stderr }: CommandContext): void {
  if (flags.significance === 'not_requested') return;
  for (const warning of evidenceWarnings(engine)) stderr.write(warningLine(warning));
}

/** No format shows by itself that a database has no E-values: a table of another tool has numbers in their place. */
function warnOfMissingEValues(
  { calibration }: SearchEngine,
  { slug }: SearchedDatabase,
  flags: SearchFlags,
  { stderr }: CommandContext,
): void {
  if (calibration !== undefined || flags.significance === 'not_requested') return;
  const columns = isTableOfAnother(formatIn(flags)) ? `; ${MISSING_WRITTEN[flags.missing ?? 'count']}` : '';
  const message =
    `${slug} has no calibration, so that no answer has an E-value${columns}. ` +
    `"gloaming index calibrate ${slug}" makes one.`;
  stderr.write(warningLine({ code: 'no_e_values', message }));
}

/** An inner asterisk of a query, for example, becomes X: its tokens are those of an unknown residue. */
function warnOfReplacedLetters({ stderr }: CommandContext) {
  return (id: string, replaced: Readonly<Record<string, number>>): void => {
    const letters = Object.entries(replaced).map(([letter, count]) => `${count} ${letter}`);
    const message = `${id}: ${letters.join(', ')} (U becomes C, O becomes K, others X).`;
    stderr.write(warningLine({ code: 'letters_replaced', message }));
  };
}

function queriesOf(path: string, context: CommandContext): AsyncGenerator<NamedQuery> {
  const onReplaced = warnOfReplacedLetters(context);
  if (path !== '-') return readQueryFile(path, onReplaced);
  const name = 'standard input';
  const bytes = unpack(context.stdin as AsyncIterable<Uint8Array>, name);
  return readQueries({ file: name, bytes }, onReplaced);
}

function spaceOf(release: Release, filter: unknown): TargetSpace {
  if (filter === undefined) return unfilteredSpace(release);
  return compileTargetSpace(release, compileFilter(filter, release.fields, { place: ['filter'] }));
}

/** Writes one line for each query: the targets that each stage of its search left. */
async function* reportFunnels(
  reports: AsyncIterable<SearchReport>,
  { stderr }: CommandContext,
): AsyncGenerator<SearchReport> {
  for await (const report of reports) {
    const stages = Object.entries(report.result.funnel).map(([stage, count]) => `${count} ${stage}`);
    stderr.write(`gloaming: ${report.query.id}: targets: ${stages.join(', ')}\n`);
    yield report;
  }
}

/** Says at the end how many targets have more alignments than the largest count. */
async function* reportCutAlignments(
  reports: AsyncIterable<SearchReport>,
  bounds: AlignmentBounds,
  { stderr }: CommandContext,
): AsyncGenerator<SearchReport> {
  let cutCount = 0;
  for await (const report of reports) {
    cutCount += cutCountOf(report.result.candidates);
    yield report;
  }
  stderr.write(describeCutAlignments(cutCount, bounds));
}

/** Warns of an alignment that contains the query only. */
async function* warnOfLoneQuery(
  reports: AsyncIterable<SearchReport>,
  { stderr }: CommandContext,
): AsyncGenerator<SearchReport> {
  for await (const report of reports) {
    if (!report.result.candidates.some(alignmentOf) && (report.homologs ?? []).length === 0) {
      const { id } = report.query;
      const message =
        report.leftOutCount > 0 ? `no row of ${id} is within the cut-offs.` : `nothing aligns with ${id}.`;
      stderr.write(warningLine({ code: 'msa_query_only', message }));
    }
    yield report;
  }
}

function refuseBinaryOnTerminal(flags: SearchFlags, { stdout }: CommandContext): void {
  const { output } = flags;
  if (formatIn(flags) !== 'arrow' || output !== undefined || stdout.isTTY !== true) return;
  throw new Refusal('invalid_option', 'Arrow is binary and unreadable on a terminal: add --output <file>.');
}
