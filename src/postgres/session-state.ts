import type { SqlLogin } from '../services/sql/credentials.js';
import type { Sql } from '../services/sql/sql.js';
import type { SqlCursor } from '../sql/engine/engine.js';
import type { SqlParameter, StatementShape } from '../sql/engine/messages.js';
import { readableCatalogQuery } from './catalog-queries.js';
import { answerCommand, type CommandAnswer } from './commands.js';
import type { ServerParameters } from './parameters.js';
import type { TransactionStatus } from './wire/answers.js';
import { ProtocolFault } from './wire/protocol-fault.js';

/** Sends bytes to the client and resolves when it can take more. Errors: ProtocolFault if the client has closed */
export type Write = (bytes: Buffer) => Promise<void>;

/** Services and settings of a session. */
export interface SessionParts {
  readonly sql: Pick<Sql, 'execute' | 'describe'>;
  readonly login: SqlLogin;
  readonly parameters: ServerParameters;
  readonly versionText: string;
  readonly write: Write;
  /** Aborts at the end of the connection. */
  readonly signal: AbortSignal;
}

/** State that simple and extended queries of a session share: transaction status, timeout and running statement. */
export class SessionState {
  readonly #parts: SessionParts;
  #status: TransactionStatus = 'I';
  #timeoutMs = 0;
  #cancelling = new AbortController();

  constructor(parts: SessionParts) {
    this.#parts = parts;
    const { signal } = parts;
    signal.addEventListener('abort', () => this.#cancelling.abort(signal.reason), { once: true });
  }

  /** I: idle; T: in a transaction; E: in a failed transaction. */
  get status(): TransactionStatus {
    return this.#status;
  }

  /**
   * Starts a statement in the engine.
   * Errors  ProtocolFault in a failed transaction; those of `Sql.execute`; the signal's reason
   */
  async start(
    text: string,
    parameters: readonly SqlParameter[],
    formats: readonly number[],
  ): Promise<SqlCursor> {
    const { sql, login, versionText, signal } = this.#parts;
    this.#requireSound();
    // A cancel request before this statement does not apply to it.
    if (this.#cancelling.signal.aborted) this.#cancelling = new AbortController();
    signal.throwIfAborted();
    return sql.execute(login, 'postgres', {
      sql: readableCatalogQuery(text, versionText),
      parameters,
      encoding: { kind: 'postgres', formats },
      ...(this.#timeoutMs > 0 && { timeoutMs: this.#timeoutMs }),
      signal: this.#cancelling.signal,
    });
  }

  /** Returns parameters and columns of a statement without executing it. Errors: those of `Sql.describe` */
  describe(text: string): Promise<StatementShape> {
    const { sql, login, versionText, signal } = this.#parts;
    return sql.describe(login, readableCatalogQuery(text, versionText), signal);
  }

  /**
   * Executes a session command. Returns undefined if the statement is for the engine.
   * Errors  ProtocolFault in a failed transaction
   */
  command(text: string): CommandAnswer | undefined {
    const answer = this.peek(text);
    if (answer?.transaction === 'begin') this.#status = 'T';
    else if (answer?.transaction === 'end') this.#status = 'I';
    else if (answer?.transaction === 'rollback') this.#status = 'T';
    else if (answer !== undefined) this.#requireSound();
    this.#timeoutMs = answer?.timeoutMs ?? this.#timeoutMs;
    return answer;
  }

  /** Returns the response to a session command without executing it. */
  peek(text: string): CommandAnswer | undefined {
    return answerCommand(text, this.#parts.parameters);
  }

  /** Marks the transaction as failed. Only its end is accepted afterwards. */
  fail(): void {
    if (this.#status === 'T') this.#status = 'E';
  }

  /** Cancels the running statement. */
  cancel(reason: ProtocolFault): void {
    this.#cancelling.abort(reason);
  }

  #requireSound(): void {
    if (this.#status !== 'E') return;
    throw new ProtocolFault('25P02', 'The transaction has failed; nothing is executed until its end.');
  }
}
