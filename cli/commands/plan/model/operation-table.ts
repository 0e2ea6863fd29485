import { z } from 'zod';
import { counters } from './units.ts';

const units = z.record(z.enum(counters), z.number());

const pathCount = z.object({
  /** What its deliveries go through. */
  path: z.enum([
    'delivered',
    'delivered_two',
    'delivered_ten',
    'delivered_hundred',
    'delivered_from_bucket',
    'retried_at_once',
    'retried_at_once_in_ten',
    'retried_by_sqs',
    'retried_by_sqs_thrice',
    'retried_by_sqs_from_bucket',
    'retried_by_scheduler',
    'exhausted',
  ]),
  messages: z.number().int().positive(),
  fanOut: z.number().int().positive(),
  payloadBytes: z.number().int().positive(),
  /** How often Lambda ran dispatch for it, and deliver for first attempts and for retries: it depends on how full batches were. */
  invocations: z.object({ dispatch: z.number(), first: z.number(), retry: z.number() }),
  /** All that the function did for the whole path, what every invocation costs by itself left out. */
  dispatch: units,
  deliver: units,
});

/** Read units, and the calls that ask for them. */
const sharedRead = z.object({ units: z.number(), calls: z.number() });

/** Bytes of what holds the members of a chunk: its own, and what each of them adds. */
const byMembers = z.object({ shared: z.number(), member: z.number() });

const perInvocation = z.object({ memoryMegabytes: z.number(), logBytes: z.number(), cpuMs: z.number() });

/** What `npm run bench:operations` counted (cli/commands/plan/operations.json). */
export const operationTableSchema = z.object({
  measuredAt: z.iso.datetime(),
  machine: z.object({ cpus: z.number(), model: z.string(), node: z.string(), memoryGigabytes: z.number() }),
  /** Settings of the measured deployment that matter here. */
  settings: z.record(z.string(), z.string()),
  paths: z.array(pathCount),
  perInvocation: z.object({ dispatch: perInvocation, deliver: perInvocation, reconcile: perInvocation }),
  /**
   * What the records of one invocation read together: dispatch a queue with its subscription, and more where there are more
   * of them; deliver, for first attempts, the queue, and each subscription among them. Retries read for themselves.
   */
  sharedReads: z.object({
    dispatch: sharedRead,
    furtherSubscription: sharedRead,
    queue: sharedRead,
    subscription: sharedRead,
  }),
  /** One run of reconcile that finds nothing. */
  reconcile: units,
  /** Bytes of a DELIVERY item after each attempt of one that ran out of retries: first the one after attempt 1. */
  deliveryItemBytes: z.array(z.number()).min(2),
  /** Bytes of a CHUNK item as it is claimed, and when all its members have succeeded. */
  chunkItemBytes: z.object({ claimed: byMembers, recorded: byMembers }),
  /** Bytes of a MESSAGE item that keeps no body. */
  messageItemBytes: z.number(),
  /** Bytes that are not the payload: of a message to the ingress queue, of a job for one delivery and for a chunk, of a wake-up, of a request to a subscriber. */
  envelopeBytes: z.object({
    ingress: z.number(),
    job: z.number(),
    chunkJob: byMembers,
    wakeUp: z.number(),
    request: z.number(),
  }),
  monitoring: z.object({
    metrics: z.number(),
    /** Metrics that alarms look at, each as often as one does: CloudWatch charges by these. */
    alarmMetrics: z.number(),
    compositeAlarms: z.number(),
    dashboards: z.number(),
    keys: z.number(),
  }),
});

export type OperationTable = z.output<typeof operationTableSchema>;
export type PathCount = z.output<typeof pathCount>;
export type PathName = PathCount['path'];
