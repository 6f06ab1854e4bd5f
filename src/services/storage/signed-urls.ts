import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson, sha256Hex } from '../../canonical.js';
import { Refusal } from '../../errors.js';

/** Right that a signed URL gives to its holder. It cannot be revoked. */
interface SignedGrant {
  readonly method: 'GET' | 'PUT';
  /** Path of a contract route, with its parameters filled in and percent-encoded. */
  readonly path: string;
  /** Version of the named file. The URL is valid for this version only. */
  readonly version: string;
  readonly expiresAt: Date;
}

/** A signed request, with path and query as the route has parsed them. */
export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
}

/** `expires` as `sign` writes it. `1e999` and other notations are not. */
const UNIX_SECONDS = /^[1-9]\d{0,11}$/;

/** URLs that carry their own permission. The server does not store them. */
export class SignedUrls {
  readonly #sealingKey: Buffer;
  readonly #now: () => Date;

  constructor(sealingKey: Buffer, now: () => Date) {
    this.#sealingKey = sealingKey;
    this.#now = now;
  }

  /** Returns path and query of the URL. */
  sign({ method, path, version, expiresAt }: SignedGrant): string {
    const expires = Math.floor(expiresAt.getTime() / 1000);
    const signature = this.#sealOf(method, path, version, expires).toString('base64url');
    return `${path}?version=${version}&expires=${expires}&signature=${signature}`;
  }

  /** Returns the version in the URL. Errors  Refusal `signature_invalid`, `url_expired` */
  verify({ method, path, query }: SignedRequest): string {
    const { version = '', expires = '', signature = '' } = query;
    const signatureBytes = Buffer.from(signature, 'base64url');
    const seconds = UNIX_SECONDS.test(expires) ? Number(expires) : 0;
    // HEAD returns no more than GET does.
    const seal = this.#sealOf(method === 'HEAD' ? 'GET' : method, path, version, seconds);
    const isWhole =
      signatureBytes.toString('base64url') === signature && signatureBytes.length === seal.length;
    if (seconds === 0 || !isWhole || !timingSafeEqual(signatureBytes, seal)) {
      throw new Refusal('signature_invalid', 'This server has not signed this URL for this method.');
    }
    if (this.#now().getTime() >= seconds * 1000) {
      const at = new Date(seconds * 1000).toISOString();
      throw new Refusal('url_expired', `The URL was good until ${at}. Ask for another one.`);
    }
    return version;
  }

  #sealOf(method: string, path: string, version: string, expires: number): Buffer {
    const content = canonicalJson({ expires, method, path, seal: 'signed-url', version });
    return createHmac('sha256', this.#sealingKey).update(content).digest();
  }
}

/** Identifies a signed URL in logs and responses, without granting access. */
export function signedUrlId(url: string): string {
  return `fsu_${sha256Hex(url).slice(0, 24)}`;
}
