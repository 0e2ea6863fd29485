import type { CloudWatch, MetricAlarm } from '@aws-sdk/client-cloudwatch';
import { type Check, failed, judge, notShown, type Outcome, passed, Refuted } from '../check.ts';
import { takeDeadLetters } from '../scenario.ts';
import { pollUntil } from '../../../../local/poll-until.ts';
import type { World } from '../world.ts';

/** SQS measures a queue each minute, and one that was unused only after some minutes more. */
const RAISED_SECONDS = 600;

/** Written into every notification that a check causes. */
const TEST = 'TEST by posthaste accept: nothing is wrong, and nothing has to be done.';

export const alarmChecks: readonly Check[] = [
  {
    id: 'alarm-actions',
    title: 'The alarms notify: one is raised as a test, and set back',
    seconds: 30,
    alone: true,
    run: async (world) => {
      const cloudWatch = await openCloudWatch(world);
      // Not one that the check below raises: only a change of its state is an action.
      const alarm = await findAlarm(world, cloudWatch, 'SchedulerDeadLetters');
      const { AlarmName = '', StateValue: state, ActionsEnabled: areEnabled } = alarm;
      const { AlarmActions: actions = [] } = alarm;
      if (actions.length === 0)
        return notShown(`${AlarmName} notifies no topic: the setting alarmTopicArn is not set`);
      if (state === 'ALARM') return notShown(`${AlarmName} is raised already, for a reason`);
      if (areEnabled === false)
        return failed(
          `the actions of ${AlarmName} are disabled`,
          `aws cloudwatch enable-alarm-actions --alarm-names ${AlarmName}`,
        );
      return judgeAction(world, AlarmName, await raise(world, cloudWatch, AlarmName));
    },
  },
  {
    id: 'alarms-raised',
    title: 'A dead letter of ingress and one of delivery raise their alarms',
    seconds: RAISED_SECONDS,
    run: async (world) => {
      if (world.isLocal) return notShown('the local AWS measures no queues');
      const cloudWatch = await openCloudWatch(world);
      const { deployment, prefix, sqs } = world;
      const queues = [deployment.ingressDeadLetterUrl, deployment.deliveryDeadLetterUrl];
      for (const QueueUrl of queues) {
        world.undo.add({
          what: `the test message in ${QueueUrl}`,
          command: `aws sqs receive-message --queue-url ${QueueUrl}, then delete-message for the one with ${prefix}`,
          remove: () => takeDeadLetters(world, QueueUrl),
        });
        await sqs.sendMessage({
          QueueUrl,
          MessageBody: JSON.stringify({ test: TEST, prefix, kept: 'alarms' }),
        });
      }
      const raised = await pollUntil(
        async () => {
          const ids = ['IngressDeadLetters', 'DeliveryDeadLetters'];
          const alarms = await Promise.all(ids.map((id) => findAlarm(world, cloudWatch, id)));
          return alarms.every(({ StateValue: state }) => state === 'ALARM') ? alarms : undefined;
        },
        { withinMs: RAISED_SECONDS * 1000, interval: { floor: 10, ceiling: 15 }, signal: world.signal },
      );
      return raised === undefined
        ? failed(
            `not raised within ${RAISED_SECONDS} s`,
            'Do the alarms watch the queues of this deployment? Deploy the stack with the alarms again.',
          )
        : passed('both raised; the messages are removed at the end, and the alarms end by themselves');
    },
  },
  {
    id: 'service-quota',
    title: 'The alarm on the concurrency of the account has a value',
    seconds: 10,
    run: async (world) => {
      if (world.isLocal) return notShown('the local AWS has no SERVICE_QUOTA');
      const cloudWatch = await openCloudWatch(world);
      const alarm = await findAlarm(world, cloudWatch, 'AccountConcurrency');
      const now = Date.now();
      const { MetricDataResults: results = [] } = await cloudWatch.getMetricData({
        MetricDataQueries: alarm.Metrics,
        StartTime: new Date(now - 3 * 3_600_000),
        EndTime: new Date(now),
      });
      const [value] = results.flatMap(({ Values: values = [] }) => values);
      return judge(
        [value === undefined && 'its expression with SERVICE_QUOTA gives no value in three hours'],
        `${value} % of the concurrency in use`,
        'Without invocations there is none: run it again. If it stays so, report it: the alarm has to go.',
      );
    },
  },
];

/** Raises an alarm as a test, sets it back, and returns what the history says of its action. */
async function raise(
  { signal }: World,
  cloudWatch: CloudWatch,
  AlarmName: string,
): Promise<string | undefined> {
  const startedAt = new Date();
  await cloudWatch.setAlarmState({ AlarmName, StateValue: 'ALARM', StateReason: TEST });
  try {
    const request = { AlarmName, HistoryItemType: 'Action', StartDate: startedAt } as const;
    return await pollUntil(
      async () => (await cloudWatch.describeAlarmHistory(request)).AlarmHistoryItems?.[0]?.HistorySummary,
      { withinMs: 20_000, interval: { floor: 1, ceiling: 2 }, signal },
    );
  } finally {
    await cloudWatch.setAlarmState({ AlarmName, StateValue: 'OK', StateReason: TEST });
  }
}

function judgeAction({ isLocal }: World, name: string, result: string | undefined): Outcome {
  if (result?.startsWith('Success') === true) return passed(`${name}: ${result}`);
  if (result !== undefined)
    return failed(`${name}: ${result}`, 'Let CloudWatch publish to the topic: its policy and its key.');
  return isLocal
    ? notShown('the local AWS keeps no history of actions')
    : failed(`${name} was raised, and took no action`, 'See the history of the alarm in CloudWatch.');
}

async function openCloudWatch({ deployment }: World): Promise<CloudWatch> {
  const { CloudWatch } = await import('@aws-sdk/client-cloudwatch');
  return new CloudWatch(deployment.client);
}

/** @throws Refuted if there is no such alarm */
async function findAlarm({ name }: World, cloudWatch: CloudWatch, id: string): Promise<MetricAlarm> {
  const AlarmNames = [`${name}-${id}`];
  const { MetricAlarms: [alarm] = [] } = await cloudWatch.describeAlarms({ AlarmNames });
  if (alarm === undefined)
    throw new Refuted(
      `there is no alarm ${AlarmNames[0]}`,
      'Deploy the stack with the alarms: npx cdk deploy --all.',
    );
  return alarm;
}
