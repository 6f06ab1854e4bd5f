import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bytesOf,
  initiate,
  partUrl,
  putPart,
  serveStorage,
  sha256,
  sha256Base64,
  type Json,
  type StorageBench,
} from './storage-served.js';

/* Multipart uploads over a real socket. The cases are those of the public compatibility suite of S3. */

const PART = 5 * 1024 * 1024;
const PARTS = { part_size_bytes: PART };

let bench: StorageBench;
beforeAll(async () => {
  bench = await serveStorage();
});
afterAll(() => bench.end());

let names = 0;
const freshName = (): string => `run-${(names += 1)}/data.bin`;
const path = (id: string, rest = ''): string => `/v1/storage/uploads/${id}${rest}`;
const acknowledge = (id: string, part: number, checksum?: string) =>
  bench.ask('lab', 'POST', path(id, `/parts/${part}/acknowledge`), checksum && { checksum });
const complete = (id: string) => bench.ask('lab', 'POST', path(id, '/complete'));
const code = (answer: { readonly headers: Headers }) => answer.headers.get('service-error-type');

async function send(id: string, part: number, bytes: Uint8Array, headers: Record<string, string> = {}) {
  return putPart(await partUrl(bench, 'lab', id, part), bytes, headers);
}

async function contentOf(url: string): Promise<Buffer> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${bench.keys.lab}` } });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

const incoming = (): string[] => readdirSync(join(bench.folder, 'data', 'objects', 'incoming'));

function objectFiles(): string[] {
  const folder = join(bench.folder, 'data', 'objects');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

describe('an upload', () => {
  it('of several parts becomes a file at its ordinary URL', async () => {
    const content = bytesOf(1, 2 * PART + 17);
    const created = await initiate(bench, 'lab', 'screens/plate 7.fasta', content.length, {
      ...PARTS,
      content_type: 'text/x-fasta',
    });
    expect(created).toMatchObject({
      object: 'file_upload',
      path: 'screens/plate 7.fasta',
      file_name: 'plate 7.fasta',
      size_bytes: content.length,
      part_count: 3,
      part_size_bytes: PART,
      part_checksum_algorithm: 'sha256',
      status: 'initiated',
      uploaded_parts: [],
    });
    const { body } = await bench.ask('lab', 'POST', path(created.id, '/part-urls'), {
      part_numbers: [3, 1, 2],
    });
    expect(body.data.urls.map((url: Json) => url.part_number)).toEqual([3, 1, 2]);
    for (const { part_number, url } of body.data.urls) {
      const bytes = content.subarray((part_number - 1) * PART, part_number * PART);
      const put = await putPart(url, bytes, { 'x-amz-checksum-sha256': sha256Base64(bytes) });
      expect(put.status).toBe(200);
      expect(put.headers.get('etag')).toBe(`"${sha256(bytes)}"`);
      expect((await acknowledge(created.id, part_number, sha256(bytes))).body.data.is_acknowledged).toBe(
        true,
      );
    }
    const shown = (await bench.ask('lab', 'GET', path(created.id))).body.data;
    expect(shown).toMatchObject({ status: 'uploading', uploaded_parts: [1, 2, 3] });
    const { status, body: done } = await complete(created.id);
    expect(status).toBe(200);
    expect(done.data).toMatchObject({
      status: 'completed',
      checksum: sha256(content),
      checksum_algorithm: 'sha256',
      uploaded_parts: [1, 2, 3],
    });
    expect(done.data.url.startsWith(`${bench.url}/v1/storage/files/fil_`)).toBe(true);
    expect(done.data.storage_version).toMatch(/^ver_/);
    expect((await contentOf(done.data.url)).equals(content)).toBe(true);
  });

  it('of one byte has one part', async () => {
    const done = await bench.upload('lab', freshName(), Buffer.from('A'));
    expect(done).toMatchObject({ part_count: 1, size_bytes: 1, checksum: sha256(Buffer.from('A')) });
  });

  it('gets parts of 8 MiB, doubled until 10,000 suffice', async () => {
    const plan = async (size: number) => {
      const { id, part_count, part_size_bytes } = await initiate(bench, 'lab', freshName(), size);
      await bench.ask('lab', 'DELETE', path(id));
      return [part_count, part_size_bytes / 1024 / 1024];
    };
    expect(await plan(8 * 1024 * 1024 + 1)).toEqual([2, 8]);
    expect(await plan(20e9)).toEqual([2385, 8]);
    const tiny = { file_name: 'x', size_bytes: 1e12, part_size_bytes: PART };
    const answer = await bench.ask('lab', 'POST', '/v1/storage/uploads', tiny);
    expect([answer.status, code(answer)]).toEqual([422, 'part_size_too_small']);
  });

  it.each([
    ['no byte', { size_bytes: 0 }],
    ['more than 5 TiB', { size_bytes: 5 * 1024 ** 4 + 1 }],
    ['parts under 5 MiB', { part_size_bytes: PART - 1 }],
    ['parts over 5 GiB', { part_size_bytes: 5 * 1024 ** 3 + 1 }],
    ['a media type with a line break', { content_type: 'text/plain\r\nX: y' }],
    ['a member that is not known', { acl: 'public' }],
  ])('is refused with %s', async (_name, more) => {
    const answer = await bench.ask('lab', 'POST', '/v1/storage/uploads', {
      file_name: 'x',
      size_bytes: 1,
      ...more,
    });
    expect([answer.status, code(answer)]).toEqual([422, 'validation_failed']);
  });

  it('is created once under an Idempotency-Key', async () => {
    const body = { file_name: freshName(), size_bytes: 9 };
    const headers = { 'Idempotency-Key': 'upload-once' };
    const [first, second] = [
      await bench.ask('lab', 'POST', '/v1/storage/uploads', body, headers),
      await bench.ask('lab', 'POST', '/v1/storage/uploads', body, headers),
    ];
    expect(second.body.data.id).toBe(first.body.data.id);
  });

  it('that is completed twice gives the same file, also for concurrent requests', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), PART + 1, PARTS);
    await send(id, 1, bytesOf(3, PART));
    await send(id, 2, Buffer.from('z'));
    await acknowledge(id, 1);
    await acknowledge(id, 2);
    const answers = await Promise.all([complete(id), complete(id), complete(id)]);
    answers.push(await complete(id));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => `${body.data.url} ${body.data.storage_version}`)).size).toBe(1);
  });

  it('cannot be completed while parts are missing, and the refusal lists them', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 3 * PART, PARTS);
    await send(id, 2, bytesOf(4, PART));
    await acknowledge(id, 2);
    await send(id, 3, bytesOf(5, PART));
    const answer = await complete(id);
    expect([answer.status, code(answer)]).toEqual([409, 'parts_missing']);
    expect(answer.body.error.details).toEqual({ missing_count: 2, missing_parts: [1, 3] });
    expect((await bench.ask('lab', 'GET', path(id))).body.data.status).toBe('uploading');
    const none = await initiate(bench, 'lab', freshName(), 5);
    expect(code(await complete(none.id))).toBe('parts_missing');
  });

  it('that misses its announced checksum accepts parts again', async () => {
    const right = bytesOf(6, PART + 2);
    const more = { ...PARTS, checksum: sha256(right) };
    const { id } = await initiate(bench, 'lab', freshName(), right.length, more);
    await send(id, 1, bytesOf(70, PART));
    await send(id, 2, right.subarray(PART));
    await acknowledge(id, 1);
    await acknowledge(id, 2);
    expect(code(await complete(id))).toBe('checksum_mismatch');
    expect((await bench.ask('lab', 'GET', path(id))).body.data.status).toBe('uploading');
    await send(id, 1, right.subarray(0, PART));
    await acknowledge(id, 1, sha256(right.subarray(0, PART)));
    expect((await complete(id)).body.data.checksum).toBe(more.checksum);
  });

  it('that is aborted is deleted with its parts and accepts no more', async () => {
    const bytes = bytesOf(8, 99_991);
    const { id } = await initiate(bench, 'lab', freshName(), bytes.length);
    const url = await partUrl(bench, 'lab', id, 1);
    await putPart(url, bytes);
    expect(objectFiles()).toContain(sha256(bytes));
    const aborted = await bench.ask('lab', 'DELETE', path(id));
    expect([aborted.status, aborted.body.data.status]).toEqual([200, 'aborted']);
    expect(objectFiles()).not.toContain(sha256(bytes));
    expect([
      code(await putPart(url, bytes)),
      code(await complete(id)),
      code(await acknowledge(id, 1)),
      code(await bench.ask('lab', 'GET', path(id))),
      code(await bench.ask('lab', 'DELETE', path(id))),
    ]).toEqual(Array.from({ length: 5 }, () => 'upload_not_found'));
    expect(objectFiles()).not.toContain(sha256(bytes));
  });

  it('that is completed cannot be aborted', async () => {
    const { id } = await bench.upload('lab', freshName(), Buffer.from('kept'));
    expect(code(await bench.ask('lab', 'DELETE', path(id)))).toBe('upload_not_open');
  });

  it('belongs to its organization: another key is refused, an unknown id is not found', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 5);
    const routes = [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/complete'],
      ['POST', '/parts/1/acknowledge'],
      ['POST', '/part-urls'],
    ] as const;
    for (const [method, rest] of routes) {
      const body = rest === '/part-urls' ? { part_numbers: [1] } : undefined;
      const answer = await bench.ask('rival', method, path(id, rest), body);
      expect([answer.status, code(answer)]).toEqual([403, 'permission_denied']);
      const unknown = await bench.ask('rival', method, path(`upl_${'0'.repeat(24)}`, rest), body);
      expect([unknown.status, code(unknown)]).toEqual([404, 'upload_not_found']);
    }
    expect((await bench.ask('colleague', 'GET', path(id))).status).toBe(200);
  });
});

describe('a part', () => {
  it.each([
    ['too small', PART - 1],
    ['empty', 0],
    ['too large', PART + 1],
  ])('that is %s is refused, and nothing is kept', async (_name, size) => {
    const { id } = await initiate(bench, 'lab', freshName(), PART + 9, PARTS);
    const answer = await send(id, 1, bytesOf(9, size));
    expect([answer.status, code(answer)]).toEqual([422, 'part_size_mismatch']);
    expect(code(await acknowledge(id, 1))).toBe('part_not_uploaded');
  });

  it('in chunks of unknown length is accepted, and refused if it is too short or too long', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 300_000);
    const url = await partUrl(bench, 'lab', id, 1);
    const stream = (size: number) => new Blob([bytesOf(10, size)]).stream();
    expect(code(await putPart(url, stream(299_999)))).toBe('part_size_mismatch');
    expect(code(await putPart(url, stream(400_000)))).toBe('part_size_mismatch');
    expect((await putPart(url, stream(300_000))).status).toBe(200);
  });

  it.each([
    ['x-amz-checksum-sha256', sha256Base64(Buffer.from('other')), 'checksum_mismatch'],
    ['Content-Digest', `sha-256=:${sha256Base64(Buffer.from('other'))}:`, 'checksum_mismatch'],
    ['Content-Digest', 'sha-512=:AAAA:', 'checksum_invalid'],
    ['Content-Digest', 'sha-256=:AAAA:', 'checksum_invalid'],
    ['x-amz-checksum-sha256', 'not base64', 'validation_failed'],
  ])('with %s: %s is refused with %s', async (header, value, expected) => {
    const { id } = await initiate(bench, 'lab', freshName(), 5);
    const answer = await send(id, 1, Buffer.from('right'), { [header]: value });
    expect([answer.status, code(answer)]).toEqual([422, expected]);
    expect(code(await acknowledge(id, 1))).toBe('part_not_uploaded');
  });

  it('with the right Content-Digest among others is taken', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 5);
    const digest = `md5=:AAAA:, sha-256=:${sha256Base64(Buffer.from('right'))}:`;
    expect((await send(id, 1, Buffer.from('right'), { 'Content-Digest': digest })).status).toBe(200);
  });

  it('of another number than the upload has is refused', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 5);
    const urls = await bench.ask('lab', 'POST', path(id, '/part-urls'), { part_numbers: [1, 2] });
    expect(code(urls)).toBe('part_number_invalid');
    expect(code(await acknowledge(id, 2))).toBe('part_number_invalid');
    expect(code(await bench.ask('lab', 'POST', path(id, '/part-urls'), { part_numbers: [0] }))).toBe(
      'validation_failed',
    );
    expect(code(await bench.ask('lab', 'POST', path(id, '/parts/1e1/acknowledge')))).toBe(
      'validation_failed',
    );
  });

  it('that is sent again before its acknowledgement has the last bytes', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 5);
    await send(id, 1, Buffer.from('first'));
    await send(id, 1, Buffer.from('again'));
    expect(code(await acknowledge(id, 1, sha256(Buffer.from('first'))))).toBe('checksum_mismatch');
    await acknowledge(id, 1, sha256(Buffer.from('again')));
    const { url } = (await complete(id)).body.data;
    expect(String(await contentOf(url))).toBe('again');
  });

  it('that was acknowledged is not changed by later bytes without an acknowledgement', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 5);
    await send(id, 1, Buffer.from('first'));
    await acknowledge(id, 1);
    await send(id, 1, Buffer.from('later'));
    expect((await acknowledge(id, 1, sha256(Buffer.from('first')))).status).toBe(200);
    const { url } = (await complete(id)).body.data;
    expect(String(await contentOf(url))).toBe('first');
    expect(objectFiles()).not.toContain(sha256(Buffer.from('later')));
  });

  it('that is sent again ends an earlier request that still sends bytes', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 5);
    const url = await partUrl(bench, 'lab', id, 1);
    const stalled = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('fir')) });
    const first = putPart(url, stalled);
    await expect.poll(() => incoming().length).toBe(1);
    expect((await putPart(url, Buffer.from('quick'))).status).toBe(200);
    const ended = await first;
    expect([ended.status, code(ended)]).toEqual([409, 'part_superseded']);
    expect(incoming()).toEqual([]);
    await acknowledge(id, 1);
    expect(String(await contentOf((await complete(id)).body.data.url))).toBe('quick');
  });

  it('whose client disconnects in the middle leaves no bytes', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), 1_000_000);
    const url = await partUrl(bench, 'lab', id, 1);
    const leaving = new AbortController();
    const endless = new ReadableStream({
      pull(controller) {
        controller.enqueue(bytesOf(11, 1_000));
        return new Promise((resolve) => setTimeout(resolve, 5));
      },
    });
    const init = { method: 'PUT', body: endless, duplex: 'half', signal: leaving.signal };
    const sent = fetch(url, init as RequestInit).catch((error: Error) => error.name);
    await expect.poll(() => incoming().length).toBe(1);
    leaving.abort();
    expect(await sent).toBe('AbortError');
    await expect.poll(() => incoming().length).toBe(0);
    expect(code(await acknowledge(id, 1))).toBe('part_not_uploaded');
  });
});

describe('a part URL', () => {
  it('is valid for no other part, upload, method or time, and not after a change', async () => {
    const { id } = await initiate(bench, 'lab', freshName(), PART + 5, PARTS);
    const url = await partUrl(bench, 'lab', id, 2);
    const changed = [
      url.replace('/parts/2', '/parts/1'),
      url.replace(id, `upl_${'0'.repeat(24)}`),
      url.replace(/expires=\d+/, 'expires=4102444800'),
      url.replace(/version=[^&]+/, 'version=upl_x'),
      url.replace(/signature=.{4}/, 'signature=AAAA'),
      url.replace(/signature=.*/, 'signature='),
    ];
    for (const other of changed) {
      const answer = await putPart(other, Buffer.from('right'));
      expect([answer.status, code(answer)]).toEqual([403, 'signature_invalid']);
    }
    const unsigned = await putPart(url.replace(/\?.*/, ''), Buffer.from('right'));
    expect([unsigned.status, code(unsigned)]).toEqual([401, 'signature_missing']);
    expect((await putPart(url, Buffer.from('right'))).status).toBe(200);
    const keyed = { Authorization: `Bearer ${bench.keys.lab}` };
    expect((await putPart(url.replace(/\?.*/, ''), Buffer.from('right'), keyed)).status).toBe(401);
  });
});
