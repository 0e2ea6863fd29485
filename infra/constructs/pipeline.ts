import { Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { AdministrationApi } from './api/administration-api.ts';
import { ApiFunction, SecretsFunction } from './api/api-function.ts';
import { PortalFunction, PortalSessionRole } from './api/portal.ts';
import {
  DeliverFunction,
  DispatchFunction,
  OperateFunction,
  ReconcileFunction,
} from './functions/pipeline-functions.ts';
import { GradualUpgrades } from './functions/gradual-upgrades.ts';
import { OperatorEvents } from './functions/operator-events.ts';
import { addOutputs, type Outputs, tableOutputs } from './outputs.ts';
import { pipelineQueues } from './queues/pipeline-queues.ts';
import { RetrySchedules } from './queues/retry-schedules.ts';
import type { PipelineQueues } from './queues/sqs-queue.ts';
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
  /** Serves the page of customers, if the setting says so. */
  readonly portal: PortalFunction | undefined;
  /** The variables of workers, as JSON. */
  readonly workerEnvironment: string;
  /** Permissions of workers, unless `compute` is `lambda`. */
  readonly workerPolicies: WorkerPolicies | undefined;

  constructor(scope: Construct, id: string, { state }: PipelineProps) {
    super(scope, id);
    const { settings } = state;
    this.state = state;
    this.queues = pipelineQueues(this, settings);
    this.schedules = new RetrySchedules(this, 'Schedules', this.queues.retry, settings.local);
    this.operatorEvents = new OperatorEvents(this, 'OperatorEvents');

    const { queues, schedules, operatorEvents } = this;
    const parts = { settings, state, queues, schedules, operatorEvents };
    this.dispatch = new DispatchFunction(this, 'Dispatch', parts);
    this.deliver = new DeliverFunction(this, 'Deliver', parts);
    this.dispatch.updateAfter(this.deliver);
    this.reconcile = new ReconcileFunction(this, 'Reconcile', parts);
    this.operate = new OperateFunction(this, 'Operate', parts);
    const session = settings.portal ? new PortalSessionRole(this, 'PortalSession') : undefined;
    this.api = new ApiFunction(this, 'Api', parts, session?.role);
    this.secrets = new SecretsFunction(this, 'Secrets', parts);
    const { api: handler, secrets } = this;
    this.administration = new AdministrationApi(this, 'Administration', {
      settings,
      handler,
      secrets,
      servePortal: session && ((api) => new PortalFunction(this, 'Portal', { ...parts, session, api })),
    });
    this.portal = this.administration.portal;
    const { canaryMinutes: minutes, local } = settings;
    // The local AWS has no CodeDeploy.
    if (minutes !== 0 && !local)
      new GradualUpgrades(this, 'Upgrades', { settings, minutes, functions: guardedFunctions(this) });
    this.workerEnvironment = Stack.of(this).toJsonString(workerVariables(this, this));
    this.workerPolicies =
      settings.compute === 'lambda' ? undefined : new WorkerPolicies(this, 'WorkerPolicies', this);
    // Of the scope, so that those of a stack have no prefix.
    addOutputs(scope, pipelineOutputs(this));
    // So that the command finds all in the stack of the pipeline.
    if (state.node.scope !== scope) addOutputs(scope, tableOutputs(state));
  }
}

/**
 * The functions whose upgrades are gradual. Not operate and reconcile: a tenth of their few invocations shows nothing.
 * Nor those whose work is done by workers alone.
 */
function guardedFunctions({ state, dispatch, deliver, api, secrets, portal }: Pipeline) {
  const ofApi = { Api: api, Secrets: secrets, ...(portal && { Portal: portal }) };
  return state.settings.compute === 'worker' ? ofApi : { Dispatch: dispatch, Deliver: deliver, ...ofApi };
}

function pipelineOutputs(pipeline: Pipeline): Outputs {
  const { administration, queues, schedules, operatorEvents, state } = pipeline;
  return {
    PosthasteDeployment: [state.settings.deployment, 'Name of this deployment of Posthaste'],
    ApiUrl: [administration.url, 'URL of the administration API'],
    ApiId: [administration.apiId, 'Id of the HTTP API, for IAM policies'],
    ApiAuthorization: [state.settings.apiAuthorization.kind, 'How callers of the API authenticate'],
    IngressQueueUrl: [queues.ingress.url, 'Queue that producers send messages to'],
    DeliveryQueueUrl: [queues.delivery.url, 'Queue of first attempts'],
    RetryQueueUrl: [queues.retry.url, 'Queue of wake-ups for retries'],
    UndeliverableQueueUrl: [
      queues.undeliverable.url,
      'Notices of deliveries that were rejected or exhausted',
    ],
    IngressDeadLetterUrl: [queues.ingressDeadLetters.url, 'Dead letters of the ingress queue'],
    DeliveryDeadLetterUrl: [
      queues.deliveryDeadLetters.url,
      'Dead letters of the delivery queue and the retry queue',
    ],
    OperationQueueUrl: [queues.operation.url, 'Queue of recoveries and cancellations'],
    OperationDeadLetterUrl: [queues.operationDeadLetters.url, 'Dead letters of the operation queue'],
    SchedulerDeadLetterUrl: [schedules.deadLetters.url, 'Wake-ups that EventBridge Scheduler could not send'],
    OperatorEventBus: [operatorEvents.busName, 'EventBridge bus with events for operators'],
    ScheduleGroup: [schedules.groupName, 'EventBridge Scheduler group of retries'],
    DispatchFunction: [pipeline.dispatch.name, 'Function that matches messages with subscriptions'],
    DeliverFunction: [pipeline.deliver.name, 'Function that sends requests to subscribers'],
    ReconcileFunction: [pipeline.reconcile.name, 'Function that sends wake-ups for overdue deliveries'],
    OperateFunction: [pipeline.operate.name, 'Function that runs recoveries and cancellations'],
    ApiFunction: [pipeline.api.name, 'Function that serves the administration API'],
    SecretsFunction: [pipeline.secrets.name, 'Function that serves the routes that open secrets'],
    ...(pipeline.portal && {
      PortalUrl: [`${administration.url}/portal/`, 'Page of customers, opened by their links'],
      PortalFunction: [pipeline.portal.name, 'Function that serves the page of customers'],
    }),
    WorkerEnvironment: [pipeline.workerEnvironment, 'Variables of posthaste worker, as JSON'],
    ...(pipeline.workerPolicies && {
      WorkerPolicyArns: [
        pipeline.workerPolicies.arns.join(','),
        'Managed policies of workers, one for each step',
      ],
    }),
  };
}
