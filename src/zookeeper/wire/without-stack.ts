/**
 * Makes an error without a stack. For the errors of the servers' answers: their stack would show only how the answer
 * arrived, and twenty thousand stacks in a burst keep the garbage collector busy for seconds.
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 0;
  } catch {
    return make(); // An application may have frozen the class.
  }
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
