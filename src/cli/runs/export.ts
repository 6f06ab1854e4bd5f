import { createHash } from 'node:crypto';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Client } from '../../clients/typescript/client.js';
import {
  EXPORT_FORMATS,
  type ExportFormatName,
  type ExportRunSummary,
} from '../../contract/runs/run-files.js';
import { Fault, Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import {
  addFieldOptions,
  addMsaOptions,
  exportOptionsOf,
  formatNameOf,
  type ExportFlags,
} from '../terminal/formats.js';
import { manualUrl } from '../terminal/server-url.js';
import { createProgress, formatQuantity } from '../terminal/progress.js';
import {
  addCutOffOptions,
  addSortOption,
  describeLeftOut,
  describeOrder,
  type SelectionFlags,
} from '../terminal/selection.js';
import { runReport } from '../report/run-report.js';
import { runsClient, serverUrlOf } from './client.js';
import { watchRun } from './watch.js';
import { writeOutput } from '../search/output.js';
import { warningLine } from '../terminal/warning.js';

/** The only format that the command itself writes. */
const HTML = 'html';

interface Flags extends ExportFlags, SelectionFlags {
  readonly format?: ExportFormatName | typeof HTML;
  readonly queryIndex?: number;
  readonly allQueries?: boolean;
  readonly path?: string;
  readonly output?: string;
  readonly remote?: boolean;
}

/** `gloaming runs export`: the server writes a file into its storage, and the command downloads it. */
export function addExport(runs: Command, context: CommandContext): void {
  const command = runs
    .command('export')
    .description('write the candidates of a completed run to a file')
    .argument('<run>', 'run id')
    .addOption(new Option('-f, --format <format>', 'what to write').choices([...NAMED_FORMATS, HTML]));
  addMsaOptions(addFieldOptions(addCutOffOptions(addSortOption(command))));
  command
    .option('--all-queries', 'a3m: a tar of the alignments of all queries')
    .option('-q, --query-index <index>', 'only this query of a batch, the first is 0', indexOf)
    .option('-o, --output <file>', 'where to write it, or - for standard output; default: its name, here')
    .option('--path <path>', 'where it stands in storage; default: exports/<run>.<format>')
    .option('--remote', 'leave it in storage and print its URL')
    .action((id: string, flags: Flags) => exportRun(id, flags, context));
}

/** Formats without further parameters. */
const NAMED_FORMATS = Object.keys(EXPORT_FORMATS).filter((name) => name !== 'blast' && name !== 'mmseqs');

async function exportRun(id: string, flags: Flags, context: CommandContext): Promise<void> {
  if (flags.format === HTML) return writeReport(id, flags, context);
  const { queryIndex, allQueries, path, output, remote } = flags;
  const format = formatNameOf(flags, flags.format);
  if (format === undefined)
    throw new Refusal('invalid_option', 'Say what to write: --format, --outfmt or --format-output.');
  const exportOptions = exportOptionsOf(flags, format);
  const client = runsClient(context);
  const run = await client.submit({
    endpoint: 'homology.export',
    input: {
      run_id: id,
      ...exportOptions,
      ...(allQueries === true && { all_queries: true }),
      ...(queryIndex !== undefined && { query_index: queryIndex }),
      ...(path !== undefined && { path }),
    },
  });
  const { result } = await watchRun(run.id, client, context);
  const summary = result?.summary as ExportRunSummary;
  const { file, record_count: records } = summary;
  const name = output ?? nameOf(path ?? requireDefaultPath(file.path, id));
  if (remote !== true) {
    await writeOutput(download(file, client, context), name === '-' ? undefined : name, context.stdout);
  } else context.stdout.write(`${file.url}\n`);
  const place = remote === true ? `${file.path} in storage` : name === '-' ? 'standard output' : name;
  context.stderr.write(`${records} records, ${formatQuantity(file.size_bytes, 'B')} in ${place}.\n`);
  const { left_out_count: leftOut = 0, omitted_count: omitted, warnings = [] } = summary;
  const { candidate_count: candidates = records + omitted } = summary;
  const hasEValues = !warnings.some(({ code }) => code === 'no_e_values');
  const lines = [describeOrder(exportOptions.sort, hasEValues), describeLeftOut(leftOut, candidates)];
  context.stderr.write(`${lines.filter((line) => line !== '').join(' ')}\n`);
  for (const warning of warnings) context.stderr.write(warningLine(warning));
}

/** Writes a page of all results. The command makes it, because no other client needs it from the server. */
async function writeReport(id: string, { output }: Flags, context: CommandContext): Promise<void> {
  const name = output ?? `${id}.html`;
  await writeOutput(
    runReport(id, runsClient(context), manualUrl(serverUrlOf(context))),
    name === '-' ? undefined : name,
    context.stdout,
  );
  if (name !== '-') context.stderr.write(`The report is in ${name}.\n`);
}

/** Errors  Fault when the received bytes differ from the server's; no file is left under that name */
async function* download(
  { file_id, path, size_bytes: total, checksum }: ExportRunSummary['file'],
  client: Client,
  { stderr }: CommandContext,
): AsyncGenerator<Uint8Array> {
  // The URL of the file may name an address that this command cannot reach, so the command builds its own.
  const params = { file_id, file_name: nameOf(path) };
  const progress = createProgress(stderr);
  const hash = createHash('sha256');
  let done = 0;
  try {
    const { body } = await client.send('storage.files.read', { params });
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      done += chunk.length;
      if (done > total) throw new Fault(`More than the announced ${total} bytes came. Try again.`);
      progress.update({ stage: 'download', done, total });
      yield chunk;
    }
    if (hash.digest('hex') !== checksum)
      throw new Fault(`${done} of ${total} bytes came, and they are not those of the file. Try again.`);
  } finally {
    progress.end();
  }
}

/**
 * The default path of an export, which names a file of this folder. Another server could answer with any path.
 * Errors  Fault for another path
 */
function requireDefaultPath(path: string, id: string): string {
  const name = nameOf(path);
  if (name.startsWith(`${id}.`) && /^[\w.-]{1,255}$/.test(name)) return path;
  throw new Fault(`The server calls the file ${JSON.stringify(path.slice(0, 255))}. Name one with --output.`);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function indexOf(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('a whole number from 0 is expected.');
}
