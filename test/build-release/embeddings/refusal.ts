import { Refusal } from '#src/errors.js';

/** Returns the refusal of the work. Throws if the work succeeds or throws something else. */
export async function refusal(work: () => Promise<unknown>): Promise<Refusal> {
  const error: unknown = await work().then(
    () => new Error('nothing was refused'),
    (cause: unknown) => cause,
  );
  if (error instanceof Refusal) return error;
  throw error;
}
