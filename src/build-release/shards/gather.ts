import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault, Refusal } from '../../errors.js';
import { PROFILES_FILE, TOKENS_FILE } from '../../release/format.js';
import type { RowsEntry } from '../../release/release.js';
import type { RowsFile } from '../../release/rows/rows-file.js';
import type { BuildFolder } from '../build-folder.js';
import {
  NO_RELATED,
  readEncoded,
  writeEncoded,
  type RelatedCounts,
  type SpoolRange,
} from '../encode-proteins.js';
import {
  abandonEncodedFiles,
  finishEncodedFiles,
  openEncodedFiles,
  readNumbers,
  type EncodedFiles,
  type EncodeFolder,
} from '../encoded-files.js';
import type { ProteinTokens } from '../protein-tokens.js';
import { readPlan, shardFolder, shardProgress, shardsFolder, type PlannedShards } from './plan.js';

/** Number of missing shards that a refusal lists. */
const NAMED_MAX_SHARDS = 10;
/** Codes of a missing file, and of a file in the place of a folder or the reverse. */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

/**
 * Concatenates the shards of a build into the files that an encoding on one machine would have written. After an
 * interruption it starts again; the shards stay until the release is complete.
 * Errors  Refusal `build_incomplete`, which lists missing shards; `build_not_found`; `release_damaged` for a shard
 *         whose content has changed; errors of the file system; the signal's reason
 * Cost    one read and one write of all tokens and profiles, and two digests of them; twice their disk space meanwhile
 */
export async function gatherShards(
  tokens: Pick<ProteinTokens, 'dimension' | 'hasProfiles'>,
  range: SpoolRange,
  folder: BuildFolder,
  count: number,
  signal?: AbortSignal,
): Promise<void> {
  if ((await readEncoded(folder))?.files !== undefined) return;
  const shards = shardsFolder(folder, count);
  const planned = { folder: shards, plan: await readPlan(shards) };
  await refuseMissing(planned);
  // Removes a checkpoint of an encoding without shards, whose files are overwritten now.
  await rm(folder.encoded, { force: true });
  const files = await openEncodedFiles(tokens, range, folder, { targets: 0, residues: 0 });
  try {
    let related = NO_RELATED;
    for (const shard of planned.plan.shards.keys()) {
      signal?.throwIfAborted();
      const { targets, relatives: homologs } = await appendShard(planned, shard, files);
      related = { targets: related.targets + targets, relatives: related.relatives + homologs };
    }
    await writeEncoded(range, folder, await finishEncodedFiles(files), related);
  } catch (cause) {
    await abandonEncodedFiles(files);
    throw cause;
  }
}

async function refuseMissing(planned: PlannedShards): Promise<void> {
  const { missing } = await shardProgress(planned);
  if (missing.length === 0) return;
  const named = missing.slice(0, NAMED_MAX_SHARDS).join(', ');
  const rest = missing.length > NAMED_MAX_SHARDS ? ', …' : '';
  throw new Refusal(
    'build_incomplete',
    `${missing.length} of ${planned.plan.shards.length} shards are not encoded yet: ${named}${rest}.`,
    { missing },
  );
}

/** Errors  Refusal `release_damaged`; errors of the file system */
async function appendShard(
  { folder, plan }: PlannedShards,
  shard: number,
  files: EncodedFiles,
): Promise<RelatedCounts> {
  const place = shardFolder(folder, shard);
  try {
    return await appendFiles(place, plan.shards[shard], files);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    throw cause instanceof Fault || ABSENT.has(code) ? refuseDamaged(shard, place.path) : cause;
  }
}

/** Errors  Fault for a damaged file of the shard; errors of the file system */
async function appendFiles(
  place: EncodeFolder,
  { targets, residues }: SpoolRange,
  files: EncodedFiles,
): Promise<RelatedCounts> {
  const state = await readEncoded(place);
  // A task renames its folder to the shard only when all of the shard is encoded.
  if (state?.files === undefined || state.targets !== targets || state.residues !== residues) {
    throw new Fault(`${place.encoded} is not that of the whole shard.`);
  }
  const { tokens, profiles, scores, homologSets } = state.files;
  await appendRows(join(place.release, TOKENS_FILE), tokens, files.tokens);
  await files.scores.write(await readNumbers(place.scores, scores));
  if (files.profiles !== undefined && files.homologSets !== undefined) {
    await appendRows(join(place.release, PROFILES_FILE), profiles, files.profiles);
    await files.homologSets.write(await readNumbers(place.homologSets, homologSets));
  }
  return state.related;
}

/**
 * Appends the values of a shard's file, without its frame.
 * Errors  Fault if the file is not the one of the entry; errors of the file system
 */
async function appendRows(path: string, entry: RowsEntry | undefined, into: RowsFile): Promise<void> {
  const { sha256, values_byte_offset: start = 0, values_byte_length: length = 0 } = entry ?? {};
  const hash = createHash('sha256');
  let position = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    const bytes = chunk as Buffer;
    hash.update(bytes);
    const values = bytes.subarray(Math.max(0, start - position), Math.max(0, start + length - position));
    if (values.length > 0) await into.write(values);
    position += bytes.length;
  }
  if (hash.digest('hex') !== sha256) throw new Fault(`${path} is damaged.`);
}

function refuseDamaged(shard: number, path: string): Refusal {
  return new Refusal(
    'release_damaged',
    `Shard ${shard} in ${path} is damaged or of an earlier version; remove this folder and encode the shard again.`,
  );
}
