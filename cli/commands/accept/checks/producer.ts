import { encodeMessage } from '../../../../client/message.ts';
import { variables } from '../../../../shared/config/resources.ts';
import type { Deployment } from '../../../deployment.ts';
import { type Check, isNotPermitted, judge, notShown } from '../check.ts';
import { createQueue } from '../scenario.ts';
import { readOutputsBeside } from '../stacks.ts';
import type { World } from '../world.ts';

/** What no simulation shows: whether a policy of a queue, a key or a function lets more callers in than IAM does. */
export const producerChecks: readonly Check[] = [
  {
    id: 'producer',
    title: 'A role that may publish can do nothing else',
    seconds: 10,
    run: async (world) => {
      const { ProducerRoleArn: role } = await readOutputsBeside(world, 'Acceptance');
      if (role === undefined) return notShown(DEPLOY_ROLE);
      const assumed = await assumeRole(world, role);
      if (typeof assumed === 'string') return notShown(`your credentials cannot assume ${role}: ${assumed}`);
      const tries = await tryAll(world, { ...world.deployment.client, credentials: assumed });
      const faults = Object.entries(tries).map(([what, answer]) => {
        const expected = what === PUBLISH ? 'allowed' : 'denied';
        return answer !== expected && `to ${what} is ${answer}, not ${expected}`;
      });
      return judge(
        faults,
        `allowed to publish, denied ${Object.keys(tries).length - 1} other calls`,
        'See the policies of that queue, table, key or function, and of the role ProducerRoleArn: what the templates do not have, remove.',
      );
    },
  },
];

const DEPLOY_ROLE =
  'no stack has a role to try it with: deploy that of the receiver with -c ingressQueueUrl=… (docs/operations.md, "After you deploy")';

/** Credentials of a role for a quarter of an hour; or why STS gives none. */
async function assumeRole({ deployment }: World, RoleArn: string) {
  const { STS } = await import('@aws-sdk/client-sts');
  const sts = new STS(deployment.client);
  try {
    const assumed = await sts.assumeRole({
      RoleArn,
      RoleSessionName: 'posthaste-accept',
      DurationSeconds: 900,
    });
    const { AccessKeyId = '', SecretAccessKey = '', SessionToken = '' } = assumed.Credentials ?? {};
    return { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken };
  } catch (error) {
    if (error instanceof Error && isNotPermitted(error)) return error.message;
    throw error;
  } finally {
    sts.destroy();
  }
}

const PUBLISH = 'publish';

/** What AWS answers to calls with these credentials. If one is allowed by mistake, it changes nothing. */
async function tryAll(world: World, client: Deployment['client']): Promise<Record<string, string>> {
  const [{ DynamoDB }, { KMS }, { Lambda }, { sqsClient }] = await Promise.all([
    import('@aws-sdk/client-dynamodb'),
    import('@aws-sdk/client-kms'),
    import('@aws-sdk/client-lambda'),
    import('../../../../shared/adapters/sqs/client.ts'),
  ]);
  const { deployment, settings } = world;
  const { ingressQueueUrl: QueueUrl, subscriptionsTable: TableName } = deployment;
  const sqs = sqsClient(client);
  const queue = await createQueue(world, 'producer');
  const MessageBody = encodeMessage({ queue, data: { check: 'producer' } }, 0).body;
  const KeyId = settings[variables.secretsKeyArn] ?? '';
  const { CiphertextBlob } = await new KMS(deployment.client).encrypt({ KeyId, Plaintext: Buffer.from('x') });
  const Key = { pk: { S: queue }, sk: { S: queue } };
  const tries = {
    [PUBLISH]: sqs.sendMessage({ QueueUrl, MessageBody }),
    'receive messages': sqs.receiveMessage({ QueueUrl, VisibilityTimeout: 0 }),
    'read subscriptions': new DynamoDB(client).getItem({ TableName, Key }),
    'decrypt secrets': new KMS(client).decrypt({ KeyId, CiphertextBlob }),
    'invoke deliver': new Lambda(client).invoke({
      FunctionName: deployment.functions.deliver,
      InvocationType: 'DryRun',
    }),
  };
  const answers = await Promise.all(
    Object.entries(tries).map(async ([what, call]) => [what, await readAnswer(call)] as const),
  );
  sqs.destroy();
  return Object.fromEntries(answers);
}

async function readAnswer(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'allowed';
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return isNotPermitted(error) ? 'denied' : error.name;
  }
}
