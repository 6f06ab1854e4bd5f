import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { digestFile } from '../../build-release/sources/input-files.js';
import { Refusal } from '../../errors.js';
import { unfilteredSpace } from '../../release/filter/target-space.js';
import { batchesOf } from '../../search/batches.js';
import type { SearchEngine, SearchSettings } from '../../search/search-types.js';
import { fastaFile } from '../../sequence/fasta.js';
import type { Calibration } from '../../significance/calibration.js';
import { parquetTable } from '../../services/export/parquet.js';
import type { PipelineEvents } from '../events/notices.js';
import { readQueries } from '../search.js';
import type { AnnotatedProtein } from '../../domains/domain.js';
import { findDomains } from '../../domains/find.js';
import { holdLock } from '../../processes.js';
import { addToCheckpoint, openCheckpoint, withoutDone } from './checkpoint.js';
import { markNew, readGivenDomains } from './against.js';
import { domainGff, domainTable, domainTblout, domainTsv } from './tables.js';

export interface AnnotateProteinsOptions {
  /** FASTA file of the proteins. */
  readonly fasta: string;
  /** Folder of the results; made where it is missing. */
  readonly output: string;
  /** Slug of the database, for messages. */
  readonly database: string;
  /** Largest E-value of a domain. */
  readonly maxEValue: number;
  /** Searches of one protein. ≥ 1 */
  readonly rounds: number;
  /** Families that are compared in full for each protein. */
  readonly limit: number;
  readonly guarantee: SearchSettings['guarantee'];
  /** Another annotation of the same proteins (readGivenDomains); what it does not have is marked as new. */
  readonly against?: string;
  /** Returns the text of the summary page. */
  readonly summaryOf: (proteins: readonly AnnotatedProtein[]) => string;
}

export interface AnnotatedProteome {
  readonly proteins: number;
  readonly annotated: number;
  readonly domains: number;
  /** Proteins whose length or composition the calibration does not cover. They have no domains. */
  readonly uncovered: number;
  /** Domains that the given annotation does not have. Absent if none was given. */
  readonly newDomains?: number;
  /** Paths of the written files. */
  readonly files: readonly string[];
}

/** Proteins that are searched together and whose domains are then durable. */
const BATCH_PROTEINS = 32;
const FORMAT = 'gloaming-annotation/3';

/**
 * Annotates the proteins of a FASTA file with the domains of a database of families, and writes them as TSV, GFF3,
 * HMMER's domain table, Parquet and a summary page. Killed at any moment, a repeated call with the same options
 * continues. Files of results appear only when all proteins are done. Stage: `compare`, in proteins.
 * Errors  Refusal `significance_unavailable` for a database without E-values; `batch_running` where another process
 *         writes into the folder; those of readGivenDomains, readQueries, openCheckpoint, withoutDone and searchMany;
 *         errors of the file system; the signal's reason
 * Cost    memory for the domains of all proteins, some hundred bytes each
 */
export async function annotateProteins(
  engine: SearchEngine,
  options: AnnotateProteinsOptions,
  { signal, onProgress }: PipelineEvents,
): Promise<AnnotatedProteome> {
  const { fasta, output, maxEValue, rounds, limit, guarantee } = options;
  const { id: calibrationId } = requireCalibration(engine, options.database);
  const given = options.against === undefined ? undefined : await readGivenDomains(options.against);
  const identity = canonicalSha256({
    format: FORMAT,
    input: await digestFile(fasta),
    release: engine.release.id,
    calibration: calibrationId,
    settings: { max_e_value: maxEValue, rounds, limit, guarantee },
  });
  let total = 0;
  for await (const _ of readQueries(fastaFile(fasta))) total += 1;
  await mkdir(output, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST' && error.code !== 'ENOTDIR') throw error;
    throw new Refusal('invalid_option', `${output} cannot be made as a folder: a file has this name.`);
  });
  const unlock = await lockOutput(output);
  try {
    const checkpoint = join(output, '.annotation.jsonl');
    const done = await openCheckpoint(checkpoint, identity);
    const searched: AnnotatedProtein[] = [...done];
    onProgress?.({ stage: 'compare', done: searched.length, total, isResumed: true });
    const settings = { targetSpace: unfilteredSpace(engine.release), limit, guarantee };
    const rest = withoutDone(readQueries(fastaFile(fasta)), done, checkpoint);
    for await (const batch of batchesOf(rest, BATCH_PROTEINS)) {
      signal?.throwIfAborted();
      const found = await findDomains(batch, engine, { maxEValue, rounds, settings, signal });
      await addToCheckpoint(checkpoint, found);
      searched.push(...found);
      onProgress?.({ stage: 'compare', done: searched.length, total });
    }
    const proteins = given === undefined ? searched : searched.map((protein) => markNew(protein, given));
    const files = await writeResults(proteins, options);
    await rm(checkpoint);
    return { ...countsOf(proteins, given !== undefined), files };
  } finally {
    await unlock();
  }
}

/** Excludes other annotations that write into the folder. */
function lockOutput(output: string): Promise<() => Promise<void>> {
  return holdLock(join(output, '.annotation.lock'), (pid) => {
    const message = `Process ${pid} is annotating proteins into ${output}; wait until it is done.`;
    return new Refusal('batch_running', message, { pid });
  });
}

function countsOf(
  proteins: readonly AnnotatedProtein[],
  isCompared: boolean,
): Omit<AnnotatedProteome, 'files'> {
  const domains = proteins.flatMap((protein) => protein.domains);
  return {
    proteins: proteins.length,
    annotated: proteins.filter((protein) => protein.domains.length > 0).length,
    domains: domains.length,
    ...(isCompared && { newDomains: domains.filter(({ isNew }) => isNew).length }),
    uncovered: proteins.filter(({ hasNoEValues = false }) => hasNoEValues).length,
  };
}

function requireCalibration({ calibration }: SearchEngine, database: string): Calibration {
  if (calibration !== undefined) return calibration;
  throw new Refusal(
    'significance_unavailable',
    `Domains are chosen by E-value, and ${database} has none. ` +
      `"gloaming index calibrate ${database}" computes them, or says why it cannot. ` +
      'Related families need a common clan for that.',
  );
}

/** Writes every file under another name first, and renames all of them when the last is complete. */
async function writeResults(
  proteins: readonly AnnotatedProtein[],
  { output, summaryOf }: AnnotateProteinsOptions,
): Promise<readonly string[]> {
  const { columns, rows } = domainTable(proteins);
  const contents: readonly (readonly [string, Iterable<string | Uint8Array>])[] = [
    ['domains.tsv', domainTsv(proteins)],
    ['domains.gff3', domainGff(proteins)],
    ['domains.domtblout', domainTblout(proteins)],
    ['domains.parquet', [parquetTable(columns, rows)]],
    ['summary.html', [summaryOf(proteins)]],
  ];
  for (const [name, content] of contents) await writeFile(join(output, `.${name}.part`), content);
  for (const [name] of contents) await rename(join(output, `.${name}.part`), join(output, name));
  return contents.map(([name]) => join(output, name));
}
