import { Arn, ArnFormat, RemovalPolicy, Stack, Token, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { AwsCustomResource, AwsCustomResourcePolicy, PhysicalResourceId } from 'aws-cdk-lib/custom-resources';
import { Construct } from 'constructs';
import { SettingsError } from '../../settings.ts';

export interface AlarmTopicProps {
  readonly topicArn: string;
  readonly logRetentionDays: RetentionDays;
}

/**
 * The operator's topic that alarms are told to. CloudWatch takes any ARN for an alarm's action and drops what it cannot send,
 * so the topic is looked up while it is deployed: one that does not exist fails the deployment.
 */
export class AlarmTopic extends Construct {
  readonly topic: ITopic;
  /** For alarms to depend on: none is made that nobody would hear. */
  readonly lookedUp: Construct;

  /** @throws SettingsError if the topic is of another region or account than the stack, as far as the stack knows its own. */
  constructor(scope: Construct, id: string, { topicArn, logRetentionDays }: AlarmTopicProps) {
    super(scope, id);
    refuseOthers(topicArn, Stack.of(this));
    this.topic = Topic.fromTopicArn(this, 'Topic', topicArn);
    const lookUp = {
      service: 'SNS',
      action: 'getTopicAttributes',
      parameters: { TopicArn: topicArn },
      physicalResourceId: PhysicalResourceId.of(topicArn),
      // Nothing of the answer is used but that there is one.
      outputPaths: ['Attributes.TopicArn'],
    };
    this.lookedUp = new AwsCustomResource(this, 'LookUp', {
      resourceType: 'Custom::AlarmTopicLookUp',
      onUpdate: lookUp,
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

function refuseOthers(topicArn: string, { account, region }: Stack): void {
  const topic = Arn.split(topicArn, ArnFormat.NO_RESOURCE_NAME);
  const problems = Object.entries({ account, region }).flatMap(([what, ours]) => {
    const theirs = what === 'account' ? topic.account : topic.region;
    if (Token.isUnresolved(ours) || theirs === ours) return [];
    return [`alarmTopicArn must be in the ${what} of the deployment, ${ours}`];
  });
  if (problems.length > 0) throw new SettingsError(problems);
}

/** The function that looks it up is CDK's, one for the whole stack. */
function acknowledgeProvider(topic: AlarmTopic): void {
  const provider = Stack.of(topic).node.tryFindChild(
    `AWS${AwsCustomResource.PROVIDER_FUNCTION_UUID.replaceAll('-', '')}`,
  );
  if (provider === undefined)
    throw new Error('the provider of custom resources is not where this version of CDK puts it');
  const role =
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]';
  Validations.of(provider).acknowledge({
    id: role,
    reason:
      "CDK's function for custom resources comes with this role. It runs while the topic is deployed, and writes logs.",
  });
}
