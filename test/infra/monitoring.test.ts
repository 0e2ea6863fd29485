import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { monitoring as planned } from '../../cli/commands/plan/quantities.ts';
import { createStacks } from '../../infra/deployment.ts';
import { SettingsError } from '../../infra/settings.ts';
import {
  metricDimension,
  metricNames,
  metricNamespace,
  metricsOfWorkers,
} from '../../shared/config/metrics.ts';
import { anchorsIn } from '../support/anchors.ts';
import { alarmDefinition, isRaised } from '../support/alarm-state.ts';
import { sectionAt } from '../support/runbook.ts';
import type { Period } from '../support/metric-math.ts';
import {
  alarmsIn,
  graphedIn,
  type Monitored,
  type MonitoredAlarm,
  type Widget,
  widgetsOf,
  LATENESS_ALARMS,
} from '../support/monitored.ts';
import { checkedVariants } from '../../infra/checked-variants.ts';
import {
  resourceAt,
  resourcesOf,
  statementsIn,
  type Templates,
  templatesFor,
  testApp,
  TUNED,
} from './templates.ts';

const { monitoring } = templatesFor();

/** Those that make an upgrade go back are in the stack of the pipeline. */
const alarmsOf = ({ monitoring, pipeline }: Pick<Templates, 'monitoring' | 'pipeline'>): MonitoredAlarm[] =>
  [monitoring, pipeline].flatMap((template) => alarmsIn(template.toJSON()['Resources']));

const alarms = alarmsOf(templatesFor());
const tuned = alarmsOf(templatesFor(TUNED));
const runbook = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const anchors = anchorsIn(runbook);

const alarmOf = (name: string, from = alarms): MonitoredAlarm => {
  const found = from.find((one) => one.name.endsWith(`-${name}`));
  if (found === undefined) throw new Error(`No alarm has the name ${name}`);
  return found;
};

/** Components of composite alarms. They do not notify. */
const PARTS = ['SeveralFailing', 'FewDelivered', 'MostlyUndeliverable'];

const isPart = ({ name }: MonitoredAlarm): boolean => PARTS.some((part) => name === `Posthaste-${part}`);

const anchorOf = (description: string): string =>
  /Runbook: docs\/operations\.md#(\S+)$/.exec(description)?.[1] ?? '';

/** Those of the portal, too. */
const everyAlarm = alarmsOf(templatesFor(checkedVariants['portal']));

describe('each alarm', () => {
  it.each(everyAlarm)('names a section of the runbook that exists: $name', ({ description }) => {
    expect(anchors).toContain(anchorOf(description));
  });

  // In the middle of the night, its name is what is searched for.
  it.each(everyAlarm)('has its name in that section: $name', ({ name, description }) => {
    expect(sectionAt(anchorOf(description))).toContain(`\`${name.replace('Posthaste-', '')}\``);
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
    const { description } = alarmOf('RetriesLate', tuned);
    expect(description).toContain(` Runbook: ${TUNED.runbookUrl}#alarm-retries-late`);
    expect(alarmOf('UndeliverableRate', tuned).description).toContain(TUNED.runbookUrl);
  });

  it('on throttles does not name the account as the cause, which may be the apiConcurrency', () => {
    expect(alarmOf('ApiThrottles', tuned).description).not.toContain('account');
  });

  it('has a unique name that begins with the deployment', () => {
    const names = tuned.map(({ name }) => name);
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

/** Lambda also publishes this metric for each alias: `Resource` is the function's name, a colon and the alias' name. */
const isOfAnAlias = ({ namespace, metricName, dimensionNames }: Monitored): boolean =>
  namespace === 'AWS/Lambda' &&
  metricName === 'Errors' &&
  JSON.stringify(dimensionNames) === '["FunctionName","Resource"]';

/** A line computed from others by metric math. */
const isComputed = ({ namespace }: Monitored): boolean => namespace === '';

/** Of the whole account: Lambda also publishes these metrics without dimensions. */
const isOfTheAccount = ({ namespace, metricName, dimensionNames }: Monitored): boolean =>
  namespace === 'AWS/Lambda' &&
  ['ClaimedAccountConcurrency', 'ConcurrentExecutions'].includes(metricName) &&
  dimensionNames.length === 0;

it('the metrics of alarms and graphs exist with these names and dimensions', () => {
  const watched = [
    ...alarms.flatMap(({ metrics }) => metrics),
    ...graphedIn(monitoring.toJSON()['Resources']),
  ];
  const unknown = watched.filter((one) => {
    const documented = DIMENSIONS[one.namespace]?.[one.metricName];
    const isKnown = isOfTheAccount(one) || isOfAnAlias(one) || isOfAnIndex(one) || isComputed(one);
    return !isKnown && JSON.stringify(documented) !== JSON.stringify(one.dimensionNames);
  });
  expect(unknown).toEqual([]);
  expect(watched.length).toBeGreaterThan(100);
});

describe('the threshold', () => {
  it.each([
    { alarm: 'IngressAge', limits: [35 + 60, 55 + 60], reason: 's: visible again so long after a crash' },
    { alarm: 'DeliveryAge', limits: [935 + 60, 970 + 60], reason: 's: a delay of 900 s, and the same' },
    { alarm: 'RetryAge', limits: [935 + 60, 950 + 60], reason: 's: retries are never gathered' },
    { alarm: 'OperationAge', limits: [945 + 60, 945 + 60], reason: 's: of repeats, and the same' },
    { alarm: 'FirstAttemptsLate', limits: [95_000, 130_000], reason: 'ms: without the delay' },
    { alarm: 'RetriesLate', limits: [90_000, 360_000], reason: 'ms: reconcile finds what is late in 60 s' },
    { alarm: 'DeliverConcurrency', limits: [135, 450], reason: '90 % of the concurrency of both queues' },
    { alarm: 'DeliverErrors', limits: [0, 0], reason: 'any error, in three minutes of five' },
  ])('of $alarm is $limits by default and with other settings: $reason', ({ alarm, limits }) => {
    const found = [alarms, tuned].map((from) => alarmOf(alarm, from).properties['Threshold']);
    expect(found).toEqual(limits);
  });

  it('for a hanging subscriber is nine tenths of the shorter timeout', () => {
    const slowOf = (from: MonitoredAlarm[]): string =>
      JSON.stringify(alarmOf('DeliverConcurrency', from).properties['Metrics']);
    expect(slowOf(alarms)).toContain('"Stat":"TS(4500:)"');
    const { monitoring: quick } = templatesFor({ attemptTimeoutSeconds: 2 });
    expect(slowOf(alarmsIn(quick.toJSON()['Resources']))).toContain('"Stat":"TS(1800:)"');
  });
});

/** A subscriber that is down can cause late and waiting messages while it occupies workers, failures, and notices. */
describe('one subscriber that is down raises no alarm', () => {
  const expressionOf = (name: string): string => JSON.stringify(alarmOf(name).properties['Metrics']);

  it.each(LATENESS_ALARMS)('%s is not raised while the workers are busy and make progress', (name) => {
    expect(expressionOf(name)).toMatch(
      /IF\(FILL\(taken, 0\) >= \d+ AND FILL\(dealtWith, 0\) > 0, 0, value\)/,
    );
  });

  it.each([
    ['DeliveryAge', (100 * 10) / 2, (400 * 50) / 2],
    ['RetryAge', (50 * 10) / 2, (100 * 10) / 2],
  ])('%s takes workers as busy at half of what they can hold: %i, or %i', (name, ...busy) => {
    for (const [index, from] of [alarms, tuned].entries())
      expect(JSON.stringify(alarmOf(name, from).properties['Metrics'])).toContain(
        `FILL(taken, 0) >= ${busy[index]} `,
      );
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

it('"deliveries do not flow" is raised by each alarm that means a standstill', () => {
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

describe('the monthly cost of monitoring', () => {
  const metricsIn = (counted: readonly MonitoredAlarm[]): number =>
    counted.reduce((sum, { metrics }) => sum + metrics.length, 0);
  const alarmMetrics = metricsIn(alarms);
  const compositeAlarms = resourcesOf(monitoring, 'AWS::CloudWatch::CompositeAlarm').size;

  it('is what the page of the cost says: $0.10 for each metric of an alarm, $0.50 for each composite alarm', () => {
    const page = readFileSync(new URL('../../docs/cost-and-performance.md', import.meta.url), 'utf8');
    expect(page).toContain(`; alarms $${(alarmMetrics * 0.1 + compositeAlarms * 0.5).toFixed(2)};`);
  });

  it('is what posthaste plan computes', () => {
    const dashboards = resourcesOf(monitoring, 'AWS::CloudWatch::Dashboard').size;
    expect(planned).toMatchObject({ alarmMetrics, compositeAlarms, dashboards });
  });

  it('is what posthaste plan computes for workers alone, which have no upgrades of dispatch and deliver', () => {
    const byWorkers = alarmsOf(templatesFor(checkedVariants['workers']));
    expect(planned).toMatchObject({ alarmMetricsOfWorkers: metricsIn(byWorkers) });
  });
});

/** Whether an alarm is raised at the end of these minutes. */
const isRaisedAfter = (name: string, minutes: readonly Period[]): boolean =>
  isRaised(alarmDefinition(alarmOf(name).properties), minutes);

type Traffic = {
  /** Messages sent in each minute. */
  sent: readonly number[];
  /** How many of the messages received in a minute are processed, none by default. Failed ones are received again. */
  dealtWith?: (received: number, minute: number) => number;
  /** Whether failed messages can be received when SQS takes its metrics. */
  isVisible?: boolean;
};

/**
 * The metrics of a queue by minute. Failed messages that cannot be received yet are not visible but in flight
 * ("Available CloudWatch metrics for Amazon SQS", SQS developer guide).
 */
const queueOver = ({ sent, dealtWith = () => 0, isVisible = false }: Traffic): Period[] => {
  let there = 0;
  return sent.map((count, minute) => {
    there += count;
    const deleted = dealtWith(there, minute);
    there -= deleted;
    return { waiting: isVisible ? there : 0, inFlight: isVisible ? 0 : there, dealtWith: deleted };
  });
};

const AFTER_ONE = [1, 0, 0, 0, 0];

describe.each(['IngressStalled', 'DeliveryStalled', 'RetryStalled'])('%s', (alarm) => {
  it.each<[raised: boolean, when: string, traffic: Traffic]>([
    [true, 'while every message fails and is hidden until the next receive', { sent: AFTER_ONE }],
    [true, 'while no worker receives waiting messages', { sent: Array(5).fill(3), isVisible: true }],
    [
      false,
      'if a crash delays one message for some minutes',
      { sent: AFTER_ONE, dealtWith: (there, minute) => (minute < 4 ? 0 : there) },
    ],
    [
      false,
      'while most messages fail but some are processed',
      { sent: Array(5).fill(10), dealtWith: () => 1 },
    ],
    [false, 'for an empty queue', { sent: Array(5).fill(0) }],
  ])('is raised (%j) %s', (raised, _when, traffic) => {
    expect(isRaisedAfter(alarm, queueOver(traffic))).toBe(raised);
  });

  it('is not raised for a queue without metrics', () => {
    expect(isRaisedAfter(alarm, Array(5).fill({}))).toBe(false);
  });
});

it.each<[raised: boolean, when: string, minute: Period]>([
  [true, 'while calls to AWS fail and no attempt is made', { faults: 4, matched: 2 }],
  [false, 'while attempts are made, with any outcome', { faults: 4, matched: 2, attempts: 1 }],
  [false, 'if there are no deliveries, even if calls to AWS fail', { faults: 1 }],
  [false, 'while no call to AWS fails', { matched: 2 }],
])('AttemptsStopped is raised (%j) %s', (raised, _when, minute) => {
  expect(isRaisedAfter('AttemptsStopped', Array(5).fill(minute))).toBe(raised);
});

const TOPIC = 'arn:aws:sns:us-east-1:123456789012:on-call';
const CUSTOM = 'Custom::AlarmTopicLookUp';
const { monitoring: notified } = templatesFor(checkedVariants['alarmTopic']);

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
    expect(notifying).toHaveLength(36);
    for (const alarm of notifying) expect(alarm['DependsOn']).toContain(id);
  });

  it('is looked up by a function that has no other permission', () => {
    const [policy, ...others] = resourcesOf(notified, 'AWS::IAM::Policy').values();
    expect(others).toEqual([]);
    expect(policy && statementsIn(policy)).toEqual([
      { effect: 'Allow', actions: ['sns:GetTopicAttributes'], resources: [TOPIC], condition: undefined },
    ]);
  });

  it('is optional: without it there is no alarm action', () => {
    expect(alarms.flatMap(({ actions }) => actions)).toEqual([]);
  });

  it('must be in the region and account of the deployment', () => {
    const place = (account: string, region: string) => () =>
      createStacks(testApp(), { alarmTopicArn: TOPIC }, { account, region });
    expect(place('123456789012', 'eu-west-1')).toThrow(SettingsError);
    const fault = 'alarmTopicArn (the property alarmTopic) must be in the';
    expect(place('123456789012', 'eu-west-1')).toThrow(`${fault} region of the deployment`);
    expect(place('210987654321', 'us-east-1')).toThrow(`${fault} account of the deployment`);
    expect(place('123456789012', 'us-east-1')).not.toThrow();
  });
});

const widgetsIn = (template = monitoring): readonly Widget[] => {
  const { Properties } = resourceAt(template, 'AWS::CloudWatch::Dashboard', 'MonitoringDashboard');
  return widgetsOf(Properties['DashboardBody']);
};

const widgets = widgetsIn();
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
    ['functions', {}, Object.values(metricNames).filter((name) => !metricsOfWorkers.has(name))],
    ['workers', checkedVariants['workers'], Object.values(metricNames)],
  ])('shows exactly the metrics that %s write', (_, settings, written) => {
    const shown = widgetsIn(templatesFor(settings).monitoring).flatMap((widget) =>
      widget.type === 'metric' ? widget.properties.metrics : [],
    );
    const ours = shown.filter(({ namespace }) => namespace === metricNamespace);
    expect(new Set(ours.map(({ metricName }) => metricName))).toEqual(new Set(written));
  });

  it('shows every alarm that notifies, the most urgent first', () => {
    const known = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) => [
      ...resourcesOf(monitoring, type).keys(),
    ]);
    const [shown = []] = widgets.flatMap((one) => (one.type === 'alarm' ? [one.properties.alarms] : []));
    expect(shown).toHaveLength(36);
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
