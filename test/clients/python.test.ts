import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REFUSALS } from '#src/contract/grammar/refusals.js';
import { buildPythonWheel } from '#src/http/pages/python-wheel.js';
import { ROOT } from '../tools/paths.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';

/* The Python client under Debian's Python, against a served appliance. */

const FOLDER = join(ROOT, 'src/clients/python');
const COMPARE_WHEELS = join(ROOT, 'test/clients/compare-wheels.py');
const PUBLIC_API = join(ROOT, 'test/clients/public-api.py');
const PYTHON = '/usr/bin/python3';
const has = (module: string): boolean => spawnSync(PYTHON, ['-c', `import ${module}`]).status === 0;
const hasPytest = has('pytest');
const hasMypy = has('mypy');
if (!hasPytest) console.log('Skipped: python3-pytest is not installed here.');
if (!hasMypy) console.log('Skipped: python3-mypy is not installed here.');

let small: SmallAppliance;

beforeAll(async () => {
  small = await startSmallAppliance();
});
afterAll(() => small.close());

async function python(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...environment };
  return promisify(execFile)(PYTHON, args, { cwd: FOLDER, env, timeout: 240_000 }).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`${error.stdout.slice(-8_000)}\n${error.stderr.slice(-2_000)}`);
    },
  );
}

describe('the Python client', () => {
  it.skipIf(!hasPytest)(
    'passes its tests and the examples of its documentation',
    async () => {
      const { stdout } = await python(['-m', 'pytest', '-q', '-rs'], {
        GLOAMING_URL: small.url,
        GLOAMING_API_KEY: await small.keyOf('lab'),
        GLOAMING_TEST_PROTEIN: small.sequences[0]!,
      });
      console.log(stdout.trim().split('\n').slice(-8).join('\n'));
      expect(stdout).toMatch(/\d+ passed/);
    },
    250_000,
  );

  it.skipIf(!hasMypy)(
    'has types that mypy accepts at its strictest',
    async () => {
      const { stdout } = await python(['-m', 'mypy', '--strict', '--cache-dir=/dev/null', 'gloaming']);
      expect(stdout).toMatch(/Success/);
    },
    250_000,
  );

  it.skipIf(!hasPytest)('has the public names, signatures and exceptions of its last release', async () => {
    const { stdout } = await python([PUBLIC_API], { PYTHONPATH: FOLDER });
    const lines = stdout.trimEnd().split('\n');
    const isRefusal = (line: string): boolean => /^[a-z_]+ \w+ [a-z_]+$/.test(line);
    const names = lines.filter((line) => !isRefusal(line));
    await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(join(ROOT, 'test/clients/public-api.txt'));
    const refusals = Object.entries(REFUSALS)
      .map(([code, { type }]) => `${code} ${pascalCase(code)} ${type}`)
      .sort();
    expect(lines.filter(isRefusal).sort()).toEqual(refusals);
  });

  it.skipIf(!has('pip'))(
    'is installed by pip from the appliance, by address or index, without another server',
    async () => {
      const { fileName } = await buildPythonWheel(FOLDER);
      const folder = mkdtempSync(join(tmpdir(), 'gloaming-pip-'));
      const pip = ['-m', 'pip', '--no-cache-dir', '--disable-pip-version-check', '--quiet'];
      try {
        const target = join(folder, 'by-address');
        await python([
          ...pip,
          'install',
          '--no-index',
          '--target',
          target,
          `${small.url}/client/python/${fileName}`,
        ]);
        // Without the packages of the site and of the user, so that only the standard library is there.
        const program =
          'import sys; sys.path.insert(0, sys.argv[1]); import gloaming; print(gloaming.__file__)';
        const { stdout } = await python(['-I', '-S', '-c', program, target]);
        expect(stdout.trim()).toBe(join(target, 'gloaming/__init__.py'));
        const index = `${small.url}/client/python/`;
        await python([...pip, 'download', '--index-url', index, '--dest', folder, 'gloaming-client']);
        expect(readdirSync(folder)).toContain(fileName);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    60_000,
  );

  it.skipIf(!has('hatchling'))(
    'is the wheel that hatchling builds, apart from the order of lines',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gloaming-hatchling-'));
      try {
        await python(['-m', 'hatchling', 'build', '-t', 'wheel', '-d', folder]);
        const { fileName, bytes } = await buildPythonWheel(FOLDER);
        writeFileSync(join(folder, 'ours.whl'), bytes);
        await python([COMPARE_WHEELS, join(folder, fileName), join(folder, 'ours.whl')]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    60_000,
  );

  it('has the version that its requests name', () => {
    const version = /^version = "(.+)"$/m.exec(readFileSync(join(FOLDER, 'pyproject.toml'), 'utf8'))?.[1];
    expect(readFileSync(join(FOLDER, 'gloaming/transport.py'), 'utf8')).toContain(
      `"gloaming-client/${version}"`,
    );
  });
});

function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
