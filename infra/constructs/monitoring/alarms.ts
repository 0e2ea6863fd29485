import {
  type Alarm,
  type AlarmBase,
  AlarmRule,
  CompositeAlarm,
  type IAlarmRule,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Construct } from 'constructs';
import { AlarmTopic } from './alarm-topic.ts';
import { deliveryAlarms, partsOfAlarms } from './delivery-alarms.ts';
import { functionAlarms } from './function-alarms.ts';
import { alarmAs, descriptionOf, type PlannedAlarm } from './planned-alarm.ts';
import { queueAlarms } from './queue-alarms.ts';
import type { MonitoringProps, OwnMetrics } from './metrics.ts';

export interface AlarmsProps extends MonitoringProps {
  readonly own: OwnMetrics;
}

/** Each of these alone means that messages stay where they are. */
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
 * All alarms, each with its section in the runbook. None is raised because one subscriber is down: what such a subscriber can
 * bring about is either not watched, or watched together with something that it cannot.
 */
export class Alarms extends Construct {
  /** Those that tell somebody, the one to get up for first. */
  readonly telling: readonly AlarmBase[];

  constructor(scope: Construct, id: string, { own, ...props }: AlarmsProps) {
    super(scope, id);
    const { deployment, alarmTopicArn, logRetentionDays } = props.settings;
    const raise = (plan: PlannedAlarm): Alarm => alarmAs(this, deployment, plan);
    const plans = [...queueAlarms(props), ...deliveryAlarms(props, own), ...functionAlarms(props, own)];
    const alarms = plans.map((plan) => ({ id: plan.id, alarm: raise(plan) }));
    const standstill = alarms.filter((planned) => STANDSTILL.includes(planned.id)).map(({ alarm }) => alarm);
    const parts = partsOfAlarms(own);
    const severalFailing = raise(parts.severalFailing);

    const doNotFlow = this.together(deployment, {
      id: 'DeliveriesDoNotFlow',
      says: 'Deliveries do not flow: messages stay where they are, or most subscribers are out of reach.',
      rule: AlarmRule.anyOf(...standstill, AlarmRule.allOf(severalFailing, raise(parts.fewDelivered))),
    });
    const undeliverableRate = this.together(deployment, {
      id: 'UndeliverableRate',
      says: 'Several subscribers fail, and most deliveries that end do so undelivered.',
      rule: AlarmRule.allOf(severalFailing, raise(parts.mostlyUndeliverable)),
    });
    this.telling = [doNotFlow, undeliverableRate, ...alarms.map(({ alarm }) => alarm)];
    if (alarmTopicArn !== undefined) this.tell(alarmTopicArn, logRetentionDays);
  }

  private together(
    deployment: string,
    { id, says, rule }: Pick<PlannedAlarm, 'id' | 'says'> & { rule: IAlarmRule },
  ): CompositeAlarm {
    return new CompositeAlarm(this, id, {
      compositeAlarmName: `${deployment}-${id}`,
      alarmDescription: descriptionOf({ id, says }),
      alarmRule: rule,
    });
  }

  /** That they are raised, and that they are over. */
  private tell(topicArn: string, logRetentionDays: MonitoringProps['settings']['logRetentionDays']): void {
    const { topic, lookedUp } = new AlarmTopic(this, 'Topic', { topicArn, logRetentionDays });
    const action = new SnsAction(topic);
    for (const alarm of this.telling) {
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      alarm.node.addDependency(lookedUp);
    }
  }
}
