import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { ROOT } from './paths.js';
import { filesBelow, readText } from './repository-files.js';

/*
 * Measures how plainly the repository is written: phrases that a stranger has to read twice, sentences that are too
 * long, and docstrings that leave out what a caller needs. config/STYLE.md states the rules.
 */

/** Phrases that config/STYLE.md rules out. People do not act in code, and clever idioms cost a second reading. */
const PHRASES = new RegExp(
  `\\b(${[
    'whoever',
    'whomever',
    'nobody',
    'somebody',
    'one who',
    'but for',
    'tells? of',
    'told of',
    'hears? of',
    'heard of',
    'unasked',
    'makes? (nothing|something|much|little|what|sense) of',
    'what .{1,30} makes? of',
    'strik(es?|ing)',
    'dear',
    'of use',
  ].join('|')})\\b`,
  'gi',
);
const SENTENCE_MAX_WORDS = 35;
/** Arrays of numbers. A Uint8Array is a string of bytes as a rule, which has no shape. */
const TYPED_ARRAY = /\b(?:Big)?(?:Int8|(?:Int|Uint|Float)(?:16|32|64))Array\b/;
/** Lines of a docstring that start a field of their own. */
const FIELD = /^(?:Shape|Range|Unit|Order|Errors|Cost|Source|@\w+|[-*]|\d+\.|\|)(?:\s|$)/;

/** Faults by folder. */
export type FaultsByFolder = Readonly<Record<string, readonly string[]>>;

/** `path:line` and the phrase, for each phrase of the list. */
export function forbiddenPhrases(): FaultsByFolder {
  return byFolder(writtenFiles(), (path, text) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        [...line.matchAll(PHRASES)].map(([phrase]) => `${path}:${index + 1} ${phrase}`),
      ),
  );
}

/** `path` and the beginning of each sentence with too many words, in comments and pages. */
export function longSentences(): FaultsByFolder {
  return byFolder(writtenFiles(), (path, text) =>
    sentencesOf(path, text)
      .filter((sentence) => sentence.split(/\s+/).length > SENTENCE_MAX_WORDS)
      .map((sentence) => `${path} ${sentence.slice(0, 80)}`),
  );
}

/** Exported functions of some folders whose docstring lacks a shape and unit, or how the promise rejects. */
export function incompleteDocstrings(folders: readonly string[]): FaultsByFolder {
  const files = filesBelow('src', /\.ts$/).filter((path) =>
    folders.some((folder) => path.startsWith(`src/${folder}/`)),
  );
  return byFolder(files, (path, text) =>
    exportedFunctions(text).flatMap(({ name, signature, docstring }) => {
      const lacks = [
        ...(TYPED_ARRAY.test(signature)
          ? ['Shape', 'Unit'].filter((field) => !hasField(docstring, field))
          : []),
        ...(/\bPromise</.test(signature) && !hasField(docstring, 'Errors') ? ['Errors'] : []),
      ];
      return lacks.length === 0 ? [] : [`${path} ${name}: ${lacks.join(', ')}`];
    }),
  );
}

/** Every comment and paragraph of prose, as sentences without markup. Semicolons separate the items of a field. */
export function sentencesOf(path: string, text: string): readonly string[] {
  const blocks = path.endsWith('.md') ? pageBlocks(text) : commentBlocks(text, path.endsWith('.py'));
  return blocks.flatMap((block) =>
    block
      .replace(/`[^`]*`/g, 'code')
      .split(FIELD.test(block) ? /(?<=[.!?;])\s+/ : /(?<=[.!?])\s+/)
      .map((sentence) => sentence.trim())
      .filter((sentence) => sentence !== ''),
  );
}

/** Consecutive comment lines as one block; a field of a docstring begins a block of its own. */
function commentBlocks(text: string, isPython: boolean): readonly string[] {
  const pattern = isPython ? /^\s*#+\s?(.*)$/ : /^\s*(?:\/\/+|\/\*+|\*(?!\/))\s?(.*?)(?:\s*\*\/)?$/;
  const blocks: string[][] = [[]];
  for (const line of text.split('\n')) {
    const content = pattern.exec(line)?.[1] ?? '';
    // Rows of a table or drawing have gaps, or are indented below the text around them.
    const isDrawn = !FIELD.test(content.trim()) && /^\s{2,}|\S {2,}\S/.test(content);
    if (content.trim() === '' || isDrawn || FIELD.test(content.trim())) blocks.push([]);
    if (!isDrawn) blocks.at(-1)!.push(content.trim());
  }
  return blocks.map((lines) => lines.join(' ')).filter((block) => block !== '');
}

/** Paragraphs and list items; neither code, tables nor headings. */
function pageBlocks(text: string): readonly string[] {
  return text
    .replace(/^```[\s\S]*?^```/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)/)
    .filter((block) => !/^\s*[|#]/.test(block))
    .map((block) => block.replace(/\s+/g, ' ').trim())
    .filter((block) => block !== '');
}

interface ExportedFunction {
  readonly name: string;
  readonly signature: string;
  readonly docstring: string;
}

function exportedFunctions(text: string): readonly ExportedFunction[] {
  const pattern = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*)?^export (?:async )?function\*? (\w+)([\s\S]*?)\{\n/gm;
  return [...text.matchAll(pattern)].map(([, docstring = '', name, signature]) => ({
    name,
    signature,
    docstring,
  }));
}

function hasField(docstring: string, field: string): boolean {
  return new RegExp(`(?:^|\\*|\\.)\\s*${field}\\b`, 'm').test(docstring);
}

function byFolder(
  paths: readonly string[],
  faultsOf: (path: string, text: string) => readonly string[],
): FaultsByFolder {
  const folders: Record<string, string[]> = {};
  for (const path of paths) {
    const faults = faultsOf(path, readText(path));
    (folders[roomOf(path)] ??= []).push(...faults);
  }
  return folders;
}

/** `src/search` for all below it; `src`, `.` for files beside the folders. */
function roomOf(path: string): string {
  const folder = dirname(path).split('/');
  return folder.slice(0, 2).join('/');
}

/** Everything that people write and read here. The changelog is history and stays as it was written. */
function writtenFiles(): readonly string[] {
  const code = /\.(tsx?|mjs|cpp|h|cu|cuh|py)$/;
  return [
    ...['src', 'bench', 'test', 'kernels', 'config'].flatMap((folder) => filesBelow(folder, code)),
    ...['src', 'bench', 'kernels', 'config', 'docs'].flatMap((folder) => filesBelow(folder, /\.md$/)),
    ...readdirSync(ROOT).filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md'),
  ].filter(
    (path) =>
      path !== 'test/tools/prose.ts' &&
      !path.startsWith('src/clients/typescript/types/') &&
      !/gloaming\/(codes|client)\.py$/.test(path),
  );
}
