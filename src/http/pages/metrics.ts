import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** One value of a gauge with its labels. */
export interface Reading {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metrics {
  /** Services add their own metrics here. */
  readonly registry: Registry;
  readonly requestsInFlight: Gauge;
  observeRequest(operation: string, method: string, status: number, seconds: number): void;
  /** Registers a gauge that is read at each scrape. */
  watch(name: string, help: string, labelNames: readonly string[], read: () => readonly Reading[]): void;
  /** Registers a counter that is read at each scrape. */
  watchTotal(name: string, help: string, labelNames: readonly string[], read: () => readonly Reading[]): void;
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);

/**
 * Prometheus metrics of one appliance. Label values come from the contract only, so that clients cannot add label
 * values.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'gloaming_' });
  const requests = new Counter({
    name: 'gloaming_http_requests_total',
    help: 'Requests answered, by operation, method and status.',
    labelNames: ['operation', 'method', 'status'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'gloaming_http_request_duration_seconds',
    help: 'Time from arrival to answer, by operation.',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const requestsInFlight = new Gauge({
    name: 'gloaming_http_requests_in_flight',
    help: 'Requests that have arrived and are not answered.',
    registers: [registry],
  });
  return {
    registry,
    requestsInFlight,
    observeRequest(operation, method, status, seconds) {
      requests.inc({
        operation,
        method: KNOWN_METHODS.has(method) ? method : 'other',
        status: String(status),
      });
      durations.observe({ operation }, seconds);
    },
    watch(name, help, labelNames, read) {
      const gauge = new Gauge({
        name,
        help,
        labelNames: [...labelNames],
        registers: [registry],
        collect() {
          // Label values of the last scrape may be gone.
          gauge.reset();
          for (const { labels = {}, value } of read()) gauge.set(labels, value);
        },
      });
    },
    watchTotal(name, help, labelNames, read) {
      const counter = new Counter({
        name,
        help,
        labelNames: [...labelNames],
        registers: [registry],
        collect() {
          counter.reset();
          for (const { labels = {}, value } of read()) counter.inc(labels, value);
        },
      });
    },
  };
}
