import { Duration } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { longestScheduleMs } from '../../shared/domain/retry-policy-limits.ts';
import { removalOf } from './protection.ts';

const MS_A_DAY = 86_400_000;

export interface PayloadBucketProps {
  /** Whether it may be deleted. */
  readonly disposable: boolean;
  /** How long records outlive their last event, in days. */
  readonly retentionDays: number;
  /** The most that a Retry-After adds to one delay, in seconds. */
  readonly retryAfterCapSeconds: number;
}

/** Messages too large for a job or a record. */
export class PayloadBucket extends Construct {
  readonly name: string;
  private readonly bucket: Bucket;

  constructor(scope: Construct, id: string, props: PayloadBucketProps) {
    super(scope, id);
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      lifecycleRules: [{ expiration: Duration.days(expiryDays(props)) }],
      // Never emptied by the stack: that would deploy a function of CDK's own, and a laptop's bucket goes with its emulator.
      removalPolicy: removalOf(props.disposable),
    });
    this.name = this.bucket.bucketName;
  }

  /** Removing as well: of a message that is erased meanwhile, whoever puts it there must leave nothing behind. */
  grantPut(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['s3:PutObject', 's3:DeleteObject'],
      resourceArns: [this.bucket.arnForObjects('*')],
    });
  }

  /** Listing as well: without it S3 answers 403 where there is no such object, and absence looks like a missing grant. */
  grantGet(grantee: IGrantable): void {
    Grant.addToPrincipal({
      grantee,
      actions: ['s3:GetObject'],
      resourceArns: [this.bucket.arnForObjects('*')],
    });
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
  }
}

/** A payload outlives the record that points at it: kept as long, and a day more because S3 expires by whole days. */
const expiryDays = ({ retentionDays, retryAfterCapSeconds }: PayloadBucketProps): number =>
  retentionDays + Math.ceil(longestScheduleMs(retryAfterCapSeconds * 1000) / MS_A_DAY) + 1;
