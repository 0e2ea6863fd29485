import { expect, it } from 'vitest';
import { faultsIn, measureOutage, SERVICES, type OutageFigures } from '../outage/measure.ts';

const size = { minutes: 180, queued: 40, retries: 20 };

it.each(Object.keys(SERVICES) as (keyof typeof SERVICES)[])(
  'three hours without %s dead-letter nothing, and all is delivered within a quarter of an hour',
  async (service) => {
    const figures = await measureOutage({ service, fails: 'error', ...size });
    expect(faultsIn([figures])).toEqual([]);
    expect(figures.mostReceives).toBeGreaterThan(service === 'Scheduler' ? 0 : 25);
  },
);

it('the bench reports what an outage must not do', () => {
  const bad: OutageFigures = {
    service: 'S3',
    fails: 'timeout',
    mostReceives: 36,
    deadLetters: 2,
    lost: 3,
    repeated: 0,
    seconds95: 601,
    secondsAll: 901,
  };
  expect(faultsIn([bad])).toEqual([
    'S3, timeout: 2 dead letters.',
    'S3, timeout: 3 messages were not delivered.',
    'S3, timeout: a message was received 36 times.',
    'S3, timeout: 95 % after 601 s.',
    'S3, timeout: all after 901 s.',
  ]);
});
