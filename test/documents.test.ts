// @module-tag fast

import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './tools/paths.js';
import { filesBelow, readText } from './tools/repository-files.js';

/* Lengths, decision records and links of the pages that people read. */

const PLAN_MAX_LINES = 200;
const README_MAX_LINES = 150;
const DECISIONS_MAX_LINES = 200;
const RECORD_MAX_LINES = 8;
const LINE_MAX_CHARACTERS = 120;
const PICTURE_MAX_BYTES = 200_000;

describe('the documents', () => {
  const pages = [
    ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
    ...['src', 'bench', 'test', 'kernels', 'indexes', 'config', 'docs', 'examples'].flatMap((top) =>
      filesBelow(top, /\.md$/),
    ),
  ].filter((path) => !path.includes('node_modules'));

  it('have a plan of at most 200 lines, without measured figures, which go to bench/figures.json', () => {
    const lines = readText('ARCHITECTURE.md').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(PLAN_MAX_LINES);
    expect(lines.filter((line) => [...line].length > LINE_MAX_CHARACTERS)).toEqual([]);
    expect(lines.filter((line) => /\d\s?(ms\b|[KMG]B\/s|%)/.test(line))).toEqual([]);
  });

  it('have a README of at most 150 lines', () => {
    expect(readText('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(README_MAX_LINES);
  });

  it('have every page of the manual in its index', () => {
    const listed = [...readText('docs/README.md').matchAll(/^- \[[^\]]+\]\(([a-z-]+\.md)\): ./gm)];
    const written = readdirSync(join(ROOT, 'docs')).filter(
      (name) => name.endsWith('.md') && name !== 'README.md',
    );
    expect(listed.map(([, name]) => name).sort()).toEqual(written.sort());
  });

  it('have pictures of at most 200 kB, each of which a page shows', () => {
    const pictures = readdirSync(join(ROOT, 'docs', 'images'));
    const shown = pages.map(readText).join('\n');
    const large = pictures.filter(
      (name) => statSync(join(ROOT, 'docs', 'images', name)).size > PICTURE_MAX_BYTES,
    );
    expect(large).toEqual([]);
    expect(pictures.filter((name) => !shown.includes(`images/${name}`))).toEqual([]);
  });

  it('have folder READMEs of at most 150 lines and decisions of at most 200', () => {
    const long = pages.filter((path) => {
      const most = path.endsWith('/DECISIONS.md') ? DECISIONS_MAX_LINES : README_MAX_LINES;
      return /^src\/[^/]+\//.test(path) && readText(path).trimEnd().split('\n').length > most;
    });
    expect(long).toEqual([]);
  });

  it('have decisions of at most eight lines, each with a test that exists', () => {
    const records = pages.flatMap((path) =>
      [...readText(path).matchAll(/^- Decision:.*(?:\n(?!\n).*)*/gm)].map(([record]) => record.trimEnd()),
    );
    const tests = records.flatMap((record) => [
      ...record.slice(record.indexOf('- Tested in:')).matchAll(/`([^`]+)`/g),
    ]);
    expect(records.filter((record) => record.split('\n').length > RECORD_MAX_LINES)).toEqual([]);
    expect(records.filter((record) => !record.includes('\n- Tested in:'))).toEqual([]);
    expect(tests.map(([, path]) => path).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('have no relative link that leads nowhere', () => {
    const dead = pages.flatMap((path) =>
      [...readText(path).matchAll(/\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)/g)].flatMap(([, to, anchor]) => {
        const target = to === '' ? path : join(dirname(path), to);
        const isThere =
          existsSync(join(ROOT, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
        return isThere ? [] : [`${path}: ${to}#${anchor ?? ''}`];
      }),
    );
    expect(dead).toEqual([]);
  });

  it('have the sections to which columns, hints and messages of the program lead', () => {
    const addresses = filesBelow('src', /\.tsx?$/).flatMap((path) => {
      const text = readText(path);
      const sections = path.endsWith('columns.ts') ? [...text.matchAll(/section: '([^']+)'/g)] : [];
      const whole = [...text.matchAll(/(?:page: '|\$\{manual\})([a-z-]+#[\w-]+)/g)];
      return [...sections.map(([, section]) => `numbers#${section}`), ...whole.map(([, address]) => address)];
    });
    expect(addresses.length).toBeGreaterThan(15);
    const isThere = (address: string): boolean => {
      const [page, section = ''] = address.split('#');
      return anchorsOf(`docs/${page}.md`).includes(section);
    };
    expect(addresses.filter((address) => !isThere(address))).toEqual([]);
  });
});

/** Names by which links reach the headings of a page. */
function anchorsOf(path: string): string[] {
  return [...readText(path).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
