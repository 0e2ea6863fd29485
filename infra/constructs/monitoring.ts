import { Duration } from 'aws-cdk-lib';
import { Dashboard, GraphWidget, type IMetric, Metric, SingleValueWidget } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { metricDimension, metricNames, metricNamespace } from '../../shared/config/metrics.ts';
import type { DeploymentSettings } from '../settings.ts';
import type { Pipeline } from './pipeline.ts';

export interface MonitoringProps {
  readonly settings: DeploymentSettings;
  readonly pipeline: Pipeline;
}

/** Widgets are laid out on 24 columns: three graphs a row. */
const WIDTH = 8;

/** The operator's dashboard. It reads metrics, and nothing depends on it. */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string, { settings, pipeline }: MonitoringProps) {
    super(scope, id);
    new Dashboard(this, 'Dashboard', {
      defaultInterval: Duration.hours(3),
      widgets: [
        [deadLetters(pipeline)],
        [attempts(settings.deployment), lateness(settings.deployment), ages(pipeline)],
        [waiting(pipeline), errors(settings.deployment, pipeline), durations(pipeline)],
      ],
    });
  }
}

const own = (deployment: string, metricName: string, label: string, statistic: string): IMetric =>
  new Metric({
    namespace: metricNamespace,
    metricName,
    dimensionsMap: { [metricDimension]: deployment },
    statistic,
    label,
    period: Duration.minutes(1),
  });

const graph = (title: string, left: IMetric[], unit: string): GraphWidget =>
  new GraphWidget({ title, left, width: WIDTH, leftYAxis: { label: unit, showUnits: false, min: 0 } });

const attempts = (deployment: string): GraphWidget =>
  new GraphWidget({
    title: 'Attempts by outcome',
    stacked: true,
    width: WIDTH,
    leftYAxis: { label: 'attempts a minute', showUnits: false, min: 0 },
    left: [
      own(deployment, metricNames.attemptsDelivered, 'delivered', 'sum'),
      own(deployment, metricNames.attemptsFailed, 'failed', 'sum'),
      own(deployment, metricNames.attemptsRejected, 'rejected', 'sum'),
    ],
  });

const lateness = (deployment: string): GraphWidget =>
  graph(
    'How late attempts start, p95',
    [
      own(deployment, metricNames.firstAttemptAge, 'first attempts, since accepted', 'p95'),
      own(deployment, metricNames.lateness, 'retries, since due', 'p95'),
    ],
    'ms',
  );

const ages = ({ ingress, delivery, retry, operation }: Pipeline): GraphWidget =>
  graph(
    'Age of the oldest message',
    [
      ingress.metricAgeOfOldest({ label: 'ingress' }),
      delivery.metricAgeOfOldest({ label: 'delivery' }),
      retry.metricAgeOfOldest({ label: 'retry' }),
      operation.metricAgeOfOldest({ label: 'operation' }),
    ],
    's',
  );

const waiting = ({ ingress, delivery, retry }: Pipeline): GraphWidget =>
  graph(
    'Messages waiting',
    [
      ingress.metricWaiting({ label: 'ingress' }),
      delivery.metricWaiting({ label: 'delivery' }),
      retry.metricWaiting({ label: 'retry' }),
    ],
    'messages',
  );

const deadLetters = (pipeline: Pipeline): SingleValueWidget =>
  new SingleValueWidget({
    title: 'Left over: dead letters should be none',
    width: 3 * WIDTH,
    height: 3,
    metrics: [
      pipeline.ingressDeadLetters.metricWaiting({ label: 'ingress dead letters' }),
      pipeline.deliveryDeadLetters.metricWaiting({ label: 'delivery dead letters' }),
      pipeline.schedules.deadLetters.metricWaiting({ label: 'scheduler dead letters' }),
      pipeline.operationDeadLetters.metricWaiting({ label: 'operation dead letters' }),
      pipeline.undeliverable.metricWaiting({ label: 'undeliverable' }),
    ],
  });

const functionsOf = ({ dispatch, deliver, reconcile, operate, api }: Pipeline) =>
  Object.entries({ dispatch, deliver, reconcile, operate, api });

/** A record that fails comes again without an error of its function, so both are shown. */
const errors = (deployment: string, pipeline: Pipeline): GraphWidget =>
  graph(
    'Faults of ours: should be none',
    [
      own(deployment, metricNames.faults, 'records', 'sum'),
      ...functionsOf(pipeline).map(([label, { lambda }]) => lambda.metricErrors({ label, statistic: 'sum' })),
    ],
    'count',
  );

const durations = (pipeline: Pipeline): GraphWidget =>
  graph(
    'How long functions take, p95',
    functionsOf(pipeline).map(([label, { lambda }]) => lambda.metricDuration({ label, statistic: 'p95' })),
    'ms',
  );
