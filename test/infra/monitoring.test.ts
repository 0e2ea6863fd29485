import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { operationTable } from '../../cli/commands/plan/tables.ts';
import { createStacks } from '../../infra/deployment.ts';
import { SettingsError } from '../../infra/settings.ts';
import {
  metricDimension,
  metricNames,
  metricNamespace,
  metricsOfWorkers,
} from '../../shared/config/metrics.ts';
import { anchorsIn } from '../support/anchors.ts';
import { metricMath, type Period } from '../support/metric-math.ts';
import {
  alarmsIn,
  graphedIn,
  type Monitored,
  type MonitoredAlarm,
  type Widget,
  widgetsOf,
} from '../support/monitored.ts';
import { resourcesOf, statementsIn, templatesFor, testApp } from './templates.ts';

const { monitoring } = templatesFor();
const alarms = alarmsIn(monitoring.toJSON()['Resources']);
const runbook = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const anchors = anchorsIn(runbook);

const alarmOf = (name: string, settings?: Record<string, unknown>): MonitoredAlarm => {
  const from =
    settings === undefined ? alarms : alarmsIn(templatesFor(settings).monitoring.toJSON()['Resources']);
  const found = from.find((one) => one.name.endsWith(`-${name}`));
  if (found === undefined) throw new Error(`No alarm has the name ${name}`);
  return found;
};

/** Components of composite alarms. They do not notify. */
const PARTS = ['SeveralFailing', 'FewDelivered', 'MostlyUndeliverable'];

const isPart = ({ name }: MonitoredAlarm): boolean => PARTS.some((part) => name === `Posthaste-${part}`);

const anchorOf = (description: string): string =>
  /Runbook: docs\/operations\.md#(\S+)$/.exec(description)?.[1] ?? '';

describe('each alarm', () => {
  it.each(alarms)('names a section of the runbook that exists: $name', ({ description }) => {
    expect(anchors).toContain(anchorOf(description));
  });

  it.each(PARTS)('names the alarms that it is part of, and a section of one: %s', (part) => {
    const composites = alarms.filter(({ properties }) =>
      JSON.stringify(properties['AlarmRule'] ?? '').includes(`MonitoringAlarms${part}`),
    );
    const names = composites.map(({ name }) => name.replace('Posthaste-', ''));
    const { description } = alarmOf(part);
    expect(names).not.toEqual([]);
    expect(description).toMatch(new RegExp(`^Part of ${names.join(' and ')}: `));
    expect(composites.map((composite) => anchorOf(composite.description))).toContain(anchorOf(description));
  });

  it('links to the section of the runbook at `runbookUrl`', () => {
    const runbookUrl = 'https://wiki.example.com/operations';
    const { description } = alarmOf('RetriesLate', { runbookUrl });
    expect(description).toContain(` Runbook: ${runbookUrl}#alarm-retries-late`);
    expect(alarmOf('UndeliverableRate', { runbookUrl }).description).toContain(runbookUrl);
  });

  it('has a unique name that begins with the deployment', () => {
    const names = alarmsIn(templatesFor({ deployment: 'Shop' }).monitoring.toJSON()['Resources']).map(
      ({ name }) => name,
    );
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^Shop-[A-Z][A-Za-z]+$/.test(name))).toEqual([]);
  });

  it('treats missing data as fine, except for the alarm on reconcile', () => {
    const silent = alarms.filter(({ properties }) => properties['TreatMissingData'] === 'breaching');
    expect(silent.map(({ name }) => name)).toEqual(['Posthaste-ReconcileSilent']);
    const other = alarms.filter(
      ({ metrics, properties }) =>
        metrics.length > 0 && !['breaching', 'notBreaching'].includes(String(properties['TreatMissingData'])),
    );
    expect(other).toEqual([]);
  });
});

/** Dimensions of the services' metrics (each service's page on CloudWatch metrics), and of Posthaste's. */
const DIMENSIONS: Record<string, Record<string, readonly string[]>> = {
  'AWS/SQS': {
    ApproximateAgeOfOldestMessage: ['QueueName'],
    ApproximateNumberOfMessagesVisible: ['QueueName'],
    ApproximateNumberOfMessagesNotVisible: ['QueueName'],
    NumberOfMessagesSent: ['QueueName'],
    NumberOfMessagesDeleted: ['QueueName'],
  },
  'AWS/Lambda': {
    Errors: ['FunctionName'],
    Throttles: ['FunctionName'],
    Duration: ['FunctionName'],
    RecursiveInvocationsDropped: ['FunctionName'],
    ConcurrentExecutions: ['FunctionName'],
  },
  'AWS/Scheduler': {
    InvocationAttemptCount: ['ScheduleGroup'],
    InvocationThrottleCount: ['ScheduleGroup'],
    InvocationDroppedCount: ['ScheduleGroup'],
    TargetErrorCount: ['ScheduleGroup'],
  },
  'AWS/DynamoDB': {
    ConsumedReadCapacityUnits: ['TableName'],
    ConsumedWriteCapacityUnits: ['TableName'],
    ReadThrottleEvents: ['TableName'],
    WriteThrottleEvents: ['TableName'],
  },
  'AWS/ApiGateway': { Count: ['ApiId'], '4xx': ['ApiId'], '5xx': ['ApiId'] },
  'AWS/Logs': { IncomingBytes: ['LogGroupName'] },
  [metricNamespace]: Object.fromEntries(Object.values(metricNames).map((name) => [name, [metricDimension]])),
};

/** DynamoDB also publishes these metrics for each index. */
const isOfAnIndex = ({ namespace, metricName, dimensionNames }: Monitored): boolean =>
  namespace === 'AWS/DynamoDB' &&
  DIMENSIONS[namespace]?.[metricName] !== undefined &&
  JSON.stringify(dimensionNames) === '["GlobalSecondaryIndexName","TableName"]';

/** A line computed from others by metric math. */
const isComputed = ({ namespace }: Monitored): boolean => namespace === '';

/** Of the whole account: Lambda also publishes these metrics without dimensions. */
const isOfTheAccount = ({ namespace, metricName, dimensionNames }: Monitored): boolean =>
  namespace === 'AWS/Lambda' &&
  ['ClaimedAccountConcurrency', 'ConcurrentExecutions'].includes(metricName) &&
  dimensionNames.length === 0;

describe('the metrics of alarms and graphs', () => {
  it('exist with these names and dimensions', () => {
    const watched = [
      ...alarms.flatMap(({ metrics }) => metrics),
      ...graphedIn(monitoring.toJSON()['Resources']),
    ];
    const unknown = watched.filter((one) => {
      const documented = DIMENSIONS[one.namespace]?.[one.metricName];
      const isKnown = isOfTheAccount(one) || isOfAnIndex(one) || isComputed(one);
      return !isKnown && JSON.stringify(documented) !== JSON.stringify(one.dimensionNames);
    });
    expect(unknown).toEqual([]);
    expect(watched.length).toBeGreaterThan(100);
  });
});

describe('the threshold', () => {
  it.each([
    { alarm: 'IngressAge', limit: 95, reason: 'a message is visible again 35 s after a crash of dispatch' },
    { alarm: 'DeliveryAge', limit: 995, reason: 'a delay of 900 s, and 35 s after a crash' },
    { alarm: 'FirstAttemptsLate', limit: 95_000, reason: 'ms: the same without the delay' },
    { alarm: 'RetriesLate', limit: 90_000, reason: 'ms: reconcile finds what is 30 s late in 60 s' },
    { alarm: 'DeliverConcurrency', limit: 135, reason: '90 % of 100 and 50' },
    { alarm: 'DeliverErrors', limit: 0, reason: 'any error, in three minutes of five' },
    { alarm: 'DeliveryAge', settings: { attemptTimeoutSeconds: 30 }, limit: 900 + 50 + 60 },
    { alarm: 'RetryAge', settings: { attemptTimeoutSeconds: 5 }, limit: 900 + 25 + 60 },
    { alarm: 'RetriesLate', settings: { overdueAfterSeconds: 300 }, limit: 360_000 },
    { alarm: 'DeliverConcurrency', settings: { deliverConcurrency: 400, retryConcurrency: 100 }, limit: 450 },
  ])('of $alarm is $limit: $reason $settings', ({ alarm, settings, limit }) => {
    expect(alarmOf(alarm, settings).properties['Threshold']).toBe(limit);
  });

  it('for a hanging subscriber is nine tenths of the shorter timeout', () => {
    const slowOf = (settings: Record<string, unknown>): string =>
      JSON.stringify(alarmOf('DeliverConcurrency', settings).properties['Metrics']);
    expect(slowOf({})).toContain('"Stat":"TS(4500:)"');
    expect(slowOf({ attemptTimeoutSeconds: 2 })).toContain('"Stat":"TS(1800:)"');
  });
});

/** A subscriber that is down can cause late and waiting messages while it occupies workers, failures, and notices. */
describe('one subscriber that is down raises no alarm', () => {
  const expressionOf = (name: string): string => JSON.stringify(alarmOf(name).properties['Metrics']);

  it.each([
    'DeliveryAge',
    'RetryAge',
    'FirstAttemptsLate',
    'RetriesLate',
    'ReconcileWorks',
    'DeliveriesStuck',
  ])('%s is not raised while the workers are busy and make progress', (name) => {
    expect(expressionOf(name)).toMatch(
      /IF\(FILL\(taken, 0\) >= \d+ AND FILL\(dealtWith, 0\) > 0, 0, value\)/,
    );
  });

  it.each([
    ['DeliveryAge', {}, 500],
    ['DeliveryAge', { deliverConcurrency: 40, messagesPerBatch: 50, batchWindowSeconds: 1 }, 1_000],
    ['RetryAge', { messagesPerBatch: 50, batchWindowSeconds: 1 }, 250],
  ])('%s takes workers as busy at half of what they can hold: %j', (name, settings, busy) => {
    const { Metrics } = alarmOf(name, settings).properties;
    expect(JSON.stringify(Metrics)).toContain(`FILL(taken, 0) >= ${busy} `);
  });

  it('DeliverConcurrency is not raised while most attempt time is spent on timeouts', () => {
    expect(expressionOf('DeliverConcurrency')).toContain('IF(SUM([slow, all]) > 1.5 * all, 0, running)');
  });

  it('metrics of failed attempts and ended deliveries count only while several subscriptions fail', () => {
    const ofSubscribers: string[] = [
      metricNames.attemptsFailed,
      metricNames.attemptsRejected,
      metricNames.deliveriesRejected,
      metricNames.deliveriesExhausted,
      metricNames.deliveriesDelivered,
      metricNames.deliveriesCancelled,
      metricNames.subscriptionsFailing,
    ];
    const alone = alarms.filter(
      (alarm) => !isPart(alarm) && alarm.metrics.some(({ metricName }) => ofSubscribers.includes(metricName)),
    );
    expect(alone).toEqual([]);
    const several = alarmOf('SeveralFailing');
    expect(several.properties).toMatchObject({ Threshold: 2, ComparisonOperator: 'GreaterThanThreshold' });
    for (const name of ['UndeliverableRate', 'DeliveriesDoNotFlow'])
      expect(JSON.stringify(alarmOf(name).properties['AlarmRule'])).toMatch(
        /ALARM\(\\"",\{"Fn::GetAtt":\["MonitoringAlarmsSeveralFailing.{8}","Arn"\]\},"\\"\) AND ALARM/,
      );
  });
});

describe('"deliveries do not flow"', () => {
  it('is raised by each alarm that means a standstill', () => {
    const rule = JSON.stringify(alarmOf('DeliveriesDoNotFlow').properties['AlarmRule']);
    const named = [...rule.matchAll(/MonitoringAlarms([A-Za-z]+)[0-9A-F]{8}/g)].map(([, id]) => id);
    expect(named).toEqual([
      'IngressAge',
      'DeliveryAge',
      'RetryAge',
      'IngressStalled',
      'DeliveryStalled',
      'RetryStalled',
      'AttemptsStopped',
      'DeliveriesStuck',
      'SeveralFailing',
      'FewDelivered',
    ]);
  });
});

describe('the monthly cost of monitoring', () => {
  it('is what the page of the cost says: $0.10 for each metric of an alarm, $0.50 for each composite alarm', () => {
    const watched = alarms.reduce((sum, { metrics }) => sum + metrics.length, 0);
    const composite = resourcesOf(monitoring, 'AWS::CloudWatch::CompositeAlarm').size;
    const cost = (watched * 0.1 + composite * 0.5).toFixed(2);
    const page = readFileSync(new URL('../../docs/cost-and-performance.md', import.meta.url), 'utf8');
    expect(page).toContain(`; alarms $${cost};`);
  });

  it('is what posthaste plan computes', () => {
    const { monitoring: planned } = operationTable();
    expect(planned).toMatchObject({
      alarmMetrics: alarms.reduce((sum, { metrics }) => sum + metrics.length, 0),
      compositeAlarms: resourcesOf(monitoring, 'AWS::CloudWatch::CompositeAlarm').size,
      dashboards: resourcesOf(monitoring, 'AWS::CloudWatch::Dashboard').size,
    });
  });
});

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

const QUIET: Traffic = { sent: [0, 0, 0, 0, 0], dealtWith: () => 0, areFailedHidden: true };

describe.each(['IngressStalled', 'DeliveryStalled', 'RetryStalled'])('%s', (alarm) => {
  it.each<[raised: boolean, when: string, minutes: readonly Period[]]>([
    [
      true,
      'while every message fails and is hidden until the next receive',
      queueOver({ ...QUIET, sent: [3, 0, 0, 0, 0] }),
    ],
    [
      true,
      'while no worker receives waiting messages',
      queueOver({ ...QUIET, sent: [3, 3, 3, 3, 3], areFailedHidden: false }),
    ],
    [
      false,
      'if a crash delays one message for some minutes',
      queueOver({ ...QUIET, sent: [1, 0, 0, 0, 0], dealtWith: (there, minute) => (minute < 4 ? 0 : there) }),
    ],
    [
      false,
      'while most messages fail but some are processed',
      queueOver({ ...QUIET, sent: [10, 10, 10, 10, 10], dealtWith: () => 1 }),
    ],
    [false, 'for an empty queue', queueOver(QUIET)],
    [false, 'for a queue without metrics', [{}, {}, {}, {}, {}]],
  ])('is raised (%j) %s', (raised, _when, minutes) => {
    expect(isRaised(alarm, minutes)).toBe(raised);
  });
});

describe('AttemptsStopped', () => {
  it.each<[raised: boolean, when: string, minute: Period]>([
    [true, 'while calls to AWS fail and no attempt is made', { faults: 4, matched: 2 }],
    [false, 'while attempts are made, with any outcome', { faults: 4, matched: 2, attempts: 1 }],
    [false, 'if there are no deliveries, even if calls to AWS fail', { faults: 1 }],
    [false, 'while no call to AWS fails', { matched: 2 }],
  ])('is raised (%j) %s', (raised, _when, minute) => {
    expect(isRaised('AttemptsStopped', Array(5).fill(minute))).toBe(raised);
  });
});

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:on-call';
const CUSTOM = 'Custom::AlarmTopicLookUp';
const { monitoring: notified } = templatesFor({ alarmTopicArn: TOPIC });

describe('a topic for alarms', () => {
  it('is notified by all alarms except components of composite ones, when they are raised and when they are over', () => {
    const all = alarmsIn(notified.toJSON()['Resources']);
    const silent = all.filter(({ actions }) => actions.length === 0);
    expect(silent.map(({ name }) => name).toSorted()).toEqual([
      'Posthaste-FewDelivered',
      'Posthaste-MostlyUndeliverable',
      'Posthaste-SeveralFailing',
    ]);
    for (const { actions, properties } of all.filter((alarm) => !silent.includes(alarm))) {
      expect(actions).toEqual([TOPIC]);
      expect(properties['OKActions']).toEqual([TOPIC]);
    }
  });

  it('is looked up by the deployment before it creates alarms, so that a missing topic fails it', () => {
    const [[id, { Properties }] = ['', { Properties: {} }]] = resourcesOf(notified, CUSTOM);
    const call = JSON.stringify({
      service: 'SNS',
      action: 'getTopicAttributes',
      parameters: { TopicArn: TOPIC },
      physicalResourceId: { id: TOPIC },
      outputPaths: ['Attributes.TopicArn'],
    });
    expect(Properties).toMatchObject({ Create: call, Update: call });
    expect(call).not.toContain('ignoreErrorCodesMatching');
    const composed = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) =>
      Object.values(notified.findResources(type)),
    );
    const notifying = composed.filter((alarm) => JSON.stringify(alarm).includes('AlarmActions'));
    expect(notifying).toHaveLength(34);
    for (const alarm of notifying) expect(alarm['DependsOn']).toContain(id);
  });

  it('is looked up by a function that has no other permission', () => {
    const [policy, ...others] = resourcesOf(notified, 'AWS::IAM::Policy').values();
    expect(others).toEqual([]);
    expect(policy && statementsIn(policy)).toEqual([
      { effect: 'Allow', actions: ['sns:GetTopicAttributes'], resources: [TOPIC], condition: undefined },
    ]);
  });

  it('is optional: without it there is no function and no alarm action', () => {
    const { monitoring: without } = templatesFor();
    expect(resourcesOf(without, 'AWS::Lambda::Function').size).toBe(0);
    expect(resourcesOf(without, CUSTOM).size).toBe(0);
    expect(alarmsIn(without.toJSON()['Resources']).flatMap(({ actions }) => actions)).toEqual([]);
  });

  it.each([
    { what: 'region', env: { account: '123456789012', region: 'us-east-1' } },
    { what: 'account', env: { account: '210987654321', region: 'eu-west-1' } },
  ])('is refused if it is in another $what', ({ what, env }) => {
    const settings = { alarmTopicArn: TOPIC };
    const place = () => createStacks(testApp(), settings, env);
    expect(place).toThrow(SettingsError);
    expect(place).toThrow(`alarmTopicArn (the property alarmTopic) must be in the ${what} of the deployment`);
  });

  it('is accepted if it is in the same region and account', () => {
    const settings = { alarmTopicArn: TOPIC };
    const env = { account: '123456789012', region: 'eu-west-1' };
    expect(() => createStacks(testApp(), settings, env)).not.toThrow();
  });
});

const widgetsFor = (settings: Record<string, unknown> = {}): readonly Widget[] => {
  const dashboards = [
    ...resourcesOf(templatesFor(settings).monitoring, 'AWS::CloudWatch::Dashboard').values(),
  ];
  const [{ Properties }, ...others] = z
    .tuple([z.object({ Properties: z.record(z.string(), z.unknown()) })])
    .rest(z.unknown())
    .parse(dashboards);
  expect(others).toEqual([]);
  return widgetsOf(Properties['DashboardBody']);
};

const widgets = widgetsFor();
const texts = widgets.filter((widget) => widget.type === 'text');
const graphs = widgets.filter((widget) => widget.type === 'metric' || widget.type === 'log');
const titled = graphs.map((graph) => ({ title: graph.properties.title, graph }));

const overlap = (one: Widget, other: Widget): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

describe('the dashboard', () => {
  it("asks its questions in the order of a message's way through Posthaste", () => {
    const questions = texts.filter(({ properties }) => properties.markdown.startsWith('## '));
    expect(questions.map(({ properties }) => properties.markdown.slice(3))).toEqual([
      'Are messages coming in?',
      'Are they delivered?',
      'Which subscribers fail?',
      'Are retries on time?',
      'Are functions, queues and tables healthy?',
      'What does it cost?',
    ]);
    expect(questions.map(({ y }) => y)).toEqual(questions.map(({ y }) => y).toSorted((a, b) => a - b));
  });

  it('begins with five figures: success, delay, backlog, dead letters, failing subscriptions', () => {
    const figures = widgets.flatMap((widget) =>
      widget.type === 'metric' && widget.properties.view === 'singleValue' ? [widget] : [],
    );
    expect(figures.map(({ properties }) => properties.title)).toEqual([
      'Deliveries that succeeded, %',
      'First attempt after, p99 in ms',
      'Oldest message waiting, s',
      'Dead letters',
      'Began to fail in 6 h',
    ]);
    const lines = [...new Set(graphs.map(({ y }) => y))].toSorted((a, b) => a - b);
    expect(new Set(figures.map(({ y }) => y))).toEqual(new Set(lines.slice(0, 1)));
  });

  it('fits all widgets into 24 columns without overlaps', () => {
    for (const widget of widgets) expect(widget.x + widget.width).toBeLessThanOrEqual(24);
    const overlapping = widgets.flatMap((one, at) =>
      widgets
        .slice(at + 1)
        .filter((other) => overlap(one, other))
        .map((other) => [one, other]),
    );
    expect(overlapping).toEqual([]);
  });

  it.each(titled)('describes the healthy state below each graph: $title', ({ graph }) => {
    const below = texts.filter(
      ({ x, y, width }) => x === graph.x && width === graph.width && y === graph.y + graph.height,
    );
    expect(below.map(({ properties }) => properties.markdown)).toEqual([
      expect.stringMatching(/^\*\*Good:\*\* .+\.$/),
    ]);
  });

  it.each([
    ['functions', 'lambda', Object.values(metricNames).filter((name) => !metricsOfWorkers.has(name))],
    ['workers', 'worker', Object.values(metricNames)],
  ])('shows exactly the metrics that %s write', (_, compute, written) => {
    const shown = widgetsFor({ compute }).flatMap((widget) =>
      widget.type === 'metric' ? widget.properties.metrics : [],
    );
    const ours = shown.filter(({ namespace }) => namespace === metricNamespace);
    expect(new Set(ours.map(({ metricName }) => metricName))).toEqual(new Set(written));
  });

  it('shows every alarm that notifies, the most urgent first', () => {
    const { monitoring } = templatesFor();
    const known = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) => [
      ...resourcesOf(monitoring, type).keys(),
    ]);
    const [shown = []] = widgets.flatMap((one) => (one.type === 'alarm' ? [one.properties.alarms] : []));
    expect(shown).toHaveLength(34);
    expect(shown[0]).toMatch(/DeliveriesDoNotFlow/);
    expect(shown.filter((id) => !known.includes(id))).toEqual([]);
  });

  it('stays below the limits of CloudWatch: 500 metrics in all and 100 in a graph', () => {
    const counts = widgets.flatMap((widget) =>
      widget.type === 'metric' ? [widget.properties.metrics.length] : [],
    );
    expect(Math.max(...counts)).toBeLessThan(100);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThan(500);
  });
});
