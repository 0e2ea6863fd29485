import { MAX_ATTEMPTS } from '../../shared/adapters/aws/client-options.ts';
import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import { seededChance } from '../../test/support/chance.ts';
import type { VirtualClock } from '../../test/support/in-memory/virtual-clock.ts';
import { modelledScheduler, type SchedulerQuotas } from '../../test/support/modelled-scheduler.ts';

/** The SDK's standard strategy: at most a second before the first repeat of a throttled request, then twice as long. */
const THROTTLED_MS = 1_000;

/** A client's tokens for repeats. A repeat takes `COST`, and its success returns it. */
const CAPACITY = 500;
const COST = 5;

/** "60-second precision": at any moment of the minute after the time asked for. */
const PRECISION_MS = 60_000;

/** EventBridge Scheduler, and clients of it that repeat throttled requests as those of the SDK do. */
export function schedulerBehindClients(
  time: VirtualClock,
  quotas: SchedulerQuotas,
  fire: (wakeUp: WakeUp) => void,
) {
  const chance = seededChance(1);
  /** The times of requests of CreateSchedule including repeats, of those granted, and of invocations. */
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

  /** The client of one execution environment. Schedules are set for whole seconds, rounded up. */
  const client = (): Pick<WakeUps, 'schedule'> => {
    let capacity = CAPACITY;
    return {
      schedule: async (name, at, wakeUp) => {
        for (let repeats = 0; ; repeats += 1) {
          asked.push(time.now());
          const answer = scheduler.create(name, Math.ceil(at / 1000) * 1000, wakeUp);
          if (answer === 'conflict') return 'scheduled';
          if (answer === 'created') {
            granted.push(time.now());
            capacity = Math.min(CAPACITY, capacity + (repeats === 0 ? 1 : COST));
            return 'scheduled';
          }
          if (repeats + 1 >= MAX_ATTEMPTS || capacity < COST) return 'refused';
          capacity -= COST;
          await time.sleep(Math.floor(chance.next() * THROTTLED_MS * 2 ** repeats));
        }
      },
    };
  };
  const remove = (name: string) => Promise.resolve(scheduler.delete(name));
  return { client, remove, asked, granted, invoked };
}
