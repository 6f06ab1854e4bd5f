import type { IncomingMessage } from 'node:http';
import { Refusal } from '../errors.js';

/** Headers that must not repeat: servers and proxies drop or join a second one differently. */
const SINGLE_HEADERS = ['Authorization', 'Idempotency-Key'];
/** Host names, addresses and a port. Proxies read other characters differently. */
const HOST_PATTERN = /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/;

/**
 * Refuses requests that Node's parser accepts and HTTP/1.1 forbids.
 * Errors  Refusal `malformed_request`, `expectation_failed`
 */
export function requireForm({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Refusal('malformed_request', `HTTP/${httpVersion} is not spoken here; HTTP/1.1 is.`);
  }
  const hosts = countOf(rawHeaders, 'Host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    throw new Refusal('malformed_request', `An HTTP/1.1 request has one Host header; ${hosts} came.`);
  }
  if (!HOST_PATTERN.test(headers.host ?? '')) {
    throw new Refusal('malformed_request', 'The Host header is not a name or an address.');
  }
  const repeated = SINGLE_HEADERS.find((name) => countOf(rawHeaders, name) > 1);
  if (repeated !== undefined) {
    throw new Refusal('malformed_request', `A request has one ${repeated} header at most.`);
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new Refusal('malformed_request', 'Transfer-Encoding may only be chunked.');
  }
  const expectation = headers.expect;
  if (httpVersion === '1.1' && expectation !== undefined && expectation.toLowerCase() !== '100-continue') {
    throw new Refusal('expectation_failed', 'Expect may only be 100-continue.');
  }
}

function countOf(rawHeaders: readonly string[], name: string): number {
  const lower = name.toLowerCase();
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === lower).length;
}
