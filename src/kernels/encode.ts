import { loadAddon, type Addon, type EncoderHandle } from './addon.js';
import type { ByteModel } from './byte-model.js';

/** An encoder in memory of the native kernels. */
export interface ByteEncoder {
  /**
   * Vectors of length 1 of all residues, those of ONNX Runtime bit for bit. Blocks the thread.
   * Shape   letters [1..65,535], each below letterCount; result [length × dimension]
   * Errors  an error of the addon where a letter or the length is outside its range
   */
  encode(letters: Uint8Array): Float32Array;
}

/**
 * Gives an encoder to the native kernels.
 * @param variant  an instruction set; default that of searches, but not the reference, which is slower than ONNX
 *                 Runtime
 * @returns undefined where these kernels have no encoder, or a weight is outside their range
 * Errors  Fault where the addon is missing
 */
export function openByteEncoder(model: ByteModel, variant?: string): ByteEncoder | undefined {
  const addon = loadAddon();
  const chosen = variant ?? addon.choose(process.env.GLOAMING_KERNELS);
  if (variant === undefined && chosen === 'reference') return undefined;
  const encoder = openHandle(addon, chosen, model);
  return encoder === undefined ? undefined : { encode: (letters) => addon.encode(encoder, letters) };
}

function openHandle(addon: Addon, variant: string, model: ByteModel): EncoderHandle | undefined {
  try {
    return addon.openEncoder(variant, model);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'KERNEL_SHAPE') return undefined;
    throw error;
  }
}
