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
import { deliveryAlarms, componentAlarms } from './delivery-alarms.ts';
import { functionAlarms } from './function-alarms.ts';
import { createAlarm, descriptionOf, type PlannedAlarm } from './planned-alarm.ts';
import { queueAlarms } from './queue-alarms.ts';
import type { Monitored, PosthasteMetrics } from './metrics.ts';

export interface AlarmsProps extends Monitored {
  readonly metricOf: PosthasteMetrics;
}

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

  constructor(scope: Construct, id: string, { metricOf, ...props }: AlarmsProps) {
    super(scope, id);
    const { alarmTopicArn, logRetentionDays } = props.settings;
    const raise = (id: string, plan: PlannedAlarm): Alarm => createAlarm(this, id, props.settings, plan);
    const plans = {
      ...queueAlarms(props),
      ...deliveryAlarms(props, metricOf),
      ...functionAlarms(props, metricOf),
    };
    const alarms = Object.entries(plans).map(([id, plan]) => ({ id, alarm: raise(id, plan) }));
    const standstill = alarms.filter(({ id }) => STANDSTILL.includes(id)).map(({ alarm }) => alarm);
    const { SeveralFailing, FewDelivered, MostlyUndeliverable } = componentAlarms(metricOf);
    const severalFailing = raise('SeveralFailing', SeveralFailing);

    const doNotFlow = this.composite('DeliveriesDoNotFlow', props.settings, {
      summary:
        'Deliveries do not flow: messages are stuck in a queue, or several subscribers fail and most deliveries do not succeed.',
      rule: AlarmRule.anyOf(
        ...standstill,
        AlarmRule.allOf(severalFailing, raise('FewDelivered', FewDelivered)),
      ),
    });
    const undeliverableRate = this.composite('UndeliverableRate', props.settings, {
      summary: 'Several subscribers fail, and most deliveries that end are rejected or exhausted.',
      rule: AlarmRule.allOf(severalFailing, raise('MostlyUndeliverable', MostlyUndeliverable)),
    });
    this.notifying = [doNotFlow, undeliverableRate, ...alarms.map(({ alarm }) => alarm)];
    if (alarmTopicArn !== undefined) this.notify(alarmTopicArn, logRetentionDays);
  }

  private composite(
    id: string,
    { deployment, runbookUrl }: Monitored['settings'],
    { summary, rule }: { summary: string; rule: IAlarmRule },
  ): CompositeAlarm {
    return new CompositeAlarm(this, id, {
      compositeAlarmName: `${deployment}-${id}`,
      alarmDescription: descriptionOf(summary, id, runbookUrl),
      alarmRule: rule,
    });
  }

  /** Notifies the topic when an alarm is raised and when it is over. */
  private notify(topicArn: string, logRetentionDays: Monitored['settings']['logRetentionDays']): void {
    const { topic, lookUp } = new AlarmTopic(this, 'Topic', { topicArn, logRetentionDays });
    const action = new SnsAction(topic);
    for (const alarm of this.notifying) {
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      if (lookUp !== undefined) alarm.node.addDependency(lookUp);
    }
  }
}
