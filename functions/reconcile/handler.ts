import type { Context } from 'aws-lambda';
import { composeReconcile } from './compose.ts';
import type { Reconciliation } from './reconcile.ts';

// Once per cold start

const { deadline, journal, run } = composeReconcile();

// Called by Lambda every minute

export const handler = deadline.timed(handleRun);

// For every run: an error shows in the function's error metric, and the next run continues.

async function handleRun(_event: unknown, invocation: Context): Promise<Reconciliation> {
  try {
    return await run(invocation);
  } catch (error) {
    journal.fault(error, { requestId: invocation.awsRequestId });
    throw new RunFailedError(error);
  } finally {
    journal.flush();
  }
}

/** Contains only the fault's name: Lambda logs a thrown error with all its properties. */
class RunFailedError extends Error {
  override readonly name = 'RunFailedError';
  constructor(fault: unknown) {
    super(`${fault instanceof Error ? fault.name : 'Unknown error'}: see the fault in the log.`);
  }
}
