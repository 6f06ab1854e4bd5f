import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '#src/http/app.js';
import { KEY, sendRaw, serve, type Served } from '../../tools/serve.js';

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(() => served.close());

async function statusOf(requestLine: string): Promise<number> {
  const head = `Host: localhost\r\nAuthorization: Bearer ${KEY}`;
  const [response] = await sendRaw(served.port, `${requestLine} HTTP/1.1\r\n${head}\r\n\r\n`);
  return response?.status ?? 0;
}

describe('a path', () => {
  it('matches one route only', () => {
    const { router } = createApp(served.http.shell);
    for (const { method, path } of served.http.shell.routes) {
      const filled = path.replace(/\{\w+\}/g, 'x');
      expect(router.match(filled, method).pathAndMethod.map(({ name }) => name)).toHaveLength(1);
    }
  });

  it.each([
    ['GET /healthz', 200],
    ['GET http://localhost/healthz?x=1', 200],
    ['OPTIONS /healthz', 204],
    ['OPTIONS *', 204],
    ['GET *', 405],
    ['POST /healthz', 405],
    ['GET /healthz/', 404],
    ['GET /Healthz', 404],
    ['GET //healthz', 404],
    ['GET /%68ealthz', 404],
    ['GET /healthz#part', 404],
    ['GET http://localhost/docs\\errors', 404],
    ['GET /v1/receipts/%ff', 400],
  ])('is decoded before routing: %s answers %i', async (requestLine, status) => {
    expect(await statusOf(requestLine)).toBe(status);
  });
});
