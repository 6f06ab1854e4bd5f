import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FILE_PATH_PATTERN, FILE_TARGET_PATTERN } from '#src/contract/storage/file-paths.js';
import { Refusal } from '#src/errors.js';
import { normalisePath, normaliseTarget } from '#src/services/storage/paths.js';

/** Paths that a person, a shell, another system or a URL could read as an escape, or as another path. */
const HOSTILE: Readonly<Record<string, string>> = {
  empty: '',
  'the folder itself': '.',
  'one up': '..',
  'up from within': 'a/../b',
  'up at the end': 'a/..',
  'up and up': '../../../../etc/passwd',
  'here in the middle': 'a/./b',
  'three dots': 'a/.../b',
  absolute: '/etc/passwd',
  'two slashes': '//host/share',
  'a slash too many': 'a//b',
  'a slash at the end': 'a/',
  backslash: 'a\\b',
  'mixed separators': 'a/..\\..\\b',
  'a drive': 'C:/windows',
  'a drive without slash': 'c:x',
  'a UNC path': '\\\\host\\share',
  NUL: 'a\0b',
  'NUL before an extension': 'a.txt\0.png',
  'line feed': 'a\nb',
  escape: 'a\u001b[2J',
  delete: 'a\u007f',
  'C1 control': 'a\u0085b',
  'line separator': 'a\u2028b',
  'right-to-left override': 'txt.\u202egpj',
  'zero-width space': 'a\u200bb',
  'zero-width joiner': 'a\u200db',
  'byte order mark': '\ufeffa',
  'tag letters': 'a\u{e0041}',
  'private use': 'a\ue000',
  'half a character': 'a\ud800b',
  'fraction slash': 'a\u2044b',
  'division slash': 'a\u2215b',
  'big solidus': 'a\u29f8b',
  'full-width solidus': 'a\uff0fb',
  'full-width backslash': 'a\uff3cb',
  'small backslash': 'a\ufe68b',
  'set minus': 'a\u2216b',
  'reverse solidus operator': 'a\u29f5b',
  'box drawing diagonal': 'a\u2571b',
  'rising diagonal': 'a\u27cbb',
  'heavy solidus': 'a\u{1f67c}b',
  'solidus overlay': 'a\u0338b',
  'a letter that is "a/c"': '\u2100',
  'one half': '\u00bd.txt',
  'two-dot leader': '\u2025/a',
  ellipsis: 'a/\u2026',
  'full-width dots': '\uff0e\uff0e/a',
  'one-dot leaders': '\u2024\u2024/a',
  'escaped dots': '%2e%2e/a',
  'escaped slash': 'a%2Fb',
  'escaped backslash': 'a%5cb',
  'escaped NUL': 'a%00',
  'a blank part': 'a/ /b',
  'a blank at the end': 'a /b',
  'a no-break space before': '\u00a0a',
  'a dot at the end': 'a./b',
  '10,000 levels': Array(10_000).fill('a').join('/'),
  '33 levels': Array(33).fill('a').join('/'),
  '256 bytes in one part': 'ä'.repeat(128),
  '1,025 bytes': Array(5).fill('x'.repeat(250)).join('/'),
};

describe('a path', () => {
  it.each(Object.entries(HOSTILE))('is refused: %s', (_name, path) => {
    let refusal: unknown;
    try {
      normalisePath(path, 'file_name');
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(Refusal);
    expect((refusal as Refusal).code).toBe('invalid_path');
    expect((refusal as Refusal).message.length).toBeLessThan(500);
  });

  it.each([
    'a',
    'a/b/c.fasta',
    '.hidden',
    '..a/b..c',
    'Plate 7 (final).tsv',
    'protéine/ノート/蛋白质.fa',
    '100%/x%y',
    'chr1:100-200',
    '~',
    '-rf',
    Array(32).fill('a').join('/'),
    'ä'.repeat(127),
  ])('is accepted without a change: %s', (path) => {
    expect(normalisePath(path, 'file_name')).toBe(path);
  });

  it('is the same path in every Unicode form of its letters', () => {
    expect(normalisePath('e\u0301/a', 'file_name')).toBe('é/a');
  });

  it('that is to be deleted may end in a slash, which means a folder', () => {
    expect(normaliseTarget('a/b/', 'path')).toEqual({ path: 'a/b', isFolder: true });
    expect(normaliseTarget('a/b', 'path')).toEqual({ path: 'a/b', isFolder: false });
    for (const path of ['/', 'a//', '../']) expect(() => normaliseTarget(path, 'path')).toThrow(Refusal);
  });
});

describe('the pattern that the contract publishes', () => {
  const pattern = new RegExp(FILE_PATH_PATTERN, 'u');
  const target = new RegExp(FILE_TARGET_PATTERN, 'u');
  const isTaken = (read: () => unknown): boolean => {
    try {
      read();
      return true;
    } catch {
      return false;
    }
  };

  it('accepts what storage accepts, for every character', () => {
    const differing: number[] = [];
    for (let point = 0; point <= 0x10ffff; point += 1) {
      const path = `aa${String.fromCodePoint(point)}a`;
      if (pattern.test(path) !== isTaken(() => normalisePath(path, 'p'))) differing.push(point);
    }
    expect(differing).toEqual([]);
  }, 60_000);

  it('accepts what storage accepts, for every order of special characters', () => {
    const pieces = [
      'a',
      'C',
      ':',
      '.',
      '\u2026',
      '/',
      '%',
      '2',
      'f',
      '0',
      ' ',
      '\u3000',
      '\\',
      'é',
      '\0',
      '\u2044',
    ];
    const paths = fc.oneof(
      fc.array(fc.constantFrom(...pieces), { maxLength: 9 }).map((parts) => parts.join('')),
      fc.integer({ min: 250, max: 260 }).map((length) => `${'x'.repeat(length)}/y`),
      fc.integer({ min: 28, max: 36 }).map((depth) => Array.from({ length: depth }, () => 'd').join('/')),
    );
    fc.assert(
      fc.property(paths, (path) => {
        expect(pattern.test(path)).toBe(isTaken(() => normalisePath(path, 'p')));
        expect(target.test(path)).toBe(isTaken(() => normaliseTarget(path, 'p')));
      }),
      { numRuns: 20_000 },
    );
  });
});
