import { availableParallelism } from 'node:os';
import { measureKernels, type KernelFigures } from '../../src/kernels/measure.js';
import type { Bench } from '../main.js';
import type { PeerFigures } from './peer.js';
import { runNativePeers } from './peers.js';
import { timeRuntimes } from './runtimes.js';

/*
 * How close are the kernels to the machine's limit, and how do they compare with other programs? Shares, cells per
 * second and ratios are by processor time of one core. Scaling and milliseconds are by wall time.
 *
 *   npm run bench -- kernels [folder where LanceDB is installed]
 */

export const run: Bench = async ([lancedbFolder]) => {
  const ours = await measureKernels();
  const { maxsim, affine } = ours;
  printMaxSim(ours);
  // Also measures the next kernels of the list: AMX tiles come first only if they are faster.
  const vectors = ours.kernels === 'amx' ? await measureKernels('avx512vnni') : undefined;
  if (vectors !== undefined) printMaxSim(vectors);
  const [byClock, byWork] = [
    maxsim.two_core_scaling.toFixed(2),
    maxsim.two_core_scaling_processor.toFixed(2),
  ];
  const cores = availableParallelism();
  console.log(`  two threads, ${cores} cores: ${byClock} × one by the clock, ${byWork} by processor time`);
  console.log('Affine alignment, dimension 64, dot products included');
  const limitShare = (100 * affine.peak_share).toFixed(1);
  console.log(`  scores ${affine.gcups_core} GCUPS a core, ${limitShare} % of the multiply-adds' peak alone`);
  console.log(`  with paths ${affine.align_gcups_core} GCUPS a core`);
  console.log(`  1,000 × 350 residues for a query of 300, two threads: ${affine.ms_1000x350} ms`);

  const native = await runNativePeers();
  const runtimes = await timeRuntimes(lancedbFolder);
  const peers = { ...runtimes, ...native.maxsim?.peers };
  console.log('Peers on one core, the same tokens, both directions: their time ÷ ours');
  for (const [name, { ratio, skipped, note = '' }] of Object.entries<PeerFigures>(peers)) {
    const figure = ratio === undefined ? `skipped: ${skipped}` : `${ratio.toFixed(1)} ${note}`;
    console.log(`  ${name.padEnd(18)} ${figure}`);
  }
  if (native.affine === undefined) {
    console.log(`  parasail and the oracles are skipped: ${native.skipped}`);
  } else {
    const {
      parasail,
      parasail_gcups: theirs,
      blosum_gcups: blosum,
      parasail_ratio: ratio,
      ssw_gcups: ssw,
    } = native.affine;
    console.log(`  BLOSUM62 scores are equal: ${JSON.stringify(native.oracles)}`);
    console.log(
      `  parasail's ${parasail}: ${theirs} GCUPS, SSW ${ssw}, ours ${blosum}, ${ratio} × parasail's speed`,
    );
  }
  return {
    ...ours,
    ...(vectors === undefined ? {} : { avx512vnni: vectors.maxsim }),
    maxsim: { ...maxsim, peers },
    affine: { ...affine, ...native.affine },
    oracles: native.oracles ?? { skipped: native.skipped },
  };
};

function printMaxSim({ kernels, maxsim }: KernelFigures): void {
  console.log(`MaxSim, 300 × 350 residues, ${kernels}`);
  for (const [name, figures] of [['64', maxsim.d64] as const, ['128', maxsim.d128] as const]) {
    const share = (100 * figures.peak_share).toFixed(1);
    console.log(`  dimension ${name.padEnd(4)} ${figures.gops} GOPS a core, ${share} % of its measured peak`);
    if (figures.peak_share > 1.02) console.log('  A share above 102 % is an error of the probe.');
  }
}
