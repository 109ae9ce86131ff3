/** The result of one check. */
export interface Finding {
  /** The thing that was checked, in a few words. */
  readonly subject: string;
  /** `unknown`: the servers do not let it be seen. */
  readonly level: 'ok' | 'warn' | 'fail' | 'unknown';
  readonly text: string;
  /** The action to take; empty if none is needed. */
  readonly advice: string;
  /** Why it failed, if that decides the exit code. */
  readonly cause?: 'unreachable' | 'not-allowed';
}

export function ok(subject: string, text: string): Finding {
  return { subject, level: 'ok', text, advice: '' };
}

export function warn(subject: string, text: string, advice: string): Finding {
  return { subject, level: 'warn', text, advice };
}

export function unknown(subject: string, text: string, advice: string): Finding {
  return { subject, level: 'unknown', text, advice };
}

export function fail(subject: string, text: string, advice: string, cause?: Finding['cause']): Finding {
  return { subject, level: 'fail', text, advice, ...(cause && { cause }) };
}
