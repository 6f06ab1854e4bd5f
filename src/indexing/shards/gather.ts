import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { assert, Refusal } from '../../errors.js';
import { TOKENS_FILE, tokensFrame } from '../../release/format.js';
import { openHashedFile, type HashedFile } from '../../release/hashed-file.js';
import { openRowsFile, type RowsFile } from '../../release/rows/rows-file.js';
import type { BuildFolder } from '../build-folder.js';
import {
  NO_RELATED,
  readEncoded,
  readSelfScores,
  writeEncoded,
  type SpoolRange,
} from '../encode-proteins.js';
import { readPlan, shardFolder, shardProgress, shardsFolder, type PlannedShards } from './plan.js';

/** Missing shards that a refusal names; the others are counted. */
const NAMED_MAX_SHARDS = 10;

/**
 * Puts the shards of a build one after the other, where the encoding on one machine would have left its files. Killed
 * at any moment, it begins again; the shards stay until the release is there.
 * Errors  Refusal `build_incomplete` that names what is missing; `release_damaged` where a shard's tokens are not what
 *         its task has written
 * Cost    a read and a write of all tokens, and two digests of them; twice the disk of the tokens until the end
 */
export async function gatherShards(
  { range, dimension }: { readonly range: SpoolRange; readonly dimension: number },
  folder: BuildFolder,
  count: number,
  signal?: AbortSignal,
): Promise<void> {
  if ((await readEncoded(folder))?.files !== undefined) return;
  const shards = shardsFolder(folder, count);
  const planned = { folder: shards, plan: await readPlan(shards) };
  await refuseMissing(planned);
  const frame = tokensFrame(dimension, range.residues);
  const tokens = await openRowsFile(join(folder.release, TOKENS_FILE), frame, 0);
  const scores = await openHashedFile(folder.scores);
  try {
    for (const shard of planned.plan.shards.keys()) {
      signal?.throwIfAborted();
      await appendShard(planned, shard, tokens, scores);
    }
    await scores.finish();
    await writeEncoded(range, folder, { tokens: await tokens.finish() }, NO_RELATED);
  } catch (cause) {
    await Promise.all([tokens.abandon(), scores.abandon()]);
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
  tokens: RowsFile,
  scores: HashedFile,
): Promise<void> {
  const place = shardFolder(folder, shard);
  const files = (await readEncoded(place))?.files;
  assert(files !== undefined, 'a task names its folder as the shard when all of it is encoded');
  const { sha256, values_byte_offset: start, values_byte_length: length } = files.tokens;
  const hash = createHash('sha256');
  let position = 0;
  for await (const chunk of createReadStream(join(place.path, TOKENS_FILE), { highWaterMark: 1 << 20 })) {
    const bytes = chunk as Buffer;
    hash.update(bytes);
    const values = bytes.subarray(Math.max(0, start - position), Math.max(0, start + length - position));
    if (values.length > 0) await tokens.write(values);
    position += bytes.length;
  }
  const selfScores = await readSelfScores(place);
  if (hash.digest('hex') !== sha256 || selfScores.length !== plan.shards[shard].targets) {
    throw new Refusal(
      'release_damaged',
      `Shard ${shard} in ${place.path} is not what its task wrote; remove that folder and encode the shard again.`,
    );
  }
  await scores.write(new Uint8Array(selfScores.buffer, selfScores.byteOffset, selfScores.byteLength));
}
