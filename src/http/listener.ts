import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer, type Server as TlsServer } from 'node:https';
import type { Logger } from 'pino';
import { Refusal } from '../errors.js';
import { BYTE_BODY_MAX_MS, HEADER_MAX_BYTES } from '../limits.js';

/** Timeouts for a client that does not send. Unit milliseconds. */
export interface Timeouts {
  /** Until request line and headers are complete. */
  readonly headersMs: number;
  /** Until the request with its JSON body is complete. Byte bodies have a limit of their own. */
  readonly requestMs: number;
  /** Until the next request on an idle connection. */
  readonly keepAliveMs: number;
  /** Interval at which headersMs and requestMs are checked. */
  readonly checkMs: number;
}

export const TIMEOUTS: Timeouts = {
  headersMs: 15_000,
  requestMs: 60_000,
  keepAliveMs: 75_000,
  checkMs: 1_000,
};

/** PEM files. The server reads them again when they change. */
export interface TlsFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

const TLS_FILES_CHECK_INTERVAL_MS = 2_000;

/**
 * Node's server with the limits of the shell, and with TLS if there are certificate files.
 * Errors  Refusal `invalid_config` when certificate or key cannot be read or do not fit
 */
export function createListener(
  timeouts: Timeouts,
  tls: TlsFiles | undefined,
  log: Logger,
): Server | TlsServer {
  const options = {
    maxHeaderSize: HEADER_MAX_BYTES,
    // The shell checks the Host header itself, because its refusal carries the common headers.
    requireHostHeader: false,
    headersTimeout: timeouts.headersMs,
    // Node has one limit for all requests. The limit of JSON bodies is enforced where they are read.
    requestTimeout: BYTE_BODY_MAX_MS,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
  };
  const server = tls === undefined ? createHttpServer(options) : createTlsListener(options, tls, log);
  // The 16 KiB limit bounds the headers. Node must not drop headers silently.
  server.maxHeadersCount = 0;
  return server;
}

function createTlsListener(options: object, tls: TlsFiles, log: Logger): TlsServer {
  let pems: Pems;
  let server: TlsServer;
  try {
    pems = readPems(tls);
    server = createHttpsServer({ ...options, ...pems, minVersion: 'TLSv1.2' });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Refusal(
      'invalid_config',
      `TLS cannot be served with ${tls.certificateFile} and ${tls.keyFile}: ${why}. ` +
        'Name PEM files of one pair that this user can read.',
    );
  }
  const reload = (): void => {
    try {
      const read = readPems(tls);
      if (read.cert.equals(pems.cert) && read.key.equals(pems.key)) return;
      pems = read;
      server.setSecureContext({ ...pems, minVersion: 'TLSv1.2' });
      log.info({ certificate_file: tls.certificateFile }, 'The TLS certificate was read again.');
    } catch (error) {
      // Certificate and key may be replaced one after the other. The old pair serves until both fit.
      log.error(
        { err: error },
        'The changed TLS files do not fit; the certificate before them still serves.',
      );
    }
  };
  // Bytes are compared instead of times: a change between the first read and the first check would be missed.
  const looking = setInterval(reload, TLS_FILES_CHECK_INTERVAL_MS).unref();
  server.once('close', () => clearInterval(looking));
  return server;
}

interface Pems {
  readonly cert: Buffer;
  readonly key: Buffer;
}

function readPems({ certificateFile, keyFile }: TlsFiles): Pems {
  return { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
}
