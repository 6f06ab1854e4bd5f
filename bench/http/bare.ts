import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import Koa from 'koa';

/* A Koa server that reads the body and sends as many bytes as a small search. It shows the machine's own limit. */

const ANSWER = JSON.stringify({ hello: 'x'.repeat(3_000) });

const app = new Koa();
app.use(async (context) => {
  for await (const _chunk of context.req);
  context.set('Content-Type', 'application/json');
  context.body = ANSWER;
});
const server = createServer(app.callback());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.once('message', () => process.disconnect());
process.once('disconnect', () => process.exit());
const { port } = server.address() as AddressInfo;
process.send?.({ url: `http://127.0.0.1:${port}`, key: 'none', sequences: [] });
