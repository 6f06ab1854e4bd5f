import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readEncoderCard } from '../../src/encoder/card.js';
import { openEncoderModel, openOnnx, type EncoderModel } from '../../src/encoder/model.js';
import { loadConfig } from '../../src/config.js';
import { nativeBackend } from '../../src/kernels/native.js';
import { seededRandom } from '../../src/random.js';
import type { Bench } from '../main.js';

/*
 * How long does an encoder take for a residue, in the native kernels and in ONNX Runtime? Both have one thread. Rounds
 * take turns, and the fastest of each counts, by processor time. The vectors of both must be equal.
 *
 *   npm run bench -- encode [encoders, with commas between] [residues of a protein] [rounds]
 *
 * The proteins are random. An encoder that the kernels do not know has the figures of ONNX Runtime alone.
 */

const PROTEINS = 20;
const LETTERS = 'ACDEFGHIKLMNPQRSTVWY';

export const run: Bench = async ([ids, residues = '350', rounds = '15']) => {
  const folder = join(loadConfig(process.env).packageFolder, 'indexes', 'encoders');
  const shipped = readdirSync(folder).filter((name) => /^gloaming-[1345]$/.test(name));
  const proteins = randomProteins(Number(residues));
  const { variant } = nativeBackend(process.env.GLOAMING_KERNELS);
  console.log(`Microseconds a residue, ${PROTEINS} proteins of ${residues}, one thread`);
  const rows: Record<string, unknown> = {};
  for (const id of ids?.split(',') ?? shipped) {
    const directory = join(folder, id);
    const card = await readEncoderCard(directory);
    const onnx = await openOnnx(join(directory, card.model.file), card, 'cpu');
    const served = await openEncoderModel(directory, card, 'cpu');
    const models: Record<string, EncoderModel> =
      served.engine === 'native' ? { native: served, onnxruntime: onnx } : { onnxruntime: onnx };
    await checkEqual(served, onnx, proteins);
    const times = await fastestRounds(models, proteins, Number(rounds));
    const ratio =
      times.native === undefined ? '' : `, ${(times.onnxruntime / times.native).toFixed(2)} times`;
    const native = times.native?.toFixed(2) ?? 'none';
    console.log(
      `  ${id}: native (${variant}) ${native}, ONNX Runtime ${times.onnxruntime.toFixed(2)}${ratio}`,
    );
    rows[id] = { kernels: times.native === undefined ? 'none' : variant, ...times };
    await Promise.all([served.close(), onnx.close()]);
  }
  return rows;
};

function randomProteins(length: number): readonly string[] {
  const { below } = seededRandom(7);
  const letter = (): string => LETTERS[below(LETTERS.length)];
  return Array.from({ length: PROTEINS }, () => Array.from({ length }, letter).join(''));
}

async function checkEqual(
  one: EncoderModel,
  other: EncoderModel,
  proteins: readonly string[],
): Promise<void> {
  for (const protein of proteins) {
    const [found, expected] = [await one.vectors(protein), await other.vectors(protein)];
    if (found.some((value, at) => value !== expected[at]))
      throw new Error('The native kernels and ONNX Runtime give different vectors.');
  }
}

/** Fastest round of each model, in microseconds of processor time a residue. */
async function fastestRounds(
  models: Readonly<Record<string, EncoderModel>>,
  proteins: readonly string[],
  rounds: number,
): Promise<Record<string, number>> {
  const fastest: Record<string, number> = {};
  const residues = proteins.reduce((sum, { length }) => sum + length, 0);
  for (let round = 0; round < rounds; round++) {
    for (const [name, model] of Object.entries(models)) {
      const before = process.cpuUsage();
      for (const protein of proteins) await model.vectors(protein);
      const { user, system } = process.cpuUsage(before);
      fastest[name] = Math.min(fastest[name] ?? Infinity, (user + system) / residues);
    }
  }
  return fastest;
}
