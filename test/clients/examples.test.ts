import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../http/proxy-examples.js';
import { ROOT } from '../tools/paths.js';
import { startSmallAppliance, type SmallAppliance } from '../tools/small-appliance.js';

/* The examples of src/clients/examples, as a lab would run them. */

const EXAMPLES = join(ROOT, 'src/clients/examples');
const PYTHON = '/usr/bin/python3';
const has = (...command: readonly string[]): boolean =>
  spawnSync(command[0]!, command.slice(1), { stdio: 'ignore' }).status === 0;
const hasModule = (module: string): boolean => has(PYTHON, '-c', `import ${module}`);
const hasShellTools = has('jq', '--version') && has('curl', '--version');
const hasSnakemake = has('/usr/bin/snakemake', '--version');
const hasNotebooks = hasModule('nbclient') && hasModule('ipykernel');
const hasTree = hasModule('Bio') && hasModule('pandas');
const hasNextflow = has('nextflow', '-version');
for (const [isThere, name] of [
  [hasShellTools, 'jq or curl'],
  [hasSnakemake, 'snakemake'],
  [hasNotebooks, 'python3-nbclient or python3-ipykernel: the notebook runs as a script'],
  [hasTree, 'python3-biopython or python3-pandas'],
  [hasNextflow, 'nextflow: its files are read only'],
] as const) {
  if (!isThere) console.log(`Skipped: ${name} is not installed here.`);
}

let small: SmallAppliance;
let folder: string;
let environment: Record<string, string>;

beforeAll(async () => {
  small = await startSmallAppliance();
  folder = mkdtempSync(join(tmpdir(), 'gloaming-examples-'));
  environment = {
    ...(process.env as Record<string, string>),
    GLOAMING_URL: small.url,
    GLOAMING_API_KEY: await small.keyOf('lab'),
    PYTHONPATH: join(ROOT, 'src/clients/python'),
    PYTHONDONTWRITEBYTECODE: '1',
    HOME: folder,
  };
  mkdirSync(join(folder, 'proteins'));
  const record = (index: number): string => `>protein-${index}\n${small.sequences[index]}\n`;
  writeFileSync(join(folder, 'proteins/first.fasta'), record(0) + record(1));
  writeFileSync(join(folder, 'proteins/second.fasta'), record(2));
});
afterAll(async () => {
  await small.close();
  rmSync(folder, { recursive: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program in the folder, to its end. */
function run(program: string, args: readonly string[], more: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...environment, ...more }, timeout: 120_000 };
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}

const linesOf = (file: string): readonly string[] =>
  readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
const columnsOf = (line: string): number => line.split('\t').length;

describe('the shell pipeline', () => {
  const script = join(EXAMPLES, 'pipeline.sh');

  it.skipIf(!hasShellTools)('writes a table of hits, and a rerun finds its run', async () => {
    const first = await run(script, ['proteins/first.fasta', 'hits.tsv'], { GLOAMING_LIMIT: '5' });
    expect(first, first.stderr).toMatchObject({ code: 0 });
    expect(linesOf('hits.tsv')).toHaveLength(10);
    expect(linesOf('hits.tsv').map(columnsOf)).toEqual(Array.from({ length: 10 }, () => 12));
    const again = await run(script, ['proteins/first.fasta', 'again.tsv'], { GLOAMING_LIMIT: '5' });
    expect(again.stderr).toBe(first.stderr);
    expect(linesOf('again.tsv')).toEqual(linesOf('hits.tsv'));
  });

  it.skipIf(!hasShellTools)('exits with the documented codes', async () => {
    const file = 'proteins/first.fasta';
    const help = await run(script, ['--help']);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringMatching(/exit codes:\n {2}0 {2}/) });
    expect((await run(script, [])).code).toBe(2);
    expect((await run(script, ['absent.fasta', 'x.tsv'])).code).toBe(2);
    expect((await run(script, [file, 'x.tsv', 'nowhere'])).code).toBe(3);
    expect((await run(script, [file, 'x.tsv'], { GLOAMING_API_KEY: 'glm_none' })).code).toBe(3);
    expect(existsSync(join(folder, 'x.tsv'))).toBe(false);
  });

  it.skipIf(!hasShellTools)(
    'exits with 5 without an appliance',
    async () => {
      const away = { GLOAMING_URL: 'http://127.0.0.1:9' };
      expect((await run(script, ['proteins/first.fasta', 'x.tsv'], away)).code).toBe(5);
    },
    60_000,
  );
});

describe('the Snakemake workflow', () => {
  it.skipIf(!hasSnakemake)(
    'writes a table and an alignment of every file, and a rerun does nothing',
    async () => {
      const args = ['--snakefile', join(EXAMPLES, 'snakemake/Snakefile'), '--cores', '1', '--nolock'];
      const config = ['--config', 'database=demo', 'limit=5', `python=${PYTHON}`];
      const first = await run('/usr/bin/snakemake', [...args, ...config]);
      expect(first, first.stderr).toMatchObject({ code: 0 });
      expect(readdirSync(join(folder, 'hits')).sort()).toEqual(['first.tsv', 'second.tsv']);
      expect(linesOf('hits/first.tsv')).toHaveLength(10);
      expect(linesOf('alignments/second.a3m')[1]).toBe(small.sequences[2]);
      const again = await run('/usr/bin/snakemake', [...args, ...config]);
      expect(again.stderr).toMatch(/Nothing to be done/);
    },
    180_000,
  );
});

describe('the notebook', () => {
  const notebook = join(EXAMPLES, 'notebook/tree.ipynb');

  it.skipIf(!hasTree)(
    'runs from a search to a tree',
    async () => {
      const program = hasNotebooks ? EXECUTE_NOTEBOOK : EXECUTE_CELLS;
      const ended = await run(PYTHON, ['-c', program, notebook], { PROTEIN: small.sequences[0]! });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      expect(linesOf('relatives.nwk')[0]).toMatch(/^\(.*\).*;$/);
    },
    180_000,
  );

  it('is committed without outputs', () => {
    const { cells } = JSON.parse(readFileSync(notebook, 'utf8')) as {
      cells: readonly { outputs?: unknown[] }[];
    };
    expect(cells.flatMap(({ outputs = [] }) => outputs)).toEqual([]);
  });
});

const EXECUTE_NOTEBOOK =
  'import nbclient, nbformat, sys; nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=120).execute()';
const EXECUTE_CELLS = [
  'import json, sys',
  'cells = json.load(open(sys.argv[1]))["cells"]',
  'exec("\\n".join("".join(cell["source"]) + "\\n" for cell in cells if cell["cell_type"] == "code"))',
].join('\n');

describe('the webhook receiver', () => {
  const script = join(EXAMPLES, 'webhook_receiver.py');

  it('fetches the table of a search on its webhook', async () => {
    const receiver = await startReceiver(script);
    const ended = new Promise((resolve) => receiver.once('exit', resolve));
    try {
      const args = ['search', 'proteins/second.fasta', '--out', 'direct.tsv', '--quiet'];
      const search = await run(PYTHON, ['-m', 'gloaming', ...args]);
      expect(search, search.stderr).toMatchObject({ code: 0 });
      const table = `${search.stderr.trim()}.tsv`;
      await expect.poll(() => existsSync(join(folder, table))).toBe(true);
      expect(linesOf(table)).toEqual(linesOf('direct.tsv'));
      receiver.kill('SIGTERM');
      expect(await ended).toBe(0);
    } finally {
      receiver.kill('SIGKILL');
    }
  }, 180_000);

  it('documents its exit codes and refuses to start without a secret', async () => {
    expect((await run(PYTHON, [script, '--help'])).stdout).toMatch(/exit codes:/);
    expect((await run(PYTHON, [script])).code).toBe(2);
  });
});

/** Starts the receiver at a free port, or at the next one if another process took it. */
async function startReceiver(script: string): Promise<ChildProcess> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const address = `127.0.0.1:${await freePort()}`;
    const { secret } = await register(`http://${address}/`);
    const env = { ...environment, GLOAMING_WEBHOOK_SECRET: secret };
    const command = [script, '--listen', address, '--folder', folder];
    const receiver = spawn(PYTHON, command, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const [output] = (await once(receiver.stderr, 'data')) as [Buffer];
    if (output.includes('listening on')) return receiver;
    receiver.kill('SIGKILL');
  }
  throw new Error('The receiver could not listen anywhere.');
}

async function register(url: string): Promise<{ readonly secret: string }> {
  const response = await fetch(`${small.url}/v1/webhooks/endpoints`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${environment.GLOAMING_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url, event_types: ['run.completed'] }),
  });
  return ((await response.json()) as { data: { secret: string } }).data;
}

describe('the Nextflow module', () => {
  const module = join(EXAMPLES, 'nextflow/modules/gloaming/search');

  it('has the files of an nf-core module with the same names in each', () => {
    expect(readdirSync(module).sort()).toEqual(['environment.yml', 'main.nf', 'meta.yml', 'tests']);
    const main = readFileSync(join(module, 'main.nf'), 'utf8');
    const meta = readFileSync(join(module, 'meta.yml'), 'utf8');
    const name = /^process (\w+) \{$/m.exec(main)?.[1];
    expect(meta).toContain(`name: ${name!.toLowerCase()}\n`);
    const emitted = [...main.matchAll(/emit: (\w+)/g)].map(([, channel]) => channel!);
    expect(emitted).toEqual(['tsv', 'versions']);
    for (const channel of emitted) expect(meta).toMatch(new RegExp(`^  - ${channel}:$`, 'm'));
    expect(readFileSync(join(EXAMPLES, 'nextflow/main.nf'), 'utf8')).toContain(`include { ${name} }`);
    const count = (letter: string): number => main.split(letter).length;
    expect([count('{') - count('}'), count('"""') % 2]).toEqual([0, 1]);
  });

  it.skipIf(!hasNextflow)(
    'runs as a stub',
    async () => {
      const main = join(EXAMPLES, 'nextflow/main.nf');
      const ended = await run('nextflow', ['run', main, '-stub', '--proteins', 'proteins/*.fasta'], {
        NXF_OFFLINE: 'true',
      });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
    },
    180_000,
  );
});
