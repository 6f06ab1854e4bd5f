import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assert, Refusal } from '../../errors.js';
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
  FAMILY_BYTES,
  finishEncodedFiles,
  openEncodedFiles,
  SCORE_BYTES,
  type EncodedFiles,
} from '../encoded-files.js';
import type { ProteinTokens } from '../protein-tokens.js';
import { readPlan, shardFolder, shardProgress, shardsFolder, type PlannedShards } from './plan.js';

/** Missing shards that a refusal names; the others are counted. */
const NAMED_MAX_SHARDS = 10;

/**
 * Puts the shards of a build one after the other, where the encoding on one machine would have left its files. Killed
 * at any moment, it begins again; the shards stay until the release is there.
 * Errors  Refusal `build_incomplete` that names what is missing; `release_damaged` where a shard's rows are not what
 *         its task has written
 * Cost    a read and a write of all tokens and profiles, and two digests of them; twice their disk until the end
 */
export async function gatherShards(
  made: Pick<ProteinTokens, 'dimension' | 'hasProfiles'>,
  range: SpoolRange,
  folder: BuildFolder,
  count: number,
  signal?: AbortSignal,
): Promise<void> {
  if ((await readEncoded(folder))?.files !== undefined) return;
  const shards = shardsFolder(folder, count);
  const planned = { folder: shards, plan: await readPlan(shards) };
  await refuseMissing(planned);
  // How far the encoding on one machine had come holds for its files, which begin anew.
  await rm(folder.encoded, { force: true });
  const files = await openEncodedFiles(made, range, folder, { targets: 0, residues: 0 });
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

async function appendShard(
  { folder, plan }: PlannedShards,
  shard: number,
  files: EncodedFiles,
): Promise<RelatedCounts> {
  const place = shardFolder(folder, shard);
  const state = await readEncoded(place);
  assert(state?.files !== undefined, 'a task names its folder as the shard when all of it is encoded');
  const { tokens, profiles } = state.files;
  const { targets } = plan.shards[shard];
  const numbers = async (path: string, width: number): Promise<Uint8Array> => {
    const bytes = await readFile(path);
    if (bytes.length !== targets * width) throw refuseDamaged(shard, place.path);
    return bytes;
  };
  const rows = async (name: string, entry: RowsEntry, into: RowsFile): Promise<void> => {
    if (!(await appendRows(join(place.path, name), entry, into))) throw refuseDamaged(shard, place.path);
  };
  await rows(TOKENS_FILE, tokens, files.tokens);
  await files.scores.write(await numbers(place.scores, SCORE_BYTES));
  if (files.profiles !== undefined && files.homologSets !== undefined) {
    assert(profiles !== undefined, 'all shards of a build have profiles, or none');
    await rows(PROFILES_FILE, profiles, files.profiles);
    await files.homologSets.write(await numbers(place.homologSets, FAMILY_BYTES));
  }
  return state.related;
}

/** Appends the values of a shard's file, without its frame; false where it is not what was written. */
async function appendRows(
  path: string,
  { sha256, values_byte_offset: start, values_byte_length: length }: RowsEntry,
  into: RowsFile,
): Promise<boolean> {
  const hash = createHash('sha256');
  let position = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    const bytes = chunk as Buffer;
    hash.update(bytes);
    const values = bytes.subarray(Math.max(0, start - position), Math.max(0, start + length - position));
    if (values.length > 0) await into.write(values);
    position += bytes.length;
  }
  return hash.digest('hex') === sha256;
}

function refuseDamaged(shard: number, path: string): Refusal {
  return new Refusal(
    'release_damaged',
    `Shard ${shard} in ${path} is not what its task wrote; remove that folder and encode the shard again.`,
  );
}
