import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { Logger } from '@aws-lambda-powertools/logger';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { type VerifiedWebhook, verifyWebhook, WebhookVerificationError } from 'posthaste/verify';

const { WEBHOOK_KEYS = '', ACCOUNTS_TABLE = '', IDEMPOTENCY_TABLE = '' } = process.env;

const logger = new Logger({ serviceName: 'accounts' });
const dynamo = DynamoDBDocumentClient.from(new DynamoDBClient());

// A webhook has the same id in every attempt.
const config = new IdempotencyConfig({ eventKeyJmesPath: 'id', throwOnNoIdempotencyKey: true });
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: IDEMPOTENCY_TABLE });
const creditOnce = makeIdempotent(credit, { persistenceStore, config });

type PaymentReceived = { data: { account: string; amount: number } };

async function credit({ id, body }: VerifiedWebhook): Promise<string> {
  const { account, amount } = (JSON.parse(body) as PaymentReceived).data;
  await dynamo.send(
    new UpdateCommand({
      TableName: ACCOUNTS_TABLE,
      Key: { account },
      UpdateExpression: 'ADD balance :amount',
      ExpressionAttributeValues: { ':amount': amount },
    }),
  );
  logger.info('credited', { webhookId: id, account });
  return account;
}

/** For a function URL or an HTTP API. An error becomes a 502 or 500, which Posthaste retries. */
export async function handler(
  event: APIGatewayProxyEventV2,
  context: Context,
): Promise<{ statusCode: number }> {
  config.registerLambdaContext(context);
  logger.addContext(context);
  try {
    const body = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
    await creditOnce(verifyWebhook(body, event.headers, WEBHOOK_KEYS.split(' ')));
    return { statusCode: 204 };
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    logger.warn('refused', error);
    return { statusCode: 401 };
  }
}
