import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { valueOf } from './rules.ts';

/** The periods that CloudWatch Logs knows, except forever: logs of ours are always forgotten. */
const LOG_RETENTION_DAYS = Object.values(RetentionDays).filter(
  (days) => typeof days === 'number' && days !== RetentionDays.INFINITE,
);

const LOG_RETENTION_RULE = `must be one of ${LOG_RETENTION_DAYS.join(', ')}`;

/** What operators see of it. */
export const observationSettings = {
  /** Days that logs are kept, one of CloudWatch's periods. Default 30. */
  logRetentionDays: z
    .preprocess(valueOf, z.enum(RetentionDays, LOG_RETENTION_RULE).exclude(['INFINITE'], LOG_RETENTION_RULE))
    .default(RetentionDays.ONE_MONTH),
};
