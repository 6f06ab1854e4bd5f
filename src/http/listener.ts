import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer, type Server as TlsServer } from 'node:https';
import type { Logger } from 'pino';
import { Fault } from '../errors.js';
import { BYTE_BODY_MAX_MS, HEADER_MAX_BYTES } from '../limits.js';

/** How long the server waits for what a client owes it. Unit milliseconds. */
export interface Timeouts {
  /** For request line and headers. */
  readonly headersMs: number;
  /** For the whole request, its JSON body included; bodies of bytes have a bound of their own. */
  readonly requestMs: number;
  /** For the next request on an idle connection. */
  readonly keepAliveMs: number;
  /** How often the first two are looked at. */
  readonly checkMs: number;
}

export const TIMEOUTS: Timeouts = {
  headersMs: 15_000,
  requestMs: 60_000,
  keepAliveMs: 75_000,
  checkMs: 1_000,
};

/** PEM files; they are read again whenever they change. */
export interface TlsFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

const TLS_FILES_CHECK_INTERVAL_MS = 2_000;

/**
 * Node's server, bounded as the shell needs it, with TLS where there are files for it.
 * Errors  Fault when certificate or key cannot be read or do not fit
 */
export function createListener(
  timeouts: Timeouts,
  tls: TlsFiles | undefined,
  log: Logger,
): Server | TlsServer {
  const options = {
    maxHeaderSize: HEADER_MAX_BYTES,
    // Checked by the shell, whose refusal carries the headers that every response has.
    requireHostHeader: false,
    headersTimeout: timeouts.headersMs,
    // Node knows one bound for all requests; that of JSON bodies is kept where they are read.
    requestTimeout: BYTE_BODY_MAX_MS,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
  };
  const server = tls === undefined ? createHttpServer(options) : createTlsListener(options, tls, log);
  // The 16 KiB bound the headers; none is dropped silently.
  server.maxHeadersCount = 0;
  return server;
}

function createTlsListener(options: object, tls: TlsFiles, log: Logger): TlsServer {
  let server: TlsServer;
  try {
    server = createHttpsServer({ ...options, ...readPems(tls), minVersion: 'TLSv1.2' });
  } catch (cause) {
    throw new Fault(`TLS cannot be served with ${tls.certificateFile} and ${tls.keyFile}.`, { cause });
  }
  const reload = (): void => {
    try {
      server.setSecureContext({ ...readPems(tls), minVersion: 'TLSv1.2' });
      log.info({ certificate_file: tls.certificateFile }, 'The TLS certificate was read again.');
    } catch (error) {
      // Half of a renewal: the next look finds the other half, and until then the old pair serves.
      log.error(
        { err: error },
        'The changed TLS files do not fit; the certificate before them still serves.',
      );
    }
  };
  const files = [tls.certificateFile, tls.keyFile];
  for (const file of files)
    watchFile(file, { interval: TLS_FILES_CHECK_INTERVAL_MS, persistent: false }, reload);
  server.once('close', () => files.forEach((file) => unwatchFile(file, reload)));
  return server;
}

function readPems({ certificateFile, keyFile }: TlsFiles): { readonly cert: Buffer; readonly key: Buffer } {
  return { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
}
