import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createClient, GloamingError, type Client } from '#src/clients/typescript/client.js';

/* The TypeScript client against servers that answer anything. It ends with an error, never with a hang. */

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function clientOf(answer: RequestListener): Promise<Client> {
  return createClient({
    url: await listen(answer),
    key: 'glm_secret',
    retries: 2,
    pause: async () => undefined,
  });
}

const query = { kind: 'protein_sequence', sequence: 'MKV' } as const;

async function all<Item>(items: AsyncGenerator<Item>, most = 1_000): Promise<Item[]> {
  const read: Item[] = [];
  for await (const item of items) {
    read.push(item);
    if (read.length > most) throw new Error('The generator does not end.');
  }
  return read;
}

describe('a malicious server', () => {
  it.each([
    'null',
    '1',
    '"text"',
    '[]',
    '{"error":null}',
    '{"error":"no"}',
    '{"error":{"message":{},"param":[],"details":null,"errors":{}}}',
    '{"error":{"errors":[null,{"loc":1,"msg":2},{"loc":[{}],"msg":"m"}]}}',
    '{"detail":1,"errors":[null,[],{"location":"a"}]}',
    '<html>',
    '',
  ])('gets a GloamingError for the failure %s', async (text) => {
    const client = await clientOf((_, response) => response.writeHead(400).end(text));
    const failure = await client.search({ query }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(GloamingError);
    const { message, param, places, details, status } = failure as GloamingError;
    expect([typeof message, status]).toEqual(['string', 400]);
    expect(param === undefined || typeof param === 'string').toBe(true);
    for (const place of places)
      expect(place).toEqual({ location: expect.any(String), message: expect.any(String) });
    expect(typeof details).toBe('object');
  });

  it('cannot fill the memory with an endless failure', async () => {
    let sentBytes = 0;
    const client = await clientOf((_, response) => {
      response.writeHead(400);
      const chunk = Buffer.alloc(65_536, 97);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk)) sentBytes += chunk.length;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    await expect(client.search({ query })).rejects.toMatchObject({ status: 400, code: 'unknown_answer' });
    expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
  });

  it('cannot fill the memory with an endless event', async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const chunk = 'data: '.repeat(10_000);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    await expect(all(client.watch('run_1'))).rejects.toThrow(/event of more than/);
  });

  it.each(['null', '1', '[]', '{}', '{"type":1}'])(
    'cannot keep a watch alive with the event %s',
    async (data) => {
      const client = await clientOf((_, response) =>
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`id: 1\ndata: ${data}\n\n`),
      );
      await expect(all(client.watch('run_1'))).rejects.toThrow(/events without a type/);
    },
  );

  it('cannot keep a list or the rows of a run without end by one cursor', async () => {
    const page = JSON.stringify({ object: 'list', data: [{ id: 'x' }], has_more: true, next_cursor: 'same' });
    const client = await clientOf((_, response) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(page),
    );
    await expect(all(client.runs())).rejects.toThrow('The server answers with the same page again.');
    await expect(all(client.results('run_1'))).rejects.toThrow(
      'The server answers with the same page again.',
    );
  });

  it('gets no key of another server by a redirect', async () => {
    const seen: (string | undefined)[] = [];
    const other = await listen((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
    const client = await clientOf((request, response) =>
      response.writeHead(307, { Location: other + request.url }).end(),
    );
    await client.search({ query }).catch(() => undefined);
    expect(seen).toEqual([undefined]);
  });

  it('cannot make a client wait longer than a minute between attempts, nor retry without end', async () => {
    const pauses: number[] = [];
    const url = await listen((_, response) =>
      response.writeHead(503, { 'Service-Retryable': 'true', 'Retry-After': '9'.repeat(400) }).end('{}'),
    );
    const pause = async (ms: number): Promise<void> => void pauses.push(ms);
    await expect(createClient({ url, pause, retries: 3 }).search({ query })).rejects.toMatchObject({
      status: 503,
    });
    expect(pauses).toEqual([60_000, 60_000, 60_000]);
  });
});
