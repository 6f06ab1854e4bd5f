import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ROUTES } from '#src/contract/document/routes.js';
import { expectFailure, expectSuccess, readResponse, SOON } from '../tools/expectations.js';
import {
  candidateSet,
  fakeHandlers,
  get,
  KEY,
  post,
  searchBody,
  serve,
  type Served,
} from '../tools/serve.js';

const SEARCH = ROUTES['homology.search'];

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

const IDLE = { running: 0, waiting: 0 };

/** Connects a client, sends the text, and waits until the server has read it. */
async function connectedClient({ http, port }: Served, bytes: string): Promise<Socket> {
  const accepted = once(http.server, 'connection') as Promise<[Socket]>;
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  client.write(bytes);
  const [socket] = await accepted;
  await expect.poll(() => socket.bytesRead).toBe(bytes.length);
  return client;
}

/** A server whose searches end when the test releases them or when their signal aborts. */
async function patient() {
  const seenByHandler = { started: 0, aborted: 0, release: (): void => undefined };
  const gate = new Promise<void>((resolve) => (seenByHandler.release = resolve));
  const handlers = fakeHandlers({
    'homology.search': async ({ body }, { signal, requestId }) => {
      seenByHandler.started += 1;
      const aborted = new Promise<never>((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          seenByHandler.aborted += 1;
          reject(signal.reason as Error);
        }),
      );
      await Promise.race([gate, aborted]);
      return candidateSet(requestId, body.query.sequence);
    },
  });
  served = await serve({ handlers });
  return { served, seenByHandler };
}

describe('a client that disconnects', () => {
  it('ends its work and is 499 in the log', async () => {
    const { served: server, seenByHandler } = await patient();
    const body = searchBody();
    const socket = connect(server.port, '127.0.0.1');
    socket.write(
      `POST /v1/homology HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => seenByHandler.started, SOON).toBe(1);
    socket.destroy();
    await expect.poll(() => seenByHandler.aborted, SOON).toBe(1);
    await expect
      .poll(() => server.logged.at(-1), SOON)
      .toMatchObject({ status: 499, error_code: 'client_closed_request' });
    expect(server.http.shell.admission.executions.counts()).toEqual(IDLE);
  });

  it('ends its request that waits behind other work, too', async () => {
    const { served: server, seenByHandler } = await patient();
    const body = searchBody();
    const request =
      `POST /v1/homology HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = connect(server.port, '127.0.0.1');
    socket.write(request + request + request);
    await expect.poll(() => seenByHandler.started, SOON).toBe(3);
    socket.destroy();
    await expect.poll(() => seenByHandler.aborted, SOON).toBe(3);
    await expect.poll(() => server.http.shell.admission.executions.counts(), SOON).toEqual(IDLE);
    // No work is left, so that the stop does not wait for its grace period.
    await server.http.stop(600_000);
  });

  it('in the middle of its body uses no execution', async () => {
    const { served: server, seenByHandler } = await patient();
    const socket = await connectedClient(
      server,
      `POST /v1/homology HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"query"',
    );
    socket.destroy();
    await expect.poll(() => server.logged.at(-1), SOON).toMatchObject({ status: 499 });
    expect(seenByHandler.started).toBe(0);
  });
});

describe('a shutdown', () => {
  it.each([
    ['asked for a tunnel', 'CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n'],
    ['sent no request', 'no request\r\n\r\n'],
    ['said nothing', ' '],
  ])('does not wait for a client that %s and stays', async (_, bytes) => {
    const { served: server } = await patient();
    const socket = await connectedClient(server, bytes);
    const data = new Promise((resolve) => socket.once('data', resolve));
    socket.on('error', () => undefined).resume();
    if (bytes !== ' ') await data;
    await server.http.stop(100);
    socket.destroy();
  });

  it('makes readiness fail, finishes the running work, and accepts no request', async () => {
    const { served: server, seenByHandler } = await patient();
    const search = post(server, '/v1/homology', searchBody());
    await expect.poll(() => seenByHandler.started, SOON).toBe(1);
    const socket = await connectedClient(server, 'GET /readyz HTTP/1.1\r\nHost: a\r\n');
    const stopped = server.http.stop(5_000);
    const answer = new Promise<string>((resolve) =>
      socket.once('data', (chunk) => resolve(chunk.toString())),
    );
    socket.write('\r\n');
    const readiness = await answer;
    expect(readiness).toMatch(/^HTTP\/1\.1 503 /);
    expect(readiness).toMatch(/connection: close/i);
    expect(readiness).toContain('the server is stopping');
    await expect(fetch(`${server.origin}/healthz`)).rejects.toThrow();
    seenByHandler.release();
    expectSuccess(await readResponse(await search), SEARCH);
    await stopped;
    socket.destroy();
  });

  it('refuses work that does not finish within the grace period', async () => {
    const { served: server, seenByHandler } = await patient();
    const search = post(server, '/v1/homology', searchBody());
    await expect.poll(() => seenByHandler.started, SOON).toBe(1);
    await Promise.all([
      server.http.stop(100),
      search.then(async (response) => expectFailure(await readResponse(response), 'server_stopping', SEARCH)),
    ]);
    expect(seenByHandler.aborted).toBe(1);
  });
});

describe('a fault of the server', () => {
  it('is a plain 500 whose cause appears only in the log', async () => {
    const handlers = fakeHandlers({
      'receipts.get': async () => {
        throw new Error('secret detail', { cause: new Error('disk') });
      },
    });
    served = await serve({ handlers });
    const response = await readResponse(await get(served, `/v1/receipts/rcpt_${'a'.repeat(64)}`));
    expectFailure(response, 'internal_error', ROUTES['receipts.get']);
    expect(response.body).not.toContain('secret');
    const logged = served.logged.find(({ err }) => err !== undefined);
    expect(JSON.stringify(logged)).toContain('secret detail');
    expect(logged?.['request_id']).toBe(response.headers['x-request-id']);
  });

  it('by a full disk is a 503 that may be retried', async () => {
    const handlers = fakeHandlers({
      'receipts.get': async () => {
        throw new Error('The receipt cannot be read.', {
          cause: Object.assign(new Error('no space'), { code: 'ENOSPC' }),
        });
      },
    });
    served = await serve({ handlers });
    const response = await readResponse(await get(served, `/v1/receipts/rcpt_${'a'.repeat(64)}`));
    expectFailure(response, 'storage_unavailable', ROUTES['receipts.get']);
    expect(response.headers['retry-after']).toBe('1');
  });

  it('in an answer that breaks the contract is not sent', async () => {
    const handlers = fakeHandlers({
      'homology.databases.list': async () => ({
        value: { object: 'list', data: [], has_more: 1, next_cursor: null } as never,
      }),
    });
    served = await serve({ handlers });
    const response = await readResponse(await get(served, '/v1/homology/databases'));
    expectFailure(response, 'internal_error', ROUTES['homology.databases.list']);
    expect(JSON.stringify(served.logged)).toContain('body.has_more must be boolean');
  });
});

it('a route is public only if it is listed', async () => {
  served = await serve({ manifest: { routes: ['receipts.get'] } });
  expect((await post(served, '/v1/homology', searchBody())).status).toBe(404);
  const document = (await (await get(served, '/openapi.json')).json()) as { readonly paths: object };
  expect(Object.keys(document.paths)).toEqual(['/v1/receipts/{receipt_id}']);
});

it('keys never appear in the log', async () => {
  served = await serve();
  await post(served, '/v1/homology', searchBody());
  await get(served, '/v1/homology/databases', { authorization: 'Bearer glm_wrongkey_abc' });
  const text = JSON.stringify(served.logged);
  expect(text).not.toContain(KEY);
  expect(text).not.toContain('glm_wrongkey');
  expect(served.logged.length).toBeGreaterThanOrEqual(2);
});
