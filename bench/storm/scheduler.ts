import { ConflictException, SchedulerClient, ThrottlingException } from '@aws-sdk/client-scheduler';
import * as z from 'zod';
import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { seededChance } from '../../test/support/chance.ts';
import type { VirtualClock } from '../../test/support/in-memory/virtual-clock.ts';
import { modelledScheduler, type SchedulerQuotas } from '../../test/support/modelled-scheduler.ts';

/** shared/adapters/aws/retries.ts: the request itself and two repeats. */
const MOST_REQUESTS = 3;

/** The SDK's standard strategy: a second at most before the first repeat of a throttled request, then twice as long. */
const THROTTLED_MS = 1_000;

/** What a client may spend on repeats; one takes so much of it, and a success gives it back. */
const CAPACITY = 500;
const COST = 5;

/** "60-second precision": at any moment of the minute after the time asked for. */
const PRECISION_MS = 60_000;

const createSchedule = z.object({
  Name: z.string(),
  ScheduleExpression: z.string().regex(/^at\(.*\)$/),
  Target: z.object({ Input: z.string() }),
});

/** EventBridge Scheduler behind real clients of the SDK, which repeat what is throttled on a clock that is not the machine's. */
export function schedulerBehindClients(
  time: VirtualClock,
  quotas: SchedulerQuotas,
  fire: (wakeUp: WakeUp) => void,
) {
  const chance = seededChance(1);
  /** When CreateSchedule was asked, repeats among them, and granted, and when a target was invoked. */
  const [asked, granted, invoked]: [number[], number[], number[]] = [[], [], []];
  const scheduler = modelledScheduler<WakeUp>({
    timeline: time,
    lateMs: () => chance.next() * PRECISION_MS,
    quotas,
    fire: (wakeUp) => {
      invoked.push(time.now());
      fire(wakeUp);
    },
  });

  const create = ({ Name, ScheduleExpression, Target }: z.output<typeof createSchedule>) => {
    asked.push(time.now());
    const at = Date.parse(`${ScheduleExpression.slice('at('.length, -1)}Z`);
    const answer = scheduler.create(Name, at, wakeUpIn(sending.parse(JSON.parse(Target.Input)).MessageBody));
    if (answer === 'created') granted.push(time.now());
    return answer;
  };

  /** The client of one execution environment. */
  const client = (): SchedulerClient => {
    const credentials = { accessKeyId: 'storm', secretAccessKey: 'storm' };
    const made = new SchedulerClient({ region: 'us-east-1', credentials });
    let capacity = CAPACITY;
    made.middlewareStack.add(
      () => async (args) => {
        const input = createSchedule.parse(args.input);
        for (let repeats = 0; ; repeats += 1) {
          const answer = create(input);
          if (answer === 'created') {
            capacity = Math.min(CAPACITY, capacity + (repeats === 0 ? 1 : COST));
            return { response: {}, output: { ScheduleArn: 'modelled', $metadata: {} } };
          }
          if (answer === 'conflict') throw new ConflictException(saying('It exists.', 409));
          if (repeats + 1 >= MOST_REQUESTS || capacity < COST)
            throw new ThrottlingException(saying('Rate exceeded', 429));
          capacity -= COST;
          await time.sleep(Math.floor(chance.next() * THROTTLED_MS * 2 ** repeats));
        }
      },
      { step: 'initialize', priority: 'low', name: 'modelled' },
    );
    return made;
  };
  return { client, asked, granted, invoked };
}

function saying(message: string, httpStatusCode: number) {
  return { message, Message: message, $metadata: { httpStatusCode } };
}

/** The request that a schedule makes of SQS. */
const sending = z.object({ MessageBody: z.string() });

function wakeUpIn(text: string): WakeUp {
  const parsed = parseWork(text);
  if (!parsed.ok || parsed.value.kind !== 'wake_up') throw new TypeError('A schedule carries a wake-up.');
  return parsed.value;
}
