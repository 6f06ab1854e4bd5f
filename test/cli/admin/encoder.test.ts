import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { register } from '#src/cli/admin/encoder.js';
import { ESM_TOKENIZER, writeEsmModel } from '../../tools/esm-model.js';

describe('gloaming encoder', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gloaming-cli-encoder-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function run(...words: string[]): Promise<string> {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const program = new Command('gloaming').exitOverride().configureOutput({ writeErr: () => undefined });
    const environment = { GLOAMING_INDEXES: join(folder, 'indexes'), GLOAMING_DATA: join(folder, 'data') };
    register(program, { environment, stdin, stdout, stderr });
    await program.parseAsync(['node', 'gloaming', 'encoder', ...words]);
    return String(stdout.read() ?? '');
  }

  it('list shows the shipped baseline as the placeholder it is', async () => {
    expect(await run('list')).toMatch(/^baseline-1 +64 +package +.*untrained placeholder/m);
  });

  it('add installs a model and prints its speed and the next command; list shows it', async () => {
    const [model, card] = [join(folder, 'm.onnx'), join(folder, 'c.json')];
    writeFileSync(model, writeEsmModel({ layers: 1, width: 40, heads: 2, positions: 512, seed: 1 }));
    writeFileSync(
      card,
      JSON.stringify({
        id: 'mine',
        name: 'Mine',
        description: 'Random weights.',
        license: 'MIT',
        inputs: { ids: 'input_ids', mask: 'attention_mask' },
        output: 'last_hidden_state',
        tokenizer: ESM_TOKENIZER,
      }),
    );
    const output = await run('add', model, '--card', card, '--projection-dimension', '32');
    expect(output).toMatch(
      /Installed mine in .*\n32 components per residue; [\d,]+ residues per second and core\./,
    );
    expect(output).toContain('--encoder mine');
    expect(await run('list')).toMatch(/^mine +32 +indexes +Mine$/m);
    rmSync(join(folder, 'indexes', 'encoders', 'mine', 'm.onnx'));
    expect(await run('list')).toMatch(/^mine +32 +indexes +not usable: .*m\.onnx is none\.$/m);
    await run('add', model, '--card', card, '--projection-dimension', '32');
    expect(await run('list')).toMatch(/^mine +32 +indexes +Mine$/m);
  });

  it('compare counts differences between two devices; a device equals itself', async () => {
    const fasta = join(folder, 'proteins.fasta');
    writeFileSync(fasta, '>a\nMKVLAAGIT\n>b\nACDEFGH\n>c\nWWWW\n');
    const words = ['compare', fasta, '--encoder', 'baseline-1', '--device', 'cpu', '--proteins', '2'];
    expect(await run(...words)).toBe(
      'baseline-1, cpu against cpu: 0 of 2 proteins and 0 of 16 residues differ, components by at most 0.\n',
    );
  });

  it('add refuses a dimension that kernels do not take', async () => {
    await expect(run('add', 'm.onnx', '--card', 'c.json', '--projection-dimension', '65')).rejects.toThrow(
      /must be one of 32, 64/,
    );
  });
});
