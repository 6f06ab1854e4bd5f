import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Fault } from '../errors.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A key for one purpose from a secret; it tells nothing of the secret, nor of keys for other purposes or salts.
 * Source  HKDF with SHA-256 (RFC 5869)
 */
export function keyFrom(secret: string | Buffer, salt: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, KEY_BYTES));
}

/**
 * Nonce, tag and content that only the key opens, and only as what it was sealed as.
 * @param name what the content is; bound to it, not written
 * Range   a key seals few values: nonces are random, and 2^32 of them may be used
 */
export function seal(key: Buffer, content: Buffer, name: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
  const sealed = [cipher.update(content), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

/** Errors  Fault where the bytes were changed, or sealed under another key or name */
export function unseal(key: Buffer, sealed: Buffer, name: string): Buffer {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(name)).setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    throw new Fault('What was sealed cannot be opened: it was changed, or sealed under another key.', {
      cause,
    });
  }
}

/** The same for text, as text. */
export function sealText(key: Buffer, text: string, name: string): string {
  return seal(key, Buffer.from(text), name).toString('base64');
}

/** Errors  as unseal */
export function unsealText(key: Buffer, sealed: string, name: string): string {
  return unseal(key, Buffer.from(sealed, 'base64'), name).toString();
}
