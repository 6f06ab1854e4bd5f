import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { assert } from '../../src/errors.js';
import { usageOf, type Figures, type Server } from './child.js';

const IDLE_CONNECTIONS = 10_000;
/** Connections opened at once. The number is below the listener's backlog. */
const AT_ONCE = 100;

/** Measures the memory of keep-alive connections that have sent one request and stay open. */
export async function idle(server: Server): Promise<Figures> {
  const before = await usageOf(server);
  const sockets: Socket[] = [];
  while (sockets.length < IDLE_CONNECTIONS) {
    sockets.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => askOnce(server)))));
  }
  const after = await usageOf(server);
  assert(
    sockets.every((socket) => socket.readyState === 'open'),
    'idle connections are held',
  );
  for (const socket of sockets) socket.destroy();
  const bytes = Math.max(0, after.residentBytes - before.residentBytes) / IDLE_CONNECTIONS;
  console.log(`${IDLE_CONNECTIONS} idle connections held: ${(bytes / 1024).toFixed(1)} KiB each`);
  return { idle_connections: IDLE_CONNECTIONS, idle_bytes_per_connection: bytes };
}

async function askOnce(server: Server): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write('GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n');
  await once(socket, 'data');
  return socket;
}
