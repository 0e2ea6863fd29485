import * as cdk from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';

/** Of this year. Older versions that the package supports do without. */
const { CrossStackReferences, ReferenceStrength, Validations }: Partial<typeof cdk> = cdk;

/** Absent in versions that are too old: an import by name would fail before `cdk-version.ts` can say so. */
export const { RecursiveLoop } = lambda;
export const { ScheduleGroup } = scheduler;

/** Acknowledges a finding of cdk-nag, or a warning, beside the construct. A CDK without validations reports none. */
export function acknowledge(construct: Construct, { id, reason }: { id: string; reason: string }): void {
  Validations?.of(construct).acknowledge({ id, reason });
}

/**
 * Makes a stack read the outputs of other stacks instead of importing exports, which would block replacements there.
 * The exports stay for one more release, because the previous version imports them during the deployment.
 */
export function referToOutputs(stack: cdk.Stack): void {
  if (CrossStackReferences === undefined || ReferenceStrength === undefined) return;
  CrossStackReferences.of(stack).consume(ReferenceStrength.BOTH);
  acknowledge(stack, {
    id: 'Annotation::@aws-cdk/core:crossStackReferencesBothTransitional',
    reason: 'Needed until the release after the first one that does not import.',
  });
}
