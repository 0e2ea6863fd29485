export const settings = {
  apiAuthorization: 'none',
  // Short, so that what a crash left behind heals soon: deliver's visibility timeout is this + 20 s.
  attemptTimeoutSeconds: '2',
  schedulerThreshold: '4',
  subscriptionCacheSeconds: '0',
  overdueAfterSeconds: '5',
};
