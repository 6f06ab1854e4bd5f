/** Reason why a statement has no result. */
export type StatementFailureKind = 'invalid' | 'refused' | 'resources' | 'interrupted';

/** The failure of a statement, with a message for the client. */
export class StatementFailure extends Error {
  override readonly name = 'StatementFailure';

  constructor(
    readonly kind: StatementFailureKind,
    message: string,
  ) {
    super(message);
  }
}

/** Classifies an error of the engine. Its text has no paths of the machine, because files have relative names. */
export function statementFailure(error: unknown): StatementFailure {
  if (error instanceof StatementFailure) return error;
  const message = (error instanceof Error ? error.message : String(error)).trim();
  if (message.startsWith('INTERRUPT Error'))
    return new StatementFailure('interrupted', 'It was interrupted.');
  if (/^(Out of Memory Error|Out of Range Error: Cannot allocate)/.test(message)) {
    return new StatementFailure('resources', 'The statement needs more memory than statements may have.');
  }
  if (message.startsWith('Permission Error')) {
    return new StatementFailure('refused', 'Files, settings and extensions are out of reach.');
  }
  return new StatementFailure('invalid', message);
}
