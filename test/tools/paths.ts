import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/* Where things lie, for tests of any depth. */

/** The package's own folder. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The command line as it ships. */
export const PROGRAM = join(ROOT, 'dist', 'src', 'cli', 'main.js');
/** Real proteins, beside the checkout in CI only; tests that need them say that they were skipped. */
export const SHARED = process.env.GLOAMING_SHARED ?? join(ROOT, '..', 'shared');
