import { Duration } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { removalOf } from './protection.ts';

/** The longest schedule that a retry policy may have (design §3). */
const LONGEST_SCHEDULE_DAYS = 15;

/** The most retries that a policy may have (design §3). */
const MOST_RETRIES = 100;

const SECONDS_A_DAY = 86_400;

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

  grantPut(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['s3:PutObject'],
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

/**
 * A payload outlives the record that points at it: the record's retention, after the longest schedule with every delay
 * moved by Retry-After as far as it goes, and a day because S3 expires by whole days.
 */
const expiryDays = ({ retentionDays, retryAfterCapSeconds }: PayloadBucketProps): number =>
  retentionDays +
  LONGEST_SCHEDULE_DAYS +
  Math.ceil((MOST_RETRIES * retryAfterCapSeconds) / SECONDS_A_DAY) +
  1;
