/** The processes of a command, as far as they can be followed: {@link CommandSession} or {@link Scope}. */
export interface CommandProcesses {
  /** Sends the signal to all of them that this user may signal. */
  signal(signal: NodeJS.Signals): void;
  /** Sends TERM, because the lock is about to be lost. From now on, descendants in other sessions count, too. */
  terminate(): void;
  /** Sends KILL, again and again until none is left. */
  kill(): void;
  /** True while one of them runs. A zombie has ended; where nobody reaps it, it stays forever. */
  readonly isAlive: boolean;
  /** True if one of them was seen to run. Other than {@link isAlive}, it is false where that is only possible. */
  readonly isSeen: boolean;
  /** Resolves when none of them runs any more. */
  ended(): Promise<void>;
  /** The ids of those that run. Without /proc, none. */
  readonly running: readonly number[];
  /** For the watchdog: the session, and the folder of the control group if there is one. */
  readonly address: string;
}

/** Resolves when `isAlive` is false. No system tells when a session has ended, so it is asked. */
export async function untilEnded(isAlive: () => boolean): Promise<void> {
  for (let pauseMs = shortestPauseMs; isAlive(); pauseMs = Math.min(pauseMs * 2, longestPauseMs))
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
}

const shortestPauseMs = 2;
const longestPauseMs = 50;

/** Sends a signal to a process, or to a group if `target` is negative. */
export function send(target: number, signal: NodeJS.Signals | 0): 'sent' | 'gone' | 'forbidden' {
  try {
    process.kill(target, signal);
    return 'sent';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return 'gone';
    if (code === 'EPERM') return 'forbidden';
    throw error;
  }
}
