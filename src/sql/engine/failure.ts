/** Why a statement failed. */
export type StatementFailureKind = 'invalid' | 'refused' | 'resources' | 'interrupted';

export class StatementFailure extends Error {
  override readonly name = 'StatementFailure';

  constructor(
    readonly kind: StatementFailureKind,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Classifies an error of the engine. The message contains only the file names of the snapshot, no path of the machine.
 */
export function statementFailure(error: unknown): StatementFailure {
  if (error instanceof StatementFailure) return error;
  const message = (error instanceof Error ? error.message : String(error)).trim();
  if (message.startsWith('INTERRUPT Error'))
    return new StatementFailure('interrupted', 'The statement was interrupted.');
  if (/^(Out of Memory Error|Out of Range Error: Cannot allocate)/.test(message)) {
    return new StatementFailure('resources', 'The statement needs more memory than its limit.');
  }
  if (message.startsWith('Permission Error')) {
    return new StatementFailure('refused', 'Statements cannot access files, settings or extensions.');
  }
  return new StatementFailure('invalid', message);
}
