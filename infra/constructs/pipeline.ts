import { Duration, Validations } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../settings.ts';
import { AdministrationApi } from './api/administration-api.ts';
import { ApiFunction } from './api/api-function.ts';
import { DeliverFunction } from './functions/deliver-function.ts';
import { DispatchFunction } from './functions/dispatch-function.ts';
import type { Network } from './functions/network-placement.ts';
import { OperateFunction } from './functions/operate-function.ts';
import { OperatorEvents } from './functions/operator-events.ts';
import { ReconcileFunction } from './functions/reconcile-function.ts';
import { RetrySchedules } from './queues/retry-schedules.ts';
import { HoldingQueue, WorkQueue } from './queues/sqs-queue.ts';
import type { State } from './state/state.ts';

export interface PipelineProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  /** Where subscribers are called from. @default what the settings say */
  readonly network?: Network | undefined;
}

/** What moves messages (docs/design.md#2-the-flow). The ids of the queues are final: one that moves in the tree loses its messages. */
export class Pipeline extends Construct {
  readonly ingressDeadLetters: HoldingQueue;
  readonly ingress: WorkQueue;
  readonly deliveryDeadLetters: HoldingQueue;
  /** First attempts. */
  readonly delivery: WorkQueue;
  /** Wake-ups. */
  readonly retry: WorkQueue;
  /** Deliveries that subscribers refused or that ran out of retries, for whoever wants them. */
  readonly undeliverable: HoldingQueue;
  /** What operators are told. */
  readonly operatorEvents: OperatorEvents;
  readonly schedules: RetrySchedules;
  readonly operationDeadLetters: HoldingQueue;
  /** Orders of long work. */
  readonly operation: WorkQueue;
  readonly dispatch: DispatchFunction;
  readonly deliver: DeliverFunction;
  readonly reconcile: ReconcileFunction;
  readonly operate: OperateFunction;
  readonly api: ApiFunction;
  readonly administration: AdministrationApi;

  constructor(scope: Construct, id: string, props: PipelineProps) {
    super(scope, id);
    const { settings, state } = props;
    this.ingressDeadLetters = new HoldingQueue(this, 'IngressDeadLetters');
    this.ingress = new WorkQueue(this, 'Ingress', {
      consumerTimeout: DispatchFunction.timeout,
      window: Duration.seconds(settings.batchWindowSeconds),
      deadLetters: this.ingressDeadLetters,
    });
    for (const service of ['sns', 'events']) {
      const senders = settings.ingressSenders.filter((arn) => arn.split(':')[2] === service);
      this.ingress.grantSendFrom(`${service}.amazonaws.com`, senders);
    }

    this.deliveryDeadLetters = new HoldingQueue(this, 'DeliveryDeadLetters');
    const attempts = {
      consumerTimeout: DeliverFunction.timeout(settings),
      deadLetters: this.deliveryDeadLetters,
    };
    this.delivery = new WorkQueue(this, 'Delivery', {
      ...attempts,
      window: Duration.seconds(settings.batchWindowSeconds),
    });
    this.retry = new WorkQueue(this, 'Retry', attempts);
    this.undeliverable = new HoldingQueue(this, 'Undeliverable');
    Validations.of(this.undeliverable).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'Nothing of ours receives from it: who does decides what becomes of a notice that cannot be read.',
    });
    this.operatorEvents = new OperatorEvents(this, 'OperatorEvents');
    this.schedules = new RetrySchedules(this, 'Schedules', { target: this.retry });

    this.operationDeadLetters = new HoldingQueue(this, 'OperationDeadLetters');
    this.operation = new WorkQueue(this, 'Operation', {
      consumerTimeout: OperateFunction.timeout,
      deadLetters: this.operationDeadLetters,
    });

    const { ingress, ingressDeadLetters, delivery, deliveryDeadLetters, retry, undeliverable, schedules } =
      this;
    this.dispatch = new DispatchFunction(this, 'Dispatch', {
      settings,
      state,
      ingress,
      ingressDeadLetters,
      delivery,
    });
    this.deliver = new DeliverFunction(this, 'Deliver', {
      settings,
      state,
      delivery,
      retry,
      deliveryDeadLetters,
      undeliverable,
      operatorEvents: this.operatorEvents,
      schedules,
      network: props.network ?? state.staticAddresses?.network ?? settings.vpc,
    });
    this.dispatch.updateAfter(this.deliver);
    this.reconcile = new ReconcileFunction(this, 'Reconcile', { settings, state, retry });
    this.operate = new OperateFunction(this, 'Operate', {
      settings,
      state,
      operation: this.operation,
      operationDeadLetters: this.operationDeadLetters,
      retry,
      schedules,
    });
    this.api = new ApiFunction(this, 'Api', {
      settings,
      state,
      operatorEvents: this.operatorEvents,
      ingress,
      operation: this.operation,
      delivery,
      retry,
      schedules,
      queues: {
        ingress,
        delivery,
        retry,
        operation: this.operation,
        undeliverable,
        ingressDeadLetters,
        deliveryDeadLetters,
        schedulerDeadLetters: schedules.deadLetters,
        operationDeadLetters: this.operationDeadLetters,
      },
    });
    this.administration = new AdministrationApi(this, 'Administration', { settings, handler: this.api });
  }
}
