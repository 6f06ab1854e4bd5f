// Checks the machine code of the CUDA kernels without a GPU. Each kernel must contain its essential instructions,
// products of matrices or of four bytes, and no kernel may spill registers or use local memory.
//
//   node kernels/cuda/check.mjs [nvcc]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Low twelve bits of an instruction of compute capability 8.0 to 9.0, which is 16 bytes long. Reading them needs no
// disassembler, which a machine with nvcc may lack.
const OPCODE = { IDP: 0x226, IMMA: 0x237, IGMMA: 0xdf1, LDL: 0x983, STL: 0x387 };
const CHECKS = [
  { architecture: '80', kernels: /^maxsim_portable_\d+$/, instruction: 'IMMA' },
  { architecture: '86', kernels: /^maxsim_portable_\d+$/, instruction: 'IMMA' },
  { architecture: '89', kernels: /^maxsim_portable_\d+$/, instruction: 'IMMA' },
  { architecture: '90a', kernels: /^maxsim_portable_\d+$/, instruction: 'IMMA' },
  { architecture: '90a', kernels: /^maxsim_hopper_\d+$/, instruction: 'IGMMA' },
  ...['80', '86', '89', '90a'].map((architecture) => ({
    architecture,
    kernels: /^affine_\d+$/,
    instruction: 'IDP',
  })),
];
/** One kernel for each dimension: 32, 64 … 256. */
const DIMENSION_COUNT = 8;

const source = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gloaming-cuda-'));
const nvcc = process.argv[2] ?? 'nvcc';
try {
  for (const architecture of new Set(CHECKS.map((check) => check.architecture))) examine(architecture);
} finally {
  rmSync(folder, { recursive: true });
}

function examine(architecture) {
  const file = join(folder, `sm_${architecture}.cubin`);
  const target = `-gencode=arch=compute_${architecture},code=sm_${architecture}`;
  const options = [
    '-std=c++17',
    '-O3',
    `-I${join(source, '..')}`,
    '-cubin',
    '-Xptxas',
    '-v',
    target,
    '-o',
    file,
  ];
  const { status, error, stderr } = spawnSync(nvcc, [...options, join(source, 'maxsim.cu')], {
    encoding: 'utf8',
  });
  if (status !== 0) fail(`${nvcc} failed: ${error?.message ?? stderr}`);
  const uses = [
    ...stderr.matchAll(/(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/g),
  ];
  if (uses.length === 0) fail('ptxas said nothing about registers');
  if (uses.some(([, ...bytes]) => bytes.some((count) => count !== '0'))) fail(`a kernel spills:\n${stderr}`);
  // ptxas prints this if it serializes the products.
  const serialized = /^.*wgmma.*serializ.*$/m.exec(stderr);
  if (serialized) fail(serialized[0]);
  const registers = [...stderr.matchAll(/Used (\d+) registers/g)].map(([, count]) => Number(count));

  const kernels = countInstructions(readFileSync(file));
  for (const { kernels: pattern, instruction } of CHECKS.filter(
    (check) => check.architecture === architecture,
  )) {
    const found = [...kernels].filter(([name]) => pattern.test(name));
    if (found.length !== DIMENSION_COUNT)
      fail(`sm_${architecture} has ${found.length} kernels of ${pattern}`);
    for (const [name, counts] of found) {
      if (!counts.has(OPCODE[instruction])) fail(`${name} for sm_${architecture} has no ${instruction}`);
      if (counts.has(OPCODE.LDL) || counts.has(OPCODE.STL))
        fail(`${name} for sm_${architecture} uses local memory`);
    }
    const counts = found.map(([, of]) => of.get(OPCODE[instruction]));
    process.stdout.write(
      `sm_${architecture} ${instruction}: ${counts.join(' ')} in ${DIMENSION_COUNT} kernels\n`,
    );
  }
  process.stdout.write(`sm_${architecture}: at most ${Math.max(...registers)} registers, none spilled\n`);
}

/** Counts each opcode in each kernel of a cubin, which is a 64-bit ELF file. */
function countInstructions(cubin) {
  const tableAt = Number(cubin.readBigUInt64LE(0x28));
  const [entrySize, count, namesIndex] = [0x3a, 0x3c, 0x3e].map((at) => cubin.readUInt16LE(at));
  const section = (index) => {
    const at = tableAt + index * entrySize;
    const [start, size] = [0x18, 0x20].map((field) => Number(cubin.readBigUInt64LE(at + field)));
    return { nameAt: cubin.readUInt32LE(at), bytes: cubin.subarray(start, start + size) };
  };
  const names = section(namesIndex).bytes;
  const kernels = new Map();
  for (let index = 0; index < count; index += 1) {
    const { nameAt, bytes } = section(index);
    const name = names.toString('latin1', nameAt, names.indexOf(0, nameAt));
    if (!name.startsWith('.text.')) continue;
    const counts = new Map();
    for (let at = 0; at < bytes.length; at += 16) {
      const opcode = bytes.readUInt16LE(at) & 0xfff;
      counts.set(opcode, (counts.get(opcode) ?? 0) + 1);
    }
    kernels.set(name.slice('.text.'.length), counts);
  }
  return kernels;
}

function fail(reason) {
  throw new Error(reason);
}
