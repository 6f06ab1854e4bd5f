import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../paths.js';

/* Names the folder of fixtures by the digest of the code that makes them, and removes folders of earlier code. */

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the fixtures of test/tools/fixtures.ts. */
    fixturesFolder: string;
  }
}

/** Compiled code, kernels and encoders: what a release or a calibration can depend on. */
const SOURCES = ['dist/src', 'dist/kernels', 'indexes/encoders', 'package-lock.json'];
const HASHED = /\.(js|node|json|onnx)$/;
/** Another run may still read older folders. Unit: ms */
const OLD_AFTER_MS = 3_600_000;

export default function setup(project: TestProject): void {
  const parent = join(ROOT, 'build', 'fixtures');
  const digest = digestOf(SOURCES).slice(0, 16);
  mkdirSync(join(parent, digest), { recursive: true });
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (name !== digest && Date.now() - statSync(path).mtimeMs > OLD_AFTER_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
  project.provide('fixturesFolder', join(parent, digest));
}

/** Digest of names and bytes of all files, in the order of their paths. */
function digestOf(sources: readonly string[]): string {
  const hash = createHash('sha256');
  for (const source of sources) {
    const path = join(ROOT, source);
    if (!existsSync(path)) continue;
    const files = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: 'utf8' })
          .filter((name) => HASHED.test(name))
          .sort()
          .map((name) => join(path, name))
      : [path];
    for (const file of files) {
      hash.update(file.slice(ROOT.length)).update('\0').update(readFileSync(file));
    }
  }
  return hash.digest('hex');
}
