import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Fault } from '../errors.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Derives a key for one purpose from a secret. It reveals neither the secret nor keys for other purposes or salts.
 * Source  HKDF with SHA-256 (RFC 5869)
 */
export function keyFrom(secret: string | Buffer, salt: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, KEY_BYTES));
}

/**
 * Returns nonce, tag and encrypted content. Unsealing requires the same key and the same name.
 * @param name name of the content; authenticated, not written
 * Range   a key may seal at most 2^32 values, because nonces are random
 */
export function seal(key: Buffer, content: Buffer, name: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
  const sealed = [cipher.update(content), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

/** Errors  Fault if the bytes were changed, or sealed under another key or name */
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

/** Seals a text, as text. */
export function sealText(key: Buffer, text: string, name: string): string {
  return seal(key, Buffer.from(text), name).toString('base64');
}

/** Unseals a text. Errors  those of unseal */
export function unsealText(key: Buffer, sealed: string, name: string): string {
  return unseal(key, Buffer.from(sealed, 'base64'), name).toString();
}
