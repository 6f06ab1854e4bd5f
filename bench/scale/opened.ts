import { chooseBackend } from '../../src/kernels/choose.js';
import { openRelease } from '../../src/release/open.js';
import { anonymousBytes } from '../tools/memory.js';

/* Process that opens the release of a folder and prints its own memory in bytes. */

const backend = await chooseBackend({ device: 'cpu' });
const before = anonymousBytes();
const release = await openRelease(process.argv[2]);
const store = await backend.open(release.tokens);
process.stdout.write(String(anonymousBytes() - before));
store.close();
