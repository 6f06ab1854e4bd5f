/*
 * names.index of a release: the names of its targets, and an inverted index over their words. Little-endian.
 *
 *   header           64 bytes: "GLMNAMES", then 7 × uint64: version, targets, tokens, postings, bytes of rows, bytes of
 *                    tokens, entries of trigrams.
 *   row offsets      uint64 × (targets + 1): offset of each target's row in the rows.
 *   rows             UTF-8: id and names of each target, separated by tabs, in the order of NAME_FIELDS.
 *   token offsets    uint32 × (tokens + 1).
 *   tokens           UTF-8: every word once, ascending by UTF-16 unit.
 *   posting offsets  uint32 × (tokens + 1).
 *   postings         uint32: for each token the targets that have it, ascending.
 *   trigram offsets  uint32 × (TRIGRAM_COUNT + 1).
 *   trigrams         uint32: for each trigram the tokens that have it, ascending.
 *
 * Every section begins at a multiple of 8. Rows, postings and trigrams are read from the file in pieces. All other
 * sections stay in memory, about 40 bytes per target.
 */

/** Attributes that name a protein, where a release has them. */
export const NAME_FIELDS = ['accession', 'entry_name', 'gene', 'name', 'description', 'organism'] as const;
export const NAME_MAX_CHARACTERS = 256;

const NAMES_MAGIC = Buffer.from('GLMNAMES');
const NAMES_VERSION = 1;
export const NAMES_HEADER_BYTES = 64;

export interface NamesCounts {
  readonly targets: number;
  readonly tokens: number;
  readonly postings: number;
  readonly rowBytes: number;
  readonly tokenBytes: number;
  readonly trigrams: number;
}

export function namesHeader(counts: NamesCounts): Buffer {
  const header = Buffer.alloc(NAMES_HEADER_BYTES);
  header.set(NAMES_MAGIC);
  [NAMES_VERSION, ...valuesOf(counts)].forEach((value, at) =>
    header.writeBigUInt64LE(BigInt(value), 8 + 8 * at),
  );
  return header;
}

/** undefined where the bytes are no header of this version. */
export function readNamesHeader(header: Buffer): NamesCounts | undefined {
  if (header.length < NAMES_HEADER_BYTES || !header.subarray(0, 8).equals(NAMES_MAGIC)) return undefined;
  const [version, targets, tokens, postings, rowBytes, tokenBytes, trigrams] = Array.from(
    { length: 7 },
    (_, at) => Number(header.readBigUInt64LE(8 + 8 * at)),
  );
  if (version !== NAMES_VERSION) return undefined;
  return { targets, tokens, postings, rowBytes, tokenBytes, trigrams };
}

function valuesOf({
  targets,
  tokens,
  postings,
  rowBytes,
  tokenBytes,
  trigrams,
}: NamesCounts): readonly number[] {
  return [targets, tokens, postings, rowBytes, tokenBytes, trigrams];
}

/** Bytes up to the next multiple of 8. */
export function paddingOf(bytes: number): number {
  return (8 - (bytes % 8)) % 8;
}
