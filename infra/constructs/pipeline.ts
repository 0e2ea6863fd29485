import { Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { AdministrationApi } from './api/administration-api.ts';
import { ApiFunction, SecretsFunction } from './api/api-function.ts';
import { DeliverFunction } from './functions/deliver-function.ts';
import { DispatchFunction } from './functions/dispatch-function.ts';
import { OperateFunction } from './functions/operate-function.ts';
import { OperatorEvents } from './functions/operator-events.ts';
import { ReconcileFunction } from './functions/reconcile-function.ts';
import { addOutputs, pipelineOutputs } from './outputs.ts';
import { type PipelineQueues, pipelineQueues } from './queues/pipeline-queues.ts';
import { RetrySchedules } from './queues/retry-schedules.ts';
import type { State } from './state/state.ts';
import { workerVariables, WorkerPolicies } from './workers.ts';

export interface PipelineProps {
  /** Its properties apply to the pipeline, too. */
  readonly state: State;
}

/** Queues, functions, schedules and the API (docs/concepts.md#the-flow). */
export class Pipeline extends Construct {
  readonly state: State;
  readonly queues: PipelineQueues;
  readonly schedules: RetrySchedules;
  readonly operatorEvents: OperatorEvents;
  readonly dispatch: DispatchFunction;
  readonly deliver: DeliverFunction;
  readonly reconcile: ReconcileFunction;
  readonly operate: OperateFunction;
  readonly api: ApiFunction;
  readonly secrets: SecretsFunction;
  readonly administration: AdministrationApi;
  /** The variables of workers, as JSON. */
  readonly workerEnvironment: string;
  /** Permissions of workers, unless `compute` is `lambda`. */
  readonly workerPolicies: WorkerPolicies | undefined;

  constructor(scope: Construct, id: string, { state }: PipelineProps) {
    super(scope, id);
    const { settings } = state;
    this.state = state;
    this.queues = pipelineQueues(this, settings);
    this.schedules = new RetrySchedules(this, 'Schedules', { target: this.queues.retry });
    this.operatorEvents = new OperatorEvents(this, 'OperatorEvents');

    const { queues, schedules, operatorEvents } = this;
    const parts = { settings, state, ...queues, schedules, operatorEvents };
    this.dispatch = new DispatchFunction(this, 'Dispatch', parts);
    this.deliver = new DeliverFunction(this, 'Deliver', {
      ...parts,
      network: state.staticAddresses?.network ?? settings.vpc,
    });
    this.dispatch.updateAfter(this.deliver);
    this.reconcile = new ReconcileFunction(this, 'Reconcile', parts);
    this.operate = new OperateFunction(this, 'Operate', parts);
    this.api = new ApiFunction(this, 'Api', { settings, state, queues, schedules, operatorEvents });
    this.secrets = new SecretsFunction(this, 'Secrets', { settings, state });
    const { api: handler, secrets } = this;
    this.administration = new AdministrationApi(this, 'Administration', { settings, handler, secrets });
    this.workerEnvironment = Stack.of(this).toJsonString(workerVariables(this, this));
    this.workerPolicies =
      settings.compute === 'lambda' ? undefined : new WorkerPolicies(this, 'WorkerPolicies', this);
    // Of the scope, so that those of a stack have no prefix.
    addOutputs(scope, pipelineOutputs(this));
  }
}
