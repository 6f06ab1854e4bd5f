import { rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApplianceConfig } from '../config.js';
import type { Encoder } from '../encoder/encoder.js';
import { findEncoder } from '../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { Refusal } from '../errors.js';
import { plannedReferencePhases } from '../fit-significance/reference/calibrate.js';
import { plannedPhases } from '../fit-significance/fit-significance.js';
import { comparedCount } from '../measure-recall/compared-targets.js';
import { leastTargets } from '../measure-recall/qualify.js';
import type { PolicyKind } from '../recall/policy-card.js';
import { normaliseProtein } from '../sequence/protein.js';
import type { PipelineEvents } from './events/notices.js';
import type { PipelineStage } from './events/progress.js';
import { hasReferenceNull } from './reference-null.js';
import { openInput, type InputOptions } from './input.js';
import { readRates, recordRate, type MachineRates, type RateName } from './rates.js';

/** Size of a build's input. */
export interface BuildExtent {
  readonly bytes: number;
  readonly proteins: number;
  readonly residues: number;
}

/** A stage of a build with its expected duration. */
export interface ExpectedStage {
  readonly stage: PipelineStage;
  /** Unit: ms */
  readonly ms: number;
  /** Whether this machine has measured the rate of this stage. */
  readonly isMeasured: boolean;
}

/** Time, disk and memory of a build beforehand. */
export interface BuildEstimate {
  readonly extent: BuildExtent;
  /** False where the extent was extrapolated from the first million proteins. */
  readonly isExact: boolean;
  readonly stages: readonly ExpectedStage[];
  /** Files of the release, and the work files that lie beside them until the end of the build. */
  readonly diskBytes: number;
  readonly workBytes: number;
  /** Tokens, which a search reads, and the peak of the build itself. */
  readonly searchBytes: number;
  readonly buildBytes: number;
}

interface Parts {
  readonly calibrates: boolean;
  /** Whether the null of the encoder makes the calibration a matter of seconds. */
  readonly hasReferenceNull: boolean;
  readonly qualifies: boolean;
  readonly policy: PolicyKind;
}

/**
 * Rates of one thread of a Zen 5 core under load, for a machine that has measured none. Units as in MachineRates.
 * `npm run bench -- tasks` measures such builds.
 */
const USUAL_RATES: Readonly<Record<RateName, number>> = {
  digest: 200e6,
  read: 2e6,
  encode: 20_000,
  write: 5_000,
  calibrate: 8_000,
  codebook: 250_000,
  qualify: 2e6,
};
/** Kinds of work that all threads share. */
const SHARED: ReadonlySet<RateName> = new Set(['encode', 'calibrate', 'codebook', 'qualify']);
/** Queries of a qualification. */
const QUALIFY_QUERIES = 200;
/** Bytes of a release for each residue beside its token: letter, self-scores, names and attributes, measured. */
const TABLE_BYTES_PER_RESIDUE = 8;
/** Work files for each residue: the spooled proteins. */
const SPOOL_BYTES_PER_RESIDUE = 2;
/** Memory of Node, encoder and kernels without a database, measured. Unit: bytes */
const PROGRAM_BYTES = 600e6;
/** Memory of a calibration for each pair: scores, coordinates and covariates. Unit: bytes */
const BYTES_PER_PAIR = 40;
/** Residues for each byte of FASTA, and their average number in a protein, before any protein was read. */
const RESIDUES_PER_BYTE = 0.72;
const RESIDUES_PER_PROTEIN = 350;

/** Expected stages of a build, in their order. A rate that was not measured is scaled by that of the encoder. */
export function expectedStages(
  { bytes, proteins, residues }: BuildExtent,
  rates: MachineRates,
  threads: number,
  { calibrates, hasReferenceNull: isByReference, qualifies, policy }: Parts,
): readonly ExpectedStage[] {
  const usual = (name: RateName): number => USUAL_RATES[name] * (SHARED.has(name) ? threads : 1);
  const speed = (rates.encode ?? usual('encode')) / usual('encode');
  const stage = (name: RateName, units: number): ExpectedStage => ({
    stage: name,
    ms: (1000 * units) / (rates[name] ?? usual(name) * speed),
    isMeasured: rates[name] !== undefined,
  });
  const isCalibrated = calibrates && proteins > 1;
  return [
    stage('digest', bytes),
    stage('read', bytes),
    stage('encode', residues),
    stage('write', proteins),
    ...(isCalibrated ? [stage('calibrate', pairsOf(proteins, isByReference))] : []),
    ...(isCalibrated && qualifies && proteins >= leastTargets(policy)
      ? [
          ...(policy === 'coded' ? [stage('codebook', residues)] : []),
          stage('qualify', QUALIFY_QUERIES * comparedResidues({ proteins, residues })),
        ]
      : []),
  ];
}

/** Residues that a qualification compares each query with. */
export function comparedResidues({ proteins, residues }: Pick<BuildExtent, 'proteins' | 'residues'>): number {
  return (residues * comparedCount(proteins)) / proteins;
}

/** Work of a calibration in times of one pair. */
function pairsOf(proteins: number, isByReference: boolean): number {
  const phases = isByReference ? plannedReferencePhases(proteins) : plannedPhases(proteins);
  return phases.reduce((sum, { weight }) => sum + weight, 0);
}

/** Extent of an input of so many bytes before any protein was read. */
export function guessedExtent(bytes: number): BuildExtent {
  const residues = bytes * RESIDUES_PER_BYTE;
  return { bytes, residues, proteins: Math.ceil(residues / RESIDUES_PER_PROTEIN) };
}

/** Proteins that are counted; a larger input is extrapolated. They take a quarter of a minute to read. */
const COUNTED_PROTEINS = 1_000_000;
/** Proteins that are read between two looks at the signal. */
const CHECKED_PROTEINS = 10_000;
/** Proteins from which an encoder is measured whose rate is not known. */
const KEPT_PROTEINS = 2_000;
/** Residues of that measurement. */
const PROBE_RESIDUES = 60_000;

/**
 * Estimates time, disk and memory of a build. Reads up to a million proteins, and encodes some of them where this
 * machine has never measured the encoder. Builds nothing.
 * Errors  those of openInput and of reading its proteins; Refusal `encoder_not_found`; Faults of the encoder
 */
export async function estimateBuild(
  config: ApplianceConfig,
  options: Omit<Parts, 'hasReferenceNull'> & { readonly input: InputOptions; readonly encoder?: string },
  events: PipelineEvents,
): Promise<BuildEstimate> {
  const encoderId = options.encoder ?? config.encoder;
  const encoder = await loadEncoder(await findEncoder(encoderId, config), encoderOptionsOf(config));
  try {
    const { extent, isExact, sequences } = await sampleInput(options.input, events);
    let rates = readRates(config.dataFolder, encoderId);
    if (rates.encode === undefined) {
      recordRate(config.dataFolder, encoderId, await probeEncoder(encoder, sequences, events.signal));
      rates = readRates(config.dataFolder, encoderId);
    }
    const { dimension } = encoder.card;
    const tokenBytes = extent.residues * dimension;
    const isByReference = await hasReferenceNull(encoderId, config);
    const isOwnNull = options.calibrates && !isByReference;
    const pairCount = isOwnNull ? Math.min(4_000, extent.proteins) ** 2 / 2 : 0;
    return {
      extent,
      isExact,
      stages: expectedStages(extent, rates, config.threads, {
        ...options,
        hasReferenceNull: isByReference,
      }),
      diskBytes: tokenBytes + extent.residues * TABLE_BYTES_PER_RESIDUE,
      workBytes: extent.residues * SPOOL_BYTES_PER_RESIDUE + pairCount * 12,
      searchBytes: tokenBytes + PROGRAM_BYTES,
      buildBytes: PROGRAM_BYTES + (options.calibrates ? tokenBytes + pairCount * BYTES_PER_PAIR : 0),
    };
  } finally {
    await encoder.close();
  }
}

interface SampledInput {
  readonly extent: BuildExtent;
  readonly isExact: boolean;
  readonly sequences: readonly string[];
}

async function sampleInput(options: InputOptions, events: PipelineEvents): Promise<SampledInput> {
  const opened = await openInput(options, events);
  const scratch = await mkdtemp(join(tmpdir(), 'gloaming-estimate-'));
  try {
    const source = await opened.input.open(scratch);
    const sequences: string[] = [];
    let [bytes, proteins, residues] = [0, 0, 0];
    let isExact = true;
    try {
      for await (const { text } of source.proteins((count) => (bytes += count))) {
        if (proteins === COUNTED_PROTEINS) {
          isExact = false;
          break;
        }
        const { sequence } = normaliseProtein(text);
        if (sequences.length < KEPT_PROTEINS) sequences.push(sequence);
        proteins += 1;
        residues += sequence.length;
        if (proteins % CHECKED_PROTEINS === 0) events.signal?.throwIfAborted();
      }
    } finally {
      source.close();
    }
    if (proteins === 0) throw new Refusal('invalid_fasta', 'The input has no protein.');
    const share = isExact ? 1 : source.totalBytes / Math.max(1, bytes);
    const scaled = (count: number): number => Math.round(count * Math.max(1, share));
    const extent = {
      bytes: source.totalBytes,
      proteins: scaled(proteins),
      residues: scaled(residues),
    };
    return { extent, isExact: isExact || share <= 1, sequences };
  } finally {
    await rm(scratch, { recursive: true, force: true });
    await opened.remove();
  }
}

/** Encodes some sequences. The first call warms the encoder up. */
async function probeEncoder(
  encoder: Encoder,
  sequences: readonly string[],
  signal: AbortSignal | undefined,
): Promise<{ readonly name: 'encode'; readonly units: number; readonly ms: number }> {
  await encoder.encode(sequences.slice(0, 1), { signal });
  const startedMs = performance.now();
  let units = 0;
  for (let start = 0; units < PROBE_RESIDUES; start = (start + 16) % sequences.length) {
    const batch = sequences.slice(start, start + 16);
    await encoder.encode(batch, { signal });
    units += batch.reduce((sum, { length }) => sum + length, 0);
  }
  return { name: 'encode', units, ms: performance.now() - startedMs };
}
