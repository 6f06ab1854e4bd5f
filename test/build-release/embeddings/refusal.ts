import { Refusal } from '#src/errors.js';

/** What the work is refused with; anything else that it throws, and its success, are errors of the test. */
export async function refusal(work: () => Promise<unknown>): Promise<Refusal> {
  const error: unknown = await work().then(
    () => new Error('nothing was refused'),
    (cause: unknown) => cause,
  );
  if (error instanceof Refusal) return error;
  throw error;
}
