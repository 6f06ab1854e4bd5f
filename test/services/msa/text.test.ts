// @module-tag fast

import { describe, expect, it } from 'vitest';
import { a3mPieces, asJsonString, jsonBytesOf, prefersJson } from '#src/services/msa/text.js';

describe('the text of an alignment as JSON', () => {
  const measured = { target_id: 'x', query_coverage_ratio: 1, sequence_identity_ratio: 1 };
  const pieces = a3mPieces('MKT', [{ ...measured, header: '"α-𝛃\\1"\t1', row: 'MK-' }]);

  it('is one string, of the length that is announced, wherever the bytes were cut', async () => {
    const text = pieces.join('');
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of asJsonString(cutAt(bytes, cut))) chunks.push(chunk);
      const json = Buffer.concat(chunks);
      expect(JSON.parse(json.toString())).toBe(text);
      expect(json).toHaveLength(jsonBytesOf(pieces));
    }
  });
});

async function* cutAt(bytes: Buffer, at: number): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, at);
  yield bytes.subarray(at);
}

describe('the preference of Accept', () => {
  it.each([
    [undefined, false],
    ['*/*', false],
    ['application/json, text/plain, */*', false],
    ['application/json', true],
    ['Application/JSON; charset=utf-8', true],
    ['text/plain;q=0.5, application/json;q=0.9', true],
    ['text/*, application/json;q=0.9', false],
    ['text/plain;q=0, */*', true],
  ])('%s is JSON: %s', (accept, isJson) => {
    expect(prefersJson(accept)).toBe(isJson);
  });

  it.each(['image/png', 'text/html', 'text/plain;q=0', ''])('%j is neither, and refused', (accept) => {
    expect(() => prefersJson(accept)).toThrow(/Accept excludes/);
  });
});
