/** A product of bytes that ends with a ReLU. A sum plus its bias, times the scale, is the rounded byte. */
export interface ByteLayer {
  /** [outputs][taps][inputs] */
  readonly weights: Int8Array;
  /** Of each output. */
  readonly bias: Int32Array;
  /** Of each output: scale of the inputs × scale of the weights ÷ scale of the outputs, in float32. */
  readonly scales: Float32Array;
}

/** A residual block; kernels/encoder.h describes its steps. */
export interface ByteBlock {
  readonly dilation: number;
  /** Zero point of the normed stream's bytes. */
  readonly zero: number;
  /** Factors of the norm, [width]. */
  readonly gamma: Float32Array;
  readonly down: ByteLayer;
  readonly mix: ByteLayer;
  /** Adds to the stream: a sum times its scale, plus the bias, in float32. */
  readonly up: { readonly weights: Int8Array; readonly scales: Float32Array; readonly bias: Float32Array };
}

/** An encoder of int8 weights and activations; kernels/encoder.h describes its steps. */
export interface ByteModel {
  /** Channels of the stream, and of a block's bytes. */
  readonly width: number;
  readonly inner: number;
  /** Components of a vector. */
  readonly dimension: number;
  /** Neighbouring letters that a residue's first row sums, and those of a convolution. */
  readonly stemTaps: number;
  readonly mixTaps: number;
  readonly letterCount: number;
  /** Letter beyond both ends of a protein. */
  readonly padding: number;
  readonly epsilon: number;
  /** Least divisor of a vector. */
  readonly leastLength: number;
  /** [stemTaps][letterCount][width] */
  readonly letters: Float32Array;
  readonly blocks: readonly ByteBlock[];
  readonly gamma: Float32Array;
  /** [width][dimension] */
  readonly projection: Float32Array;
}
