import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { addEncoder } from '#src/build-release/encoders/add-encoder.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import { buildRelease } from '#src/build-release/release.js';
import { nativeBackend } from '#src/kernels/native.js';
import { openRelease } from '#src/release/open.js';
import { loadEncoder } from '#src/encoder/load.js';
import { search } from '#src/search/search.js';
import { NORMALIZATION_ID } from '#src/sequence/protein.js';
import { ESM_TOKENIZER, writeEsmModel } from '../tools/esm-model.js';
import { randomProteins } from '../tools/random-proteins.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-own-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a model of ESM-2’s shape (6 layers, its vocabulary, CLS and EOS, 1,024 positions)', () => {
  it('is added, builds a database that holds a protein longer than its window, and finds it', async () => {
    const [modelPath, cardPath, fasta] = ['m.onnx', 'card.json', 'p.fasta'].map((name) => join(folder, name));
    writeFileSync(modelPath, writeEsmModel({ layers: 6, width: 80, heads: 5, positions: 1_024, seed: 4 }));
    writeFileSync(
      cardPath,
      JSON.stringify({
        id: 'own',
        name: 'Own',
        description: 'Random weights.',
        license: 'MIT',
        inputs: { ids: 'input_ids', mask: 'attention_mask' },
        output: 'last_hidden_state',
        tokenizer: ESM_TOKENIZER,
        window: { residues: 1_022, overlap: 256 },
      }),
    );
    const proteins = randomProteins(10, { seed: 6, minResidues: 40, maxResidues: 200 });
    const [long] = randomProteins(1, { seed: 7, minResidues: 1_500, maxResidues: 1_500 });
    proteins.push(long);
    writeFileSync(fasta, proteins.map((sequence, i) => `>p${i}\n${sequence}\n`).join(''));

    const added = await addEncoder({ modelPath, cardPath, indexesFolder: folder, projectionDimension: 64 });
    const encoder = await loadEncoder(added.directory, { threads: 2 });
    const input = await filesInput({ proteins: [fasta] });
    const report = await buildRelease({ indexesFolder: folder, slug: 'own', encoder, input });
    const release = await openRelease(report.release.directory);
    const backend = nativeBackend();
    const store = await backend.open(release.tokens);
    const { targets, residues } = release.manifest.counts;
    const result = await search(
      {
        query: { sequence: long, normalizationId: NORMALIZATION_ID },
        targetSpace: { releaseId: release.id, searchedTargetCount: targets, searchedResidueCount: residues },
        limit: 3,
        evidence: 'pairwise_sequence_alignment',
        guarantee: 'exhaustive',
        significance: 'not_requested',
      },
      { release, encoder, backend, store },
    );
    const [first] = result.candidates;
    expect(release.targets.id(first.targetIndex)).toBe('p10');
    expect(first.alignment?.cigar).toBe('1500=');
    expect(first.maxsim.bidirectional).toBeLessThan(0.01);
    store.close();
    await encoder.close();
  });
});
