import { Construct } from 'constructs';
import type { DeploymentSettings } from '../settings.ts';
import { AdministrationApi } from './administration-api.ts';
import { ApiFunction } from './api-function.ts';
import { DeliverFunction } from './deliver-function.ts';
import { DispatchFunction } from './dispatch-function.ts';
import { ReconcileFunction } from './reconcile-function.ts';
import { RetrySchedules } from './retry-schedules.ts';
import { HoldingQueue, WorkQueue } from './sqs-queue.ts';
import type { State } from './state.ts';

export interface PipelineProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
}

/** What moves messages (design §2). The ids of the queues are final: one that moves in the tree loses its messages. */
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
  readonly schedules: RetrySchedules;
  readonly dispatch: DispatchFunction;
  readonly deliver: DeliverFunction;
  readonly reconcile: ReconcileFunction;
  readonly api: ApiFunction;
  readonly administration: AdministrationApi;

  constructor(scope: Construct, id: string, { settings, state }: PipelineProps) {
    super(scope, id);
    this.ingressDeadLetters = new HoldingQueue(this, 'IngressDeadLetters');
    this.ingress = new WorkQueue(this, 'Ingress', {
      consumerTimeout: DispatchFunction.timeout,
      deadLetters: this.ingressDeadLetters,
    });

    this.deliveryDeadLetters = new HoldingQueue(this, 'DeliveryDeadLetters');
    const attempts = {
      consumerTimeout: DeliverFunction.timeout(settings),
      deadLetters: this.deliveryDeadLetters,
    };
    this.delivery = new WorkQueue(this, 'Delivery', attempts);
    this.retry = new WorkQueue(this, 'Retry', attempts);
    this.undeliverable = new HoldingQueue(this, 'Undeliverable');
    this.schedules = new RetrySchedules(this, 'Schedules', { target: this.retry });

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
      schedules,
    });
    this.reconcile = new ReconcileFunction(this, 'Reconcile', { settings, state, retry });
    this.api = new ApiFunction(this, 'Api', { settings, state, ingress });
    this.administration = new AdministrationApi(this, 'Administration', { settings, handler: this.api });
  }
}
