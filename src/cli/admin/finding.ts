/** The result of one check, for people and for monitoring. */
export interface Finding {
  readonly topic: string;
  /**
   * `note`: information; `warning`: a problem is coming; `bad`: a server does not start, or its answers must not be
   * trusted.
   */
  readonly state: 'good' | 'note' | 'warning' | 'bad';
  readonly message: string;
}
