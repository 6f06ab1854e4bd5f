// Builds the console that the appliance serves at /console/, the one script of a report, and the TypeScript client as one
// file, into dist/console. esbuild
// is a development dependency, as the compiler is; a packed release has dist and does without.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** @param root the package's folder */
export async function buildConsole(root) {
  const { build } = await import('esbuild');
  const source = join(root, 'src', 'console');
  const target = join(root, 'dist', 'console');
  const { metafile } = await build({
    entryPoints: {
      console: join(source, 'main.tsx'),
      report: join(source, 'report.tsx'),
      style: join(source, 'style', 'style.css'),
      manual: join(source, 'manual', 'manual.ts'),
      'manual-style': join(source, 'style', 'manual.css'),
    },
    outdir: target,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['es2022'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  await build({
    entryPoints: [join(root, 'src', 'clients', 'typescript', 'client.ts')],
    outfile: join(target, 'gloaming.mjs'),
    bundle: true,
    format: 'esm',
    target: ['es2022'],
    logLevel: 'warning',
  });
  const icon = hashed(join(source, 'icon.svg'));
  mkdirSync(target, { recursive: true });
  copyFileSync(join(source, 'icon.svg'), join(target, icon));
  const made = Object.keys(metafile.outputs).map((path) => basename(path));
  const named = (start, end) => made.find((name) => name.startsWith(start) && name.endsWith(end));
  const files = {
    script: named('console-', '.js'),
    style: named('style-', '.css'),
    icon,
    reportScript: named('report-', '.js'),
    manualScript: named('manual-', '.js'),
    manualStyle: named('manual-style-', '.css'),
  };
  writeFileSync(join(target, 'files.json'), `${JSON.stringify(files, null, 2)}\n`);
  for (const name of readdirSync(target)) {
    if (name !== 'files.json' && name !== 'gloaming.mjs' && !Object.values(files).includes(name))
      rmSync(join(target, name));
  }
}

function hashed(path) {
  const digest = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 8).toUpperCase();
  const [name, end] = basename(path).split('.');
  return `${name}-${digest}.${end}`;
}
