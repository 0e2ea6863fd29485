import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { templatesFor } from './templates.ts';

const steps = ['dispatch', 'deliver', 'reconcile', 'operate'] as const;

const { pipeline: worker } = templatesFor({ compute: 'worker' });
const { pipeline: both } = templatesFor({ compute: 'both' });
const { pipeline: lambda } = templatesFor();

const document = z.looseObject({
  Statement: z.array(z.looseObject({ Action: z.union([z.string(), z.array(z.string())]) })),
});
const policies = z.record(z.string(), z.object({ Properties: z.object({ PolicyDocument: document }) }));

/** The actions that policies whose logical ids match allow, each once. */
const actionsOf = (type: 'AWS::IAM::Policy' | 'AWS::IAM::ManagedPolicy', id: RegExp): string[] => {
  const found = Object.entries(policies.parse(both.findResources(type))).filter(([name]) => id.test(name));
  const statements = found.flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement);
  return [...new Set(statements.flatMap(({ Action }) => Action))].toSorted();
};

/** Lambda's logs and triggers are no work of a step. */
const isOfLambda = (action: string): boolean => action.startsWith('logs:');

describe('the setting compute', () => {
  it('by default leaves the work to the functions, without policies for workers', () => {
    expect(Object.keys(lambda.findResources('AWS::IAM::ManagedPolicy'))).toEqual([]);
    lambda.resourceCountIs('AWS::Lambda::EventSourceMapping', 4);
  });

  it('with both lets workers share the work', () => {
    both.resourceCountIs('AWS::Lambda::EventSourceMapping', 4);
    both.resourceCountIs('AWS::IAM::ManagedPolicy', steps.length);
    expect(Object.keys(both.findOutputs('WorkerPolicyArns'))).toHaveLength(1);
  });

  it('with worker keeps the functions, which nothing invokes', () => {
    worker.resourceCountIs('AWS::Lambda::EventSourceMapping', 0);
    worker.resourceCountIs('AWS::Lambda::Function', 6);
    worker.hasResourceProperties('AWS::Events::Rule', { State: 'DISABLED' });
    expect(Object.keys(worker.findOutputs('WorkerEnvironment'))).toHaveLength(1);
  });
});

describe('the policy of a worker', () => {
  it.each(steps)('for %s allows what the role of the function does', (step) => {
    const name = `${step.charAt(0).toUpperCase()}${step.slice(1)}`;
    const role = actionsOf('AWS::IAM::Policy', new RegExp(`^Pipeline${name}Role`));
    const policy = actionsOf('AWS::IAM::ManagedPolicy', new RegExp(`WorkerPolicies${step}`));
    expect(policy).toEqual(role.filter((action) => !isOfLambda(action)));
    expect(policy.length).toBeGreaterThan(0);
  });

  it.each(steps)('for %s fits into a managed policy (6,144 characters) with the longest names', (step) => {
    const [[, policy] = []] = Object.entries(
      policies.parse(both.findResources('AWS::IAM::ManagedPolicy')),
    ).filter(([name]) => name.includes(`WorkerPolicies${step}`));
    // A reference in the template is about as long as the ARN or name in its place.
    expect(JSON.stringify(policy?.Properties.PolicyDocument).length).toBeLessThan(6_144);
  });
});
