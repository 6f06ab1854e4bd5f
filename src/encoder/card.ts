import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { Refusal } from '../errors.js';
import type { RefusalLocation } from '../places.js';
import { TOKEN_DIMENSIONS, TOKEN_MAX_SQUARED_NORM } from '../limits.js';
import { encoderCardSchema } from './card-schema.js';
import type { EncoderCard } from './encoder.js';

export const CARD_FILE = 'card.json';
const CARD_MAX_BYTES = 1024 * 1024;

/**
 * Reads and checks `card.json` of an encoder's folder; the files it names are checked by verifyEncoderFiles.
 * Errors  Refusal `invalid_encoder_card` naming each place that is wrong
 */
export async function readEncoderCard(directory: string): Promise<EncoderCard> {
  const path = join(directory, CARD_FILE);
  return parseEncoderCard(await readCardFile(path), path);
}

/**
 * Checks a card that was read from somewhere.
 * Errors  Refusal `invalid_encoder_card` naming each place that is wrong
 */
export function parseEncoderCard(value: unknown, path: string): EncoderCard {
  const check = compiledSchema();
  if (!check(value)) {
    throw invalidCard(
      path,
      (check.errors ?? []).map(({ instancePath, params, message }) => ({
        location: location(instancePath, params),
        message: message ?? 'is invalid',
      })),
    );
  }
  const errors = inconsistencies(value);
  if (errors.length > 0) throw invalidCard(path, errors);
  return value;
}

interface NamedFile {
  /** Member of the card that names the file. */
  readonly place: string;
  readonly file: string;
  readonly sha256: string;
}

function namedFiles({ model, projection }: EncoderCard): readonly NamedFile[] {
  return [
    { place: 'card.model', ...model },
    ...(model.data === undefined ? [] : [{ place: 'card.model.data', ...model.data }]),
    ...(projection === null ? [] : [{ place: 'card.projection', ...projection }]),
  ];
}

/** Names of the files of an encoder: the card, the model, its weights and the projection. */
export function encoderFiles(card: EncoderCard): readonly string[] {
  return [CARD_FILE, ...namedFiles(card).map(({ file }) => file)];
}

/**
 * Checks that the files that a card names exist and have a possible size, without reading them.
 * Errors  Refusal `invalid_encoder_card` where a file is missing, is empty, is no plain file of this folder or has
 *         another size than the projection
 */
export async function checkEncoderFiles(directory: string, card: EncoderCard): Promise<void> {
  for (const named of namedFiles(card)) {
    const size = await plainFileSize(directory, named);
    if (size === 0) throw invalidFile(directory, named, 'file', 'must not be empty');
  }
  const { projection } = card;
  if (projection === null) return;
  const { size } = await lstat(join(directory, projection.file));
  const expected = projection.input_dimension * projection.output_dimension * 4;
  if (size !== expected) {
    const message = `must hold ${expected} bytes of float32, holds ${size}`;
    throw invalidCard(directory, [{ location: 'card.projection.file', message }]);
  }
}

/**
 * Recomputes the digests of the files that a card names.
 * Errors  those of checkEncoderFiles; Refusal `invalid_encoder_card` where a file has changed
 */
export async function verifyEncoderFiles(directory: string, card: EncoderCard): Promise<void> {
  await checkEncoderFiles(directory, card);
  for (const named of namedFiles(card)) {
    const { file, sha256 } = named;
    const actual = await fileSha256(join(directory, file));
    if (actual !== sha256)
      throw invalidFile(directory, named, 'sha256', `is ${sha256}, but ${file} has ${actual}`);
  }
}

/** SHA-256 of a file of any size, lower-case hex. */
export async function fileSha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Bytes of a file that a card names. A link could lead out of the folder, so only plain files are taken. */
async function plainFileSize(directory: string, named: NamedFile): Promise<number> {
  const status = await lstat(join(directory, named.file)).catch(() => undefined);
  if (status?.isFile() !== true)
    throw invalidFile(
      directory,
      named,
      'file',
      `must name a plain file beside the card; ${named.file} is none`,
    );
  return status.size;
}

function invalidFile(
  directory: string,
  { place, file }: NamedFile,
  member: 'file' | 'sha256',
  message: string,
): Refusal {
  return invalidCard(directory, [{ location: `${place}.${member}`, message, value: file }]);
}

/**
 * JSON of a card that is not checked yet.
 * Errors  Refusal `invalid_encoder_card`
 */
export async function readCardFile(path: string): Promise<unknown> {
  const refuse = (message: string): Refusal => invalidCard(path, [{ location: 'card', message }]);
  const status = await lstat(path).catch(() => undefined);
  if (status?.isFile() !== true) throw refuse('must be a plain file; none was found');
  if (status.size > CARD_MAX_BYTES)
    throw refuse(`must be at most ${CARD_MAX_BYTES} bytes, has ${status.size}`);
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw refuse(`must be JSON: ${String(cause)}`);
  }
}

let schemaCheck: ValidateFunction<EncoderCard> | undefined;

function compiledSchema(): ValidateFunction<EncoderCard> {
  schemaCheck ??= new Ajv2020({ allErrors: true }).compile<EncoderCard>(encoderCardSchema);
  return schemaCheck;
}

/** Checks members that must fit each other, which a schema cannot express. */
function inconsistencies(card: EncoderCard): readonly RefusalLocation[] {
  const { window, projection, dimension, inverse_step: inverseStep, affine } = card;
  const errors: RefusalLocation[] = [];
  if (!(TOKEN_DIMENSIONS as readonly number[]).includes(dimension)) {
    errors.push({ location: 'card.dimension', message: `must be one of ${TOKEN_DIMENSIONS.join(', ')}` });
  }
  const longest = Math.sqrt(TOKEN_MAX_SQUARED_NORM) - Math.sqrt(dimension) / 2;
  if (inverseStep > longest) {
    const bound = `${longest.toFixed(2)} at dimension ${dimension}`;
    const message = `must be at most ${bound}, so that dot products fit in int16`;
    errors.push({ location: 'card.inverse_step', message });
  }
  if (window !== null && window.overlap * 3 > window.residues) {
    errors.push({ location: 'card.window.overlap', message: 'must be at most a third of window.residues' });
  }
  if (projection !== null && projection.output_dimension !== dimension) {
    errors.push({
      location: 'card.projection.output_dimension',
      message: `must equal the dimension ${dimension}`,
    });
  }
  const files = [card.model.file, card.model.data?.file, projection?.file].filter(
    (file) => file !== undefined,
  );
  if (new Set(files).size < files.length) {
    errors.push({ location: 'card', message: 'must name different files for model, data and projection' });
  }
  if (affine.gap_extend > affine.gap_open) {
    errors.push({ location: 'card.affine.gap_extend', message: 'must not exceed gap_open' });
  }
  return errors;
}

function invalidCard(path: string, errors: readonly RefusalLocation[]): Refusal {
  const list = errors.map((error) => `${error.location} ${error.message}`).join('; ');
  return new Refusal('invalid_encoder_card', `The encoder card ${path} is not valid: ${list}.`, { errors });
}

/** `/tokenizer/prefix/0` becomes `card.tokenizer.prefix[0]`; a missing or surplus member is named too. */
function location(instancePath: string, params: Record<string, unknown>): string {
  const member = params.missingProperty ?? params.additionalProperty ?? params.propertyName;
  const segments = instancePath.split('/').slice(1);
  if (typeof member === 'string') segments.push(member);
  return segments.reduce(
    (place, part) => (/^\d+$/.test(part) ? `${place}[${part}]` : `${place}.${part}`),
    'card',
  );
}
