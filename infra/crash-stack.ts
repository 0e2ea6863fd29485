import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import { CfnBucket } from 'aws-cdk-lib/aws-s3';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { acknowledge } from './constructs/newer-cdk.ts';
import { Pipeline } from './constructs/pipeline.ts';
import { State } from './constructs/state/state.ts';

/** The answer that ends the process. A success, and one that no other receiver of this stack gives. */
const STATUS = 299;

/**
 * Node.js loads it before the bundle of deliver. It ends the process as soon as an answer with this status arrives: after the
 * request, and before the record ("Built-in Channels" of diagnostics_channel, Node.js documentation).
 */
const KILLS_ITSELF = `
import { subscribe } from 'node:diagnostics_channel';
subscribe('http.client.response.finish', ({ response }) => {
  if (response.statusCode === ${STATUS}) process.kill(process.pid, 'SIGKILL');
});`;

/**
 * A deployment for the check `crash` of `posthaste accept` alone, beside the one that is accepted. Its functions are the
 * bundles of every deployment; a variable of deliver makes the difference. It is `local`, so that all of it can be deleted.
 * Subscribers on loopback addresses are allowed then, but callers of its API need AWS signatures.
 */
export class CrashStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps = {}) {
    super(scope, id, {
      description:
        'Posthaste: a deployment whose deliver is killed by posthaste accept; delete it afterwards',
      ...props,
    });
    // The overrides in the context of an app are for its own deployment.
    this.node.setContext('posthaste', {});
    const state = new State(this, 'State', {
      deployment: id,
      local: true,
      logRetention: RetentionDays.ONE_DAY,
      dispatchConcurrency: 2,
      deliverConcurrency: 2,
      retryConcurrency: 2,
    });
    const { lambda } = new Pipeline(this, 'Pipeline', { state }).deliver;
    lambda.addEnvironment(
      'NODE_OPTIONS',
      `--import=data:text/javascript,${encodeURIComponent(KILLS_ITSELF)}`,
    );
    withoutAccessLog(state);
    new CfnOutput(this, 'CrashStatus', { value: String(STATUS), description: 'Answer that kills deliver' });
  }
}

/** Objects with log lines would keep CloudFormation from deleting their bucket. */
function withoutAccessLog({ payloads }: State): void {
  for (const bucket of payloads.node.findAll())
    if (bucket instanceof CfnBucket) bucket.loggingConfiguration = undefined;
  acknowledge(payloads, { id: 'AwsSolutions-S1', reason: 'The stack is deleted after the acceptance.' });
}
