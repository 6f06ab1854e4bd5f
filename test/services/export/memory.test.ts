import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/* The memory of an export does not grow with the run. */

const MOST_MEMORY_BYTES = 96 * 1e6;
const isLinux = existsSync('/proc/self/status');
if (!isLinux) console.log('Skipped: the memory of exports is read from /proc, which is not here.');

interface Printed {
  readonly records: number;
  readonly fileBytes: number;
  readonly usedBytes: number;
  readonly sha256: string;
}

/** Digests of the files. Equal rows must give equal bytes, however they are written. */
const DIGESTS = {
  fasta: '8072ec17bbaeb1bbd0a464da635e848e585fe6c8e9cd8c7f964e3665e181aae0',
  m8: 'f3b5e3f695299ff6348ba012a3417dd404a9c78bdacf960ee36a8ae8aae1fca5',
  tsv: 'e59ecf66ee57aefa5d30f7b623e03115b95247295174ce30dfda085bea956b36',
  parquet: '7d6dc84b99afa0742f2cdc522734c340b4444052357788abb0fc2d14ca0c6989',
  arrow: '570bd5713b4f4b5841e3fcfe5970c47c0603e1a47d32c75059df7dc8c3703fee',
};

it.skipIf(!isLinux).each(Object.keys(DIGESTS) as (keyof typeof DIGESTS)[])(
  '300,000 candidates become %s in less than 96 MB above idle',
  (format) => {
    const script = fileURLToPath(new URL('memory.mjs', import.meta.url));
    const options = ['--max-semi-space-size=4', '--max-old-space-size=96', script, format];
    const printed = execFileSync(process.execPath, options, { encoding: 'utf8' });
    const { records, fileBytes, usedBytes, sha256 } = JSON.parse(printed) as Printed;
    console.log(
      `${format}: ${(fileBytes / 1e6).toFixed(0)} MB with ${(usedBytes / 1e6).toFixed(0)} MB of memory`,
    );
    expect([records, sha256]).toEqual([300_000, DIGESTS[format]]);
    expect(usedBytes).toBeLessThan(MOST_MEMORY_BYTES);
  },
  120_000,
);
