import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { Fault, Refusal } from '../../errors.js';
import { CARD_FILE, encoderFiles, readEncoderCard, verifyEncoderFiles } from '../../encoder/card.js';
import { encodersFolder } from '../../encoder/find.js';
import { loadEncoder } from '../../encoder/load.js';
import type { Encoder, EncoderCard } from '../../encoder/encoder.js';
import { backgroundProteins } from './background-proteins.js';
import { stageEncoder, type AddEncoderRequest, type StagedCard } from './stage-encoder.js';
import { suggestAffine } from './suggest-affine.js';
import { exists, putFile, putFolder } from '../../files.js';

export interface AddedEncoder {
  readonly card: EncoderCard;
  readonly directory: string;
  /** Measured on one core at 350 residues per protein. It depends on the machine, so it is not in the card. */
  readonly residuesPerSecond: number;
}

/**
 * Registers a model: completes its card, runs it on short, typical and longest input, and renames the folder into
 * place, so that a partly written encoder never exists. A damaged encoder gets its files back if the card has the same
 * digest.
 * Errors  Refusal `invalid_encoder_card`, `encoder_exists`; `unusable_encoder` where the model contradicts its card;
 *         errors of the file system
 */
export async function addEncoder(request: AddEncoderRequest): Promise<AddedEncoder> {
  const folder = encodersFolder(request.indexesFolder);
  await mkdir(folder, { recursive: true });
  // The leading dot hides it from the list of encoders.
  const staging = await mkdtemp(join(folder, '.adding-'));
  try {
    const staged = await stageEncoder(request, staging);
    const directory = join(folder, staged.card.id);
    const damaged = await damagedCard(directory, staged.card.id);
    const { affine, residuesPerSecond } = await tryEncoder(staging, staged);
    const card = { ...staged.card, affine };
    await writeCard(staging, card);
    if (damaged === undefined) await putFolder(staging, directory);
    else await mendEncoder(staging, card, directory, damaged);
    return { card, directory, residuesPerSecond };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Refusal('unusable_encoder', `The model does not match its card: ${error.message}`);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Encodes random proteins to test the encoder and to measure its rate. */
async function tryEncoder(
  staging: string,
  { card, isAffineGiven }: StagedCard,
): Promise<{ readonly affine: EncoderCard['affine']; readonly residuesPerSecond: number }> {
  await writeCard(staging, card);
  const encoder = await loadEncoder(staging, { threads: 1 });
  try {
    const proteins = backgroundProteins(PROBE_PROTEINS, PROBE_RESIDUES, PROBE_SEED);
    await encoder.encode(proteins.slice(0, 1));
    const startedAtMs = performance.now();
    const tokens = await encoder.encode(proteins);
    const seconds = (performance.now() - startedAtMs) / 1000;
    await tryLongest(encoder);
    const residuesPerSecond = (PROBE_PROTEINS * PROBE_RESIDUES) / seconds;
    const affine = isAffineGiven ? card.affine : suggestAffine(tokens, card.dimension, card.inverse_step);
    return { affine, residuesPerSecond };
  } finally {
    await encoder.close();
  }
}

const PROBE_PROTEINS = 8;
const PROBE_RESIDUES = 350;
const PROBE_SEED = 1;

/** Tests the longest window of the card, which otherwise might fail only in the middle of a build. */
async function tryLongest(encoder: Encoder): Promise<void> {
  const { window } = encoder.card;
  if (window !== null) await encoder.encode(backgroundProteins(1, window.residues, PROBE_SEED));
}

/**
 * Card of an encoder whose other files are missing or have changed; undefined where the folder does not exist.
 * Errors  Refusal `encoder_exists` for an intact encoder, and for a folder without a valid card
 */
async function damagedCard(directory: string, id: string): Promise<EncoderCard | undefined> {
  if (!(await exists(directory))) return undefined;
  const card = await readEncoderCard(directory).catch(() => undefined);
  const isIntact =
    card !== undefined &&
    (await verifyEncoderFiles(directory, card).then(
      () => true,
      () => false,
    ));
  if (card === undefined || isIntact) {
    throw new Refusal(
      'encoder_exists',
      `The encoder ${id} already exists in ${directory}, and databases may depend on it. Use another id.`,
    );
  }
  return card;
}

/**
 * Renames the staged files over those of a damaged encoder of the same card. The card names the digest of each file, so
 * that after a power cut each file is the damaged or the right one. Nulls in the folder stay.
 * Errors  Refusal `encoder_exists` where the damaged encoder is another one; errors of the file system
 */
async function mendEncoder(
  staging: string,
  card: EncoderCard,
  directory: string,
  damaged: EncoderCard,
): Promise<void> {
  if (canonicalSha256(card) !== canonicalSha256(damaged)) {
    throw new Refusal(
      'encoder_exists',
      `The encoder ${card.id} in ${directory} is damaged, but this model and card are not those that it was made of. ` +
        `Its card is ${join(directory, CARD_FILE)}. Use that card with the same model, or another id.`,
    );
  }
  for (const file of encoderFiles(card)) await putFile(join(staging, file), join(directory, file));
}

async function writeCard(directory: string, card: EncoderCard): Promise<void> {
  await writeFile(join(directory, CARD_FILE), `${JSON.stringify(card, null, 2)}\n`);
}
