import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { localAws } from './local-aws.ts';

/** Where a deployed system is reached. */
export type Endpoints = {
  endpoint: string;
  region: string;
  apiUrl: string;
  ingressQueueUrl: string;
  deliveryQueueUrl: string;
  retryQueueUrl: string;
  undeliverableQueueUrl: string;
  ingressDeadLetterUrl: string;
  deliveryDeadLetterUrl: string;
  subscriptionsTable: string;
  deliveriesTable: string;
  scheduleGroup: string;
  functions: { dispatch: string; deliver: string; reconcile: string; api: string };
};

const outputsSchema = z.object({
  ApiId: z.string(),
  IngressQueueUrl: z.string(),
  DeliveryQueueUrl: z.string(),
  RetryQueueUrl: z.string(),
  UndeliverableQueueUrl: z.string(),
  IngressDeadLetterUrl: z.string(),
  DeliveryDeadLetterUrl: z.string(),
  SubscriptionsTable: z.string(),
  DeliveriesTable: z.string(),
  ScheduleGroup: z.string(),
  DispatchFunction: z.string(),
  DeliverFunction: z.string(),
  ReconcileFunction: z.string(),
  ApiFunction: z.string(),
});

/** The stacks' outputs, as a program on this machine uses them: the API's own host name does not resolve here. */
export const endpointsOf = (endpoint: string, outputs: unknown): Endpoints => {
  const of = outputsSchema.parse(outputs);
  return {
    endpoint,
    region: localAws.region,
    apiUrl: `${endpoint}/_aws/execute-api/${of.ApiId}/$default`,
    ingressQueueUrl: of.IngressQueueUrl,
    deliveryQueueUrl: of.DeliveryQueueUrl,
    retryQueueUrl: of.RetryQueueUrl,
    undeliverableQueueUrl: of.UndeliverableQueueUrl,
    ingressDeadLetterUrl: of.IngressDeadLetterUrl,
    deliveryDeadLetterUrl: of.DeliveryDeadLetterUrl,
    subscriptionsTable: of.SubscriptionsTable,
    deliveriesTable: of.DeliveriesTable,
    scheduleGroup: of.ScheduleGroup,
    functions: {
      dispatch: of.DispatchFunction,
      deliver: of.DeliverFunction,
      reconcile: of.ReconcileFunction,
      api: of.ApiFunction,
    },
  };
};

/** Whole or not at all: a program that waits for the file may read it at any moment. */
export const writeEndpoints = (file: string, endpoints: Endpoints): void => {
  mkdirSync(dirname(file), { recursive: true });
  const partial = `${file}.partial`;
  writeFileSync(partial, `${JSON.stringify(endpoints, undefined, 2)}\n`);
  renameSync(partial, file);
};

export const removeEndpoints = (file: string): void => {
  rmSync(file, { force: true });
};
