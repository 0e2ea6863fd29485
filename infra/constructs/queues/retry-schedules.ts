import { RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Grant, type IGrantable, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { acknowledgeWildcard } from '../acknowledged-wildcard.ts';
import { HoldingQueue, type WorkQueue } from './sqs-queue.ts';

const SCHEDULER = 'scheduler.amazonaws.com';

export interface RetrySchedulesProps {
  /** Where every schedule sends its wake-up. */
  readonly target: WorkQueue;
}

/** The one-shot schedules of retries further away, and the role that EventBridge Scheduler takes to fire them. */
export class RetrySchedules extends Construct {
  /** Wake-ups that Scheduler could not send; reconcile makes up for them. */
  readonly deadLetters: HoldingQueue;
  readonly groupName: string;
  readonly roleArn: string;
  private readonly role: Role;

  constructor(scope: Construct, id: string, { target }: RetrySchedulesProps) {
    super(scope, id);
    const group = new ScheduleGroup(this, 'Group', {
      // Its schedules are wake-ups for this pipeline's retry queue, of no use without it.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.groupName = group.scheduleGroupName;
    this.deadLetters = new HoldingQueue(this, 'DeadLetters');
    Validations.of(this.deadLetters).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason: 'It is a dead-letter queue: of the schedules, which name it one by one as they are created.',
    });

    // The source is the group, never one schedule (Scheduler user guide, "Confused deputy prevention").
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
    // Scheduler sends dead letters by the schedule's role as well (user guide, "Configuring a dead-letter queue").
    this.deadLetters.grantSend(this.role);
  }

  /** To create schedules in this group, with this role and no other. */
  grantSchedule(grantee: IGrantable): void {
    this.grantOnSchedules(grantee, 'scheduler:CreateSchedule');
    Grant.addToPrincipal({
      grantee,
      actions: ['iam:PassRole'],
      resourceArns: [this.roleArn],
      conditions: { StringEquals: { 'iam:PassedToService': SCHEDULER } },
    });
  }

  /** To take back a schedule of this group that nobody needs any more. */
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
      'A schedule of this group is made for each retry, under a name of its own.',
    );
    Grant.addToPrincipal({ grantee, actions: [action], resourceArns: [schedules] });
  }
}
