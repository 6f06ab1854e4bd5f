import { Agent, request } from 'node:http';

export interface LoadTarget {
  readonly url: string;
  readonly key: string;
}

/** One answered request. The latency counts from its scheduled time, so that it includes waiting to be sent. */
export interface Answered {
  readonly dueMs: number;
  readonly latencyMs: number;
  readonly status: number;
}

/** Below the listener's backlog, so that a pause of one second resets no connection. */
const MOST_CONNECTIONS = 256;

/**
 * Sends requests at a fixed rate, independent of the answers. A client that waits for answers would hide the queue.
 * Unit    ratePerSecond requests per second; seconds
 */
export async function openLoop(
  target: LoadTarget,
  ratePerSecond: number,
  seconds: number,
  bodyOf: (index: number) => string,
): Promise<readonly Answered[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: MOST_CONNECTIONS });
  const count = Math.floor(ratePerSecond * seconds);
  const startMs = performance.now();
  const answers: Promise<Answered>[] = [];
  while (answers.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - startMs) / 1000) * ratePerSecond) + 1);
    while (answers.length < due) {
      const dueMs = startMs + (answers.length / ratePerSecond) * 1000;
      answers.push(ask(target, agent, bodyOf(answers.length), dueMs, startMs));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const all = await Promise.all(answers);
  agent.destroy();
  return all;
}

function ask(
  { url, key }: LoadTarget,
  agent: Agent,
  body: string,
  dueMs: number,
  startMs: number,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    };
    const sent = request(`${url}/v1/homology`, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        const latencyMs = performance.now() - dueMs;
        resolve({ dueMs: dueMs - startMs, latencyMs, status: response.statusCode ?? 0 });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
