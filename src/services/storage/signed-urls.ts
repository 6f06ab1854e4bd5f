import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson, sha256Hex } from '../../canonical.js';
import { Refusal } from '../../errors.js';

/** What a signed URL lets its holder do, once and for all. */
interface SignedGrant {
  readonly method: 'GET' | 'PUT';
  /** As the contract writes it, with its parameters filled in and percent-encoded. */
  readonly path: string;
  /** Version of what the path names; the URL ends with it. */
  readonly version: string;
  readonly expiresAt: Date;
}

/** A request that came with a signature, in the words of the route that it found. */
export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
}

/** URLs that carry their own permission: nothing is stored of them. */
export class SignedUrls {
  readonly #sealingKey: Buffer;
  readonly #now: () => Date;

  constructor(sealingKey: Buffer, now: () => Date) {
    this.#sealingKey = sealingKey;
    this.#now = now;
  }

  /** Path and query. */
  sign({ method, path, version, expiresAt }: SignedGrant): string {
    const expires = Math.floor(expiresAt.getTime() / 1000);
    const signature = this.#sealOf(method, path, version, expires).toString('base64url');
    return `${path}?version=${version}&expires=${expires}&signature=${signature}`;
  }

  /** The version that the URL was made for. Errors  Refusal `signature_invalid`, `url_expired` */
  verify({ method, path, query }: SignedRequest): string {
    const { version = '', expires = '', signature = '' } = query;
    const given = Buffer.from(signature, 'base64url');
    // HEAD shows no more than GET does.
    const seal = this.#sealOf(method === 'HEAD' ? 'GET' : method, path, version, Number(expires) || 0);
    const isWhole = given.toString('base64url') === signature && given.length === seal.length;
    if (!isWhole || !timingSafeEqual(given, seal)) {
      throw new Refusal('signature_invalid', 'This server has not signed this URL for this method.');
    }
    if (this.#now().getTime() >= Number(expires) * 1000) {
      const at = new Date(Number(expires) * 1000).toISOString();
      throw new Refusal('url_expired', `The URL was good until ${at}. Ask for another one.`);
    }
    return version;
  }

  #sealOf(method: string, path: string, version: string, expires: number): Buffer {
    const content = canonicalJson({ expires, method, path, seal: 'signed-url', version });
    return createHmac('sha256', this.#sealingKey).update(content).digest();
  }
}

/** Names a signed URL in logs and answers; it does not open anything. */
export function signedUrlId(url: string): string {
  return `fsu_${sha256Hex(url).slice(0, 24)}`;
}
