/** One event of a stream, with what the contract says of its data. */
export interface ServerEvent<Data> {
  /** Absent where the event is not kept. */
  readonly id?: string;
  readonly type: string;
  readonly data: Data;
}

/**
 * Events as they come; comments, which keep a connection alive, are left out.
 * Source  HTML Living Standard, section 9.2.6
 */
export async function* readEvents<Data>(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent<Data>> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = new Map(text.slice(0, end).split('\n').map(fieldOf));
      text = text.slice(end + 2);
      const data = fields.get('data');
      if (data === undefined) continue;
      const id = fields.get('id');
      yield {
        ...(id !== undefined && { id }),
        type: fields.get('event') ?? 'message',
        data: JSON.parse(data) as Data,
      };
    }
  }
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
