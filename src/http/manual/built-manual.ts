import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The output folder of config/manual.mjs, beside the compiled code. */
const FOLDER = fileURLToPath(new URL('../../../manual/', import.meta.url));

/** A heading of a page, with the anchor that links name. */
export interface ManualHeading {
  /** 1 to 6. */
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

/** A page of the manual as config/manual.mjs renders it. */
export interface ManualPage {
  /** Last part of the address; empty for the index. */
  readonly name: string;
  readonly title: string;
  /** Trusted: the build wrote it from files of the repository. */
  readonly html: string;
  readonly headings: readonly ManualHeading[];
}

/** All pages, and their order in named groups. */
export interface BuiltManual {
  readonly groups: readonly {
    readonly title: string;
    readonly pages: readonly { readonly name: string; readonly title: string }[];
  }[];
  readonly pages: readonly ManualPage[];
}

/** Returns a manual without pages when it was not built. */
export function builtManual(): BuiltManual {
  const bytes = readManualFile('pages.json');
  return bytes === undefined
    ? { groups: [], pages: [] }
    : (JSON.parse(bytes.toString('utf8')) as BuiltManual);
}

/** Names of the search index and the pictures. Each name contains the hash of its bytes. */
export function manualFileNames(): readonly string[] {
  try {
    return readdirSync(FOLDER).filter((name) => name !== 'pages.json');
  } catch {
    return [];
  }
}

/** @param name  a name from manualFileNames, never a caller's. Returns undefined when the file was not built */
export function readManualFile(name: string): Buffer | undefined {
  try {
    return readFileSync(join(FOLDER, name));
  } catch {
    return undefined;
  }
}
