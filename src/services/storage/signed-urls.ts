import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson, sha256Hex } from '../../canonical.js';
import { Refusal } from '../../errors.js';

/** What a signed URL lets its holder do, once and for all. */
export interface SignedGrant {
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
export interface SignedUrls {
  /** Path and query. */
  sign(grant: SignedGrant): string;
  /** The version that the URL was made for. Errors  Refusal `signature_invalid`, `url_expired` */
  verify(request: SignedRequest): string;
}

export function createSignedUrls(sealingKey: Buffer, now: () => Date): SignedUrls {
  const sealOf = (method: string, path: string, version: string, expires: number): Buffer => {
    const content = canonicalJson({ expires, method, path, seal: 'signed-url', version });
    return createHmac('sha256', sealingKey).update(content).digest();
  };
  return {
    sign({ method, path, version, expiresAt }) {
      const expires = Math.floor(expiresAt.getTime() / 1000);
      const signature = sealOf(method, path, version, expires).toString('base64url');
      return `${path}?version=${version}&expires=${expires}&signature=${signature}`;
    },
    verify({ method, path, query }) {
      const { version = '', expires = '', signature = '' } = query;
      const given = Buffer.from(signature, 'base64url');
      // HEAD shows no more than GET does.
      const seal = sealOf(method === 'HEAD' ? 'GET' : method, path, version, Number(expires) || 0);
      const isWhole = given.toString('base64url') === signature && given.length === seal.length;
      if (!isWhole || !timingSafeEqual(given, seal)) {
        throw new Refusal('signature_invalid', 'This server has not signed this URL for this method.');
      }
      if (now().getTime() >= Number(expires) * 1000) {
        const at = new Date(Number(expires) * 1000).toISOString();
        throw new Refusal('url_expired', `The URL was good until ${at}. Ask for another one.`);
      }
      return version;
    },
  };
}

/** Names a signed URL in logs and answers; it does not open anything. */
export function signedUrlId(url: string): string {
  return `fsu_${sha256Hex(url).slice(0, 24)}`;
}
