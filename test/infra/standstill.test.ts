import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { metricMath, type Period } from '../support/metric-math.ts';
import { alarmsIn } from '../support/monitored.ts';
import { templatesFor } from './templates.ts';

const alarms = alarmsIn(templatesFor().monitoring.toJSON()['Resources']);

const alarmSchema = z.object({
  Metrics: z.array(z.object({ Expression: z.string().optional(), ReturnData: z.boolean().optional() })),
  Threshold: z.number(),
  DatapointsToAlarm: z.number(),
  EvaluationPeriods: z.number(),
});

/** Whether an alarm is raised at the end of these minutes. */
const isRaised = (name: string, minutes: readonly Period[]): boolean => {
  const { Metrics, Threshold, DatapointsToAlarm, EvaluationPeriods } = alarmSchema.parse(
    alarms.find((alarm) => alarm.name === `Posthaste-${name}`)?.properties,
  );
  const expression = Metrics.find(({ Expression }) => Expression !== undefined)?.Expression ?? '';
  const values = minutes.slice(-EvaluationPeriods).map((minute) => metricMath(expression, minute) ?? 0);
  return values.filter((value) => value > Threshold).length >= DatapointsToAlarm;
};

type Traffic = {
  /** Messages sent in each minute. */
  sent: readonly number[];
  /** How many of the messages received in a minute are processed. Failed ones are received again. */
  dealtWith: (received: number, minute: number) => number;
  /** Whether failed messages are hidden when SQS takes its metrics. */
  areFailedHidden: boolean;
};

/**
 * The metrics of a queue by minute. Failed messages that cannot be received yet are not visible but in flight
 * ("Available CloudWatch metrics for Amazon SQS", SQS developer guide).
 */
const queueOver = ({ sent, dealtWith, areFailedHidden }: Traffic): Period[] => {
  let there = 0;
  return sent.map((count, minute) => {
    there += count;
    const deleted = dealtWith(there, minute);
    there -= deleted;
    return {
      waiting: areFailedHidden ? 0 : there,
      inFlight: areFailedHidden ? there : 0,
      dealtWith: deleted,
    };
  });
};

describe.each([{ alarm: 'IngressStalled' }, { alarm: 'DeliveryStalled' }, { alarm: 'RetryStalled' }])(
  '$alarm',
  ({ alarm }) => {
    it('is raised while every message fails and is hidden until the next receive', () => {
      const failing = { sent: [3, 0, 0, 0, 0], dealtWith: () => 0 };
      expect(isRaised(alarm, queueOver({ ...failing, areFailedHidden: true }))).toBe(true);
    });

    it('is raised while no worker receives waiting messages', () => {
      const waiting = { sent: [3, 3, 3, 3, 3], dealtWith: () => 0 };
      expect(isRaised(alarm, queueOver({ ...waiting, areFailedHidden: false }))).toBe(true);
    });

    it('is not raised if a crash delays one message for some minutes', () => {
      const crashed = {
        sent: [1, 0, 0, 0, 0],
        dealtWith: (there: number, minute: number) => (minute < 4 ? 0 : there),
      };
      expect(isRaised(alarm, queueOver({ ...crashed, areFailedHidden: true }))).toBe(false);
    });

    it('is not raised while most messages fail but some are processed', () => {
      const failing = { sent: [10, 10, 10, 10, 10], dealtWith: () => 1 };
      expect(isRaised(alarm, queueOver({ ...failing, areFailedHidden: true }))).toBe(false);
    });

    it('is not raised for an empty queue, or one without metrics', () => {
      expect(
        isRaised(alarm, queueOver({ sent: [0, 0, 0, 0, 0], dealtWith: () => 0, areFailedHidden: true })),
      ).toBe(false);
      expect(isRaised(alarm, [{}, {}, {}, {}, {}])).toBe(false);
    });
  },
);

describe('AttemptsStopped', () => {
  const minutes = (minute: Period): Period[] => Array.from({ length: 5 }, () => minute);

  it('is raised while calls to AWS fail and no attempt is made', () => {
    expect(isRaised('AttemptsStopped', minutes({ faults: 4, matched: 2 }))).toBe(true);
  });

  it('is not raised while attempts are made, with any outcome', () => {
    expect(isRaised('AttemptsStopped', minutes({ faults: 4, matched: 2, attempts: 1 }))).toBe(false);
  });

  it('is not raised if there are no deliveries, even if calls to AWS fail', () => {
    expect(isRaised('AttemptsStopped', minutes({ faults: 1 }))).toBe(false);
  });

  it('is not raised while no call to AWS fails', () => {
    expect(isRaised('AttemptsStopped', minutes({ matched: 2 }))).toBe(false);
  });
});
