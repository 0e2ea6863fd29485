import { composeDeliver } from '../functions/deliver/compose.ts';
import { composeDispatch } from '../functions/dispatch/compose.ts';
import { composeOperate } from '../functions/operate/compose.ts';
import { composeReconcile } from '../functions/reconcile/compose.ts';
import type { AwsAccess } from '../shared/adapters/aws/client-options.ts';
import type { LambdaJournal } from '../shared/adapters/log/journal.ts';
import type { ConsumedQueue, RecordHandling } from '../shared/adapters/sqs/failed-records.ts';
import type { Source } from '../shared/config/environment.ts';
import type { WorkerStep } from '../shared/config/rules.ts';
import type { InvocationContext } from '../shared/domain/receives.ts';
import { isRefusal, WorkerRefusedError } from './consume.ts';

type StepJournal = Omit<LambdaJournal, 'flush'> & { flush: () => void | Promise<void> };

/** A step that consumes queues. */
export type ConsumingStep = {
  name: WorkerStep;
  journal: StepJournal;
  queues: readonly ConsumedQueue[];
  handling: RecordHandling;
  /** Of one record, in milliseconds. */
  timeoutMs: number;
  /** @throws WorkerRefusedError if AWS refuses to let this worker read the state */
  check: () => Promise<void>;
};

/** Reconcile, which runs once a minute. */
export type TimedStep = { journal: StepJournal; run: (context: InvocationContext) => Promise<unknown> };

export type WorkerSteps = { consuming: readonly ConsumingStep[]; reconcile?: TimedStep };

/** The steps with the ports of the functions. @throws EnvironmentError with every missing or invalid variable */
export function composeSteps(
  names: readonly WorkerStep[],
  environment: Source,
  access: AwsAccess,
): WorkerSteps {
  const compositions = { dispatch: composeDispatch, deliver: composeDeliver, operate: composeOperate };
  const consuming = names.flatMap((name) =>
    name === 'reconcile' ? [] : [consumingStep(name, compositions[name](environment, access))],
  );
  if (!names.includes('reconcile')) return { consuming };
  const { journal, deadline, run } = composeReconcile(environment, access);
  const timed = deadline.timed((_: unknown, context: InvocationContext) => run(context));
  return { consuming, reconcile: { journal, run: (context) => timed(undefined, context) } };
}

type Composition = ReturnType<typeof composeDispatch | typeof composeDeliver | typeof composeOperate>;

function consumingStep(name: WorkerStep, composed: Composition): ConsumingStep {
  const { journal, deadline, queues, timeoutMs, handleRecord, probe } = composed;
  const { returnSooner, deadLetters, idsOf } = composed;
  return {
    name,
    journal,
    timeoutMs,
    queues,
    // The clients of the step find the time that is left for a record as they do for an invocation.
    handling: { handleRecord: deadline.timed(handleRecord), returnSooner, deadLetters, idsOf },
    check: async () => {
      try {
        await probe();
      } catch (error) {
        if (isRefusal(error)) throw new WorkerRefusedError(`Reading the tables for ${name}`, error);
      }
    },
  };
}
