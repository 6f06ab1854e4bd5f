/** What the client is told, with its SQLSTATE. Source  PostgreSQL, appendix "Error Codes" */
export class ProtocolFault extends Error {
  override readonly name = 'ProtocolFault';

  constructor(
    readonly sqlState: string,
    message: string,
    /** The connection ends with it. */
    readonly isFatal = false,
  ) {
    super(message);
  }
}
