/** Node 22 and later; Node 20 leaves the memory to garbage collection, which comes often enough there. */
type Detachable = ArrayBuffer & { transfer?(byteLength: number): ArrayBuffer };

/**
 * Gives the memory of bytes back that nobody reads any more; they are empty afterwards. Streams need it: collectors
 * look at JavaScript's own heap first, and let some 80 MB of buffers gather that have been written long ago.
 * Bytes that share their memory with others are left alone.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength === 0 || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  (buffer as Detachable).transfer?.(0);
}
