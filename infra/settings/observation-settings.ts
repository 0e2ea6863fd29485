import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { flag, oneOf, valueOf } from './rules.ts';

/** The periods that CloudWatch Logs knows, except forever: logs of ours are always forgotten. */
const LOG_RETENTION_DAYS = Object.values(RetentionDays).filter(
  (days) => typeof days === 'number' && days !== RetentionDays.INFINITE,
);

const LOG_RETENTION_RULE = `must be one of ${LOG_RETENTION_DAYS.join(', ')}`;

const SAMPLING_RULE = 'must be a number from 0 to 1';

const TOPIC_RULE =
  'must be the ARN of a standard SNS topic, such as arn:aws:sns:us-east-1:123456789012:on-call';

/** Not of a FIFO topic, whose name ends in `.fifo`: it wants a message group, which alarms do not give. */
const TOPIC_ARN = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/;

/** What operators see of it. */
export const observationSettings = {
  /** Days that logs are kept, one of CloudWatch's periods. Default 30. */
  logRetentionDays: z
    .preprocess(valueOf, z.enum(RetentionDays, LOG_RETENTION_RULE).exclude(['INFINITE'], LOG_RETENTION_RULE))
    .default(RetentionDays.ONE_MONTH),
  /** The least that is logged: `debug`, `info`, `warn` or `error`. Metrics and the audit trail do not depend on it. Default `info`. */
  logLevel: oneOf('debug', 'info', 'warn', 'error').default('info'),
  /**
   * How many of the messages that get through at the first try are logged, 0 to 1; chosen by the message's id, so that one is
   * logged from its acceptance to its delivery or not at all. Whatever fails is logged in any case. Default 1.
   */
  logSuccessSampling: z
    .preprocess(valueOf, z.number(SAMPLING_RULE).min(0, SAMPLING_RULE).max(1, SAMPLING_RULE))
    .default(1),
  /** Whether calls are traced by X-Ray, from the ingress queue to the last attempt. Default false. */
  tracing: flag().default(false),
  /** SNS topic that alarms are told to, of the account and region of the deployment. Default none: alarms only show. */
  alarmTopicArn: z.string(TOPIC_RULE).regex(TOPIC_ARN, TOPIC_RULE).optional(),
};
