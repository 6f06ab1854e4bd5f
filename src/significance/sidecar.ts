import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC, type Table } from 'apache-arrow';
import { canonicalJson, sha256Hex } from '../canonical.js';
import { Fault } from '../errors.js';
import { readCardFile, unknownFormat } from '../json/card.js';
import { isQualified, type Bin, type Calibration } from './calibration.js';
import {
  CARD_FILE,
  CARD_FORMAT,
  CARD_FORMATS,
  SUPERSEDED_FORMATS,
  calibrationDirectory,
  calibrationId,
  type BinCard,
  type CalibrationCard,
  type FileCard,
  type ScaleCard,
} from './card.js';
import { USUAL_CYSTEINE_SHARE } from './cysteines.js';
import type { MomentTable } from './moments.js';
import { openReferenceSet, readReferenceProteins, type ReferenceSet } from './reference-set.js';
import type { ClassBias, MomentWeights } from './moment-weights.js';
import type { CovariateScale, PairNull } from './pair-null.js';
import type { RepeatModel } from './repeats.js';

/**
 * Reads the card of a release's calibration. Returns undefined if there is none, or one of a superseded format.
 * Errors  Fault if the card cannot be read, is not JSON, or has an unknown format
 */
export async function readCalibrationCard(releaseDirectory: string): Promise<CalibrationCard | undefined> {
  const path = join(calibrationDirectory(releaseDirectory), CARD_FILE);
  type AnyCard = Omit<CalibrationCard, 'format'> & { readonly format: string };
  const read = await readCardFile<AnyCard>(path, 'a calibration card');
  if (read === undefined) return undefined;
  const { card } = read;
  if (CARD_FORMATS.includes(card?.format)) return card as CalibrationCard;
  if (SUPERSEDED_FORMATS.includes(card?.format)) return undefined;
  throw unknownFormat(path, card?.format, CARD_FORMAT);
}

/** Returns the only valid text of a card: canonical JSON and a newline. */
export function cardText(card: CalibrationCard): string {
  return `${canonicalJson(card)}\n`;
}

/**
 * Opens the calibration of a release. Returns undefined if there is none, or if none of its bins is qualified.
 * Errors  Fault if the card is damaged or belongs to another release, or if a file has another size or lacks a column;
 *         those of the file system
 */
export async function openCalibration(
  releaseDirectory: string,
  release: { readonly id: string; readonly targetCount: number },
): Promise<Calibration | undefined> {
  const card = await readCalibrationCard(releaseDirectory);
  if (card === undefined || !isQualified(card)) return undefined;
  const folder = calibrationDirectory(releaseDirectory);
  if (card.release_id !== release.id) {
    throw new Fault(`${folder} calibrates release ${card.release_id}, not ${release.id}.`);
  }
  return Object.freeze({
    id: calibrationId(card),
    card,
    pairNull: pairNullOf(card),
    promiscuity: promiscuityModelOf(card),
    classBias: classBiasModelOf(card),
    repeats: repeatModelOf(card),
    bins: openBins(card.bins, card.stratum_edges),
    hubness: card.bias,
    logLevel: card.reference?.log_level ?? 0,
    ...(await readTargets(folder, card, release.targetCount)),
  });
}

/**
 * Recomputes every digest of a release's calibration. Returns a message for each problem; an empty list means that the
 * calibration is intact or absent.
 * Errors  none for damaged or missing files; those of the file system if the card vanishes meanwhile
 */
export async function verifyCalibration(releaseDirectory: string): Promise<readonly string[]> {
  const folder = calibrationDirectory(releaseDirectory);
  let card: CalibrationCard | undefined;
  try {
    card = await readCalibrationCard(releaseDirectory);
  } catch (cause) {
    return [(cause as Error).message];
  }
  if (card === undefined) return [];
  const problems: string[] = [];
  if ((await readFile(join(folder, CARD_FILE), 'utf8')) !== cardText(card))
    problems.push(`${CARD_FILE} was changed`);
  for (const { path, sha256 } of filesOf(card)) {
    const digest = await readFile(join(folder, path)).then(sha256Hex, () => 'missing');
    if (digest !== sha256) problems.push(`${path} ${digest === 'missing' ? 'is missing' : 'was changed'}`);
  }
  return problems;
}

/** Files of a calibration beside its card. */
export function filesOf({ files }: CalibrationCard): readonly FileCard[] {
  const { targets, basis, reference } = files;
  return reference === undefined ? [targets, basis] : [targets, basis, reference];
}

const NO_HUBNESS_COMPONENTS: readonly number[] = [];

/** Returns the null model of a card. */
export function pairNullOf({ pair_null: model }: Pick<CalibrationCard, 'pair_null'>): PairNull {
  return {
    shape: {
      logShorter: scaleOf(model.log_shorter),
      logLonger: scaleOf(model.log_longer),
      meanCosine: scaleOf(model.mean_cosine),
      cosineSpread: scaleOf(model.cosine_spread),
      profiles: model.profiles && {
        logMean: scaleOf(model.profiles.log_mean),
        logSpread: scaleOf(model.profiles.log_spread),
        logEffective: scaleOf(model.profiles.log_effective),
      },
    },
    hubness: scaleOf(model.bias),
    hubnessComponents: model.profiles?.leanings.map(scaleOf) ?? [],
    promiscuity: model.promiscuity && scaleOf(model.promiscuity),
    weights: model.weights,
    scale: model.scale,
    rate: {
      slopes: [
        ...[model.length_slope, model.mean_slope, model.spread_slope],
        ...profileSlopes(model.profiles),
        ...(model.promiscuity === undefined ? [] : [model.promiscuity.slope]),
      ],
      slowerShare: model.slower_share ?? 1,
      shortFactor: model.short_factor ?? 1,
    },
    scores: { scorePerCosine: model.score_per_cosine, profileScore: model.profiles?.score_weight ?? 0 },
    composition: model.composition && {
      weight: model.composition.weight,
      usualGain: model.composition.usual_gain,
    },
    membrane: model.membrane && {
      commonWeight: model.membrane.common_weight,
      ownWeight: model.membrane.own_weight,
      fullShare: model.membrane.full_share,
    },
    cysteines: {
      weight: model.cysteine_weight ?? 0,
      usualShare: model.usual_cysteine_share ?? USUAL_CYSTEINE_SHARE,
    },
  };
}

/** Returns the class bias of a card; undefined if it has none. */
export function classBiasModelOf({
  pair_null: { class_bias: bias },
}: Pick<CalibrationCard, 'pair_null'>): ClassBias | undefined {
  if (bias === undefined) return undefined;
  const { mean_weights: meanWeights, sketch_weights: sketchWeights, offset, smallest, largest } = bias;
  return { meanWeights, sketchWeights, offset, smallest, largest };
}

/** Returns the model of repeats of a card; undefined if it has none. */
export function repeatModelOf({
  pair_null: { repeats },
}: Pick<CalibrationCard, 'pair_null'>): RepeatModel | undefined {
  if (repeats === undefined) return undefined;
  const { weight, usual_share: usualShare, largest_share: largestShare } = repeats;
  return { weight, usualShare, largestShare };
}

/** Returns the promiscuity model of a card; undefined if it has none. */
export function promiscuityModelOf({
  pair_null: { promiscuity },
}: Pick<CalibrationCard, 'pair_null'>): MomentWeights | undefined {
  return promiscuity && { meanWeights: promiscuity.mean_weights, sketchWeights: promiscuity.sketch_weights };
}

function profileSlopes(profiles: CalibrationCard['pair_null']['profiles']): readonly number[] {
  if (profiles === undefined) return [];
  return [profiles.mean_slope, profiles.spread_slope, profiles.effective_slope, ...profiles.leaning_slopes];
}

function scaleOf({ centre, spread, minimum, maximum }: ScaleCard): CovariateScale {
  return { centre, spread, minimum, maximum };
}

/**
 * Arranges the bins of a card by query and target stratum. The null is symmetric, so that one bin serves both orders.
 * Shape   [edges.length + 1][edges.length + 1]
 * Errors  Fault if the card lacks the bin of a pair of strata
 */
export function openBins(bins: readonly BinCard[], edges: readonly number[]): readonly (readonly Bin[])[] {
  const strata = Array.from({ length: edges.length + 1 }, (_, stratum) => stratum);
  return strata.map((query) => strata.map((target) => openBin(bins, query, target)));
}

function openBin(bins: readonly BinCard[], query: number, target: number): Bin {
  const [shorter, longer] = query < target ? [query, target] : [target, query];
  const card = bins.find((bin) => bin.query_stratum === shorter && bin.target_stratum === longer);
  if (card === undefined) throw new Fault(`The calibration card lacks the bin ${shorter} × ${longer}.`);
  const { threshold, log_exceedance_probability: logExceedanceProbability, lambda, shape } = card.tail;
  return { card, tail: { threshold, logExceedanceProbability, lambda, shape } };
}

async function readTargets(
  folder: string,
  card: CalibrationCard,
  targetCount: number,
): Promise<Pick<Calibration, 'moments' | 'hubnesses' | 'repeatShares' | 'referenceSet'>> {
  const { dimension, rank } = card.moments;
  const targets = await readTable(folder, card.files.targets);
  const basis = await readTable(folder, card.files.basis);
  if (targets.numRows !== targetCount) {
    throw new Fault(`${folder} holds moments of ${targets.numRows} targets; the release has ${targetCount}.`);
  }
  const moments: MomentTable = {
    dimension,
    rank,
    means: floatsOf(targets, 'mean'),
    sketches: floatsOf(targets, 'sketch'),
    basis: floatsOf(basis, 'component'),
    profiles: card.pair_null.profiles && {
      means: floatsOf(targets, 'profile_mean'),
      seconds: floatsOf(targets, 'profile_second'),
      logEffective: floatsOf(targets, 'log_effective'),
    },
  };
  return {
    moments,
    hubnesses: hubnessesIn(targets, card.pair_null.profiles?.leanings.length ?? 0),
    repeatShares: card.pair_null.repeats && floatsOf(targets, 'repeat_share'),
    referenceSet: await readReferenceSet(folder, card, moments),
  };
}

async function readReferenceSet(
  folder: string,
  { files, bias, reference }: CalibrationCard,
  { dimension, rank, basis }: MomentTable,
): Promise<ReferenceSet> {
  if (files.reference === undefined || reference === undefined) {
    return { kind: 'targets', targets: Uint32Array.from(bias.panel) };
  }
  const bytes = await readSized(folder, files.reference);
  const { inverse_step: inverseStep, profile_scale: profileScale } = reference.form;
  return openReferenceSet(
    readReferenceProteins(bytes, dimension),
    { dimension, inverseStep, profileScale },
    { rank, basis },
  );
}

function hubnessesIn(targets: Table, hubnessComponentCount: number): Calibration['hubnesses'] {
  const hubnesses = floatsOf(targets, 'bias');
  if (hubnessComponentCount === 0)
    return (target) => ({ hubness: hubnesses[target], hubnessComponents: NO_HUBNESS_COMPONENTS });
  const hubnessComponents = floatsOf(targets, 'leaning');
  return (target) => ({
    hubness: hubnesses[target],
    hubnessComponents: Array.from(
      hubnessComponents.subarray(target * hubnessComponentCount, (target + 1) * hubnessComponentCount),
    ),
  });
}

async function readTable(folder: string, file: FileCard): Promise<Table> {
  return tableFromIPC(await readSized(folder, file));
}

async function readSized(folder: string, file: FileCard): Promise<Uint8Array> {
  const path = join(folder, file.path);
  const size = await stat(path).then(
    (status) => status.size,
    () => 'missing',
  );
  if (size !== file.size_bytes)
    throw new Fault(`${path} should have ${file.size_bytes} bytes; it is ${size}.`);
  return readFile(path);
}

/**
 * Returns all values of a column of fixed-size lists of float32.
 * Shape  [rows × list size], row-major
 * Unit   that of the column
 * Errors Fault if the table lacks the column
 */
export function floatsOf(table: Table, name: string): Float32Array {
  const column = table.getChild(name);
  if (column === null) throw new Fault(`The calibration table lacks the column ${name}.`);
  const parts = column.data.map((data) => data.children[0].values as Float32Array);
  if (parts.length === 1) return parts[0];
  const values = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    values.set(part, start);
    start += part.length;
  }
  return values;
}
