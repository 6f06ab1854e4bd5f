/** Position in a stream of bytes that is read once, forwards. */
export interface ByteCursor {
  /** Number of bytes read or skipped. */
  readonly offset: number;
  /** Skips to an offset that is not before the current one. Returns false if the stream ends before it. */
  skipTo(offset: number): Promise<boolean>;
  /**
   * Yields the next bytes. The caller must take all of them before it goes on.
   * Errors  the result of `short` if the stream ends before
   */
  take(count: number, short: () => Error): AsyncGenerator<Buffer>;
  /** Returns the next bytes, fewer only if the stream ends. */
  read(count: number): Promise<Buffer>;
  /** Ends the stream early. */
  close(): Promise<void>;
}

/** Creates a cursor at the start of a stream. Errors  those of the stream, from every method that reads */
export function byteCursor(bytes: AsyncIterable<Uint8Array>): ByteCursor {
  const source = bytes[Symbol.asyncIterator]();
  let chunk: Buffer = Buffer.alloc(0);
  let offset = 0;
  /** Returns 1 to `count` bytes; undefined at the end of the stream. */
  const next = async (count: number): Promise<Buffer | undefined> => {
    while (chunk.length === 0) {
      const { done, value } = await source.next();
      if (done === true) return undefined;
      chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const piece = chunk.subarray(0, count);
    chunk = chunk.subarray(piece.length);
    offset += piece.length;
    return piece;
  };
  const take = async function* (count: number, short?: () => Error): AsyncGenerator<Buffer> {
    for (let left = count; left > 0;) {
      const piece = await next(left);
      if (piece === undefined && short !== undefined) throw short();
      if (piece === undefined) return;
      left -= piece.length;
      yield piece;
    }
  };
  return {
    get offset() {
      return offset;
    },
    async skipTo(to) {
      while (offset < to) if ((await next(to - offset)) === undefined) return false;
      return true;
    },
    take,
    async read(count) {
      const pieces: Buffer[] = [];
      for await (const piece of take(count)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
    close: async () => void (await source.return?.()),
  };
}
