import type { sendWebhook } from '../../src/services/webhooks/send.js';
import type { Life, Timeline } from './world.js';

export type Manner = 'good' | 'hanging' | 'failing' | 'forgetful';

/** Stub receivers of the webhook endpoints, by host name. */
export class Receivers {
  readonly #timeline: Timeline;
  readonly #manners = new Map<string, Manner>();
  readonly #arrivals = new Map<string, Set<string>>();

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  get hosts(): readonly string[] {
    return [...this.#arrivals.keys()];
  }

  add(host: string): void {
    this.#arrivals.set(host, new Set());
  }

  behave(host: string, manner: Manner): void {
    this.#manners.set(host, manner);
  }

  /** True if the receiver has never failed, so that no backoff delays its deliveries. */
  hasBeenGood(host: string): boolean {
    return !this.#manners.has(host);
  }

  heal(): void {
    for (const host of this.#manners.keys()) this.#manners.set(host, 'good');
  }

  hasCome(host: string, eventId: string): boolean {
    return this.#arrivals.get(host)?.has(eventId) === true;
  }

  /** Network of one life of the server. */
  senderOf(life: Life): typeof sendWebhook {
    const timeline = this.#timeline;
    return ({ url, headers }, _address, signal) => {
      const manner = this.#manner(url.hostname);
      const aborted = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      const answer = life.later(timeline.between(2, 200), `receiver ${url.hostname} ${manner}`, () => {
        if (signal.aborted) throw signal.reason;
        if (manner === 'failing') return 500;
        this.#arrivals.get(url.hostname)?.add(headers['webhook-id']);
        if (manner === 'forgetful') throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
        return 200;
      });
      if (manner === 'hanging') {
        answer.catch(() => undefined);
        return aborted;
      }
      return Promise.race([answer, aborted]);
    };
  }

  #manner(host: string): Manner {
    return this.#manners.get(host) ?? 'good';
  }
}
