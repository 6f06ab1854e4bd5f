import { readFileSync } from 'node:fs';
import { chooseBackend } from '../../src/kernels/choose.js';
import { openRelease } from '../../src/release/open.js';

/* A process of its own that opens the release of a folder, and says how many bytes of memory it took for itself. */

const KIB = 1024;
const backend = await chooseBackend({ device: 'cpu' });
const before = anonymousBytes();
const release = await openRelease(process.argv[2]);
const store = await backend.open(release.tokens);
process.stdout.write(String(anonymousBytes() - before));
store.close();

/** Memory that belongs to the process alone: mapped files are the system's. */
function anonymousBytes(): number {
  const line = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'));
  return line === null ? process.memoryUsage.rss() : Number(line[1]) * KIB;
}
