import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { TlsFiles } from '../../http/listener.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Time to obtain the next certificate from another department. */
const WARNING_DAYS = 21;

/** State of a certificate at a moment, with the whole days that are left. */
export interface CertificateValidity {
  readonly state: 'early' | 'good' | 'ending' | 'expired';
  readonly daysLeft: number;
}

export function validityOf(
  { validFrom, validTo }: Pick<X509Certificate, 'validFrom' | 'validTo'>,
  now: Date,
): CertificateValidity {
  const leftMs = Date.parse(validTo) - now.getTime();
  const daysLeft = Math.floor(leftMs / DAY_MS);
  if (leftMs < 0) return { state: 'expired', daysLeft };
  if (Date.parse(validFrom) > now.getTime()) return { state: 'early', daysLeft };
  return { state: leftMs <= WARNING_DAYS * DAY_MS ? 'ending' : 'good', daysLeft };
}

/** Warns of a certificate that clients refuse now or within three weeks. The server starts with it all the same. */
export function warnOfCertificate(
  { certificateFile }: TlsFiles,
  log: Pick<Logger, 'warn'>,
  now: Date = new Date(),
): void {
  const certificate = new X509Certificate(readFileSync(certificateFile));
  const { validFrom: valid_from, validTo: valid_to } = certificate;
  const { state, daysLeft: days_left } = validityOf(certificate, now);
  const facts = { certificate_file: certificateFile, valid_from, valid_to };
  if (state === 'expired') {
    log.warn(facts, 'The TLS certificate has expired: clients refuse it until it is renewed.');
  } else if (state === 'early') {
    log.warn(facts, 'The TLS certificate is not valid yet: clients refuse it, unless this clock is wrong.');
  } else if (state === 'ending') {
    log.warn({ ...facts, days_left }, 'The TLS certificate expires soon: renew it.');
  }
}
