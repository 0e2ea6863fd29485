import {
  CloudWatchLogsClient,
  paginateDescribeLogStreams,
  paginateGetLogEvents,
} from '@aws-sdk/client-cloudwatch-logs';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { deployment } from './deployment.ts';

const client = new CloudWatchLogsClient(deployment.client);

/**
 * Every line that functions of the deployed system have written, of all log streams, with what Lambda itself writes.
 * `since`: milliseconds since the epoch.
 */
export const logLines = async (functions: readonly string[], since = 0): Promise<string[]> => {
  const found = await Promise.all(functions.map((name) => linesOf(name, since)));
  return found.flat();
};

const linesOf = async (functionName: string, since: number): Promise<string[]> => {
  const logGroupName = await logGroupOf(functionName);
  const lines: string[] = [];
  for (const logStreamName of await streamsOf(logGroupName)) {
    const input = { logGroupName, logStreamName, startFromHead: true, startTime: since };
    for await (const { events = [] } of paginateGetLogEvents({ client, stopOnSameToken: true }, input))
      lines.push(...events.map(({ message = '' }) => message));
  }
  return lines;
};

const logGroupOf = async (FunctionName: string): Promise<string> => {
  const { LoggingConfig } = await deployment.lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName }),
  );
  return LoggingConfig?.LogGroup ?? `/aws/lambda/${FunctionName}`;
};

const streamsOf = async (logGroupName: string): Promise<string[]> => {
  const names: string[] = [];
  for await (const { logStreams = [] } of paginateDescribeLogStreams({ client }, { logGroupName }))
    names.push(...logStreams.flatMap(({ logStreamName }) => logStreamName ?? []));
  return names;
};
