// Writes docs/command-line.md from the help of the built program.
//
//   npm run build:src && npm run manual
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const { commandLinePage } = await import(join(root, 'dist', 'src', 'cli', 'program', 'command-line-page.js'));
writeFileSync(join(root, 'docs', 'command-line.md'), await commandLinePage());
