import { Arn, ArnFormat, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import {
  type Alarm,
  type AlarmBase,
  AlarmRule,
  CompositeAlarm,
  type IAlarmRule,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AwsCustomResource, AwsCustomResourcePolicy, PhysicalResourceId } from 'aws-cdk-lib/custom-resources';
import { Construct } from 'constructs';
import { type DeploymentSettings, SettingsError } from '../../settings.ts';
import { acknowledge } from '../newer-cdk.ts';
import type { Pipeline } from '../pipeline.ts';
import { createAlarm, formatDescription, type PlannedAlarm } from './alarm.ts';
import { componentAlarms, deliveryAlarms, functionAlarms, queueAlarms } from './planned-alarms.ts';
import type { PosthasteMetrics } from './posthaste-metrics.ts';

/** Each of these alarms alone means that messages do not move. */
const STANDSTILL = [
  'IngressAge',
  'IngressStalled',
  'DeliveryAge',
  'RetryAge',
  'DeliveryStalled',
  'RetryStalled',
  'AttemptsStopped',
  'DeliveriesStuck',
];

/**
 * All alarms, each with a section in the runbook. A single subscriber that is down raises none: metrics that it can
 * affect are not watched, or only together with others that it cannot affect.
 */
export class Alarms extends Construct {
  /** The alarms that notify, the most urgent first. */
  readonly notifying: readonly AlarmBase[];

  constructor(scope: Construct, id: string, pipeline: Pipeline, metricOf: PosthasteMetrics) {
    super(scope, id);
    const { settings } = pipeline.state;
    const { alarmTopicArn, logRetentionDays } = settings;
    const raise = (id: string, plan: PlannedAlarm): Alarm => createAlarm(this, id, settings, plan);
    const plans = {
      ...queueAlarms(pipeline),
      ...deliveryAlarms(pipeline, metricOf),
      ...functionAlarms(pipeline, metricOf),
    };
    const alarms = Object.entries(plans).map(([id, plan]) => ({ id, alarm: raise(id, plan) }));
    const standstill = alarms.filter(({ id }) => STANDSTILL.includes(id)).map(({ alarm }) => alarm);
    const { SeveralFailing, FewDelivered, MostlyUndeliverable } = componentAlarms(metricOf);
    const severalFailing = raise('SeveralFailing', SeveralFailing);

    const doNotFlow = this.composite('DeliveriesDoNotFlow', settings, {
      summary:
        'Deliveries do not flow: messages are stuck in a queue, or several subscribers fail and most deliveries do not succeed.',
      rule: AlarmRule.anyOf(
        ...standstill,
        AlarmRule.allOf(severalFailing, raise('FewDelivered', FewDelivered)),
      ),
    });
    const undeliverableRate = this.composite('UndeliverableRate', settings, {
      summary: 'Several subscribers fail, and most deliveries that end are rejected or exhausted.',
      rule: AlarmRule.allOf(severalFailing, raise('MostlyUndeliverable', MostlyUndeliverable)),
    });
    this.notifying = [doNotFlow, undeliverableRate, ...alarms.map(({ alarm }) => alarm)];
    if (alarmTopicArn !== undefined) this.notify(alarmTopicArn, logRetentionDays);
  }

  private composite(
    id: string,
    { deployment, runbookUrl }: DeploymentSettings,
    { summary, rule }: { summary: string; rule: IAlarmRule },
  ): CompositeAlarm {
    return new CompositeAlarm(this, id, {
      compositeAlarmName: `${deployment}-${id}`,
      alarmDescription: formatDescription(summary, id, runbookUrl),
      alarmRule: rule,
    });
  }

  /** Notifies the topic when an alarm is raised and when it is over. */
  private notify(topicArn: string, logRetentionDays: RetentionDays): void {
    const scope = new Construct(this, 'Topic');
    const action = new SnsAction(Topic.fromTopicArn(scope, 'Topic', topicArn));
    // A topic of the app exists.
    const lookUp = Token.isUnresolved(topicArn) ? [] : [lookUpTopic(scope, topicArn, logRetentionDays)];
    for (const alarm of this.notifying) {
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      alarm.node.addDependency(...lookUp);
    }
  }
}

/**
 * Makes the deployment fail before it creates an alarm, if the operator's topic does not exist: CloudWatch accepts any ARN
 * as an alarm's action and silently drops what it cannot send.
 * @throws SettingsError if the topic is in another region or account than the stack, if these are known
 */
function lookUpTopic(scope: Construct, topicArn: string, logRetentionDays: RetentionDays): Construct {
  requireSameAccountAndRegion(topicArn, Stack.of(scope));
  const call = {
    service: 'SNS',
    action: 'getTopicAttributes',
    parameters: { TopicArn: topicArn },
    physicalResourceId: PhysicalResourceId.of(topicArn),
    // Only the existence of the topic matters.
    outputPaths: ['Attributes.TopicArn'],
  };
  const lookUp = new AwsCustomResource(scope, 'LookUp', {
    resourceType: 'Custom::AlarmTopicLookUp',
    onUpdate: call,
    policy: AwsCustomResourcePolicy.fromStatements([
      new PolicyStatement({ actions: ['sns:GetTopicAttributes'], resources: [topicArn] }),
    ]),
    installLatestAwsSdk: false,
    logGroup: new LogGroup(scope, 'Log', {
      retention: logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    }),
  });
  acknowledgeProvider(Stack.of(scope));
  return lookUp;
}

function requireSameAccountAndRegion(topicArn: string, { account, region }: Stack): void {
  const topic = Arn.split(topicArn, ArnFormat.NO_RESOURCE_NAME);
  const problems = Object.entries({ account, region }).flatMap(([what, expected]) => {
    const actual = what === 'account' ? topic.account : topic.region;
    if (Token.isUnresolved(expected) || actual === expected) return [];
    return [`alarmTopicArn (the property alarmTopic) must be in the ${what} of the deployment, ${expected}`];
  });
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Acknowledges cdk-nag's finding for CDK's provider function of custom resources, of which a stack has only one. */
function acknowledgeProvider(stack: Stack): void {
  const provider = stack.node.tryFindChild(
    `AWS${AwsCustomResource.PROVIDER_FUNCTION_UUID.replaceAll('-', '')}`,
  );
  if (provider === undefined)
    throw new Error(
      'The provider of custom resources is not where this version of CDK is expected to place it.',
    );
  const role =
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]';
  acknowledge(provider, {
    id: role,
    reason:
      "CDK's function for custom resources has this role. It runs only during deployments, and writes logs.",
  });
}
