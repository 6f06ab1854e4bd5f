import type { FormatName } from '../build-release/sources/formats/protein-format.js';
import { FORMATS } from '../build-release/sources/formats/recognise.js';
import { inputBytes, filesInput, type InputFiles } from '../build-release/sources/input-files.js';
import type { DuplicateRule, ProteinInput } from '../build-release/sources/protein-source.js';
import { spoolStandardInput } from '../build-release/sources/standard-input.js';
import { Refusal } from '../errors.js';
import { HOMOLOG_RULES } from '../homologs/rules.js';
import type { PipelineEvents } from './events/notices.js';

/** Names of the formats that a build reads. */
export const INPUT_FORMATS: readonly string[] = FORMATS.map(({ name }) => name);
/** Most members of a family that its profile, or a database of members, can have. */
export const MOST_FAMILY_MEMBERS = HOMOLOG_RULES.profileCount;
/** Path that stands for standard input. */
const STANDARD_INPUT = '-';

/** Files that a database is built from. */
export interface InputOptions {
  /** Files, folders of structures, and at most once `-` for standard input. */
  readonly paths: readonly string[];
  /** Bytes of `-`; read once, before the build. */
  readonly standardInput?: AsyncIterable<Uint8Array>;
  /** Default: recognised from the first bytes of each file. */
  readonly format?: FormatName;
  /** Default `fail`. */
  readonly duplicates?: DuplicateRule;
  /** Members of each family that become targets in the place of the family. Default: the families are the targets. */
  readonly members?: number;
  /** NCBI's table of taxids by accession. */
  readonly accessionTaxids?: string;
  /** GFF3 files. */
  readonly annotations?: readonly string[];
  /** Tables of domains. */
  readonly domains?: readonly string[];
  /** Table of attributes by protein id. */
  readonly metadata?: string;
  readonly taxonomy?: InputFiles['taxonomy'];
}

/** A digested input, and the copy of standard input that lives as long as the build. */
export interface OpenInput {
  readonly input: ProteinInput;
  /** Removes the copy of standard input. Errors  those of the file system */
  remove(): Promise<void>;
}

/** Size of the files of an input; 0 for standard input. Errors  Refusal `file_not_found` */
export async function inputSize({ paths, standardInput: _, ...options }: InputOptions): Promise<number> {
  return inputBytes({ ...options, proteins: paths.filter((path) => path !== STANDARD_INPUT) });
}

/**
 * Recognises and digests all files before hours of work. Notice: `input_recognised`. Stage: `digest`.
 * Errors  Refusal `invalid_option` where `-` is named twice; those of spoolStandardInput and filesInput
 */
export async function openInput(
  { paths, standardInput, ...options }: InputOptions,
  { signal, onProgress, onNotice }: PipelineEvents,
): Promise<OpenInput> {
  const standardInputs = paths.filter((path) => path === STANDARD_INPUT).length;
  if (standardInputs > 1) {
    throw new Refusal('invalid_option', 'Standard input can be read only once: name - once.');
  }
  const spooled =
    standardInputs === 1 && standardInput !== undefined
      ? await spoolStandardInput(standardInput, signal)
      : undefined;
  const remove = async (): Promise<void> => spooled?.remove();
  try {
    const proteins = paths.map((path) => (path === STANDARD_INPUT && spooled ? spooled.path : path));
    const files: InputFiles = { ...options, proteins };
    const total = await inputBytes(files);
    let done = 0;
    const input = await filesInput(files, {
      onRecognised: (line) => onNotice?.({ kind: 'input_recognised', input: line }),
      onBytes: (bytes) => onProgress?.({ stage: 'digest', done: (done += bytes), total }),
    });
    return { input, remove };
  } catch (cause) {
    await remove();
    throw cause;
  }
}
