import { SQS, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { clientOptions, slim, type ClientOptions } from '../aws/client-options.ts';

export function sqsClient(options: ClientOptions<SQSClientConfig> = {}): SQS {
  return slim(
    new SQS({
      // TLS already protects the content.
      md5: false,
      // The local AWS names its queues by a host that may differ from the endpoint.
      useQueueUrlAsEndpoint: false,
      // Otherwise the SDK composes the middleware for every call.
      cacheMiddleware: true,
      ...clientOptions('sqs', options),
    }),
  );
}
