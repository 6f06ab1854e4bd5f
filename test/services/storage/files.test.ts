import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askFiles, code } from './files-asked.js';
import {
  ask,
  bytesOf,
  initiate,
  serveStorage,
  sha256,
  type Json,
  type StorageBench,
} from './storage-served.js';

/* Stored files over a real socket, with two keys of one organization and one of another. */

const PART = 5 * 1024 * 1024;
const content = bytesOf(21, 2 * PART + 1_000);

let bench: StorageBench;
let file: Json;
beforeAll(async () => {
  bench = await serveStorage();
  file = await bench.upload('lab', 'shared/Ünï "q".bin', content, {
    part_size_bytes: PART,
    content_type: 'text/html',
  });
});
afterAll(() => bench.end());

const { read, sign, setAcl, remove } = askFiles(() => bench);

describe('a file', () => {
  it('is served whole, with headers for resuming, checking and safe display', async () => {
    const { status, headers, bytes } = await read(file.url, {}, 'lab');
    expect(status).toBe(200);
    expect(bytes.equals(content)).toBe(true);
    expect(headers.get('etag')).toBe(`"${sha256(content)}"`);
    expect(headers.get('content-length')).toBe(String(content.length));
    expect(headers.get('accept-ranges')).toBe('bytes');
    expect(headers.get('content-type')).toBe('text/html');
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="_n_ _q_.bin"; filename*=UTF-8''%C3%9Cn%C3%AF%20%22q%22.bin`,
    );
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const { status, headers, bytes } = await read(file.url, {}, 'lab', 'HEAD');
    expect([status, bytes.length]).toEqual([200, 0]);
    expect(headers.get('content-length')).toBe(String(content.length));
    expect(headers.get('etag')).toBe(`"${sha256(content)}"`);
  });

  const last = content.length - 1;
  it.each([
    ['bytes=0-0', 0, 1],
    ['bytes=0-', 0, last + 1],
    [`bytes=${PART - 3}-${PART + 3}`, PART - 3, PART + 4],
    [`bytes=${PART}-${2 * PART - 1}`, PART, 2 * PART],
    [`bytes=${last}-`, last, last + 1],
    [`bytes=${last}-${last + 99}`, last, last + 1],
    ['bytes=-1', last, last + 1],
    ['bytes=-999999999', 0, last + 1],
    ['BYTES= 5-9 ', 5, 10],
  ])('serves the range %s', async (range, start, end) => {
    const { status, headers, bytes } = await read(file.url, { Range: range }, 'lab');
    expect(status).toBe(206);
    expect(headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${content.length}`);
    expect(bytes.equals(content.subarray(start, end))).toBe(true);
  });

  it.each([`bytes=${last + 1}-`, `bytes=${last + 1}-${last + 9}`, 'bytes=-0', 'bytes=9007199254740993-'])(
    'refuses the range %s and says how long it is',
    async (range) => {
      const { status, headers } = await read(file.url, { Range: range }, 'lab');
      expect([status, headers.get('service-error-type')]).toEqual([416, 'range_not_satisfiable']);
      expect(headers.get('content-range')).toBe(`bytes */${content.length}`);
    },
  );

  it.each(['bytes=5-4', 'bytes=-', 'bytes=a-b', 'items=0-1', 'bytes=0-1,5-6', 'bytes=--5', 'bytes'])(
    'is served whole for %s, which is no single range',
    async (range) => {
      expect((await read(file.url, { Range: range }, 'lab', 'HEAD')).status).toBe(200);
    },
  );

  it('is served under its conditions only', async () => {
    const etag = `"${sha256(content)}"`;
    const { headers } = await read(file.url, {}, 'lab', 'HEAD');
    const modified = headers.get('last-modified') as string;
    const earlier = new Date(Date.parse(modified) - 1_000).toUTCString();
    const cases: readonly (readonly [Record<string, string>, number])[] = [
      [{ 'If-None-Match': etag }, 304],
      [{ 'If-None-Match': `"other", W/${etag}` }, 304],
      [{ 'If-None-Match': '*' }, 304],
      [{ 'If-None-Match': '"other"' }, 200],
      [{ 'If-None-Match': '"other"', 'If-Modified-Since': modified }, 200],
      [{ 'If-Modified-Since': modified }, 304],
      [{ 'If-Modified-Since': earlier }, 200],
      [{ 'If-Modified-Since': 'yesterday' }, 200],
      [{ 'If-Match': etag }, 200],
      [{ 'If-Match': `W/${etag}` }, 412],
      [{ 'If-Match': '"other"' }, 412],
      [{ 'If-Unmodified-Since': earlier }, 412],
      [{ 'If-Unmodified-Since': modified }, 200],
      [{ Range: 'bytes=0-1', 'If-Range': etag }, 206],
      [{ Range: 'bytes=0-1', 'If-Range': '"other"' }, 200],
      [{ Range: 'bytes=0-1', 'If-Range': modified }, 206],
      [{ Range: 'bytes=0-1', 'If-Range': earlier }, 200],
      [{ Range: 'bytes=0-1', 'If-None-Match': etag }, 304],
    ];
    for (const [conditions, status] of cases) {
      const answer = await read(file.url, conditions, 'lab', 'HEAD');
      expect({ conditions, status: answer.status }).toEqual({ conditions, status });
    }
    const unchanged = await read(file.url, { 'If-None-Match': etag }, 'lab');
    expect([unchanged.bytes.length, unchanged.headers.get('etag')]).toEqual([0, etag]);
  });

  it('that is replaced keeps its URL and has another version; signed URLs of the one before end', async () => {
    const first = await bench.upload('lab', 'replaced.txt', Buffer.from('one'));
    const signed = (await sign('lab', first.url)).body.data.url;
    const second = await bench.upload('lab', 'replaced.txt', Buffer.from('two'));
    expect(second.url).toBe(first.url);
    expect(second.storage_version).not.toBe(first.storage_version);
    expect(String((await read(first.url, {}, 'lab')).bytes)).toBe('two');
    const old = await read(signed);
    expect([old.status, code(old)]).toEqual([410, 'url_expired']);
  });

  it('of equal content is stored once, and its bytes are removed with the last of them', async () => {
    const bytes = bytesOf(22, 70_001);
    await bench.upload('lab', 'twins/a', bytes);
    const other = await bench.upload('rival', 'twins/b', bytes);
    const stored = () => {
      const folder = join(bench.folder, 'data', 'objects', sha256(bytes).slice(0, 2));
      return readdirSync(folder).filter((name) => name === sha256(bytes)).length;
    };
    expect(stored()).toBe(1);
    expect((await remove('lab', 'twins/a')).body.data.file_count).toBe(1);
    expect((await read(other.url, {}, 'rival')).bytes.equals(bytes)).toBe(true);
    await remove('rival', 'twins/b');
    expect(stored()).toBe(0);
  });

  it('is refused to other organizations and to callers without a key', async () => {
    expect(code(await read(file.url, {}, 'rival'))).toBe('permission_denied');
    expect(code(await read(file.url))).toBe('missing_api_key');
    const unknown = file.url.replace(/fil_[0-9a-f]{24}/, `fil_${'0'.repeat(24)}`);
    expect(code(await read(unknown, {}, 'rival'))).toBe('file_not_found');
    expect(code(await read(file.url.replace(/[^/]+$/, 'other-name'), {}, 'lab'))).toBe('file_not_found');
    expect((await read(file.url, {}, 'colleague', 'HEAD')).status).toBe(200);
  });

  it('is there after a restart, and so is a signed URL for it', async () => {
    const path = new URL((await sign('lab', file.url)).body.data.url);
    await bench.restart();
    file = { ...file, url: bench.url + new URL(file.url).pathname };
    expect((await read(bench.url + path.pathname + path.search)).bytes.equals(content)).toBe(true);
  });
});

describe('deletion', () => {
  it('of a file ends its URL and all signed ones at once, for ever', async () => {
    const before = await bench.upload('lab', 'doomed.txt', Buffer.from('doomed'));
    const signed = (await sign('lab', before.url)).body.data.url;
    const { status, body } = await remove('lab', 'doomed.txt');
    expect([status, body.data]).toEqual([200, { path: 'doomed.txt', file_count: 1, size_bytes: 6 }]);
    for (const answer of [
      await read(before.url, {}, 'lab'),
      await read(signed),
      await remove('lab', 'doomed.txt'),
    ]) {
      expect([answer.status, code(answer)]).toEqual([404, 'file_not_found']);
    }
    const after = await bench.upload('lab', 'doomed.txt', Buffer.from('doomed'));
    expect(after.url).not.toBe(before.url);
    expect((await read(signed)).status).toBe(404);
  });

  it('succeeds if the bytes cannot be removed at once; the next deletion removes them', async () => {
    const bytes = bytesOf(35, 1_000);
    await bench.upload('lab', 'stuck.bin', bytes);
    const digest = sha256(bytes);
    const place = join(bench.folder, 'data', 'objects', digest.slice(0, 2), digest);
    rmSync(place);
    mkdirSync(place);
    expect((await remove('lab', 'stuck.bin')).status).toBe(200);
    expect((await remove('lab', 'stuck.bin')).status).toBe(404);
    rmSync(place, { recursive: true });
    writeFileSync(place, bytes);
    await bench.upload('lab', 'other.bin', bytesOf(36, 1_000));
    expect(existsSync(place)).toBe(false);
  });

  it('of a folder takes what is below it, and nothing beside it or of others', async () => {
    const names = ['tree/a', 'tree/b/c', 'tree/b/d', 'tree.txt', 'tree0', 'trees/x'];
    const urls = new Map<string, string>();
    for (const name of names) urls.set(name, (await bench.upload('lab', name, Buffer.from(name))).url);
    const theirs = await bench.upload('rival', 'tree/a', Buffer.from('theirs'));
    expect((await remove('lab', 'tree/b/')).body.data).toEqual({
      path: 'tree/b',
      file_count: 2,
      size_bytes: 16,
    });
    expect((await remove('lab', 'tree')).body.data).toEqual({ path: 'tree', file_count: 1, size_bytes: 6 });
    for (const [name, url] of urls) {
      const { status } = await read(url, {}, 'lab', 'HEAD');
      expect({ name, status }).toEqual({ name, status: name.startsWith('tree/') ? 404 : 200 });
    }
    expect((await read(theirs.url, {}, 'rival')).status).toBe(200);
    expect(code(await remove('lab', 'tree.txt/'))).toBe('file_not_found');
  });

  it('of a folder that holds a file forbidden to the key deletes nothing', async () => {
    await bench.upload('lab', 'mixed/open', Buffer.from('1'));
    const closed = await bench.upload('lab', 'mixed/closed', Buffer.from('2'));
    await setAcl('lab', closed.url, {
      default: 'allow',
      rules: [{ principal: bench.keyIds.colleague, decision: 'forbid' }],
    });
    expect(code(await remove('colleague', 'mixed'))).toBe('permission_denied');
    expect((await remove('lab', 'mixed')).body.data.file_count).toBe(2);
  });

  it('lets a started download finish', async () => {
    const bytes = bytesOf(23, 3 * PART);
    const { url } = await bench.upload('lab', 'being-read', bytes, { part_size_bytes: PART });
    const received: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      const headers = { Authorization: `Bearer ${bench.keys.lab}` };
      request(url, { headers }, (response) => {
        response.once('data', (chunk: Buffer) => {
          received.push(chunk);
          response.pause();
          void remove('lab', 'being-read').then(() => {
            response.on('data', (more: Buffer) => received.push(more));
            response.on('end', resolve);
            response.resume();
          }, reject);
        });
        response.on('error', reject);
      }).end();
    });
    expect(Buffer.concat(received).equals(bytes)).toBe(true);
    expect((await read(url, {}, 'lab')).status).toBe(404);
  });
});

describe('a path', () => {
  it('is a file or a folder, not both', async () => {
    await bench.upload('lab', 'either/or', Buffer.from('x'));
    for (const name of ['either', 'either/or/both']) {
      const answer = await bench.ask('lab', 'POST', '/v1/storage/uploads', {
        file_name: name,
        size_bytes: 1,
      });
      expect([answer.status, code(answer)]).toEqual([409, 'path_conflict']);
    }
    expect(
      (await bench.ask('rival', 'POST', '/v1/storage/uploads', { file_name: 'either', size_bytes: 1 }))
        .status,
    ).toBe(201);
  });

  it('that becomes taken while an upload runs is refused at its completion', async () => {
    const { id, part_size_bytes } = await initiate(bench, 'lab', 'late/file', 1);
    expect(part_size_bytes).toBeGreaterThan(0);
    await bench.upload('lab', 'late', Buffer.from('x'));
    const urls = await bench.ask('lab', 'POST', `/v1/storage/uploads/${id}/part-urls`, { part_numbers: [1] });
    await fetch(urls.body.data.urls[0].url, { method: 'PUT', body: 'y' });
    await bench.ask('lab', 'POST', `/v1/storage/uploads/${id}/parts/1/acknowledge`);
    const answer = await bench.ask('lab', 'POST', `/v1/storage/uploads/${id}/complete`);
    expect([answer.status, code(answer)]).toEqual([409, 'path_conflict']);
    await remove('lab', 'late');
    expect((await bench.ask('lab', 'POST', `/v1/storage/uploads/${id}/complete`)).status).toBe(200);
  });
});

describe('a full storage', () => {
  it('refuses what would pass the quota of the organization, and only of that one', async () => {
    const small = await serveStorage({ storage_quota_mib: 1 });
    const size = 600 * 1024;
    const { id } = await initiate(small, 'lab', 'half', size);
    const refused = await small.ask('colleague', 'POST', '/v1/storage/uploads', {
      file_name: 'more',
      size_bytes: size,
    });
    expect([refused.status, code(refused)]).toEqual([409, 'storage_quota_exceeded']);
    expect(refused.body.error.details).toMatchObject({ used_bytes: size, quota_bytes: 1024 * 1024 });
    expect((await initiate(small, 'rival', 'half', size)).status).toBe('initiated');
    await small.ask('lab', 'DELETE', `/v1/storage/uploads/${id}`);
    await small.upload('lab', 'half', bytesOf(24, size));
    await small.ask('lab', 'DELETE', '/v1/storage/files?path=half');
    await small.upload('lab', 'other half', bytesOf(25, size));
    await small.end();
  });

  it('refuses before the disk falls below its reserve', async () => {
    const full = await serveStorage({ storage_reserve_mib: 1_000_000_000 });
    const answer = await ask(`${full.url}/v1/storage/uploads`, 'POST', full.keys.lab, {
      file_name: 'x',
      size_bytes: 1,
    });
    expect([answer.status, code(answer)]).toEqual([409, 'storage_full']);
    expect(answer.headers.get('retry-after')).toBe('60');
    await full.end();
  });

  it('never accepts a file that is larger than the quota', async () => {
    const small = await serveStorage({ storage_quota_mib: 1 });
    const answer = await ask(`${small.url}/v1/storage/uploads`, 'POST', small.keys.lab, {
      file_name: 'x',
      size_bytes: 1024 * 1024 + 1,
    });
    expect([answer.status, code(answer)]).toEqual([413, 'file_exceeds_quota']);
    expect(answer.headers.get('service-retryable')).toBe('false');
    await small.end();
  });
});
