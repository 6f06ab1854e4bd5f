import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { canonicalJson, sha256Hex } from '../canonical.js';
import { Fault } from '../errors.js';
import { valueId } from '../ids.js';
import { readCardFile, unknownFormat } from '../json/card.js';
import type { Bin } from './calibration.js';
import type { CalibrationCard, FileCard } from './card.js';
import type { PairNull } from './pair-null.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { readReferenceProteins } from './reference-set.js';
import type { ClassBias, MomentWeights } from './moment-weights.js';
import type { RepeatModel } from './repeats.js';
import {
  classBiasModelOf,
  floatsOf,
  openBins,
  pairNullOf,
  promiscuityModelOf,
  repeatModelOf,
} from './sidecar.js';

/*
 * The reference null of an encoder: the null model of scores of unrelated proteins, fitted once to a large sample of
 * natural proteins. It lies in the encoder's folder, in `null/`, or in `null-profiles/` for releases with profiles. A
 * release whose pairs agree with it needs only the covariates of its targets and one factor on all probabilities, the
 * level. Equal pairs then have equal bit scores in all databases.
 */

/** The reference null as a value. Its id (`null_…`) is the canonical SHA-256 of this card. */
export interface ReferenceNullCard extends Pick<
  CalibrationCard,
  'seed' | 'sample' | 'supported' | 'stratum_edges' | 'pair_null' | 'bins' | 'populations' | 'moments'
> {
  readonly format: ReferenceNullFormat;
  /** Digest of the encoder, and canonical digest of the affine parameters that the scores rest on. */
  readonly encoder_sha256: string;
  readonly affine_sha256: string;
  readonly form: { readonly inverse_step: number; readonly profile_scale?: number };
  /** Hubness model without its reference set, which is a file. */
  readonly bias: Omit<CalibrationCard['bias'], 'panel'>;
  readonly files: { readonly proteins: FileCard; readonly basis: FileCard };
}

export const REFERENCE_NULL_FORMAT = 'gloaming-reference-null/9';
/**
 * Earlier formats that are still used: without promiscuity, without cysteines, without a usual share of them, without
 * class bias, without repeats, without composition, without membrane helices.
 */
const EARLIER_FORMATS = [
  'gloaming-reference-null/1',
  'gloaming-reference-null/2',
  'gloaming-reference-null/3',
  'gloaming-reference-null/4',
  'gloaming-reference-null/5',
  'gloaming-reference-null/6',
  'gloaming-reference-null/7',
  'gloaming-reference-null/8',
] as const;
const FORMATS = [REFERENCE_NULL_FORMAT, ...EARLIER_FORMATS] as const;
type ReferenceNullFormat = (typeof FORMATS)[number];

/** A reference null in memory. */
export interface ReferenceNull {
  /** `null_…` */
  readonly id: string;
  readonly card: ReferenceNullCard;
  readonly folder: string;
  readonly pairNull: PairNull;
  readonly promiscuity: MomentWeights | undefined;
  readonly classBias: ClassBias | undefined;
  readonly repeats: RepeatModel | undefined;
  readonly bins: readonly (readonly Bin[])[];
  readonly proteins: readonly QueryTokens[];
  /** [rank × dimension × (dimension + 1) ÷ 2], orthonormal rows. */
  readonly basis: Float32Array;
}

/** Returns the folder of an encoder's reference null, for releases with or without profiles. */
export function referenceNullFolder(encoderDirectory: string, hasProfiles: boolean): string {
  return join(encoderDirectory, hasProfiles ? 'null-profiles' : 'null');
}

export function referenceNullId(card: ReferenceNullCard): string {
  return valueId('null', card);
}

/** Returns the only valid text of a card: canonical JSON and a newline. */
export function referenceNullText(card: ReferenceNullCard): string {
  return `${canonicalJson(card)}\n`;
}

/**
 * Opens the reference null of an encoder. Returns undefined if the encoder has none.
 * Errors  Fault if a file is damaged or has an unknown format; those of the file system
 */
export async function openReferenceNull(
  encoderDirectory: string,
  hasProfiles: boolean,
): Promise<ReferenceNull | undefined> {
  const folder = referenceNullFolder(encoderDirectory, hasProfiles);
  const card = await readCard(folder);
  if (card === undefined) return undefined;
  const { dimension, rank } = card.moments;
  const proteins = readReferenceProteins(await readChecked(folder, card.files.proteins), dimension);
  const basis = floatsOf(tableFromIPC(await readChecked(folder, card.files.basis)), 'component');
  if (basis.length !== (rank * dimension * (dimension + 1)) / 2) {
    throw new Fault(`${folder} has a basis of ${basis.length} values, which does not fit its card.`);
  }
  return Object.freeze({
    id: referenceNullId(card),
    card,
    folder,
    pairNull: pairNullOf(card),
    promiscuity: promiscuityModelOf(card),
    classBias: classBiasModelOf(card),
    repeats: repeatModelOf(card),
    bins: openBins(card.bins, card.stratum_edges),
    proteins,
    basis,
  });
}

async function readCard(folder: string): Promise<ReferenceNullCard | undefined> {
  const path = join(folder, REFERENCE_NULL_FILES.card);
  const read = await readCardFile<ReferenceNullCard>(path, 'a reference null');
  if (read === undefined) return undefined;
  const { card } = read;
  if (!FORMATS.includes(card?.format)) {
    throw unknownFormat(path, (card as { readonly format?: unknown }).format, REFERENCE_NULL_FORMAT);
  }
  return card;
}

async function readChecked(folder: string, { path, sha256 }: FileCard): Promise<Uint8Array> {
  const bytes = await readFile(join(folder, path));
  if (sha256Hex(bytes) !== sha256) throw new Fault(`${join(folder, path)} was changed.`);
  return bytes;
}

/** Names of the files of a reference null. */
export const REFERENCE_NULL_FILES = {
  card: 'card.json',
  proteins: 'reference.arrow',
  basis: 'basis.arrow',
} as const;
