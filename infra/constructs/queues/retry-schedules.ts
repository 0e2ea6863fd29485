import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { acknowledgeWildcard } from '../findings.ts';
import { HoldingQueue, type WorkQueue } from './sqs-queue.ts';
import { acknowledge, ScheduleGroup } from '../newer-cdk.ts';

const SCHEDULER = 'scheduler.amazonaws.com';

/** The one-time schedules of retries with long delays, and the role that EventBridge Scheduler uses for them. */
export class RetrySchedules extends Construct {
  /** Wake-ups that Scheduler could not send. reconcile sends them again. */
  readonly deadLetters: HoldingQueue;
  readonly groupName: string;
  readonly roleArn: string;
  private readonly role: Role;

  /** `target`: the queue that schedules send wake-ups to. `disposable`: whether dead letters may be deleted. */
  constructor(scope: Construct, id: string, target: WorkQueue, disposable: boolean) {
    super(scope, id);
    const group = new ScheduleGroup(this, 'Group', {
      // The schedules are useless without this pipeline's retry queue.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.groupName = group.scheduleGroupName;
    this.deadLetters = new HoldingQueue(this, 'DeadLetters', disposable);
    acknowledge(this.deadLetters, {
      id: 'AwsSolutions-SQS3',
      reason: 'It is a dead-letter queue. Each schedule names it when it is created.',
    });

    // The source ARN is the group's, not a schedule's (Scheduler user guide, "Confused deputy prevention").
    this.role = new Role(this, 'Role', {
      description: 'Lets the retry schedules of Posthaste send to its retry queue',
      assumedBy: new ServicePrincipal(SCHEDULER, {
        conditions: {
          StringEquals: {
            'aws:SourceAccount': Stack.of(this).account,
            'aws:SourceArn': group.scheduleGroupArn,
          },
        },
      }),
    });
    this.roleArn = this.role.roleArn;
    target.grantSend(this.role);
    // Scheduler sends dead letters with the same role (user guide, "Configuring a dead-letter queue").
    this.deadLetters.grantSend(this.role);
  }

  /** Allows creating schedules in this group, with this role only. */
  grantSchedule(grantee: IGrantable): void {
    this.grantOnSchedules(grantee, 'scheduler:CreateSchedule');
    Grant.addToPrincipal({
      grantee,
      actions: ['iam:PassRole'],
      resourceArns: [this.roleArn],
      conditions: { StringEquals: { 'iam:PassedToService': SCHEDULER } },
    });
  }

  /** Allows deleting schedules of this group. */
  grantUnschedule(grantee: IGrantable): void {
    this.grantOnSchedules(grantee, 'scheduler:DeleteSchedule');
  }

  private grantOnSchedules(grantee: IGrantable, action: string): void {
    const schedules = Stack.of(this).formatArn({
      service: 'scheduler',
      resource: 'schedule',
      resourceName: `${this.groupName}/*`,
    });
    acknowledgeWildcard(
      grantee,
      schedules,
      'Each retry has a separate schedule in this group, whose name is known only at run time.',
    );
    Grant.addToPrincipal({ grantee, actions: [action], resourceArns: [schedules] });
  }
}
