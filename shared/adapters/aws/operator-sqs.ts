import { SQS, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { bounded } from './sdk-client.ts';

/** SQS for an operator's machine: the SDK's own client, because credentials may come from wherever the SDK looks for them. */
export function operatorSqs(config: SQSClientConfig): SQS {
  return new SQS({ ...bounded('sqs', {}), ...config });
}
