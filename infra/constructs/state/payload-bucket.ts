import { Duration } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { S3_SERVER_ACCESS_LOGS_USE_BUCKET_POLICY } from 'aws-cdk-lib/cx-api';
import { longestScheduleMs } from '../../../shared/domain/retry/policy-limits.ts';
import { acknowledgeWildcard } from '../acknowledged-wildcard.ts';
import { removalOf } from './protection.ts';

const MS_A_DAY = 86_400_000;

export interface PayloadBucketProps {
  /** Whether it may be deleted. */
  readonly disposable: boolean;
  /** How long records outlive their last event, in days. */
  readonly retentionDays: number;
  /** The most that a Retry-After adds to one delay, in seconds. */
  readonly retryAfterCapSeconds: number;
  /** How long the log of who read and wrote is kept, in days. */
  readonly logRetentionDays: number;
}

/** Messages too large for a job or a record. */
export class PayloadBucket extends Construct {
  readonly name: string;
  private readonly bucket: Bucket;

  constructor(scope: Construct, id: string, props: PayloadBucketProps) {
    super(scope, id);
    // Inside somebody else's app CDK may still write logs by ACL, which buckets have not had by themselves since 2023.
    this.node.setContext(S3_SERVER_ACCESS_LOGS_USE_BUCKET_POLICY, true);
    const everyBucket = {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      // Never emptied by the stack: that would deploy a function of CDK's own, and a laptop's bucket goes with its emulator.
      removalPolicy: removalOf(props.disposable),
    };
    // Who read and wrote which object, and when: names of objects, never what is in them.
    const accessLogs = new Bucket(this, 'AccessLogs', {
      ...everyBucket,
      lifecycleRules: [{ expiration: Duration.days(props.logRetentionDays) }],
    });
    this.bucket = new Bucket(this, 'Bucket', {
      ...everyBucket,
      serverAccessLogsBucket: accessLogs,
      lifecycleRules: [{ expiration: Duration.days(expiryDays(props)) }],
    });
    this.name = this.bucket.bucketName;
  }

  /** Removing as well: of a message that is erased meanwhile, whoever puts it there must leave nothing behind. */
  grantPut(grantee: IGrantable): Grant {
    return this.grantOnObjects(grantee, 's3:PutObject', 's3:DeleteObject');
  }

  /** Listing as well: without it S3 answers 403 where there is no such object, and absence looks like a missing grant. */
  grantGet(grantee: IGrantable): void {
    this.grantOnObjects(grantee, 's3:GetObject');
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
  }

  private grantOnObjects(grantee: IGrantable, ...actions: string[]): Grant {
    const objects = this.bucket.arnForObjects('*');
    acknowledgeWildcard(
      grantee,
      objects,
      'An object is made for each large message, under a name of its own.',
    );
    return Grant.addToPrincipal({ grantee, actions, resourceArns: [objects] });
  }
}

/** A payload outlives the record that points at it: kept as long, and a day more because S3 expires by whole days. */
function expiryDays({ retentionDays, retryAfterCapSeconds }: PayloadBucketProps): number {
  return retentionDays + Math.ceil(longestScheduleMs(retryAfterCapSeconds * 1000) / MS_A_DAY) + 1;
}
