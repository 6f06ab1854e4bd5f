import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as requestTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Handles one request of a relay, for example by forwarding it. */
export type Relaying = (request: {
  readonly body: Buffer;
  readonly response: ServerResponse;
  /** Forwards the request, with its own or another body, and returns the response. */
  readonly pass: (body?: Buffer) => Promise<Relayed>;
}) => Promise<void> | void;

interface Relayed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** HTTP relay between two appliances, whose behaviour a test sets. */
export interface Relay {
  readonly url: string;
  /** Sets the handling of all later requests; the default forwards them unchanged. */
  behave(relaying?: Relaying): void;
  /** Number of requests whose client disconnected before the response. */
  abandonedCount(): number;
  close(): Promise<void>;
}

/** @param behind  address of the server that receives forwarded requests */
export async function startRelay(behind: string): Promise<Relay> {
  let behaviour: Relaying = passOn;
  let abandoned = 0;
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on('close', () => (abandoned += response.writableFinished ? 0 : 1));
    const body = await buffer(incoming);
    await behaviour({ body, response, pass: (other = body) => ask(behind, incoming, other) });
  };
  const server = createServer((incoming, response) => void serve(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave: (relaying = passOn) => (behaviour = relaying),
    abandonedCount: () => abandoned,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const passOn: Relaying = async ({ response, pass }) => {
  const { status, headers, bytes } = await pass();
  response.writeHead(status, headers).end(bytes);
};

async function ask(
  behind: string,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
): Promise<Relayed> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = { ...headers, 'content-length': body.length };
    const options = { method, headers: sent, agent: false, rejectUnauthorized: false } as const;
    (behind.startsWith('https:') ? requestTls : request)(behind + url, options, resolve)
      .on('error', reject)
      .end(body);
  });
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: await buffer(answer) };
}
