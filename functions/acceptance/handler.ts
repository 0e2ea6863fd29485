import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { LambdaFunctionURLEvent, LambdaFunctionURLResult } from 'aws-lambda';
import { env } from 'node:process';
import { receive } from './receiver.ts';

// Once per cold start.
const sqs = new SQSClient();
const QueueUrl = env['SEEN_QUEUE_URL'] ?? '';

/** The receiver of `posthaste accept` behind a function URL. What it saw goes to a queue, which the command reads. */
export async function handler(event: LambdaFunctionURLEvent): Promise<LambdaFunctionURLResult> {
  const { rawPath, rawQueryString, headers, body = '', isBase64Encoded } = event;
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  const request = { path: `${rawPath}?${rawQueryString}`, headers, body: bytes };
  const { seen, answer } = receive(request, event.requestContext.timeEpoch);
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(seen) }));
  return { statusCode: answer.status, headers: answer.headers };
}
