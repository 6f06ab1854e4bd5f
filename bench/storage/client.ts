import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { request } from 'node:http';
import { assert } from '../../src/errors.js';

/* A client of the file storage, written by hand like a script with curl. */

export interface StorageServer {
  readonly url: string;
  readonly key: string;
}

/** Uploads a file completely, with parallel parts. */
export async function uploadFile(
  server: StorageServer,
  source: string,
  sizeBytes: number,
  digest: string,
  concurrency: number,
): Promise<string> {
  const created = await ask(server, 'POST', '/v1/storage/uploads', {
    file_name: 'bench',
    size_bytes: sizeBytes,
  });
  const { id, part_count: partCount, part_size_bytes: partBytes } = created;
  const file = await open(source);
  let next = 1;
  const worker = async (): Promise<void> => {
    const buffer = Buffer.allocUnsafeSlow(partBytes);
    for (let part = next++; part <= partCount; part = next++) {
      const bytes = await readAt(file, buffer, (part - 1) * partBytes);
      const path = `/v1/storage/uploads/${id}`;
      const { urls } = await ask(server, 'POST', `${path}/part-urls`, { part_numbers: [part] });
      await put(urls[0].url, bytes);
      await ask(server, 'POST', `${path}/parts/${part}/acknowledge`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  await file.close();
  const done = await ask(server, 'POST', `/v1/storage/uploads/${id}/complete`);
  assert(done.checksum === digest, 'the upload has the digest of the file');
  return done.url;
}

function put(url: string, bytes: Buffer): Promise<void> {
  const checksum = createHash('sha256').update(bytes).digest('base64');
  return new Promise((done, fail) => {
    const headers = { 'Content-Length': bytes.length, 'x-amz-checksum-sha256': checksum };
    const sent = request(url, { method: 'PUT', headers }, (response) => {
      response.resume();
      response.on('end', () =>
        response.statusCode === 200 ? done() : fail(new Error('a part was refused')),
      );
    });
    sent.on('error', fail);
    sent.end(bytes);
  });
}

/** Downloads a file and returns the digest of its bytes. */
export function download({ key }: StorageServer, url: string): Promise<string> {
  return new Promise((done, fail) => {
    const headers = { Authorization: `Bearer ${key}` };
    const sent = request(url, { headers }, (response) => {
      const hash = createHash('sha256');
      response.on('data', (chunk: Buffer) => hash.update(chunk));
      response.on('end', () => done(hash.digest('hex')));
      response.on('error', fail);
    });
    sent.on('error', fail);
    sent.end();
  });
}

// Members of an answer are read by name; other tests check the schema.
type Json = Record<string, any>;

/** Sends a request and returns `data` of the answer. */
export async function ask(
  { url, key }: StorageServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<Json> {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert(response.ok, `${method} ${path} succeeds`);
  return ((await response.json()) as { readonly data: Json }).data;
}

async function readAt(file: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let filled = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    filled += bytesRead;
    if (bytesRead === 0 || filled === buffer.length) return buffer.subarray(0, filled);
  }
}
