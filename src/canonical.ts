import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/**
 * Canonical JSON: equal values give equal text, whatever the order of members or the spelling of numbers.
 * Errors  an assertion for values that JSON cannot hold (undefined, NaN, cycles)
 * Source  RFC 8785
 */
export function canonicalJson(value: unknown): string {
  // The package is CommonJS whose types say "default export"; under NodeNext the callable is the import itself.
  const text = (canonicalize as unknown as (value: unknown) => string | undefined)(value);
  if (text === undefined) throw new TypeError('The value has no JSON representation.');
  return text;
}

/** Lower-case hex SHA-256 of bytes or of UTF-8 text. */
export function sha256Hex(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Lower-case hex SHA-256 of the canonical JSON: the name of a value. */
export function canonicalSha256(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}
