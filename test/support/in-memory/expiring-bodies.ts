import { DAY_MS } from '../../../shared/domain/duration.ts';
import type { PipelineWorld } from './pipeline-world.ts';
import { longestScheduleMs } from '../../../shared/domain/retry/policy-schema.ts';

type Expiring = Pick<PipelineWorld, 'clock' | 'messageRecords' | 'payloads' | 'settings'>;

/** Deletes message records at their expiry, and objects by the rule of the payload bucket. */
export const withExpiringBodies = ({ clock, messageRecords, payloads, settings }: Expiring): void => {
  const [find, put, get] = [
    messageRecords.find.bind(messageRecords),
    payloads.put.bind(payloads),
    payloads.get.bind(payloads),
  ];
  const putAt = new Map<string, number>();
  const ruleMs = settings.retentionMs + longestScheduleMs(settings.retryAfterCapMs) + DAY_MS;
  messageRecords.find = async (key) => {
    const record = await find(key);
    return record !== undefined && record.expiresAt > clock.now() ? record : undefined;
  };
  payloads.put = (key, message) => {
    putAt.set(key, clock.now());
    return put(key, message);
  };
  payloads.get = async (key) =>
    clock.now() - (putAt.get(key) ?? clock.now()) < ruleMs ? get(key) : undefined;
};
