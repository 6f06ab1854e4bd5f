/** One event of a stream of server-sent events. */
export interface StreamEvent<Data> {
  /** Absent for events that the server does not store. */
  readonly id?: string;
  readonly data: Data;
}

/** Longest event that is read. The server's own are smaller. */
const EVENT_MAX_CHARACTERS = 1024 * 1024;

/**
 * Yields events as they arrive and skips comments, which only keep the connection alive.
 * Errors  those of the stream; SyntaxError for data that is not JSON; Error for an event without an end
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
      if (text.length > EVENT_MAX_CHARACTERS && !text.includes('\n\n')) {
        throw new Error(`The stream has an event of more than ${EVENT_MAX_CHARACTERS} characters.`);
      }
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
    // A consumer that stops early closes the connection.
    await reader.cancel().catch(() => undefined);
  }
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
