import { Duration } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { countedQueues, NodeFunction, type PipelineParts } from '../functions/node-function.ts';

/** An HTTP API times out after 30 s (API Gateway quotas). */
export const API_TIMEOUT = Duration.seconds(29);

/** Serves the administration API, except what opens secrets (`SecretsFunction`). */
export class ApiFunction extends NodeFunction {
  /** `portalSession`: the role of portal sessions, if there is a portal. */
  constructor(scope: Construct, id: string, parts: PipelineParts, portalSession?: IRole) {
    const { state, queues, schedules, operatorEvents } = parts;
    const { ingress, operation, delivery, retry } = queues;
    super(scope, id, {
      parts,
      entry: 'api',
      description: 'Posthaste: serves the administration API',
      timeout: API_TIMEOUT,
      ...(portalSession && { resources: { portalRoleArn: portalSession.roleArn } }),
      reservedConcurrency: parts.settings.apiConcurrency,
    });
    state.subscriptions.grantAdminister(this.role);
    state.deliveries.grantRead(this.role);
    state.deliveries.grantErase(this.role);
    state.payloads.grantGet(this.role);
    state.payloads.grantPut(this.role);
    state.secretsKey.grantSeal(this.role);
    state.deliveries.grantRecover(this.role);
    // Records the messages that it sends to one subscription: tests and confirmation requests.
    state.deliveries.grantAccept(this.role);
    state.deliveries.grantCountOverdue(this.role);
    operatorEvents.grantPublish(this.role);
    ingress.grantSend(this.role);
    operation.grantSend(this.role);
    delivery.grantSend(this.role);
    // For manual retries.
    retry.grantSend(this.role);
    schedules.grantUnschedule(this.role);
    for (const queue of Object.values(countedQueues(parts))) queue.grantCount(this.role);
  }
}

/** Serves the routes of the API that open secrets: receives by pull, which it signs, and exports of credentials. */
export class SecretsFunction extends NodeFunction {
  constructor(scope: Construct, id: string, parts: PipelineParts) {
    const { state } = parts;
    super(scope, id, {
      parts,
      entry: 'secrets',
      description: 'Posthaste: serves receives by pull and exports of credentials',
      timeout: API_TIMEOUT,
      reservedConcurrency: parts.settings.apiConcurrency,
    });
    state.subscriptions.grantRead(this.role);
    state.deliveries.grantReceive(this.role);
    state.payloads.grantGet(this.role);
    state.payloads.grantPut(this.role);
    state.secretsKey.grantOpen(this.role);
  }
}
