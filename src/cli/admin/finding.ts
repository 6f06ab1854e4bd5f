/** One thing that was looked at, for people and for monitoring. */
export interface Finding {
  readonly topic: string;
  /** `note`: worth knowing; `warning`: will become bad; `bad`: a server does not start, or must not be relied on. */
  readonly state: 'good' | 'note' | 'warning' | 'bad';
  readonly message: string;
}
