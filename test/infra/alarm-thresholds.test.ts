import { describe, expect, it } from 'vitest';
import { alarmDefinition, isRaised } from '../support/alarm-state.ts';
import type { Period } from '../support/metric-math.ts';
import { alarmsIn, LATENESS_ALARMS } from '../support/monitored.ts';
import { type Templates, templatesFor } from './templates.ts';

/**
 * Two values of what an alarm watches: the last at which all is well, and the first that is too much, or too little. The
 * alarm is raised by so many bad periods of so many.
 */
type Limit = readonly [well: Period, bad: Period, inPeriods: number, ofPeriods: number];

/** By name. An alarm on one metric has that as `value`, one on an expression the names in it. */
const definitionsFor = ({ monitoring, pipeline }: Templates) =>
  new Map(
    [monitoring, pipeline]
      .flatMap((template) => alarmsIn(template.toJSON()['Resources']))
      .filter(({ metrics }) => metrics.length > 0)
      .map(({ name, properties }) => [name.replace('Posthaste-', ''), alarmDefinition(properties)]),
  );

const named = (from: ReturnType<typeof definitionsFor>, name: string) => {
  const definition = from.get(name);
  if (definition === undefined) throw new Error(`No alarm has the name ${name}`);
  return definition;
};

const definitions = definitionsFor(templatesFor());

const ofMetric = (well: number, bad: number, inPeriods: number, ofPeriods: number): Limit => [
  { value: well },
  { value: bad },
  inPeriods,
  ofPeriods,
];

/** Waiting messages, of which none was processed; and with one that was. */
const STALLED: Limit = [{ waiting: 3, inFlight: 2, dealtWith: 1 }, { waiting: 0, inFlight: 1 }, 5, 5];

/** Nine tenths of the workers are idle: it is not for lack of them that messages wait. */
const withFreeWorkers = (well: number, bad: number, periods: number): Limit => [
  { value: well, taken: 5, dealtWith: 5 },
  { value: bad, taken: 5, dealtWith: 5 },
  periods,
  periods,
];

/** Single crashes and throttled calls are not worth an alarm. */
const ANY_REPEATED = ofMetric(0, 1, 3, 5);

const limits: Readonly<Record<string, Limit>> = {
  IngressAge: ofMetric(95, 96, 3, 3),
  DeliveryAge: withFreeWorkers(995, 996, 3),
  RetryAge: withFreeWorkers(995, 996, 3),
  OperationAge: ofMetric(1005, 1006, 3, 3),
  IngressStalled: STALLED,
  DeliveryStalled: STALLED,
  RetryStalled: STALLED,
  FirstAttemptsLate: withFreeWorkers(95_000, 95_001, 2),
  RetriesLate: withFreeWorkers(90_000, 90_001, 2),
  AttemptsStopped: [{ faults: 1, matched: 1, attempts: 1 }, { faults: 1, matched: 1 }, 5, 5],
  ReconcileWorks: withFreeWorkers(0, 1, 2),
  DeliveriesStuck: withFreeWorkers(0, 1, 5),
  DeliveriesExpiring: ofMetric(0, 1, 1, 1),
  // Without a value, reconcile did not run.
  ReconcileSilent: [{ value: 1 }, {}, 5, 5],
  RecursionDropped: [{ dropped0: 0, dropped2: 0 }, { dropped1: 1 }, 1, 1],
  DeliverConcurrency: [{ running: 135, slow: 0, all: 1000 }, { running: 136, slow: 500, all: 1000 }, 15, 15],
  // Percent of 1,000.
  AccountConcurrency: [{ claimed: 800, running: 1 }, { claimed: 801, running: 1 }, 5, 5],
  SeveralFailing: ofMetric(2, 3, 1, 1),
  FewDelivered: [{ begun: 100, delivered: 50 }, { begun: 100, delivered: 49 }, 1, 1],
  MostlyUndeliverable: [
    { delivered: 50, rejected: 25, exhausted: 25 },
    { delivered: 49, rejected: 25, exhausted: 26 },
    1,
    1,
  ],
  ...Object.fromEntries(
    ['Ingress', 'Delivery', 'Scheduler', 'Operation'].map((queue) => [
      `${queue}DeadLetters`,
      ofMetric(0, 1, 1, 1),
    ]),
  ),
  ...Object.fromEntries(
    ['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api', 'Secrets'].flatMap((name) =>
      ['Errors', 'Throttles'].map((what) => [`${name}${what}`, ANY_REPEATED]),
    ),
  ),
  ...Object.fromEntries(
    ['Dispatch', 'Deliver', 'Api', 'Secrets'].map((name) => [`${name}UpgradeErrors`, ANY_REPEATED]),
  ),
  Faults: ANY_REPEATED,
  UpgradeFaults: ANY_REPEATED,
};

describe('each alarm', () => {
  it('has its limits in this table', () => {
    expect([...definitions.keys()].toSorted()).toEqual(Object.keys(limits).toSorted());
  });

  it.each(Object.entries(limits))('is raised at its limit, and not below: %s', (name, limit) => {
    const definition = named(definitions, name);
    const [well, bad, enough, all] = limit;
    expect(definition).toMatchObject({ DatapointsToAlarm: enough, EvaluationPeriods: all });
    const periods = (count: number): Period[] =>
      Array.from({ length: all }, (_, index) => (index < count ? bad : well));
    expect(isRaised(definition, periods(0))).toBe(false);
    expect(isRaised(definition, periods(enough - 1))).toBe(false);
    expect(isRaised(definition, periods(enough))).toBe(true);
  });
});

describe('without functions for it', () => {
  const ofWorkers = definitionsFor(templatesFor({ compute: 'worker' }));

  it.each(LATENESS_ALARMS)(
    'no alarm is raised while a subscriber that hangs keeps the only worker busy: %s',
    (name) => {
      const definition = named(ofWorkers, name);
      const late = Number.MAX_SAFE_INTEGER;
      const hanging = Array.from({ length: 5 }, (): Period => ({ value: late, taken: 40, dealtWith: 8 }));
      expect(isRaised(definition, hanging)).toBe(false);
      const idle = hanging.map((period) => ({ ...period, taken: 4 }));
      expect(isRaised(definition, idle)).toBe(true);
    },
  );
});
