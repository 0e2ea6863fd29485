import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AcceptanceStack } from '../../infra/acceptance-stack.ts';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { CrashStack } from '../../infra/crash-stack.ts';
import { closeServer, listen } from '../support/listening.ts';
import { environmentAt, outputsOf, resourceAt, resourcesOf, templatesFor, testApp } from './templates.ts';

const app = testApp();
const crash = Template.fromStack(new CrashStack(app, 'PosthasteCrash'));
const { pipeline } = templatesFor();

const FUNCTION = 'AWS::Lambda::Function';
const DELIVER = 'PipelineDeliverFunction';

describe('the deployment whose deliver is killed', () => {
  it('differs from every deployment by one variable, of deliver', () => {
    for (const [id, { Properties }] of resourcesOf(pipeline, FUNCTION)) {
      const path = id.slice(0, -8);
      const killed = resourceAt(crash, FUNCTION, path).Properties;
      expect(Object.keys(killed)).toEqual(Object.keys(Properties));
      expect(killed['Handler']).toEqual(Properties['Handler']);
      const { NODE_OPTIONS, ...environment } = environmentAt(crash, path);
      expect(NODE_OPTIONS === undefined).toBe(path !== DELIVER);
      expect(Object.keys(environment)).toEqual(Object.keys(environmentAt(pipeline, path)));
    }
  });

  it.each(Object.entries(checkedVariants))('leaves no trace in a deployment: %s', (_, settings) => {
    for (const template of Object.values(templatesFor(settings)))
      expect(JSON.stringify(template)).not.toMatch(/NODE_OPTIONS|diagnostics_channel|SIGKILL/);
  });

  it('is deleted completely', () => {
    const text = JSON.stringify(crash);
    expect(text).not.toMatch(/"Retain|"DeletionProtectionEnabled":true|LoggingConfiguration/);
    expect(text).toContain('"DeletionProtectionEnabled":false');
  });

  it('has the same settings where the app overrides those of another deployment', () => {
    const overridden = testApp();
    overridden.node.setContext('posthaste', { deployment: 'Shop', local: false });
    const same = Template.fromStack(new CrashStack(overridden, 'PosthasteCrash'));
    expect(same.toJSON()).toEqual(crash.toJSON());
  });

  it('has no finding of cdk-nag', () => {
    expect(new AwsSolutionsChecks(app).validateScope(app).violations).toEqual([]);
  });
});

it('the stack of the receiver has no finding of cdk-nag', () => {
  const other = testApp();
  new AcceptanceStack(other, 'PosthasteAcceptance', { ingressQueueUrl: 'https://sqs.test/1/Ingress' });
  expect(new AwsSolutionsChecks(other).validateScope(other).violations).toEqual([]);
});

describe('its variable', () => {
  const [, output] = outputsOf(crash).find(([name]) => name === 'CrashStatus') ?? [];
  const status = Number(z.object({ Value: z.string() }).parse(output).Value);
  const server = createServer((request, response) => {
    response.writeHead(Number(request.url?.slice(1))).end();
  });
  let port = 0;
  beforeAll(async () => {
    port = await listen(server, '127.0.0.1');
  });
  afterAll(() => closeServer(server));

  it.each([
    [200, null],
    [status, 'SIGKILL'],
  ])('after the answer %i ends the process with %s', async (answer, signal) => {
    const request = `require('node:http').get('http://127.0.0.1:${port}/${answer}', (got) => got.resume());`;
    const { NODE_OPTIONS } = environmentAt(crash, DELIVER);
    const env = { NODE_OPTIONS: String(NODE_OPTIONS) };
    expect(await once(spawn(process.execPath, ['-e', request], { env }), 'exit')).toEqual([
      signal === null ? 0 : null,
      signal,
    ]);
  });
});
