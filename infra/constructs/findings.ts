import { Stack } from 'aws-cdk-lib';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { z } from 'zod';
import { acknowledge } from './newer-cdk.ts';

const reference = z.object({ Ref: z.string() });
const attribute = z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) });
/** A list of texts and references that CloudFormation joins. */
export const joinSchema = z.object({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) });

/** A resolved ARN as cdk-nag prints it in the ids of findings: references in angle brackets. */
function printedArn(value: unknown): string {
  if (typeof value === 'string') return value;
  const ref = reference.safeParse(value);
  if (ref.success) return `<${ref.data.Ref}>`;
  const got = attribute.safeParse(value);
  if (got.success) return `<${got.data['Fn::GetAtt'].join('.')}>`;
  const [separator, parts] = joinSchema.parse(value)['Fn::Join'];
  return parts.map(printedArn).join(separator);
}

/**
 * Acknowledges cdk-nag's finding for a role or policy with access to all resources of this ARN, which ends in an asterisk. Only
 * for this one and this ARN. Principals without a construct, such as services, have no policy to check.
 */
export function acknowledgeWildcard(grantee: IGrantable, arn: string, reason: string): void {
  // A managed policy is the construct itself; its principal is none.
  const principal = [grantee.grantPrincipal, grantee].find((one) => Construct.isConstruct(one));
  if (principal === undefined) return;
  const resource = printedArn(Stack.of(principal).resolve(arn));
  acknowledge(principal, { id: `AwsSolutions-IAM5[Resource::${resource}]`, reason });
}
