import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/* What an export holds in memory does not grow with the run. */

const MOST_MEMORY_BYTES = 96 * 1e6;
const isLinux = existsSync('/proc/self/status');
if (!isLinux) console.log('Skipped: the memory of exports is read from /proc, which is not here.');

it.skipIf(!isLinux).each(['fasta', 'tsv', 'parquet', 'arrow'])(
  '300,000 candidates become %s in less than 96 MB above idle',
  (format) => {
    const script = fileURLToPath(new URL('memory.mjs', import.meta.url));
    const options = ['--max-semi-space-size=4', '--max-old-space-size=96', script, format];
    const printed = execFileSync(process.execPath, options, { encoding: 'utf8' });
    const { records, fileBytes, usedBytes } = JSON.parse(printed) as Record<string, number>;
    console.log(
      `${format}: ${(fileBytes / 1e6).toFixed(0)} MB with ${(usedBytes / 1e6).toFixed(0)} MB of memory`,
    );
    expect(records).toBe(300_000);
    expect(usedBytes).toBeLessThan(MOST_MEMORY_BYTES);
  },
  120_000,
);
