/** One after another, in all invocations together: what goes on side by side counts once. */
export type Waits = { awsCalls: number; attempts: number; failedAttempts: number };

/** The records of a batch wait side by side; what they do together they wait for together, which takes `shared` calls. */
export function waitsOf({ awsCalls, attempts, failedAttempts }: Waits, batch: number, shared: number): Waits {
  return {
    awsCalls: awsCalls / batch + shared,
    attempts: attempts / batch,
    failedAttempts: failedAttempts / batch,
  };
}
