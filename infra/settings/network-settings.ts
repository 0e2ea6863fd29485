import { z } from 'zod';
import { valueOf, wholeNumber } from './rules.ts';

const VPC_RULE = 'must be {"vpcId", "subnetIds"}, JSON, with the ids of a VPC and of subnets in it';

/** Where the requests to subscribers come from. */
export const networkSettings = {
  /**
   * Addresses that all requests to subscribers come from, each with a NAT gateway of its own in a VPC that is made for it: 0
   * to 2. 0: no VPC, and addresses that change. Default 0.
   */
  staticAddresses: wholeNumber('addresses', 0, 2).default(0),
  /** A VPC that is there already, and subnets of it from which requests to subscribers are made. JSON. Default none. */
  vpc: z
    .preprocess(
      valueOf,
      z.strictObject(
        {
          vpcId: z.string(VPC_RULE).regex(/^vpc-[0-9a-f]{8,17}$/, VPC_RULE),
          subnetIds: z
            .array(z.string(VPC_RULE).regex(/^subnet-[0-9a-f]{8,17}$/, VPC_RULE), VPC_RULE)
            .min(1, VPC_RULE)
            // Lambda's quota ("VpcConfig", Lambda API reference).
            .max(16, VPC_RULE),
        },
        VPC_RULE,
      ),
    )
    .optional(),
};
