import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { TlsFiles } from '../../http/listener.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const WARNING_DAYS = 14;

/** Warns of a certificate that clients refuse, or will within two weeks; it is served with all the same. */
export function warnOfCertificate(
  { certificateFile }: TlsFiles,
  log: Pick<Logger, 'warn'>,
  now: Date = new Date(),
): void {
  const { validFrom: valid_from, validTo: valid_to } = new X509Certificate(readFileSync(certificateFile));
  const facts = { certificate_file: certificateFile, valid_from, valid_to };
  const leftMs = Date.parse(valid_to) - now.getTime();
  if (leftMs < 0) {
    log.warn(facts, 'The TLS certificate has expired: clients refuse it until it is renewed.');
  } else if (Date.parse(valid_from) > now.getTime()) {
    log.warn(facts, 'The TLS certificate is not valid yet: clients refuse it, unless this clock is wrong.');
  } else if (leftMs <= WARNING_DAYS * DAY_MS) {
    const days_left = Math.floor(leftMs / DAY_MS);
    log.warn({ ...facts, days_left }, 'The TLS certificate expires soon: renew it.');
  }
}
