import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault, Refusal } from '../../errors.js';
import { CARD_FILE } from '../../encoder/card.js';
import { encodersFolder } from '../../encoder/find.js';
import { loadEncoder } from '../../encoder/load.js';
import type { Encoder, EncoderCard } from '../../encoder/encoder.js';
import { backgroundProteins } from './background-proteins.js';
import { stageEncoder, type AddEncoderRequest, type StagedCard } from './stage-encoder.js';
import { suggestAffine } from './suggest-affine.js';

export interface AddedEncoder {
  readonly card: EncoderCard;
  readonly directory: string;
  /** On one core, at 350 residues. It depends on the machine, so it is no part of the card and its digest. */
  readonly residuesPerSecond: number;
}

/**
 * Registers a model: completes its card, runs it on a short, a typical and its longest stretch, and puts the
 * folder in place in one step, so that an encoder is there in full or not at all.
 * Errors  Refusal `invalid_encoder_card`; `unusable_encoder` where the model does not do what the card says;
 *         `encoder_exists`
 */
export async function addEncoder(request: AddEncoderRequest): Promise<AddedEncoder> {
  const folder = encodersFolder(request.indexesFolder);
  await mkdir(folder, { recursive: true });
  // The leading dot hides it from the list of encoders.
  const staging = await mkdtemp(join(folder, '.adding-'));
  try {
    const staged = await stageEncoder(request, staging);
    const directory = join(folder, staged.card.id);
    await refuseExisting(directory, staged.card.id);
    const { affine, residuesPerSecond } = await tryEncoder(staging, staged);
    const card = { ...staged.card, affine };
    await writeCard(staging, card);
    await rename(staging, directory);
    return { card, directory, residuesPerSecond };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Refusal('unusable_encoder', `The model does not do what its card says: ${error.message}`);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Encodes for a while, which shows that the encoder works and what it costs. */
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

/** A model that cannot take the window its card states would fail later, in the middle of a build. */
async function tryLongest(encoder: Encoder): Promise<void> {
  const { window } = encoder.card;
  if (window !== null) await encoder.encode(backgroundProteins(1, window.residues, PROBE_SEED));
}

async function refuseExisting(directory: string, id: string): Promise<void> {
  const isThere = await stat(directory).then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  throw new Refusal(
    'encoder_exists',
    `There is an encoder ${id} in ${directory}, on which databases may depend. Give this one another id.`,
  );
}

async function writeCard(directory: string, card: EncoderCard): Promise<void> {
  await writeFile(join(directory, CARD_FILE), `${JSON.stringify(card, null, 2)}\n`);
}
