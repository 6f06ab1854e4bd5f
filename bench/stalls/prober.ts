import { Agent, request } from 'node:http';

/* Process that requests /healthz at a fixed rate, independent of the answers. It reports the latencies on request. */

const RATE_PER_SECOND = 100;
const MOST_CONNECTIONS = 64;

const [url] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: MOST_CONNECTIONS });
let latencies: number[] = [];
let failures = 0;
let waiting = 0;

function ask(): void {
  const sentMs = performance.now();
  waiting += 1;
  const sent = request(`${url}/healthz`, { agent }, (response) => {
    response.resume();
    response.on('end', () => {
      waiting -= 1;
      latencies.push(performance.now() - sentMs);
      if (response.statusCode !== 200) failures += 1;
    });
  });
  sent.on('error', () => {
    waiting -= 1;
    failures += 1;
  });
  sent.end();
}

setInterval(ask, 1_000 / RATE_PER_SECOND);
process.on('message', (question) => {
  if (question !== 'end') {
    latencies = [];
    failures = 0;
    process.send?.('begun');
    return;
  }
  // Requests in flight belong to the measurement.
  const settle = setInterval(() => {
    if (waiting > 0) return;
    clearInterval(settle);
    process.send?.({ latencies, failures });
  }, 1);
});
process.once('disconnect', () => process.exit());
