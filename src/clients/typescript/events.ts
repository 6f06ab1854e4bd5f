/** One event of a stream of server-sent events. */
export interface StreamEvent<Data> {
  /** Absent where the event is not kept. */
  readonly id?: string;
  readonly data: Data;
}

/**
 * Events as they come; comments, which keep a connection alive, are left out.
 * Source  HTML Living Standard, section 9.2.6
 */
export async function* readEvents<Data>(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamEvent<Data>> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const fields = new Map(text.slice(0, end).split('\n').map(fieldOf));
        text = text.slice(end + 2);
        const data = fields.get('data');
        if (data === undefined) continue;
        const id = fields.get('id');
        yield { ...(id !== undefined && { id }), data: JSON.parse(data) as Data };
      }
    }
  } finally {
    // Whoever stops reading has the connection closed.
    await reader.cancel().catch(() => undefined);
  }
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
