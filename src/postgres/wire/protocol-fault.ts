/** An error for the client with its SQLSTATE. Source  PostgreSQL, appendix "Error Codes" */
export class ProtocolFault extends Error {
  override readonly name = 'ProtocolFault';

  constructor(
    readonly sqlState: string,
    message: string,
    /** True if the error ends the connection. */
    readonly isFatal = false,
  ) {
    super(message);
  }
}
