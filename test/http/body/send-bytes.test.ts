import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { sendBytes } from '#src/http/body/send-bytes.js';

const PIECE_BYTES = 256 * 1024;
const PIECES = 400;

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Client side of a request. The test writes the answer. */
async function ask(answer: (response: ServerResponse) => void): Promise<IncomingMessage> {
  server = createServer((_request, response) => answer(response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const sent = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

it('sends a slow client all pieces in order, with few of them waiting', async () => {
  let [made, released, closed] = [0, 0, 0];
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (; made < PIECES; made += 1) yield Buffer.alloc(PIECE_BYTES, made);
  }
  const release = (piece: Uint8Array): void => {
    released += 1;
    // Overwrites the released piece: the bytes in transit must not change.
    piece.fill(255);
  };
  const response = await ask((to) => {
    void sendBytes(to, { bytes: pieces(), release, close: () => (closed += 1) });
  });
  for (let before = -1; before !== made;) {
    before = made;
    await pause(100);
  }
  // The buffers of the kernel hold the rest.
  expect(made - released).toBeLessThanOrEqual(3);
  expect(made).toBeLessThan(PIECES);
  let at = 0;
  for await (const chunk of response) {
    for (const byte of chunk as Buffer) {
      if (byte !== (Math.floor(at / PIECE_BYTES) & 255)) throw new Error(`byte ${at} is ${byte}`);
      at += 1;
    }
  }
  expect(at).toBe(PIECES * PIECE_BYTES);
  expect([released, closed]).toEqual([PIECES, 1]);
});

it('stops reading when the client disconnects', async () => {
  let ended: (() => void) | undefined;
  const closed = new Promise<void>((resolve) => (ended = resolve));
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(PIECE_BYTES);
  }
  const response = await ask((to) => void sendBytes(to, { bytes: endless(), close: () => ended?.() }));
  response.destroy();
  await closed;
});

it('breaks the answer off when the source fails, and throws the cause', async () => {
  let sent: Promise<void> | undefined;
  let closed = 0;
  async function* failing(): AsyncGenerator<Uint8Array> {
    for (let piece = 0; piece < 8; piece += 1) yield Buffer.alloc(PIECE_BYTES);
    throw new Error('the disk is gone');
  }
  const response = await ask((to) => {
    to.setHeader('Content-Length', 9 * PIECE_BYTES);
    sent = sendBytes(to, { bytes: failing(), close: () => (closed += 1) });
    sent.catch(() => undefined);
  });
  const read = async (): Promise<void> => {
    for await (const chunk of response) void chunk;
  };
  await expect(read()).rejects.toThrow();
  await expect(sent).rejects.toThrow('the disk is gone');
  expect(closed).toBe(1);
});
