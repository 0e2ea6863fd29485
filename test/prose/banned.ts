/** Words and shapes that make a reader stop, and what to write instead. Checked in comments, texts, test names and pages. */
export const BANS: readonly { words: RegExp; instead: string }[] = [
  { words: /\b(?:whoever|whomever|whatever)\b/i, instead: 'name the actor or the thing' },
  {
    words: /\b(?:somebody|someone|anybody|nobody|everybody)\b/i,
    instead: 'name the actor: the caller, an operator, deliver',
  },
  { words: /\bthat which\b|\bthe one (?:who|which)\b/i, instead: 'use the noun' },
  {
    words: /\bof (?:its|their|our|his) own\b|\bof (?:ours|theirs)\b/i,
    instead: 'say "separate", or name the owner',
  },
  {
    words: /\bc(?:ame|omes?) about\b|\bc(?:ame|omes?) of (?:it|this|that|them)\b/i,
    instead: 'say what happens: the outcome is, causes, results in',
  },
  { words: /\bhasten(?:s|ed|ing)?\b/i, instead: 'retry now' },
  { words: /\b(?:bury|buries|buried|burying)\b/i, instead: 'dead-letter' },
  { words: /\bdear(?:er|est)?\b/i, instead: 'expensive' },
  {
    words: /(?<!\bdead[- ])\b(?:the|this|that|each|every) letters?\b/i,
    instead: 'a dead letter',
  },
  { words: /\b(?:is|are|was|were|be|been|being) told\b/i, instead: 'is notified, is shown, receives' },
  {
    words:
      /\b(?:process|function|dispatch|deliver|operate|reconcile|invocation|instance|handler)(?:es|s)? (?:that |which |who )?(?:dies|died|lives|lived)\b/i,
    instead: 'crash, stop, run',
  },
  {
    words: /\bin vain\b|\bonce (?:and )?for all\b|\blest\b|\bthereby\b|\bas good as\b/i,
    instead: 'plain words',
  },
];
