import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/* Paths for tests of any folder depth. */

/** The package's own folder. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The command line as it ships. */
export const PROGRAM = join(ROOT, 'dist', 'src', 'cli', 'main.js');
/** Real proteins, beside the checkout in CI only. Tests that need them report that they were skipped. */
export const SHARED = process.env.GLOAMING_SHARED ?? join(ROOT, '..', 'shared');
