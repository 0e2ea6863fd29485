import { Arn, ArnFormat, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { AwsCustomResource, AwsCustomResourcePolicy, PhysicalResourceId } from 'aws-cdk-lib/custom-resources';
import { Construct } from 'constructs';
import { SettingsError } from '../../settings.ts';
import { acknowledge } from '../newer-cdk.ts';

export interface AlarmTopicProps {
  readonly topicArn: string;
  readonly logRetentionDays: RetentionDays;
}

/**
 * The operator's SNS topic for alarms. CloudWatch accepts any ARN as an alarm's action and silently drops what it
 * cannot send, so the deployment looks the topic up and fails if it does not exist.
 */
export class AlarmTopic extends Construct {
  readonly topic: ITopic;
  /** Alarms depend on it, so that none is created before the topic is known to exist. Absent for a topic of the app. */
  readonly lookUp?: Construct;

  /**
   * @throws SettingsError if the topic is in another region or account than the stack, if these are known
   */
  constructor(scope: Construct, id: string, { topicArn, logRetentionDays }: AlarmTopicProps) {
    super(scope, id);
    this.topic = Topic.fromTopicArn(this, 'Topic', topicArn);
    if (Token.isUnresolved(topicArn)) return;
    requireSameAccountAndRegion(topicArn, Stack.of(this));
    const call = {
      service: 'SNS',
      action: 'getTopicAttributes',
      parameters: { TopicArn: topicArn },
      physicalResourceId: PhysicalResourceId.of(topicArn),
      // Only the existence of the topic matters.
      outputPaths: ['Attributes.TopicArn'],
    };
    this.lookUp = new AwsCustomResource(this, 'LookUp', {
      resourceType: 'Custom::AlarmTopicLookUp',
      onUpdate: call,
      policy: AwsCustomResourcePolicy.fromStatements([
        new PolicyStatement({ actions: ['sns:GetTopicAttributes'], resources: [topicArn] }),
      ]),
      installLatestAwsSdk: false,
      logGroup: new LogGroup(this, 'Log', {
        retention: logRetentionDays,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
    });
    acknowledgeProvider(this);
  }
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
function acknowledgeProvider(topic: AlarmTopic): void {
  const provider = Stack.of(topic).node.tryFindChild(
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
