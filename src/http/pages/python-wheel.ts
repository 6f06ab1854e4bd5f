import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../../errors.js';
import { storedZip, type ZippedFile } from './stored-zip.js';

/** A Python package in the form that installers take. */
export interface PythonWheel {
  /** Name of the project in the normal form of an index. */
  readonly project: string;
  readonly fileName: string;
  readonly requiresPython: string;
  readonly sha256: string;
  readonly bytes: Buffer;
}

/**
 * Builds the wheel of the Python client from its sources. Equal files give equal bytes on every machine.
 * @param folder holds pyproject.toml, README.md and the package
 * Errors  those of the file system
 * Source  PEP 427 (wheel), PEP 566 (metadata 2.1)
 */
export async function buildPythonWheel(folder: string): Promise<PythonWheel> {
  const project = await readProject(folder);
  const { name, version, packageName, requiresPython } = project;
  const stem = `${name.replaceAll('-', '_')}-${version}`;
  const info = `${stem}.dist-info`;
  const sources = (await readdir(join(folder, packageName)))
    .filter((file) => /\.py$|^py\.typed$/.test(file))
    .sort();
  const files: ZippedFile[] = [];
  for (const file of sources) {
    files.push({ name: `${packageName}/${file}`, bytes: await readFile(join(folder, packageName, file)) });
  }
  files.push({ name: `${info}/METADATA`, bytes: Buffer.from(metadataOf(project)) });
  files.push({ name: `${info}/WHEEL`, bytes: Buffer.from(WHEEL) });
  files.push({ name: `${info}/RECORD`, bytes: Buffer.from(recordOf(files, `${info}/RECORD`)) });
  const bytes = storedZip(files);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { project: name, fileName: `${stem}-py3-none-any.whl`, requiresPython, sha256, bytes };
}

const WHEEL = 'Wheel-Version: 1.0\nGenerator: gloaming\nRoot-Is-Purelib: true\nTag: py3-none-any\n';

interface Project {
  readonly name: string;
  readonly version: string;
  readonly summary: string;
  readonly license: string;
  readonly requiresPython: string;
  readonly packageName: string;
  readonly dependencies: readonly string[];
  /** Name and requirements of each extra. */
  readonly extras: readonly (readonly [string, readonly string[]])[];
  readonly readme: string;
}

/** Reads from pyproject.toml what a wheel repeats. The file has each value on a line of its own. */
async function readProject(folder: string): Promise<Project> {
  const toml = await readFile(join(folder, 'pyproject.toml'), 'utf8');
  const textOf = (pattern: RegExp): string => {
    const [, value] = pattern.exec(toml) ?? [];
    assert(value !== undefined, `pyproject.toml has ${String(pattern)}`);
    return value;
  };
  const extras = textOf(/^\[project\.optional-dependencies\]\n((?:.+\n)*)/m);
  return {
    name: textOf(/^name = "(.+)"$/m),
    version: textOf(/^version = "(.+)"$/m),
    summary: textOf(/^description = "(.+)"$/m),
    license: textOf(/^license = \{ text = "(.+)" \}$/m),
    requiresPython: textOf(/^requires-python = "(.+)"$/m),
    packageName: textOf(/^packages = \["(.+)"\]$/m),
    dependencies: stringsIn(textOf(/^dependencies = \[(.*)\]$/m)),
    extras: [...extras.matchAll(/^(\w+) = \[(.*)\]$/gm)].map(([, extra = '', list = '']) => [
      extra,
      stringsIn(list),
    ]),
    readme: await readFile(join(folder, 'README.md'), 'utf8'),
  };
}

function stringsIn(list: string): readonly string[] {
  return [...list.matchAll(/"([^"]+)"/g)].map(([, text = '']) => text);
}

function metadataOf(project: Project): string {
  const { dependencies, extras } = project;
  return [
    'Metadata-Version: 2.1',
    `Name: ${project.name}`,
    `Version: ${project.version}`,
    `Summary: ${project.summary}`,
    `License: ${project.license}`,
    `Requires-Python: ${project.requiresPython}`,
    ...dependencies.map((each) => `Requires-Dist: ${each}`),
    ...extras.flatMap(([extra, needed]) => [
      `Provides-Extra: ${extra}`,
      ...needed.map((each) => `Requires-Dist: ${each}; extra == '${extra}'`),
    ]),
    'Description-Content-Type: text/markdown',
    '',
    project.readme,
  ].join('\n');
}

/** Digest and size of each file. The line of the record itself has neither. */
function recordOf(files: readonly ZippedFile[], record: string): string {
  const lines = files.map(({ name, bytes }) => {
    const digest = createHash('sha256').update(bytes).digest('base64url');
    return `${name},sha256=${digest},${bytes.length}\n`;
  });
  return `${lines.join('')}${record},,\n`;
}
