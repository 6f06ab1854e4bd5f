import { constants, existsSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Refusal } from '../../errors.js';
import { fileSha256, parseEncoderCard, readCardFile } from '../../encoder/card.js';
import { countFeatures } from '../../encoder/model.js';
import type { EncoderCard } from '../../encoder/encoder.js';
import { backgroundProteins } from './background-proteins.js';
import { randomOrthogonal } from '../../encoder/rotation.js';

export interface AddEncoderRequest {
  readonly modelPath: string;
  /**
   * A card that may omit digests, dimension, step, projection and affine parameters, which are computed then.
   */
  readonly cardPath: string;
  readonly indexesFolder: string;
  /** Output dimension of a random orthogonal projection to create; undefined for none. */
  readonly projectionDimension?: number;
}

export interface StagedCard {
  readonly card: EncoderCard;
  /** False if the card omits the affine parameters; the staged card then has placeholders. */
  readonly isAffineGiven: boolean;
}

const PROJECTION_FILE = 'projection.bin';
const PROJECTION_SEED = 1;
/** Length of the probe; long enough to distinguish residues from the vectors of special tokens. */
const FEATURE_PROBE_RESIDUES = 20;

/** Members that a card may omit. */
const DEFAULTS = {
  is_baseline: false,
  window: null,
  dimension: 64,
  inverse_step: 173,
  affine: { multiplier: 176, offset: 28, gap_open: 40, gap_extend: 4 },
};

type Json = Readonly<Record<string, unknown>>;
type Projection = NonNullable<EncoderCard['projection']>;

/**
 * Copies a model and its projection into a folder, and completes the card from the files.
 * Errors  Refusal `invalid_encoder_card`, `unusable_encoder`; Fault where the model cannot be run; errors of the file
 *         system
 */
export async function stageEncoder(request: AddEncoderRequest, staging: string): Promise<StagedCard> {
  const { modelPath, cardPath } = request;
  const cardFile = await readCardFile(cardPath);
  if (!isObject(cardFile)) throw invalid(cardPath, 'card', 'must be an object');
  const model = await stageModel(modelPath, staging);
  refuseOtherDigest(cardFile.model, model.sha256, cardPath, 'card.model.sha256');
  const trained = await stageTrainedProjection(request, cardFile.projection, staging);
  // The card is checked before the model runs, because an error in the card is more useful than a failing model.
  const draft = parseEncoderCard({ ...DEFAULTS, ...cardFile, model, projection: null }, cardPath);
  const features = await countFeatures(
    join(staging, model.file),
    draft,
    backgroundProteins(1, FEATURE_PROBE_RESIDUES, 1)[0],
  );
  const projection = trained ?? (await stageRandomProjection(request, features, staging));
  const dimension = projection?.output_dimension ?? features;
  if (cardFile.dimension !== undefined && cardFile.dimension !== dimension) {
    const source = projection === null ? 'the model' : 'the projection';
    throw invalid(
      cardPath,
      'card.dimension',
      `is ${draft.dimension}, but ${source} gives ${dimension}; ${HINT}`,
    );
  }
  const card = parseCompleted({ ...draft, dimension, projection }, cardPath);
  return { card, isAffineGiven: cardFile.affine !== undefined };
}

const HINT = 'use --projection-dimension to project the features of a model';

function parseCompleted(card: EncoderCard, cardPath: string): EncoderCard {
  try {
    return parseEncoderCard(card, cardPath);
  } catch (error) {
    // The user's members were checked before. The remaining error is a number of features that kernels do not support.
    if (error instanceof Refusal && card.projection === null) {
      throw new Refusal(error.code, `${error.message} Otherwise ${HINT}.`, error.details);
    }
    throw error;
  }
}

/**
 * Copies the model under its own name, because it may refer by name to a file of weights beside it. That file is the
 * model's name followed by `.data`, as PyTorch and the onnx package write it.
 */
async function stageModel(modelPath: string, staging: string): Promise<EncoderCard['model']> {
  const file = basename(modelPath);
  const sha256 = await stageFile(modelPath, staging, file);
  const dataPath = `${modelPath}.data`;
  if (!existsSync(dataPath)) return { file, sha256 };
  return {
    file,
    sha256,
    data: { file: `${file}.data`, sha256: await stageFile(dataPath, staging, `${file}.data`) },
  };
}

/** Copies the projection that the card names, which must be in the folder of the card. */
async function stageTrainedProjection(
  { cardPath, projectionDimension }: AddEncoderRequest,
  projection: unknown,
  staging: string,
): Promise<Projection | null> {
  if (projection === undefined || projection === null) return null;
  if (projectionDimension !== undefined) {
    throw invalid(cardPath, 'card.projection', 'must be omitted together with --projection-dimension');
  }
  if (
    !isObject(projection) ||
    typeof projection.file !== 'string' ||
    basename(projection.file) !== projection.file
  ) {
    throw invalid(cardPath, 'card.projection.file', 'must name a file beside the card');
  }
  const sha256 = await stageFile(join(dirname(cardPath), projection.file), staging, PROJECTION_FILE);
  refuseOtherDigest(projection, sha256, cardPath, 'card.projection.sha256');
  const { input_dimension, output_dimension } = projection as {
    input_dimension: number;
    output_dimension: number;
  };
  return { file: PROJECTION_FILE, sha256, input_dimension, output_dimension };
}

async function stageRandomProjection(
  { cardPath, projectionDimension }: AddEncoderRequest,
  features: number,
  staging: string,
): Promise<Projection | null> {
  if (projectionDimension === undefined) return null;
  if (projectionDimension > features) {
    const message = `cannot be ${projectionDimension}: the model has only ${features} features`;
    throw invalid(cardPath, 'projection-dimension', message);
  }
  const matrix = randomOrthogonal(features, projectionDimension, PROJECTION_SEED);
  const bytes = Buffer.alloc(matrix.length * 4);
  matrix.forEach((value, i) => bytes.writeFloatLE(value, i * 4));
  await writeFile(join(staging, PROJECTION_FILE), bytes);
  const sha256 = await fileSha256(join(staging, PROJECTION_FILE));
  return { file: PROJECTION_FILE, sha256, input_dimension: features, output_dimension: projectionDimension };
}

/** Copies a file, without duplicating its blocks where the file system allows, and returns its digest. */
async function stageFile(path: string, staging: string, name: string): Promise<string> {
  const target = join(staging, name);
  try {
    await copyFile(path, target, constants.COPYFILE_FICLONE);
  } catch (cause) {
    throw new Refusal('unusable_encoder', `${path} cannot be read: ${String(cause)}`);
  }
  return fileSha256(target);
}

/** Refuses a file whose digest differs from the digest in the card. */
function refuseOtherDigest(card: unknown, sha256: string, cardPath: string, place: string): void {
  const stated = isObject(card) ? card.sha256 : undefined;
  if (stated === undefined || stated === sha256) return;
  throw invalid(cardPath, place, `is ${String(stated)}, but the file has ${sha256}; omit or correct it`);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(path: string, location: string, message: string): Refusal {
  return new Refusal(
    'invalid_encoder_card',
    `The encoder card ${path} is not valid: ${location} ${message}.`,
    {
      errors: [{ location, message }],
    },
  );
}
