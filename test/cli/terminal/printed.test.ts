import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '#src/cli/serve/log.js';
import { printedContext, rawStream } from '#src/cli/terminal/printed.js';
import { createProgress } from '#src/cli/terminal/progress.js';
import { formatTable } from '#src/cli/terminal/table.js';
import { printable, printableLines } from '#src/printable.js';
import { PROGRAM } from '../../tools/paths.js';

/* Text from outside must not steer a terminal. */

const HOSTILE = '\u001b[31mred\u001b]0;t\u0007 \u009b2J \u202eevil\u2066 \u0000\u007f\u2028';
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

const folder = mkdtempSync(join(tmpdir(), 'gloaming-printed-'));
afterAll(() => rmSync(folder, { recursive: true }));

function contextOf() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const raw = { environment: {}, stdin, stdout, stderr };
  return {
    raw,
    printed: printedContext(raw),
    read: () => String(stdout.read() ?? '') + String(stderr.read() ?? ''),
  };
}

describe('text from outside', () => {
  it('keeps its length and has no control character of a terminal', () => {
    expect(printable(HOSTILE)).toHaveLength(HOSTILE.length);
    expect(printable(HOSTILE)).not.toMatch(UNPRINTABLE);
    expect(printable('a\tb\nc')).toBe('a\ufffdb\ufffdc');
    expect(printableLines('a\tb\nc\r')).toBe('a\tb\nc\ufffd');
    expect(printable('Größe β-галактозидаза 蛋白 👩‍🔬')).toBe('Größe β-галактозидаза 蛋白 👩‍🔬');
  });

  it('cannot add lines or sequences to a table', () => {
    const table = formatTable(['name'], [[HOSTILE], ['two\nlines']]);
    expect(table.split('\n')).toHaveLength(4);
    expect(table.replaceAll('\n', '')).not.toMatch(UNPRINTABLE);
  });

  it('is replaced in every message of a command, while bytes and raw output pass', () => {
    const { raw, printed, read } = contextOf();
    printed.stderr.write(`gloaming: ${HOSTILE}\n`);
    printed.stdout.write(`${HOSTILE}\n`);
    expect(read().replaceAll('\n', '')).not.toMatch(UNPRINTABLE);
    printed.stdout.write(Buffer.from('\u001b'));
    expect(read()).toBe('\u001b');
    expect(rawStream(printed.stdout)).toBe(raw.stdout);
  });

  it('does not change the control sequences that the commands print themselves', () => {
    const { raw, printed, read } = contextOf();
    Object.assign(raw.stderr, { isTTY: true, columns: 80 });
    const progress = createProgress(printed.stderr);
    progress.update({ stage: 'read', done: 1, total: 2 });
    const drawn = read();
    expect([drawn.startsWith('\rReading '), drawn.endsWith('\u001b[K')]).toEqual([true, true]);
    printed.stdout.write('\u001b[1mbold\u001b[0m');
    expect(read()).toBe('\u001b[1mbold\u001b[0m');
  });

  it('is replaced in log lines, which are bounded', async () => {
    const path = join(folder, 'log');
    const log = createLog('info', path);
    const packet = Object.assign(new Error(HOSTILE), {
      rawPacket: Buffer.alloc(500_000, 1),
      code: 'HPE_INVALID',
    });
    log.warn({ err: packet, worker: 'http://worker' }, 'A worker has not answered for its part.');
    log.info({ name: 'x'.repeat(500_000) }, 'long');
    const lines = await linesOf(path, 2);
    expect(lines[0]!.length).toBeLessThan(20_000);
    expect(lines[0]).not.toMatch(UNPRINTABLE);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      err: { type: 'Error', code: 'HPE_INVALID' },
      worker: 'http://worker',
    });
    expect(JSON.parse(lines[0]!)).not.toHaveProperty('err.rawPacket');
    expect(lines[1]!.length).toBeLessThan(20_000);
    expect(JSON.parse(lines[1]!)).toMatchObject({ msg: expect.stringContaining('was cut') });
  });
});

async function linesOf(path: string, count: number): Promise<string[]> {
  for (;;) {
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
    if (lines.length >= count) return lines;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a database of hostile names', () => {
  const environment = {
    ...process.env,
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_ENCODER: 'baseline-1',
    GLOAMING_THREADS: '1',
  };
  const gloaming = async (...words: string[]): Promise<string> => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [PROGRAM, ...words], {
      env: environment,
    });
    return stdout + stderr;
  };
  const fasta = join(folder, 'hostile.fasta');
  const metadata = join(folder, 'metadata.tsv');

  beforeAll(() => {
    writeFileSync(fasta, `>H11 ${HOSTILE}\nMKQLEDKVEELLSKNYHLENEVARLKKLVGER\n>H12\tx\nMKQLEDKVEELLSKN\n`);
    writeFileSync(metadata, `id\torganism\nH11\t\u001b]0;title\u0007\u202eorganism\n`);
  });

  it('reaches no terminal by any command that prints names', { timeout: 60_000 }, async () => {
    const outputs = [
      await gloaming('index', 'build', fasta, '--name', 'hostile', '--metadata', metadata),
      await gloaming('search', fasta, '-d', 'hostile'),
      await gloaming('search', fasta, '-d', 'hostile', '--format', 'tsv'),
      await gloaming('search', fasta, '-d', 'hostile', '--format', 'json'),
      await gloaming('index', 'fields', 'hostile'),
      await gloaming('index', 'list'),
    ];
    expect(outputs[1]).toContain('organism');
    for (const output of outputs) expect(output.replaceAll(/[\n\t]/g, '')).not.toMatch(UNPRINTABLE);
  });
});
