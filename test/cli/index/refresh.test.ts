import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProgram } from '#src/cli/program/program.js';
import { Fault } from '#src/errors.js';

/* A database that follows a source on a server of this machine. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-refresh-'));
const environment = {
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_THREADS: '1',
};

async function gloaming(...args: string[]): Promise<string> {
  const stdout = new PassThrough();
  const context = { environment, stdin: new PassThrough(), stdout, stderr: new PassThrough().resume() };
  const program = await openProgram(args, context);
  await program.parseAsync(args, { from: 'user' });
  return String(stdout.read() ?? '');
}

async function releases(): Promise<{ standing: string; all: string[] }> {
  const { databases } = JSON.parse(await gloaming('index', 'list', '--json'));
  return {
    standing: databases[0].default_release_id,
    all: databases[0].releases.map(({ id }: { id: string }) => id),
  };
}

let server: Server;
let answer: RequestListener;
let url = '';
const requests: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(
      String(request.headers['if-none-match'] ?? request.headers['if-modified-since'] ?? 'anything'),
    );
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/lab.fasta.gz`;
  const first = join(folder, 'first.fasta');
  writeFileSync(first, fasta(10));
  const flags = ['--name', 'lab', '--encoder', 'baseline-1', '--title', 'The lab', '--no-calibration'];
  await gloaming('index', 'build', first, ...flags);
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function fasta(count: number): string {
  const sequence = (at: number): string => 'ACDEFGHIKLMNPQRSTVWY'.slice(at % 10).repeat(2);
  return Array.from({ length: count }, (_, at) => `>p${at}\n${sequence(at)}\n`).join('');
}

/** Serves the text like a web server that sends validators of its file. */
function serve(text: string, version: Readonly<Record<string, string>>): void {
  answer = (request, response) => {
    const { 'if-none-match': tag, 'if-modified-since': since } = request.headers;
    const isKnown =
      (tag ?? since) !== undefined && (tag ?? since) === (version.etag ?? version['last-modified']);
    response.writeHead(isKnown ? 304 : 200, version);
    response.end(isKnown ? undefined : gzipSync(text));
  };
}

describe('gloaming refresh', () => {
  it('builds the proteins of the source, serves the release, and keeps the earlier release', async () => {
    const before = await releases();
    serve(fasta(12), { etag: '"one"' });
    const output = await gloaming('refresh', 'lab', '--from', url);
    const after = await releases();
    expect(output).toContain(`The default release of lab is now ${after.standing.slice(0, 16)}`);
    expect(output).toContain(`${before.standing.slice(0, 16)} stays beside it.`);
    expect(after.all).toEqual(expect.arrayContaining([before.standing, after.standing]));
    expect(after.standing).not.toBe(before.standing);
    expect(readdirSync(join(folder, 'data', 'refresh', 'lab'))).toEqual(['version.json']);
  });

  it.each([
    ['etag', '"one"'],
    ['last-modified', 'Sun, 22 Nov 2026 10:00:00 GMT'],
  ])('detects new content by %s', async (header, value) => {
    const version = { [header]: value };
    serve(fasta(12), version);
    await gloaming('refresh', 'lab', '--from', url);
    requests.length = 0;
    expect(await gloaming('refresh', 'lab', '--from', url)).toBe(
      `${url} has not changed since lab was built from it.\n`,
    );
    expect(requests).toEqual([value]);
  });

  it('detects equal proteins if the server sends no validators', async () => {
    serve(fasta(12), {});
    const before = await releases();
    expect(await gloaming('refresh', 'lab', '--from', url)).toContain('lab is up to date.\n');
    expect(await releases()).toEqual(before);
  });

  it('builds no release of a source that has lost many proteins, and does not count it as seen', async () => {
    serve(fasta(6), { etag: '"cut"' });
    const before = await releases();
    const attempt = gloaming('refresh', 'lab', '--from', url);
    await expect(attempt).rejects.toThrow(
      'lab is not refreshed, and nothing was built: its source has 6 proteins where there were 12, and --max-loss ' +
        'allows 10 % fewer.',
    );
    expect(await releases()).toEqual(before);
    expect(readdirSync(join(folder, 'indexes', 'lab')).filter((name) => !name.startsWith('dbr_'))).toEqual(
      [],
    );
    requests.length = 0;
    await gloaming('refresh', 'lab', '--from', url, '--max-loss', '50%');
    expect(requests).not.toContain('"cut"');
    expect((await releases()).standing).not.toBe(before.standing);
  });

  it('prints no password of an address', async () => {
    const secret = url.replace('://', '://user:pw-1234@');
    const error = await gloaming('refresh', 'lab', '--from', secret).catch((cause: unknown) => cause);
    const outputs: string[] = [];
    for (let each = error; each instanceof Error; each = each.cause) outputs.push(each.message);
    expect(outputs.join(' ')).toContain(new URL(url).host);
    expect(outputs.join(' ')).not.toMatch(/pw-1234|user:/);
    answer = (_request, response) => void response.writeHead(500).end();
    const token = await gloaming('refresh', 'lab', '--from', `${url}?token=pw-1234`).catch(
      (cause: unknown) => cause,
    );
    expect(String(token)).toContain('could not be downloaded');
    expect(String(token)).not.toContain('pw-1234');
  });

  it('limits the size of the download', async () => {
    serve(fasta(12), {});
    await expect(gloaming('refresh', 'lab', '--from', url, '--max-size', '40')).rejects.toMatchObject({
      code: 'download_too_large',
    });
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('cut');
      setTimeout(() => response.destroy(), 50);
    };
    await expect(gloaming('refresh', 'lab', '--from', url)).rejects.toBeInstanceOf(Fault);
  });

  it('prints the error of a server, and refuses an unknown database', async () => {
    answer = (_, response) => void response.writeHead(404).end('no');
    const attempt = gloaming('refresh', 'lab', '--from', url);
    await expect(attempt).rejects.toThrow(`${url} could not be downloaded.`);
    await expect(attempt).rejects.toMatchObject({ cause: { message: 'The server answered 404.' } });
    await expect(gloaming('refresh', 'lba', '--from', url)).rejects.toThrow(
      'No database is called "lba". There are: ',
    );
  });

  it('is refused while another refresh of the database is at work, which has the whole download', async () => {
    const data = join(folder, 'data', 'refresh', 'lab');
    mkdirSync(join(data, 'download-killed'));
    writeFileSync(join(data, 'download-killed', 'download'), 'half');
    const bytes = gzipSync(fasta(16));
    let finish = (): void => undefined;
    const isRequested = new Promise<void>((resolve) => {
      answer = (_, response) => {
        response.writeHead(200, { etag: '"whole"' });
        response.write(bytes.subarray(0, 20), () => resolve());
        finish = () => void response.end(bytes.subarray(20));
      };
    });
    const first = gloaming('refresh', 'lab', '--from', url);
    await isRequested;
    serve(fasta(2), { etag: '"other"' });
    const second = gloaming('refresh', 'lab', '--from', url, '--max-loss', '100%');
    await expect(second).rejects.toMatchObject({
      code: 'build_running',
      message: `lab is being refreshed by process ${process.pid}; wait until it is done.`,
    });
    finish();
    await first;
    const { standing } = await releases();
    expect(await gloaming('index', 'list')).toMatch(new RegExp(`${standing.slice(0, 16)} +16 `));
    expect(readdirSync(data)).toEqual(['version.json']);
  });

  it('keeps no download of a source that is refused', async () => {
    serve(fasta(2), { etag: '"few"' });
    await expect(gloaming('refresh', 'lab', '--from', url)).rejects.toThrow('nothing was built');
    expect(readdirSync(join(folder, 'data', 'refresh', 'lab'))).toEqual(['version.json']);
  });

  it('reads the FASTA files of a folder', async () => {
    const source = join(folder, 'source');
    mkdirSync(source);
    await expect(gloaming('refresh', 'lab', '--from', source)).rejects.toThrow('holds no FASTA files');
    writeFileSync(join(source, 'a.fasta'), fasta(14));
    writeFileSync(join(source, 'b.fa.gz'), gzipSync('>more\nMKVLAWYDE\n'));
    writeFileSync(join(source, 'notes.txt'), 'not a sequence');
    await gloaming('refresh', 'lab', '--from', source);
    const { standing } = await releases();
    expect(await gloaming('index', 'list')).toMatch(new RegExp(`${standing.slice(0, 16)} +15 `));
  });

  it('follows a file of families, and does not serve proteins in their place', async () => {
    const source = join(folder, 'families.sto');
    const stockholm = (count: number): string =>
      Array.from({ length: count }, (_, at) => {
        const row = 'ACDEFGHIKLMNPQRSTVWY'.slice(at % 10).repeat(2);
        return `# STOCKHOLM 1.0\n#=GF ID fam${at}\none ${row}\ntwo ${row.replaceAll(/[DERK]/g, 'A')}\n//\n`;
      }).join('');
    const standing = async () => {
      const { databases } = JSON.parse(await gloaming('index', 'list', '--json'));
      return databases.find(({ slug }: { slug: string }) => slug === 'fam').default_release_id as string;
    };
    writeFileSync(source, stockholm(12));
    const flags = ['--name', 'fam', '--encoder', 'baseline-1', '--no-calibration', '--no-qualification'];
    await gloaming('index', 'build', source, ...flags);
    const first = await standing();
    writeFileSync(source, stockholm(14));
    await gloaming('refresh', 'fam', '--from', source);
    const second = await standing();
    expect(second).not.toBe(first);
    const fields = await gloaming('index', 'fields', 'fam');
    expect(fields).toContain('member_count');
    const proteins = join(folder, 'proteins.fasta');
    writeFileSync(proteins, fasta(14));
    await expect(gloaming('refresh', 'fam', '--from', proteins)).rejects.toThrow(
      'its source has proteins where there were families',
    );
    expect(await standing()).toBe(second);
    // A database of members is no database of families.
    const members = ['--name', 'members', '--members', '2', ...flags.slice(2)];
    await gloaming('index', 'build', source, ...members);
    await expect(gloaming('refresh', 'members', '--from', source)).rejects.toThrow(
      'its source has families where there were proteins',
    );
  }, 120_000);
});
