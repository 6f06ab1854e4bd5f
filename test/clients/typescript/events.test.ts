// @module-tag fast

import { expect, it } from 'vitest';
import { readEvents } from '#src/clients/typescript/events.js';

const stream =
  'id: 1\nevent: run.running\ndata: {"label":"größer"}\n\n: still here\n\ndata: 2\n\nid: 3\ndata: "cut o';

function piecesOf(size: number): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(stream);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
      controller.close();
    },
  });
}

it.each([1, 2, 7, 1_000])('events are the same however they are cut into pieces: %i bytes', async (size) => {
  const events: unknown[] = [];
  for await (const event of readEvents(piecesOf(size))) events.push(event);
  // Comments keep a connection alive and say nothing; what has no end has not come.
  expect(events).toEqual([{ id: '1', data: { label: 'größer' } }, { data: 2 }]);
});
