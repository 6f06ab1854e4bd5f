import { expect, it } from 'vitest';
import { readEvents } from '#src/contract/document/event-stream.js';

const stream =
  'id: 1\nevent: run.running\ndata: {"label":"größer"}\n\n: still here\n\ndata: 2\n\nid: 3\ndata: "cut o';

async function* piecesOf(size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

it.each([1, 2, 7, 1_000])('events are the same however they are cut into pieces: %i bytes', async (size) => {
  const events: unknown[] = [];
  for await (const event of readEvents(piecesOf(size))) events.push(event);
  // Comments keep a connection alive and say nothing; what has no end has not come.
  expect(events).toEqual([
    { id: '1', type: 'run.running', data: { label: 'größer' } },
    { type: 'message', data: 2 },
  ]);
});
